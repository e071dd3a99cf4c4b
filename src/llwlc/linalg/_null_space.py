"""One symmetric problem on the null space of Cᵀ, in numpy: a matrix or a map, scaled by M, and the projector of C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import torch
from scipy.sparse.linalg import LinearOperator
from torch import Tensor

from llwlc.errors import InputError
from llwlc.linalg._matrix import as_columns, as_linear_map, as_operator, is_matvec, is_scipy
from llwlc.linalg._projector import RANK_TOLERANCE, lsqr_projector
from llwlc.linalg._thick_restart import Array, Map

DENSE_COLUMNS = 10_000_000
"""Entries up to which a sparse C is made dense and factorised; beyond, LSQR."""


@dataclass(frozen=True, eq=False)
class Problem:
    """sign · M^(-1/2) L M^(-1/2) on the null space of (M^(-1/2) C)ᵀ: `apply` without, `project` the projector;
    `matrix` where L is one; `Y [n, r]` an orthonormal basis of the range of C, None where it is too large; `root [n]`
    = M^(1/2), or None; `precondition`, where one was given, in the same coordinates."""

    n: int
    sign: float
    apply: Map
    project: Map
    matrix: scipy.sparse.csr_array | None
    Y: Array | None
    root: Array | None
    rank: int
    is_dense: bool
    device: torch.device
    precondition: Map | None = None

    @property
    def dimension(self) -> int:
        """That of the null space; n where the rank of C is not known."""
        return self.n - self.rank

    def affine(self, a: float, b: float) -> Map:
        """x ↦ P(a x + b L x), in one product where L is a sparse matrix."""
        if self.matrix is None or self.is_dense:
            return lambda x: self.project(a * x + b * self.apply(x))
        combined = scipy.sparse.csr_array(b * self.matrix + a * scipy.sparse.eye_array(self.n))
        return lambda x: self.project(combined @ x)

    def dense_matrix(self) -> Array:
        return np.asarray(self.matrix.toarray() if self.matrix is not None else self.apply(np.eye(self.n)))

    def dense_range(self) -> Array:
        if self.Y is not None:
            return self.Y
        values, vectors = scipy.linalg.eigh(np.eye(self.n) - self.project(np.eye(self.n)))
        return np.asarray(vectors[:, values > 0.5])

    def unscale(self, V: Array, values: Array, residual: Array) -> tuple[Array, Array]:
        """Vectors orthonormal in M, and ‖P(Lv − λMv)‖, P the projector of C itself."""
        if self.root is None:
            return V, residual
        # with z = M^(1/2) v the rest Lv − λMv is M^(1/2) times that of z; its part in range C is then taken away
        rest = self.root[:, None] * (self.sign * self.apply(V) - V * values)
        C = self.dense_range() * self.root[:, None]
        rest = rest - C @ np.linalg.lstsq(C, rest, rcond=None)[0] if C.shape[1] else rest
        return V / self.root[:, None], np.asarray(np.linalg.norm(rest, axis=0))


def make_problem(L: Any, C: Any, M: Any, preconditioner: Any, num_nodes: int | None, sign: float) -> Problem:
    """Checks and converts what a user gives."""
    device = L.device if isinstance(L, Tensor) else torch.device("cpu")
    matrix: scipy.sparse.csr_array | None = None
    if is_matvec(L):
        n = _size(L, C, num_nodes)
        apply = _map_of(L, n)
    else:
        matrix = _symmetric_matrix(L, "L")
        n = matrix.shape[0]
    columns = as_columns(C.detach() if isinstance(C, Tensor) else C, n)
    root = _root(M, n)
    if root is not None:
        scale = scipy.sparse.diags_array(1 / root)
        if matrix is not None:
            matrix = scipy.sparse.csr_array(scale @ matrix @ scale)
        else:
            plain = apply
            apply = lambda x: (plain((x.T / root).T).T / root).T  # noqa: E731
        columns = torch.as_tensor(scale @ columns.cpu().numpy()) if isinstance(columns, Tensor) else scale @ columns
    dense = matrix is not None and matrix.nnz > 0.2 * n * n
    if matrix is not None:
        matrix = matrix * sign
        apply = (matrix.toarray() if dense else matrix).__matmul__
    elif sign < 0:
        upward = apply
        apply = lambda x: -upward(x)  # noqa: E731
    precondition = None if preconditioner is None else _preconditioner(preconditioner, n, root)
    if not isinstance(columns, Tensor) and columns.shape[0] * columns.shape[1] > DENSE_COLUMNS:
        inner = lsqr_projector(columns)
        project: Map = lambda x: inner(torch.as_tensor(x.reshape(n, -1))[None])[0].numpy().reshape(x.shape)  # noqa: E731
        return Problem(n, sign, apply, project, matrix, None, root, 0, dense, device, precondition)
    Y = _range(columns.cpu().numpy() if isinstance(columns, Tensor) else columns.toarray())
    project = (lambda x: x - Y @ (Y.T @ x)) if Y.shape[1] else (lambda x: x)
    return Problem(n, sign, apply, project, matrix, Y, root, Y.shape[1], dense, device, precondition)


def _symmetric_matrix(given: Any, name: str) -> scipy.sparse.csr_array:
    operator = as_operator(given.detach() if isinstance(given, Tensor) else given, name).double()
    n = len(operator.diagonal)
    row, col, value = (x.cpu().numpy() for x in (operator.row, operator.col, operator.value))
    matrix = scipy.sparse.csr_array((value, (row.astype(np.int32), col.astype(np.int32))), shape=(n, n))
    return scipy.sparse.csr_array(matrix + scipy.sparse.diags_array(operator.diagonal.cpu().numpy()))


def _preconditioner(given: Any, n: int, root: Array | None) -> Map:
    """T, or M^(1/2) T M^(1/2): what stands for the inverse of L in the coordinates of M."""
    if is_matvec(given):
        apply = _map_of(given, n, "preconditioner")
    else:
        matrix = _symmetric_matrix(given, "preconditioner")
        if matrix.shape[0] != n:
            raise InputError(f"preconditioner must be [{n}, {n}] as L is, got {matrix.shape}")
        apply = matrix.__matmul__
    return apply if root is None else lambda x: (root * apply((root * x.T).T).T).T


def _range(C: Array) -> Array:
    """An orthonormal basis of range C, by pivoted QR of unit columns: the rank of `orthonormal_range`."""
    largest = np.abs(C).max(0, initial=0)
    unit = C / np.where(largest > 0, largest, 1)
    size = np.linalg.norm(unit, axis=0)
    unit = (unit / np.where(size > 0, size, 1))[:, size > 0]
    if not unit.shape[1]:
        return np.zeros((len(C), 0))
    Q, R, _ = scipy.linalg.qr(unit, mode="economic", pivoting=True)
    return np.ascontiguousarray(Q[:, np.abs(np.diag(R)) > RANK_TOLERANCE])


def _root(M: Any, n: int) -> Array | None:
    if M is None:
        return None
    if isinstance(M, Tensor):
        M = M.detach().cpu()
        M = M.to_dense().numpy() if M.layout != torch.strided else M.numpy()
    if is_scipy(M):
        weight = M.diagonal() if (M - scipy.sparse.diags_array(M.diagonal())).tocsr().count_nonzero() == 0 else None
    else:
        given = np.asarray(M, dtype=float)
        weight = given if given.ndim == 1 else np.diag(given) if not (given - np.diag(np.diag(given))).any() else None
    if weight is None or weight.shape != (n,):
        raise InputError(
            f"M must be the positive weights of the {n} nodes, [{n}] or a diagonal matrix, got shape"
            f" {np.shape(M)}: for any other M pass G⁻¹ L G⁻ᵀ and G⁻¹ C, M = G Gᵀ"
        )
    if not (np.isfinite(weight).all() and (weight > 0).all()):
        raise InputError("M must be positive and finite on every node: drop nodes of weight 0, or constrain them")
    return np.asarray(np.sqrt(np.asarray(weight, dtype=float)))


def _size(L: Any, C: Any, num_nodes: int | None) -> int:
    if num_nodes is not None and num_nodes >= 1:
        return num_nodes
    if isinstance(L, LinearOperator):
        return int(L.shape[0])
    shape = np.shape(C) if isinstance(C, list | tuple) else getattr(C, "shape", ())
    if shape:
        return int(shape[0])
    raise InputError("L is a function, so its size is unknown: pass num_nodes=n or a C of n rows")


def _map_of(L: Callable[[Tensor], Any] | LinearOperator, n: int, name: str = "L") -> Map:
    apply, _ = as_linear_map(L, n, name)
    return lambda x: apply(torch.as_tensor(x.reshape(n, -1))[None])[0].numpy().reshape(x.shape)
