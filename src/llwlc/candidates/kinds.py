"""Which kinds of nodes a link may join: all, two kinds that were named, or the two sides of a bipartite graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from llwlc.errors import InputError
from llwlc.graph.graph import Graph
from llwlc.heuristics.products import adjacency
from llwlc.support.compiler import exact

Integers = NDArray[np.int64]
EVIDENCE = 20
"""Independent cycles, all of even length, that make a graph bipartite by design: a graph with fewer, a tree say, may be so by chance."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """`kind [n]`, and the kind of the partners that a node of each kind has, −1 for none: links join `kind` and `partner[kind]`."""

    kind: Integers
    partner: Integers
    sides: bool = False
    """Whether the kinds are the sides of a graph that was found to be bipartite."""

    @classmethod
    def any(cls, num_nodes: int) -> Kinds:
        return cls(np.zeros(num_nodes, dtype=np.int64), np.zeros(1, dtype=np.int64))

    @classmethod
    def between(cls, labels: Sequence[str], first: str, second: str) -> Kinds:
        """Links between nodes of two labels, or within one where both are the same."""
        names = np.asarray(labels)
        for label in (first, second):
            if not (names == label).any():
                known = sorted(set(labels))
                raise InputError(f"no node is of the kind {label!r}; there are {', '.join(known[:10])}{', …' if len(known) > 10 else ''}")
        kind = np.full(len(names), 2, dtype=np.int64)
        kind[names == second], kind[names == first] = 1, 0
        return cls(kind, np.array([0, -1, -1] if first == second else [1, 0, -1]))

    def allowed(self, pairs: Integers) -> NDArray[np.bool_]:
        """Which of the pairs `[m, 2]` join kinds that may be joined."""
        result: NDArray[np.bool_] = self.partner[self.kind[pairs[:, 0]]] == self.kind[pairs[:, 1]]
        return result


def kinds_of(graph: Graph) -> Kinds:
    """The sides where the graph is bipartite by design, else one kind. A node without links belongs to neither side."""
    sides = _two_colouring(graph)
    if sides is None:
        return Kinds.any(graph.num_nodes)
    return Kinds(sides, np.array([1, 0, -1]), sides=True)


def _two_colouring(graph: Graph) -> Integers | None:
    parts = connected_components(adjacency(graph), directed=False)[0]
    if graph.num_edges - graph.num_nodes + parts < EVIDENCE:
        return None
    side = np.full(graph.num_nodes, 2, dtype=np.int64)
    return side if _colour(graph.indptr.numpy(), graph.indices.numpy(), side) else None


@exact
def _colour(indptr: Integers, indices: Integers, side: Integers) -> bool:
    """0 and 1 for the nodes that have links, neighbours never alike; False where that cannot be."""
    stack = np.empty(len(side), dtype=np.int64)
    for start in range(len(side)):
        if side[start] != 2 or indptr[start] == indptr[start + 1]:
            continue
        side[start], stack[0], height = 0, start, 1
        while height:
            height -= 1
            u = stack[height]
            for e in range(indptr[u], indptr[u + 1]):
                v = indices[e]
                if side[v] == 2:
                    side[v], stack[height] = 1 - side[u], v
                    height += 1
                elif side[v] == side[u]:
                    return False
    return True
