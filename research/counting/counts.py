"""Exact counts of small patterns in a graph, as a whole, through each node and through each edge, by enumeration.

A pattern is a connected graph; what is counted are its copies as subgraphs, not only the induced ones. All injective
homomorphisms are visited, a vertex of the pattern after the other, each among the neighbours of an earlier one; each
copy is visited once for each automorphism.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

Edges = tuple[tuple[int, int], ...]


def make_cycle(length: int) -> Edges:
    """The edges of a cycle."""
    return tuple((i, (i + 1) % length) for i in range(length))


PATTERNS: dict[str, Edges] = {
    **{f"{length}-cycle": make_cycle(length) for length in (3, 4, 5, 6)},
    "tailed triangle": (*make_cycle(3), (2, 3)),
    "chordal 4-cycle": (*make_cycle(4), (0, 2)),
    "4-clique": (*make_cycle(4), (0, 2), (1, 3)),
    "4-path": ((0, 1), (1, 2), (2, 3)),
    "chordal 5-cycle": (*make_cycle(5), (0, 2)),
}
"""The edges of each pattern; a vertex stands behind one of its neighbours. The chordal 5-cycle is also known as the
triangle-rectangle."""
CYCLES = tuple(name for name in PATTERNS if name.endswith("-cycle") and "chordal" not in name)
LEVELS = ("graph", "node", "edge")


class Counts(NamedTuple):
    """Copies in the whole graph; through each node, `node [n]`; through each edge, `edge [n, n]`."""

    graph: float
    node: np.ndarray
    edge: np.ndarray


def count_copies(adjacency: np.ndarray, pattern: str) -> Counts:
    """The copies of a pattern of `PATTERNS` in a graph with this adjacency matrix.

    >>> wheel = np.array([[0, 1, 1, 1, 1], [1, 0, 1, 0, 1], [1, 1, 0, 1, 0], [1, 0, 1, 0, 1], [1, 1, 0, 1, 0]])
    >>> found = count_copies(wheel, "3-cycle")
    >>> found.graph, found.node.tolist(), found.edge[0].tolist()
    (4.0, [4.0, 2.0, 2.0, 2.0, 2.0], [0.0, 2.0, 2.0, 2.0, 2.0])
    """
    wanted = _as_matrix(PATTERNS[pattern])
    total, node, edge = _visit(np.ascontiguousarray(adjacency, dtype=np.int64), wanted)
    same = _visit(wanted, wanted)[0]  # automorphisms
    return Counts(total / same, node / same, edge / same)


def _as_matrix(edges: Edges) -> np.ndarray:
    size = 1 + max(map(max, edges))
    matrix = np.zeros((size, size), dtype=np.int64)
    for i, j in edges:
        matrix[i, j] = matrix[j, i] = 1
    return matrix


@numba.njit  # type: ignore[untyped-decorator]
def _visit(graph: np.ndarray, pattern: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """The number of injective homomorphisms, and of those that use each node and each edge in either direction."""
    n, k = len(graph), len(pattern)
    before = np.zeros(k, dtype=np.int64)  # an earlier neighbour of each vertex of the pattern
    for i in range(1, k):
        before[i] = np.nonzero(pattern[i, :i])[0][0]
    degree = graph.sum(1)
    neighbors = np.zeros((n, max(degree.max(), 1)), dtype=np.int64)
    for u in range(n):
        neighbors[u, : degree[u]] = np.nonzero(graph[u])[0]
    node, edge, total = np.zeros(n), np.zeros((n, n)), 0
    image, turn, used = np.full(k, -1), np.full(k, -1), np.zeros(n, dtype=np.bool_)
    at = 0
    while at >= 0:
        if image[at] >= 0:
            used[image[at]] = False
            image[at] = -1
        turn[at] += 1
        count = n if at == 0 else degree[image[before[at]]]
        if turn[at] == count:
            turn[at] = -1
            at -= 1
            continue
        u = turn[at] if at == 0 else neighbors[image[before[at]], turn[at]]
        fits = not used[u]
        for j in range(at):
            fits = fits and graph[u, image[j]] >= pattern[at, j]
        if not fits:
            continue
        image[at], used[u] = u, True
        if at < k - 1:
            at += 1
            continue
        total += 1
        for i in range(k):
            node[image[i]] += 1
            for j in range(k):
                edge[image[i], image[j]] += pattern[i, j]
    return total, node, edge
