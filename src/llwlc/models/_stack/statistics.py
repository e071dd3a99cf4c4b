"""PairStatistics: the inputs of the stack for a pair, computed on a graph without its link."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from llwlc.graph._graph import Graph
from llwlc.heuristics._cosine import feature_cosine
from llwlc.heuristics._implicit_als import factors_of
from llwlc.heuristics._item_cosine import item_cosine
from llwlc.heuristics._local_walks import WALKS, compute_walk_statistics
from llwlc.heuristics._pair_statistics import compute_pair_statistics
from llwlc.heuristics._paths import compute_path_lengths
from llwlc.models._stack.attribute_statistics import AttributeStatistics
from llwlc.models._stack.coordinates import Coordinates
from llwlc.models._stack.node_statistics import NODE_STATISTICS, compute_node_statistics
from llwlc.models._stack.page_ranks import compute_page_ranks

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
NEIGHBOURHOOD = (
    "common neighbours",
    "Adamic–Adar",
    "resource allocation",
    "preferential attachment",
    "Jaccard",
    "cosine of neighbourhoods",
    "Leicht–Holme–Newman",
    "hub promoted",
    "hub depressed",
)


class PairStatistics:
    """The statistics of pairs on one graph; those of the whole graph are computed once.

    >>> import torch
    >>> square = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 0]]))
    >>> found = PairStatistics(square)(np.array([[0, 2]]))
    >>> dict(zip(PairStatistics.names(features=False), found[0].tolist()))["common neighbours"]
    2.0
    """

    def __init__(self, graph: Graph, *, features: bool = False, sides: bool = False, attributes: bool = False) -> None:
        self.graph, self.features = graph, features
        self.nodes = compute_node_statistics(graph)
        self.coordinates = Coordinates.of(graph)
        self.factors = factors_of(graph) if sides else None
        self.attributes = AttributeStatistics(graph) if attributes else None

    @staticmethod
    def names(*, features: bool, sides: bool = False, attributes: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The names of the columns; `features`: of a graph with node features, `sides`: of a bipartite graph,
        `attributes`: of one whose links have these.
        """
        return (
            *NEIGHBOURHOOD,
            *WALKS[:2],
            *WALKS[3:],
            "shortest path",
            "personalised PageRank, smaller",
            "personalised PageRank, larger",
            *Coordinates.names(),
            *(f"{name}, {which}" for which in ("smaller", "larger") for name in NODE_STATISTICS),
            *(("cosine of features", "cosine of smoothed features") if features else ()),
            *(("implicit factors", "cosine of items") if sides else ()),
            *AttributeStatistics.names(attributes),
        )

    def __call__(self, pairs: Integers) -> NDArray[np.float32]:
        """The statistics `names` of pairs `[m, 2]` without a link in the graph, `[m, s]`, symmetric in the ends."""
        pairs = np.sort(pairs, axis=1)
        walks = compute_walk_statistics(self.graph, pairs)
        ends = self.nodes[pairs]
        parts = [
            neighbourhood(compute_pair_statistics(self.graph, pairs)),
            walks[:, [0, 1, 3, 4]],
            compute_path_lengths(self.graph, pairs)[:, None],
            compute_page_ranks(self.graph, pairs),
            self.coordinates.statistics(pairs),
            ends.min(1),
            ends.max(1),
        ]
        if self.features:
            given = torch.from_numpy(pairs)
            parts += [feature_cosine(self.graph, given, hops=hops).numpy()[:, None] for hops in (0, 2)]
        if self.factors is not None:
            both = self.factors.scores(pairs), item_cosine(self.graph, torch.from_numpy(pairs)).numpy()
            parts += [column[:, None] for column in both]
        if self.attributes is not None:
            parts.append(self.attributes(pairs))
        return np.concatenate(parts, 1).astype(np.float32)


def neighbourhood(known: Floats) -> Floats:
    """`NEIGHBOURHOOD` from `heuristics._pair_statistics.STATISTICS`, `[m, 9]`."""
    common, adamic, allocation, small, large = known.T
    product = small * large
    return np.stack(
        [
            common,
            adamic,
            allocation,
            product,
            common / np.maximum(small + large - common, 1),
            common / np.sqrt(np.maximum(product, 1)),
            common / np.maximum(product, 1),
            common / np.maximum(small, 1),
            common / np.maximum(large, 1),
        ],
        1,
    )
