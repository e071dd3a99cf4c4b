"""Statistics of the nodes of a graph, all in time that is linear in its links."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from llwlc._support.compiler import in_order
from llwlc.graph._graph import Graph
from llwlc.heuristics._adjacency import adjacency
from llwlc.heuristics._local_walks import shorten_rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
NODE_STATISTICS = (
    "degree",
    "mean degree of neighbours",
    "clustering coefficient",
    "core number",
    "PageRank",
    "nodes of the component",
    "mean degree two steps away",
    "neighbours of degree one",
    "steps to a node of degree one",
    "steps to a node of degree three",
)
LONGEST_ROW = 256
"""Triangles of a node with more neighbours are counted among those of lowest degree."""
PAGE_RANK_STEPS = 60
"""Steps of the power iteration: an error of 0.85⁶⁰ = 6 · 10⁻⁵."""
DAMPING = 0.85


def compute_node_statistics(graph: Graph) -> Floats:
    """`NODE_STATISTICS` of all nodes, `[n, 10]`. Steps lead to the nearest node of that degree, for three of that
    or a higher one; n if there is none in the component. They tell where a line of a road or pipe network breaks off.

    >>> import torch
    >>> paw = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 0], [2, 3]]))
    >>> compute_node_statistics(paw)[:, :4].round(4).tolist()
    [[2.0, 2.5, 1.0, 2.0], [2.0, 2.5, 1.0, 2.0], [3.0, 1.6667, 0.3333, 2.0], [1.0, 3.0, 0.0, 1.0]]
    """
    indptr, indices = graph.indptr.cpu().numpy(), graph.indices.cpu().numpy()
    matrix, degree = adjacency(graph), np.diff(indptr).astype(np.float64)
    _, part = connected_components(matrix, directed=False)
    size = np.bincount(part, minlength=1)[part] if len(part) else part
    rows = shorten_rows(indptr, indices, LONGEST_ROW)
    around = matrix @ degree
    columns = (
        degree,
        around / np.maximum(degree, 1),
        _count_triangles(*rows, indptr, indices),
        _peel_cores(indptr, indices),
        _page_rank(matrix, degree),
        size,
        matrix @ around / np.maximum(around, 1),
        matrix @ (degree == 1),
        _count_steps(indptr, indices, degree == 1),
        _count_steps(indptr, indices, degree >= 3),
    )
    return np.stack([np.asarray(column, dtype=np.float64) for column in columns], 1)


def _page_rank(matrix: Any, degree: Floats) -> Floats:
    """PageRank times n, so that its scale does not depend on the size of the graph."""
    n = max(len(degree), 1)
    rank, inverse = np.ones(len(degree)), 1 / np.maximum(degree, 1)
    for _ in range(PAGE_RANK_STEPS):
        stuck = rank[degree == 0].sum() / n
        rank = DAMPING * (matrix @ (rank * inverse) + stuck) + 1 - DAMPING
    return rank


@in_order
def _count_steps(indptr: Integers, indices: Integers, goal: NDArray[np.bool_]) -> Integers:
    """Steps from each node to the nearest of the nodes `goal`, n where none can be reached."""
    n = len(goal)
    out, queue, end = np.full(n, n, dtype=np.int64), np.empty(n, dtype=np.int64), 0
    for u in range(n):
        if goal[u]:
            out[u], queue[end] = 0, u
            end += 1
    head = 0
    while head < end:
        u = queue[head]
        head += 1
        for v in indices[indptr[u] : indptr[u + 1]]:
            if out[v] == n:
                out[v], queue[end] = out[u] + 1, v
                end += 1
    return out


@in_order
def _count_triangles(rows: Integers, columns: Integers, indptr: Integers, indices: Integers) -> Floats:
    """The share of linked pairs among the neighbours of each node (at most `LONGEST_ROW` of them)."""
    out = np.zeros(len(rows) - 1)
    for u in range(len(out)):
        row = columns[rows[u] : rows[u + 1]]
        if len(row) < 2:
            continue
        linked = 0
        for x in row:
            a, b, end_a, end_b = 0, indptr[x], len(row), indptr[x + 1]
            if end_b - b > 16 * end_a:
                other = indices[b:end_b]
                for y in row:
                    at = np.searchsorted(other, y)
                    linked += at < len(other) and other[at] == y
                continue
            while a < end_a and b < end_b:
                if row[a] == indices[b]:
                    linked += 1
                    a, b = a + 1, b + 1
                elif row[a] < indices[b]:
                    a += 1
                else:
                    b += 1
        out[u] = linked / (len(row) * (len(row) - 1))
    return out


@in_order
def _peel_cores(indptr: Integers, indices: Integers) -> Integers:
    """Core numbers, by repeatedly removing the node of lowest degree (Batagelj & Zaveršnik)."""
    n = len(indptr) - 1
    core = np.empty(n, indptr.dtype)
    for u in range(n):  # not `np.diff`, which takes two seconds to compile
        core[u] = indptr[u + 1] - indptr[u]
    start = np.zeros((core.max() if n else 0) + 2, dtype=np.int64)
    for u in range(n):
        start[core[u] + 1] += 1
    start = np.cumsum(start)[:-1]
    order, place, fill = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), start.copy()
    for u in range(n):
        place[u] = fill[core[u]]
        order[place[u]] = u
        fill[core[u]] += 1
    for i in range(n):
        u = order[i]
        for v in indices[indptr[u] : indptr[u + 1]]:
            if core[v] > core[u]:
                first = start[core[v]]
                w = order[first]
                if w != v:
                    order[first], order[place[v]] = v, w
                    place[w], place[v] = place[v], first
                start[core[v]] += 1
                core[v] -= 1
    return core
