"""Chung's Neumann eigenvalue of a set of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from llwlc.errors import InputError
from llwlc.linalg._eigsh import constrained_eigsh
from llwlc.linalg._matrix import as_operator


def neumann_eigenvalue(L: Any, nodes: Tensor | Any) -> float:
    """λ_S of a node set S, as in chapter 8 of Chung's *Spectral Graph Theory*: the least of

        Σ_{x∈S} f(x) (Lf)(x) / Σ_{x∈S} f(x)² d_x

    over the functions f on S and its boundary δS (all nodes outside S with a neighbour in S) that have no flow
    through any boundary node, Σ_{y∈S, y~x} w_xy (f(x) − f(y)) = 0 for *each* x ∈ δS, and Σ_{x∈S} f(x) d_x = 0. d are
    degrees in the whole graph. A condition makes f at a boundary node the mean of its neighbours in S, so the
    boundary is eliminated.

    It is another number than the least eigenvalue of Equation 1 in the paper, with the two columns of
    `constraints.neumann`: that has one condition for the sum over all of δS, ‖f‖² in the place of Σ f² d, and f on
    all nodes.

    Args:
        L: the Laplacian D − A, `[n, n]`, of weights that are not negative; dense or sparse, torch, numpy or scipy.
        nodes: S, a mask `[n]` or node numbers `[m]`, at least two of them with a link.

    Returns:
        λ_S, between 0 and 2; 0 where S falls into parts that share no boundary node.

    >>> ring = 2 * torch.eye(6) - torch.eye(6).roll(1, 0) - torch.eye(6).roll(-1, 0)
    >>> round(neumann_eigenvalue(ring, [0, 1, 2]), 6)
    0.5
    """
    operator = as_operator(L.detach() if isinstance(L, Tensor) else L).double()
    n = len(operator.diagonal)
    row, col, value, degree = (
        x.cpu().numpy() for x in (operator.row, operator.col, -operator.value, operator.diagonal)
    )
    sums = np.bincount(row, value, minlength=n)
    if (value < 0).any() or np.abs(sums - degree).max(initial=0) > 1e-6 * max(np.abs(degree).max(initial=0), 1e-300):
        raise InputError(
            "L must be D − A with weights that are not negative: its rows do not sum to 0, or an entry is > 0"
        )
    A = scipy.sparse.csr_array((value, (row, col)), shape=(n, n))
    inside = _mask(nodes, n) & (degree > 0)
    if inside.sum() < 2:
        raise InputError(f"S has {int(inside.sum())} nodes with a link, but λ_S needs two: pass a larger set")
    across = A[inside][:, ~inside]
    total = across.sum(0)
    across = across[:, total > 0]
    K = scipy.sparse.diags_array(degree[inside]) - A[inside][:, inside]
    K = scipy.sparse.csr_array(K - across @ scipy.sparse.diags_array(1 / total[total > 0]) @ across.T)
    pairs = constrained_eigsh((K + K.T) / 2, degree[inside], k=1, M=degree[inside])
    if not bool(pairs.converged.all()):
        raise InputError(f"λ_S did not converge (residual {float(pairs.residual[0]):.2g}): S is too large or too long")
    return max(float(pairs.values[0]), 0.0)


def _mask(nodes: Any, n: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    given = torch.as_tensor(nodes).cpu().numpy()
    if given.dtype == np.bool_ and given.shape == (n,):
        return np.asarray(given)
    if given.ndim != 1 or given.dtype.kind not in "iu" or not ((given >= 0) & (given < n)).all():
        raise InputError(
            f"nodes must be a mask [{n}] or node numbers from 0 to {n - 1}, got {given.dtype} {given.shape}"
        )
    mask = np.zeros(n, dtype=np.bool_)
    mask[given] = True
    return mask
