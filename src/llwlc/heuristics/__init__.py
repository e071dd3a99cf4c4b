"""Scores without training. They belong beside every result: a trained model that does not beat them has learned nothing."""

from typing import TYPE_CHECKING

from llwlc.support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.heuristics.cosine import feature_cosine as feature_cosine
    from llwlc.heuristics.neighbors import adamic_adar as adamic_adar
    from llwlc.heuristics.neighbors import common_neighbors as common_neighbors
    from llwlc.heuristics.neighbors import resource_allocation as resource_allocation
    from llwlc.heuristics.pagerank import page_rank as page_rank
    from llwlc.heuristics.registry import HEURISTICS as HEURISTICS

_HOMES = {
    "HEURISTICS": "registry",
    "adamic_adar": "neighbors",
    "common_neighbors": "neighbors",
    "feature_cosine": "cosine",
    "page_rank": "pagerank",
    "resource_allocation": "neighbors",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
