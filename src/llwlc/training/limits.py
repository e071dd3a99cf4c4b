"""Limits: how many links and candidates a fit and its recommendations compute."""

from __future__ import annotations

from dataclasses import dataclass, fields

from llwlc.support.bounds import require_whole


@dataclass(frozen=True)
class Limits:
    """How many links and candidates are computed. The defaults are those of a fit without a time budget."""

    evaluated: int | None = None
    """Validation links, test links and the non-links of each that are scored, drawn at random where there are more; None for all."""
    shortlist: int | None = None
    """Candidates that the network ranks; None: 10,000, or four for each link of the graph where that is more."""
    measured: int = 40_000
    """Candidates that measure a fit's recommendations: where the network would rank more of them, those of a sample of nodes, in the same proportion."""
    sources: int | None = None
    """Nodes that propose candidates during a fit, drawn at random where there are more; None for all."""
    judged: int = 20_000
    """Training links that are tested for whether they would be candidates if they were missing."""
    weighed: int = 1_000
    """Validation links by which the weights of nodes' own lists are chosen."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                require_whole(field.name, value, least=1, most=1 << 36)
