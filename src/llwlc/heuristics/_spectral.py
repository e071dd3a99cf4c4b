"""Scores by the leading eigenvectors of the adjacency matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from torch import Tensor

from llwlc._support.threads import use_one_blas_thread
from llwlc.graph._graph import Graph
from llwlc.heuristics._adjacency import adjacency
from llwlc.heuristics._pair_statistics import check_inside

Floats = NDArray[np.float64]
RANK = 16
MOST_DENSE = 300
"""Nodes up to which all eigenvectors are computed."""
MOST_RESTARTS = 100
"""Restarts of ARPACK; pairs of eigenvalue and vector that have not converged by then are left out."""
TOLERANCE = 1e-6


def spectral_dot_product(graph: Graph, pairs: Tensor, *, rank: int = RANK) -> Tensor:
    """Σ_k s_k φ_k(u) φ_k(v) over the `rank` eigenvalues of the adjacency matrix that are largest in absolute value,
    with s_k = sign(λ_k) (|λ_k| − |λ_(rank+1)|): an entry of the best approximation of low rank, shrunk so that no
    eigenspace is cut. It depends neither on signs nor on the choice of vectors in an eigenspace.

    The pair's own link stays in the matrix, as in `katz` and `rooted_page_rank`.

    Args:
        graph: the links that are known.
        pairs: `[m, 2]`, or any shape `[..., 2]`.
        rank: the number of eigenvectors.

    Returns:
        Scores `[m]`, or `[...]`.

    >>> square = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 0]]))
    >>> spectral_dot_product(square, torch.tensor([[0, 1], [0, 2]]), rank=2).round(decimals=4).tolist()
    [1.0, 0.0]
    """
    flat = check_inside(pairs.reshape(-1, 2).cpu().numpy(), graph.num_nodes)
    values, vectors = leading_eigenpairs(adjacency(graph), rank + 1)
    shrunk = shrink_eigenvalues(values, rank)
    low, high = flat.min(1), flat.max(1)
    return torch.from_numpy(np.einsum("ik,k,ik->i", vectors[low], shrunk, vectors[high])).reshape(pairs.shape[:-1])


def shrink_eigenvalues(values: Floats, rank: int) -> Floats:
    """sign(λ) (|λ| − |λ_(rank+1)|)₊ of eigenvalues `[k]` in falling absolute value, `[k]`."""
    size = np.abs(values)
    cut = size[rank] if len(values) > rank else 0.0
    return np.asarray(np.sign(values) * np.maximum(size - cut, 0))


def leading_eigenpairs(matrix: Any, count: int) -> tuple[Floats, Floats]:
    """The `count` eigenvalues of a symmetric sparse matrix that are largest in absolute value, in falling order, and
    their vectors `[n, count]`; fewer where there are fewer, or where the others do not converge. The same bits for any
    number of threads.
    """
    n = matrix.shape[0]
    with use_one_blas_thread():
        if n <= max(MOST_DENSE, 2 * count):
            values, vectors = np.linalg.eigh(matrix.toarray())
        else:
            start = np.random.default_rng(0).normal(size=n)
            try:
                values, vectors = eigsh(matrix, k=count, v0=start, tol=TOLERANCE, maxiter=MOST_RESTARTS)
            except ArpackNoConvergence as stopped:
                values, vectors = stopped.eigenvalues, stopped.eigenvectors
    order = np.argsort(-np.abs(values), kind="stable")[:count]
    return values[order], np.ascontiguousarray(vectors[:, order])
