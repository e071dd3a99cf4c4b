"""HEURISTICS: the heuristics by name, which every fit reports too; WALKS: those that read the whole
graph for each node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llwlc._support.registry import Record, Registry

if TYPE_CHECKING:
    from llwlc.graph._graph import Graph


@dataclass(frozen=True)
class Heuristic(Record):
    """A heuristic: `target(graph, pairs)` gives scores `[m]`; `title` is its name in tables; `features`: whether
    it reads node features; `sides`: whether it is for bipartite graphs alone; `two_steps`: whether it only knows paths
    of two steps, which no pair across the sides of a bipartite graph has.
    """

    title: str = ""
    features: bool = False
    two_steps: bool = False
    sides: bool = False

    def applies_to(self, graph: Graph) -> bool:
        """Whether the graph has what the heuristic reads, and few enough nodes for it to be reported by every fit."""
        from llwlc.graph._sides import is_two_sided

        if self.features and graph.x is None:
            return False
        return not self.sides or (graph.num_nodes <= MAX_SIDED_NODES and is_two_sided(graph))


MAX_SIDED_NODES = 50_000
"""On a larger bipartite graph, heuristics of users and items are left out of fits: their time grows with the nodes."""
HEURISTICS: Registry[Heuristic] = Registry("heuristic")
"""Scores without training that every fit reports: `HEURISTICS[name].load()(graph, pairs)`."""
_PACKAGE = "llwlc.heuristics"
HEURISTICS.add(
    Heuristic(
        "common-neighbors",
        "the number of common neighbours",
        f"{_PACKAGE}._neighbors:common_neighbors",
        "common neighbours",
        two_steps=True,
    )
)
HEURISTICS.add(
    Heuristic(
        "adamic-adar",
        "common neighbours, each by 1 / log of its degree",
        f"{_PACKAGE}._neighbors:adamic_adar",
        "Adamic–Adar",
        two_steps=True,
    )
)
HEURISTICS.add(
    Heuristic(
        "resource-allocation",
        "common neighbours, each by 1 / its degree",
        f"{_PACKAGE}._neighbors:resource_allocation",
        "resource allocation",
        two_steps=True,
    )
)
HEURISTICS.add(
    Heuristic(
        "preferential-attachment",
        "the product of the degrees",
        f"{_PACKAGE}._neighbors:preferential_attachment",
        "pref. attachment",
    )
)
HEURISTICS.add(
    Heuristic(
        "three-paths",
        "paths of length three, normalised by degree (L3)",
        f"{_PACKAGE}._local_walks:three_paths",
        "paths of length 3",
    )
)
HEURISTICS.add(
    Heuristic(
        "shortest-path",
        "the length of the shortest path, short first",
        f"{_PACKAGE}._paths:shortest_path",
        "shortest path",
    )
)
HEURISTICS.add(
    Heuristic(
        "spectral",
        "an entry of the adjacency matrix at low rank",
        f"{_PACKAGE}._spectral:spectral_dot_product",
        "spectral product",
    )
)
HEURISTICS.add(
    Heuristic(
        "local-random-walk",
        "random walks of up to four steps",
        f"{_PACKAGE}._local_walks:local_random_walk",
        "local random walk",
    )
)
HEURISTICS.add(
    Heuristic(
        "cosine",
        "the cosine of features smoothed over two hops",
        f"{_PACKAGE}._cosine:feature_cosine",
        "cosine of Â²X",
        features=True,
    )
)
HEURISTICS.add(
    Heuristic(
        "implicit-als",
        "users and items: implicit matrix factorisation",
        f"{_PACKAGE}._implicit_als:implicit_als",
        "implicit ALS",
        sides=True,
    )
)
HEURISTICS.add(
    Heuristic(
        "item-cosine",
        "users and items: cosine of items, summed over a user's",
        f"{_PACKAGE}._item_cosine:item_cosine",
        "item–item cosine",
        sides=True,
    )
)
HEURISTICS.add(
    Heuristic(
        "users-items",
        "users and items: factors, and each item regressed on the others",
        f"{_PACKAGE}._users_items:users_items",
        "users and items",
        sides=True,
    )
)


def list_applicable(graph: Graph, *, bipartite: bool) -> list[Heuristic]:
    """The heuristics that can tell pairs of a graph apart; `bipartite`: whether its links join two sides."""
    return [
        heuristic
        for heuristic in HEURISTICS.records()
        if heuristic.applies_to(graph) and not (heuristic.two_steps and bipartite)
    ]


WALK_HEURISTICS: Registry[Heuristic] = Registry("heuristic of walks")
"""Scores without training that are too slow on large graphs for every fit; `llwlc.models` has them as methods."""
WALK_HEURISTICS.add(Heuristic("katz", "walks of all lengths, damped", f"{_PACKAGE}._walks:katz", "Katz"))
WALK_HEURISTICS.add(
    Heuristic("pagerank", "personalised PageRank, both ways", f"{_PACKAGE}._walks:rooted_page_rank", "PageRank")
)
