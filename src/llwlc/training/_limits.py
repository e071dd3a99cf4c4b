"""Limits: how many links and candidates a fit and its recommendations compute."""

from __future__ import annotations

from dataclasses import dataclass

from llwlc._support.options import check_options, option

MAX_COUNT = 1 << 36
MIN_SHORTLIST, ENOUGH, PER_LINK = 10_000, 40_000, 4
"""How many candidates the network ranks: so many for each link of the graph, but at least `MIN_SHORTLIST`, and beyond
`ENOUGH` one for each link. (On graphs of 6,444 to 44,324 links, four for each link changed no list by more than its
standard error, `research/notes/2026-11-20-half-a-fit.md`.)
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
        "candidates that the network ranks; by default four for each link, but at least 10,000, and of more than 40,000"
        " one for each link",
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
    """Candidates that a model ranks on a graph of this many links.

    >>> [shortlist_size(links, None) for links in (100, 4_488, 10_000, 44_324)]
    [10000, 17952, 40000, 44324]
    """
    return max(MIN_SHORTLIST, min(PER_LINK * num_links, ENOUGH), num_links) if wanted is None else wanted
