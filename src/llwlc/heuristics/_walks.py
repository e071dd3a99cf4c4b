"""Scores by walks of all lengths: Katz's index and personalised PageRank, both a power series of a symmetric matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.linalg import eigsh
from torch import Tensor

from llwlc.graph._graph import Graph
from llwlc.heuristics._adjacency import adjacency

# entries of a dense block of columns
BLOCK = 1 << 22


def katz(graph: Graph, pairs: Tensor, *, damping: float = 0.5, tolerance: float = 1e-12) -> Tensor:
    """Σ_l β^l (A^l)_uv over walks of all lengths l ≥ 1: the entries of (I − βA)⁻¹ − I, with β = `damping` / λ_max(A).

    Args:
        graph: the links that are known.
        pairs: `[m, 2]`, or any shape `[..., 2]`.
        damping: above 0 and below 1; small favours short walks.
        tolerance: the series is cut where a term is below it.

    Returns:
        Scores `[m]`, or `[...]`.

    >>> path = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
    >>> [round(s, 6) for s in katz(path, torch.tensor([[0, 1], [0, 2]])).tolist()]
    [0.471405, 0.166667]
    """
    matrix = adjacency(graph)
    if not graph.num_edges:
        return torch.zeros(pairs.shape[:-1], dtype=torch.float64)
    return _series(matrix * (damping / _radius(matrix)), pairs, _terms(damping, tolerance))


def rooted_page_rank(graph: Graph, pairs: Tensor, *, teleport: float = 0.15, tolerance: float = 1e-7) -> Tensor:
    """π_u(v) + π_v(u), π_u the PageRank that restarts at u with probability `teleport` (networkx's `pagerank` with
    `personalization`).

    With S = D^−½ A D^−½ and G = `teleport` (I − (1 − `teleport`) S)⁻¹, which is symmetric, π_u(v) = G_uv √(d_v / d_u):
    one row serves both directions.

    Args:
        graph: the links that are known.
        pairs: `[m, 2]`, or any shape `[..., 2]`.
        teleport: the restart probability of a walk.
        tolerance: the series is cut where a term is below it.

    Returns:
        Scores `[m]`, or `[...]`.

    >>> triangle = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 0]]))
    >>> rooted_page_rank(triangle, torch.tensor([[0, 1]])).round(decimals=4).tolist()
    [0.5965]
    """
    degree = np.maximum(graph.degree.double().numpy(), 1)
    scale = 1 / np.sqrt(degree)
    smooth: Any = csr_array(adjacency(graph) * scale[:, None] * scale[None])
    scores = teleport * _series(smooth * (1 - teleport), pairs, _terms(1 - teleport, tolerance))
    ends = torch.from_numpy(degree)[pairs]
    same = pairs[..., 0] == pairs[..., 1]
    return (scores + teleport * same) * ends.sum(-1) / ends.prod(-1).sqrt()


def _terms(factor: float, tolerance: float) -> int:
    return math.ceil(math.log(tolerance) / math.log(factor))


def _series(matrix: Any, pairs: Tensor, terms: int) -> Tensor:
    """Entries (u, v) of M + M² + … of a symmetric sparse M, by columns of the smaller end: both directions give the
    same number.
    """
    flat = pairs.reshape(-1, 2)
    low, high = flat.amin(1), flat.amax(1)
    sources, column = torch.unique(low, return_inverse=True)
    out = torch.zeros(len(flat), dtype=torch.float64)
    size = max(1, BLOCK // max(matrix.shape[0], 1))
    for begin in range(0, len(sources), size):
        block = sources[begin : begin + size].numpy()
        inside = ((column >= begin) & (column < begin + size)).nonzero().view(-1)
        walks = _columns(matrix, block, terms)
        out[inside] = torch.from_numpy(walks[high[inside].numpy(), (column[inside] - begin).numpy()])
    return out.reshape(pairs.shape[:-1])


def _columns(matrix: Any, nodes: Any, terms: int) -> Any:
    """Columns `nodes` of M + M² + …, by Horner's rule."""
    at = nodes, np.arange(len(nodes))
    total = np.zeros((matrix.shape[0], len(nodes)))
    for _ in range(terms):
        total[at] += 1
        total = matrix @ total
    return total


def _radius(matrix: Any) -> float:
    """The largest eigenvalue of the adjacency matrix."""
    if matrix.shape[0] < 100:
        return float(np.linalg.eigvalsh(matrix.toarray())[-1])
    return float(eigsh(matrix, k=1, which="LA", v0=np.ones(matrix.shape[0]), return_eigenvectors=False)[0])
