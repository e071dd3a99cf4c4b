"""Which node types a link may join: all, two types that were named, or the two sides of a bipartite graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.graph._sides import find_sides

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class NodeTypes:
    """The node types as numbers, `codes [n]`, and `linkable [k, k]`, symmetric: which types a link may join.
    `is_bipartite`: they are the sides of a graph found to be bipartite.
    """

    codes: Integers
    linkable: NDArray[np.bool_]
    is_bipartite: bool = False

    @classmethod
    def any(cls, num_nodes: int) -> NodeTypes:
        """One type for all nodes: a link may join any two."""
        return cls(np.zeros(num_nodes, dtype=np.int64), np.ones((1, 1), dtype=bool))

    @classmethod
    def between(cls, labels: Sequence[str], first: str, second: str) -> NodeTypes:
        """Links between nodes of two labels, or within one where both are the same."""
        names, codes = np.unique(np.asarray(labels), return_inverse=True)
        for label in (first, second):
            if label not in names:
                known = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
                raise InputError(f"no node has the type {label!r}: choose from {known}")
        linkable = np.zeros((len(names), len(names)), dtype=bool)
        a, b = (int(np.flatnonzero(names == label)[0]) for label in (first, second))
        linkable[a, b] = linkable[b, a] = True
        return cls(codes.astype(np.int64), linkable)

    @classmethod
    def from_links(cls, labels: Sequence[str], graph: Graph) -> NodeTypes:
        """Links between types that some link of the graph already joins."""
        names, codes = np.unique(np.asarray(labels), return_inverse=True)
        ends = codes[graph.edges.numpy()]
        linkable = np.zeros((len(names), len(names)), dtype=bool)
        linkable[ends[:, 0], ends[:, 1]] = linkable[ends[:, 1], ends[:, 0]] = True
        return cls(codes.astype(np.int64), linkable)

    def across(self, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NodeTypes:
        """These rules and one more: a link joins a node of the set `first [n]` with one of `second [n]`.

        >>> one, all_nodes = np.array([True, False, False]), np.ones(3, dtype=bool)
        >>> star = NodeTypes.any(3).across(one, all_nodes)
        >>> star.linkable[star.codes][:, star.codes].tolist()
        [[True, True, True], [True, False, False], [True, False, False]]
        """
        side = np.arange(4)  # 1 for the first set, 2 for the second, 3 for both
        joined = (np.outer(side & 1, side & 2) > 0) | (np.outer(side & 2, side & 1) > 0)
        linkable: NDArray[np.bool_] = np.kron(joined, self.linkable)
        kinds, codes = np.unique((first + 2 * second) * len(self.linkable) + self.codes, return_inverse=True)
        return NodeTypes(codes.astype(np.int64), linkable[np.ix_(kinds, kinds)], self.is_bipartite)

    @property
    def linkable_nodes(self) -> Integers:
        """The nodes that a link may join with any node at all, ascending."""
        usable: NDArray[np.bool_] = np.logical_or.reduce(self.linkable, axis=1)
        return np.flatnonzero(usable[self.codes])


def detect_node_types(graph: Graph) -> NodeTypes:
    """The sides where the graph is bipartite by design, else one type. A node without links belongs to neither side."""
    sides = find_sides(graph)
    if sides is None or not sides.by_design:
        return NodeTypes.any(graph.num_nodes)
    linkable = np.zeros((3, 3), dtype=bool)
    linkable[0, 1] = linkable[1, 0] = True
    return NodeTypes(sides.code, linkable, is_bipartite=True)
