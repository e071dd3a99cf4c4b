"""Dense oracles: Laplacians by networkx' definition, null spaces by scipy's SVD, functions of PLP by numpy's eigh."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg
import torch

from llwlc.linalg._basis import Eigenbasis
from llwlc.subgraphs._batch import Subgraphs


def rows(x, b: int):
    """The slice of graph b."""
    return slice(int(x.ptr[b]), int(x.ptr[b + 1]))


def laplacian(subs: Subgraphs, b: int, kind: str = "normalized") -> np.ndarray:
    at, n = int(subs.ptr[b]), int(subs.ptr[b + 1] - subs.ptr[b])
    A = np.zeros((n, n))
    weight = np.ones(len(subs.row)) if subs.weight is None else subs.weight.detach().numpy()
    for i, j, w in zip(subs.row.tolist(), subs.col.tolist(), weight, strict=True):
        if at <= i < at + n:
            A[i - at, j - at] = w
    d = A.sum(1)
    if kind == "combinatorial":
        return np.diag(d) - A
    s = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0)
    return np.diag((d > 0).astype(float)) - s[:, None] * A * s[None]


def null_space(C: np.ndarray | None, n: int) -> np.ndarray:
    """An orthonormal basis of {f : Cᵀf = 0}, by SVD of unit columns."""
    if C is None or C.shape[1] == 0 or not C.any():
        return np.eye(n)
    size = np.linalg.norm(C, axis=0)
    return scipy.linalg.null_space((C / np.where(size > 0, size, 1)).T, rcond=1e-12)


def eigenvalues(L: np.ndarray, C: np.ndarray | None) -> np.ndarray:
    N = null_space(C, len(L))
    return np.linalg.eigvalsh(N.T @ L @ N) if N.shape[1] else np.zeros(0)


def function(L: np.ndarray, C: np.ndarray | None, f: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """f(PLP)P, dense."""
    N = null_space(C, len(L))
    values, U = np.linalg.eigh(N.T @ L @ N)
    return (N @ U * f(values)) @ (N @ U).T


def orthogonality(basis: Eigenbasis) -> float:
    """max |VᵀV − I| over live columns and |V| over dead ones, in float64 by numpy (torch's one-thread product loses
    four digits at n = 1e5).
    """
    worst = 0.0
    for b in range(basis.num_graphs):
        V = basis.vectors[rows(basis, b)].double().numpy()
        worst = max(worst, np.abs(V.T @ V - np.diag(basis.mask[b].double().numpy())).max(initial=0))
    return worst


def leak(basis: Eigenbasis, columns: torch.Tensor) -> float:
    """max |CᵀV|, columns normalised graph by graph."""
    worst = 0.0
    for b in range(basis.num_graphs):
        C = columns[rows(basis, b)].double().numpy()
        size = np.linalg.norm(C, axis=0)
        V = basis.vectors[rows(basis, b)].double().numpy()
        worst = max(worst, np.abs((C / np.where(size > 0, size, 1)).T @ V).max(initial=0))
    return worst
