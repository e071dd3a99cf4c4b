"""Vectors of users and items whose inner products rank candidates across the sides of a bipartite graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from llwlc._candidates.smoothing import SmoothedFeatures
from llwlc.graph._graph import Graph
from llwlc.heuristics._implicit_als import ImplicitFactors, factors_of, solve_side

Vectors = NDArray[np.float32]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FactorVectors:
    """The implicit factors of both sides, scaled so that known links have the mean score 1, concatenated with smoothed
    features if there are any: an inner product of `vectors [n, d]` is the sum of both.
    """

    graph: Graph
    factors: ImplicitFactors
    scale: float
    features: SmoothedFeatures | None = None

    @classmethod
    def of(cls, graph: Graph, features: SmoothedFeatures | None = None) -> FactorVectors:
        """The vectors of a bipartite graph."""
        factors = factors_of(graph)
        mean = float(factors.scores(graph.edges.numpy()).mean())
        return cls(graph, factors, 1 / np.sqrt(max(mean, 1e-9)), features)

    @cached_property
    def vectors(self) -> Vectors:
        return self._beside(self.factors.vectors, None if self.features is None else self.features.vectors)

    def without_link(self, sources: Integers, removed: Integers) -> Vectors:
        """The vectors `[m, d]` of the sources on the graph that lacks their link with `removed`; the factors
        of the other side are kept, as they change little.
        """
        indptr, indices = self.graph.indptr.numpy(), self.graph.indices.numpy()
        code, out = self.factors.sides.code, np.zeros((len(sources), self.factors.vectors.shape[1]))
        for side in (0, 1):
            at = np.flatnonzero(code[sources] == side)
            rows = [indices[indptr[u] : indptr[u + 1]] for u in sources[at]]
            rows = [row[row != v] for row, v in zip(rows, removed[at], strict=True)]
            start = np.cumsum([0, *map(len, rows)])
            columns = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
            links = csr_array((np.ones(len(columns)), columns, start), shape=(len(at), self.graph.num_nodes))
            other = np.where((code == 1 - side)[:, None], self.factors.vectors, 0)
            out[at] = solve_side(links, other, self.factors.confidence, self.factors.ridge)
        return self._beside(out, None if self.features is None else self.features.without_link(sources, removed))

    def _beside(self, factors: NDArray[np.float64], features: Vectors | None) -> Vectors:
        scaled = (self.scale * factors).astype(np.float32)
        return scaled if features is None else np.concatenate([scaled, features], 1)
