"""Limits: how many links and candidates a fit and its recommendations compute."""

from __future__ import annotations

from dataclasses import dataclass

from llwlc._support.options import check_options, option

MAX_COUNT = 1 << 36
MIN_SHORTLIST, SHORTLIST_PER_LINK = 10_000, 4
"""How many candidates the network ranks: the first number, or the second one for each link of the graph, whichever is
more. (One for each link leaves the 1,000 best as good, but the rest of a list falls: average precision 1.72 instead of
2.08 % on Pubmed, `research/notes/2026-11-20-half-a-fit.md`.)
"""


@dataclass(frozen=True)
class Limits:
    """How many links and candidates are computed. The defaults are those of a fit without a time budget.

    >>> Limits(shortlist=1_000).shortlist
    1000
    """

    num_eval_links: int | None = option(
        None,
        "maximum number of validation links, test links and negatives of each that are scored; by default all",
        least=1,
        most=MAX_COUNT,
    )
    """Drawn at random where there are more."""
    shortlist: int | None = option(
        None,
        "candidates that the network ranks; by default 10,000, or four times the number of links if that is more",
        least=1,
        most=MAX_COUNT,
    )
    num_eval_candidates: int = option(
        40_000, "maximum number of candidates ranked to evaluate a fit's recommendations", least=1, most=MAX_COUNT
    )
    """Where the network would rank more of them, those of a sample of nodes, in the same proportion."""
    sources: int | None = option(
        None, "number of nodes that propose candidates during a fit; by default all", least=1, most=MAX_COUNT
    )
    """Drawn at random where there are more."""
    num_membership_links: int = option(
        20_000, "maximum number of training links that are tested for being candidates", least=1, most=MAX_COUNT
    )
    """Whether they would be candidates if they were missing."""
    num_tuning_links: int = option(
        1_000, "maximum number of validation links that tune candidate retrieval", least=1, most=MAX_COUNT
    )

    def __post_init__(self) -> None:
        check_options(self)


def shortlist_size(num_links: int, wanted: int | None) -> int:
    """Candidates that a model ranks on a graph of this many links."""
    return max(MIN_SHORTLIST, SHORTLIST_PER_LINK * num_links) if wanted is None else wanted
