"""The statistics of a pair that heuristics use, in one compiled pass: common neighbours, their weighted sums, the
degrees of the ends.

All are computed as if the pair had no link, so that the link to predict does not influence its own prediction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from llwlc._support.compiler import in_order
from llwlc._support.threads import choose_num_threads, run_over_links
from llwlc.errors import InputError
from llwlc.graph._graph import Graph

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
STATISTICS = ("common neighbours", "Adamic–Adar", "resource allocation", "smaller degree", "larger degree")
LONG_ROW = 16
"""A row that is this many times longer than the other is searched for the other's entries instead of read: a hub costs
what its partner has.
"""


def compute_pair_statistics(graph: Graph, pairs: Integers) -> Floats:
    """`STATISTICS` of the pairs `[m, 2]` on the graph without their own link, `[m, 5]`, symmetric in the ends.

    >>> import torch
    >>> square = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 0]]))
    >>> compute_pair_statistics(square, np.array([[0, 2], [0, 1]])).round(2).tolist()
    [[2.0, 2.89, 1.0, 2.0, 2.0], [0.0, 0.0, 0.0, 1.0, 1.0]]
    """
    indptr, indices = graph.indptr.cpu().numpy(), graph.indices.cpu().numpy()
    pairs = check_inside(pairs, graph.num_nodes)
    out = np.zeros((len(pairs), len(STATISTICS)))
    run_over_links(
        len(pairs),
        choose_num_threads(len(pairs), 0),
        lambda: lambda begin, end: _fill(indptr, indices, pairs[begin:end], out[begin:end]),
    )
    return out


def check_inside(pairs: Integers, num_nodes: int) -> Integers:
    """The pairs, contiguous; one that names a node outside the graph is refused: compiled code does not check
    indices.
    """
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= num_nodes):
        bad = pairs[(pairs < 0).any(1) | (pairs >= num_nodes).any(1)][0].tolist()
        raise InputError(f"pair {tuple(bad)} names a node outside the graph, whose nodes are 0 to {num_nodes - 1}")
    return np.ascontiguousarray(pairs)


@in_order
def _fill(indptr: Integers, indices: Integers, pairs: Integers, out: Floats) -> None:
    for i in range(len(pairs)):
        u, v = min(pairs[i, 0], pairs[i, 1]), max(pairs[i, 0], pairs[i, 1])
        if indptr[u + 1] - indptr[u] > indptr[v + 1] - indptr[v]:
            u, v = v, u  # u has the shorter row
        a, end_a, b, end_b = indptr[u], indptr[u + 1], indptr[v], indptr[v + 1]
        degree_u, degree_v = end_a - a, end_b - b
        searched = degree_v > LONG_ROW * degree_u
        # common neighbours by ascending number, whichever row is the longer, so that the sums have the same bits
        while a < end_a and b < end_b:
            x = indices[a]
            if searched:
                b += np.searchsorted(indices[b:end_b], x)
            else:
                while b < end_b and indices[b] < x:
                    b += 1
            if b < end_b and indices[b] == x:
                degree = indptr[x + 1] - indptr[x]
                out[i, 0] += 1
                out[i, 1] += 1 / np.log(max(degree, 2))
                out[i, 2] += 1 / degree
            a += 1
        row = indices[indptr[u] : end_a]
        at = np.searchsorted(row, v)
        linked = at < len(row) and row[at] == v
        out[i, 3], out[i, 4] = degree_u - linked, degree_v - linked


def row_cosines(indptr: Integers, indices: Integers, data: Floats, pairs: Integers) -> Floats:
    """⟨row u, row v⟩ of sparse rows of length one `[n, F]` in CSR with sorted columns, for each pair: `[m]`."""
    pairs, out = check_inside(pairs, len(indptr) - 1), np.zeros(len(pairs))
    run_over_links(
        len(pairs),
        choose_num_threads(len(pairs), 0),
        lambda: lambda begin, end: _products(indptr, indices, data, pairs[begin:end], out[begin:end]),
    )
    return out


@in_order
def _products(indptr: Integers, indices: Integers, data: Floats, pairs: Integers, out: Floats) -> None:
    for i in range(len(pairs)):
        u, v = min(pairs[i, 0], pairs[i, 1]), max(pairs[i, 0], pairs[i, 1])
        a, end_a, b, end_b = indptr[u], indptr[u + 1], indptr[v], indptr[v + 1]
        while a < end_a and b < end_b:
            if indices[a] == indices[b]:
                out[i] += data[a] * data[b]
                a, b = a + 1, b + 1
            elif indices[a] < indices[b]:
                a += 1
            else:
                b += 1
