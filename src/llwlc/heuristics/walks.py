"""Katz's index: all walks between two nodes, longer ones counting less."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.sparse.linalg import eigsh
from torch import Tensor

from llwlc.graph.graph import Graph
from llwlc.heuristics.products import adjacency

# entries of a dense block of rows
BLOCK = 1 << 24


def katz(graph: Graph, pairs: Tensor, *, damping: float = 0.5, tolerance: float = 1e-12) -> Tensor:
    """Σ_l β^l (A^l)_uv over walks of all lengths l ≥ 1, `[m]`: the entries of (I − βA)⁻¹ − I, with β = `damping` / λ_max(A).

    Any shape `[..., 2]` gives `[...]`. The series is cut where what is left is below `tolerance` of the scale β.

    >>> path = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
    >>> [round(s, 6) for s in katz(path, torch.tensor([[0, 1], [0, 2]])).tolist()]
    [0.471405, 0.166667]
    """
    matrix, flat = adjacency(graph), pairs.reshape(-1, 2)
    if not graph.num_edges:
        return torch.zeros(pairs.shape[:-1], dtype=torch.float64)
    beta = damping / _radius(matrix)
    terms = int(np.ceil(np.log(tolerance) / np.log(damping)))
    # one block of rows of the matrix function at a time, by the smaller end, so that both directions give the same number
    low, high = flat.amin(1), flat.amax(1)
    sources, row = torch.unique(low, return_inverse=True)
    out = torch.zeros(len(flat), dtype=torch.float64)
    size = max(1, BLOCK // graph.num_nodes)
    for begin in range(0, len(sources), size):
        block = sources[begin : begin + size]
        mine = ((row >= begin) & (row < begin + size)).nonzero().view(-1)
        found = _rows(matrix, block.numpy(), beta, terms)
        out[mine] = torch.from_numpy(found[high[mine].numpy(), (row[mine] - begin).numpy()])
    return out.reshape(pairs.shape[:-1])


def _rows(matrix: Any, nodes: Any, beta: float, terms: int) -> Any:
    """Columns `nodes` of Σ_l (βA)^l, l = 1 … terms, by Horner's rule."""
    start = np.zeros((matrix.shape[0], len(nodes)))
    start[nodes, np.arange(len(nodes))] = 1
    total = np.zeros_like(start)
    for _ in range(terms):
        total = beta * (matrix @ (start + total))
    return total


def _radius(matrix: Any) -> float:
    """The largest eigenvalue of the adjacency matrix."""
    if matrix.shape[0] < 100:
        return float(np.linalg.eigvalsh(matrix.toarray())[-1])
    start = np.ones(matrix.shape[0])
    return float(eigsh(matrix, k=1, which="LA", v0=start, return_eigenvectors=False)[0])
