"""Heuristics: scores without training. Every result is shown beside them: a trained model that does not beat them has
learned nothing.
"""

from typing import TYPE_CHECKING

from llwlc._support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.heuristics._cosine import feature_cosine as feature_cosine
    from llwlc.heuristics._implicit_als import implicit_als as implicit_als
    from llwlc.heuristics._item_cosine import item_cosine as item_cosine
    from llwlc.heuristics._local_walks import local_random_walk as local_random_walk
    from llwlc.heuristics._local_walks import three_paths as three_paths
    from llwlc.heuristics._neighbors import adamic_adar as adamic_adar
    from llwlc.heuristics._neighbors import common_neighbors as common_neighbors
    from llwlc.heuristics._neighbors import preferential_attachment as preferential_attachment
    from llwlc.heuristics._neighbors import resource_allocation as resource_allocation
    from llwlc.heuristics._pagerank import page_rank as page_rank
    from llwlc.heuristics._paths import shortest_path as shortest_path
    from llwlc.heuristics._registry import HEURISTICS as HEURISTICS
    from llwlc.heuristics._registry import WALK_HEURISTICS as WALK_HEURISTICS
    from llwlc.heuristics._spectral import spectral_dot_product as spectral_dot_product
    from llwlc.heuristics._users_items import users_items as users_items
    from llwlc.heuristics._walks import katz as katz
    from llwlc.heuristics._walks import rooted_page_rank as rooted_page_rank

_HOMES = {
    "HEURISTICS": "_registry",
    "WALK_HEURISTICS": "_registry",
    "adamic_adar": "_neighbors",
    "common_neighbors": "_neighbors",
    "feature_cosine": "_cosine",
    "implicit_als": "_implicit_als",
    "item_cosine": "_item_cosine",
    "katz": "_walks",
    "local_random_walk": "_local_walks",
    "page_rank": "_pagerank",
    "preferential_attachment": "_neighbors",
    "resource_allocation": "_neighbors",
    "rooted_page_rank": "_walks",
    "shortest_path": "_paths",
    "spectral_dot_product": "_spectral",
    "three_paths": "_local_walks",
    "users_items": "_users_items",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
