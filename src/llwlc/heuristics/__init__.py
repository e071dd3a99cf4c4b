"""Scores that need no training. Every result is shown with them: a trained model that does not beat them has learned nothing."""

from typing import TYPE_CHECKING

from llwlc.support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.heuristics.cosine import feature_cosine as feature_cosine
    from llwlc.heuristics.neighbors import adamic_adar as adamic_adar
    from llwlc.heuristics.neighbors import common_neighbors as common_neighbors
    from llwlc.heuristics.neighbors import resource_allocation as resource_allocation
    from llwlc.heuristics.pagerank import page_rank as page_rank
    from llwlc.heuristics.registry import HEURISTICS as HEURISTICS
    from llwlc.heuristics.registry import WALKS as WALKS
    from llwlc.heuristics.walks import katz as katz
    from llwlc.heuristics.walks import rooted_page_rank as rooted_page_rank

_HOMES = {
    "HEURISTICS": "registry",
    "WALKS": "registry",
    "adamic_adar": "neighbors",
    "common_neighbors": "neighbors",
    "feature_cosine": "cosine",
    "katz": "walks",
    "page_rank": "pagerank",
    "resource_allocation": "neighbors",
    "rooted_page_rank": "walks",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
