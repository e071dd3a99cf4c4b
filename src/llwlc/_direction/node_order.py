"""Node levels by which links point downwards, and leading singular vectors of the directed adjacency matrix."""

from __future__ import annotations

import numpy as np
import scipy.sparse.linalg
from scipy.sparse import csr_array, diags_array

from llwlc._direction.arcs import Floats

RANK = 8
"""Number of leading singular vectors."""
DENSE_NODES = 256
"""Maximum number of nodes for which singular vectors are computed by LAPACK."""


def node_levels(arcs: csr_array) -> Floats:
    """The level `[n]` of each node, such that links point, as nearly as possible, from a level to the next lower one.

    The solution of (D + I − A − Aᵀ) s = d_out − d_in, the least squares of Σ (s_u − s_v − 1)² over all links u → v
    that point one way, plus Σ s² (SpringRank: De Bacco, Larremore, Moore 2018).

    >>> chain = csr_array(np.array([[0, 1.0, 0], [0, 0, 1], [0, 0, 0]]))
    >>> node_levels(chain).round(2).tolist()
    [0.5, 0.0, -0.5]
    """
    arcs = (arcs - arcs.multiply(arcs.T)).tocsr()
    arcs.eliminate_zeros()
    out, into = degrees(arcs)
    matrix = diags_array(out + into + 1) - (arcs + arcs.T)
    scale = diags_array(1 / (out + into + 1))
    levels, _ = scipy.sparse.linalg.cg(matrix.tocsr(), out - into, rtol=1e-8, maxiter=1000, M=scale)
    return np.asarray(levels)


def leading_patterns(arcs: csr_array) -> tuple[Floats, Floats]:
    """Two matrices `[n, k]` with L_u · R_v, the entries of a low-rank approximation of the adjacency matrix, computed
    after each entry is divided by the square root of the out-degree of its row and of the in-degree of its column.
    """
    out, into = degrees(arcs)
    scaled = (diags_array((out + 1) ** -0.5) @ arcs @ diags_array((into + 1) ** -0.5)).tocsr()
    n = arcs.shape[0]
    k = min(RANK, max(n - 1, 1))
    if n <= DENSE_NODES:
        left, size, right = np.linalg.svd(scaled.toarray(), full_matrices=False)
    elif not arcs.nnz:
        return np.zeros((n, k)), np.zeros((n, k))
    else:
        begin = np.random.default_rng(0).standard_normal(n)
        left, size, right = scipy.sparse.linalg.svds(scaled, k=k, v0=begin)
    best = np.argsort(-size)[:k]
    root = np.sqrt(size[best])
    return left[:, best] * root * (out[:, None] + 1) ** 0.5, right[best].T * root * (into[:, None] + 1) ** 0.5


def degrees(arcs: csr_array) -> tuple[Floats, Floats]:
    """The out-degree and the in-degree of each node, `[n]` each."""
    return np.asarray(arcs.sum(1), dtype=np.float64).ravel(), np.asarray(arcs.sum(0), dtype=np.float64).ravel()
