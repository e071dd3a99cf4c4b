"""Scores by the walks of two, three and four steps between the ends of a pair, in one compiled pass.

A walk of four steps is two walks of two steps that meet: from each end, the nodes at two steps are weighed once, and
three and four steps are sums over them. All is computed on the graph without the pair's own link.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc._support.compiler import in_order
from llwlc._support.threads import choose_num_threads, run_over_links
from llwlc.graph._graph import Graph
from llwlc.heuristics._pair_statistics import check_inside

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LONGEST_ROW = 256
"""Of a node with more neighbours, walks take those of the lowest degree, which have the largest weights; so a pair
costs at most 2 · 256² steps, however large the hubs.
"""
WALKS = ("paths of length three", "degree-normalised", "walks of two steps", "of three steps", "of four steps")


def three_paths(graph: Graph, pairs: Tensor, *, longest_row: int = LONGEST_ROW) -> Tensor:
    """Σ a_ux a_xy a_yv / √(d_x d_y), the paths of length three normalised by degree ("L3", Kovács et al. 2019): two
    nodes are likely linked where one resembles the other's neighbours, as proteins that bind and both sides of a
    bipartite graph.

    Args:
        graph: the links that are known; the pair's own does not enter.
        pairs: `[m, 2]`, or any shape `[..., 2]`.
        longest_row: maximum number of neighbours that are taken of a node, those of lowest degree.

    Returns:
        Scores `[m]`, or `[...]`.

    >>> path = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3]]))
    >>> three_paths(path, torch.tensor([[0, 3], [0, 2]])).tolist()
    [0.5, 0.0]
    """
    return _walk_score(graph, pairs, longest_row)[..., WALKS.index("degree-normalised")]


def local_random_walk(graph: Graph, pairs: Tensor, *, longest_row: int = LONGEST_ROW) -> Tensor:
    """Σ_t d_u P^t_uv for t = 1 to 4, P = D⁻¹A: random walks of up to four steps, superposed (Liu & Lü 2010; their
    factor 1/m, equal for all pairs, is left out). d_u P^t_uv is symmetric in u and v.

    Args:
        graph: the links that are known; the pair's own does not enter, so that t = 1 adds nothing.
        pairs: `[m, 2]`, or any shape `[..., 2]`.
        longest_row: maximum number of neighbours that are taken of a node, those of lowest degree.

    Returns:
        Scores `[m]`, or `[...]`.

    >>> path = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3]]))
    >>> local_random_walk(path, torch.tensor([[0, 3], [0, 2]])).tolist()
    [0.25, 1.125]
    """
    return _walk_score(graph, pairs, longest_row)[..., WALKS.index("walks of two steps") :].sum(-1)


def _walk_score(graph: Graph, pairs: Tensor, longest_row: int) -> Tensor:
    found = compute_walk_statistics(graph, pairs.reshape(-1, 2).cpu().numpy(), longest_row)
    return torch.from_numpy(found).reshape(*pairs.shape[:-1], len(WALKS))


def compute_walk_statistics(graph: Graph, pairs: Integers, longest_row: int = LONGEST_ROW) -> Floats:
    """`WALKS` of the pairs `[m, 2]` on the graph without their own link, `[m, 5]`, symmetric in the ends.

    >>> square = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 0]]))
    >>> compute_walk_statistics(square, np.array([[0, 1]])).tolist()
    [[1.0, 0.5, 0.0, 0.25, 0.0]]
    """
    pairs = check_inside(pairs, graph.num_nodes)
    out = np.zeros((len(pairs), len(WALKS)))
    indptr, indices = graph.indptr.cpu().numpy(), graph.indices.cpu().numpy()
    degree = np.diff(indptr)
    rows = shorten_rows(indptr, indices, longest_row)
    n = graph.num_nodes

    def make_work() -> Callable[[int, int], None]:
        weights, touched = np.zeros((n, 4)), np.empty(n, dtype=np.int64)
        return lambda begin, end: _fill(
            *rows, indptr, indices, degree, pairs[begin:end], weights, touched, out[begin:end]
        )

    run_over_links(len(pairs), choose_num_threads(len(pairs), 40 * n), make_work)
    return out


def shorten_rows(indptr: Integers, indices: Integers, longest: int) -> tuple[Integers, Integers]:
    """The rows of a CSR graph with at most `longest` neighbours each, those of lowest degree, ties by number."""
    degree = np.diff(indptr)
    if not len(degree) or degree.max() <= longest:
        return indptr, indices
    keep = np.ones(len(indices), dtype=np.bool_)
    for hub in np.flatnonzero(degree > longest):
        row = slice(indptr[hub], indptr[hub + 1])
        keep[row] = False
        keep[indptr[hub] + np.argsort(degree[indices[row]], kind="stable")[:longest]] = True
    short = np.zeros_like(indptr)
    np.cumsum(np.minimum(degree, longest), out=short[1:])
    return short, indices[keep]


@in_order
def _fill(
    rows: Integers,
    columns: Integers,
    indptr: Integers,
    indices: Integers,
    degree: Integers,
    pairs: Integers,
    weights: Floats,
    touched: Integers,
    out: Floats,
) -> None:
    # weights of a node z at two steps: number of paths u–w–z, Σ 1/√d_w, Σ 1/d_w, and Σ 1/d_w from v
    for i in range(len(pairs)):
        u, v = min(pairs[i, 0], pairs[i, 1]), max(pairs[i, 0], pairs[i, 1])
        if u == v:
            continue
        row = indices[indptr[u] : indptr[u + 1]]
        at = np.searchsorted(row, v)
        linked = at < len(row) and row[at] == v
        count = 0
        for w in columns[rows[u] : rows[u + 1]]:
            if w != v:
                inverse = 1 / degree[w]
                root = np.sqrt(inverse)
                for z in columns[rows[w] : rows[w + 1]]:
                    if weights[z, 0] == 0:
                        touched[count] = z
                        count += 1
                    weights[z, 0] += 1
                    weights[z, 1] += root
                    weights[z, 2] += inverse
        for z in columns[rows[v] : rows[v + 1]]:
            if z != u:
                out[i, 0] += weights[z, 0]
                out[i, 1] += weights[z, 1] / np.sqrt(degree[z])
                out[i, 3] += weights[z, 2] / degree[z]
                inverse = 1 / degree[z]
                for y in columns[rows[z] : rows[z + 1]]:
                    weights[y, 3] += inverse
        out[i, 2] = (weights[v, 2] + weights[u, 3]) / 2
        for k in range(count):
            z = touched[k]
            left = degree[z] - (linked and z in (u, v))
            if weights[z, 3] > 0:
                out[i, 4] += weights[z, 2] * weights[z, 3] / left
            for j in range(4):
                weights[z, j] = 0
        for z in columns[rows[v] : rows[v + 1]]:
            if z != u:
                for y in columns[rows[z] : rows[z + 1]]:
                    weights[y, 3] = 0
