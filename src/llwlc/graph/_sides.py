"""The two sides of a bipartite graph, such as users and items, by a colouring of its nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from llwlc._support.compiler import exact
from llwlc.graph._graph import Graph

Integers = NDArray[np.int64]
MIN_EVEN_CYCLES = 20
"""With at least this many independent cycles, all of even length, a graph counts as bipartite by design; with fewer, as
in a tree, it may be so by chance.
"""
NO_SIDE = 2


class Sides(NamedTuple):
    """`code [n]`: 0 and 1 for the two sides, `NO_SIDE` for a node without links; `even_cycles`: the number of
    independent cycles, all of even length. In each component, the node of the smallest number is of side 0.
    """

    code: Integers
    even_cycles: int

    @property
    def by_design(self) -> bool:
        """Whether there are so many even cycles that the graph is bipartite by design."""
        return self.even_cycles >= MIN_EVEN_CYCLES


def find_sides(graph: Graph) -> Sides | None:
    """The sides of a graph with links, None where it has an odd cycle.

    >>> import torch
    >>> square = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 0]]))
    >>> find_sides(square).code.tolist(), find_sides(square).even_cycles
    ([0, 1, 0, 1], 1)
    """
    code = np.full(graph.num_nodes, NO_SIDE, dtype=np.int64)
    parts = _colour(graph.indptr.cpu().numpy(), graph.indices.cpu().numpy(), code) if graph.num_edges else 0
    return Sides(code, graph.num_edges - graph.num_nodes + parts) if parts else None


def is_two_sided(graph: Graph) -> bool:
    """Whether a graph is bipartite by design."""
    sides = find_sides(graph)
    return sides is not None and sides.by_design


@exact
def _colour(indptr: Integers, indices: Integers, side: Integers) -> int:
    """Colours nodes that have links with 0 and 1, neighbours differently; returns the number of connected components, 0
    if the graph is not bipartite.
    """
    stack, parts = np.empty(len(side), dtype=np.int64), 0
    for start in range(len(side)):
        if side[start] != 2:
            continue
        parts += 1
        if indptr[start] == indptr[start + 1]:
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
                    return 0
    return parts
