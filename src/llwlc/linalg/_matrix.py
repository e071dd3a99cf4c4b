"""One matrix of any kind, checked and turned into what the batch code works on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import torch
from scipy.sparse.linalg import LinearOperator
from torch import Tensor

from llwlc.errors import InputError
from llwlc.linalg._krylov import LinearMap
from llwlc.linalg._operator import Operator


def check_steps(steps: Any) -> None:
    if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 1:
        raise InputError(f"steps must be an integer of at least 1, got {steps!r}: it is the number κ of basis vectors")


def check_dtype(dtype: torch.dtype) -> None:
    if dtype not in (torch.float32, torch.float64):
        raise InputError(
            f"dtype must be torch.float32 or torch.float64, got {dtype}: it is what the basis is stored in"
        )


def check_gradient(gradient: str, ridge: float) -> float:
    """The ridge, once both are what they may be."""
    if gradient not in ("exact", "truncated"):
        raise InputError(f"gradient must be 'exact' or 'truncated', got {gradient!r}")
    if not 0 <= ridge < float("inf"):
        raise InputError(f"ridge must be a number of at least 0, got {ridge!r}")
    return float(ridge)


def is_matvec(L: Any) -> bool:
    return isinstance(L, LinearOperator) or (callable(L) and not isinstance(L, Tensor))


def is_scipy(x: Any) -> bool:
    return bool(scipy.sparse.issparse(x))


def as_operator(L: Any, name: str = "L") -> Operator:
    """A symmetric matrix, dense (torch, numpy) or sparse (torch, scipy), as an `Operator` with B = 1.

    >>> as_operator(np.array([[1.0, -1.0], [-1.0, 1.0]])).value.tolist()
    [-1.0, -1.0]
    """
    row, col, value, shape = _entries(L, name)
    if shape[0] != shape[1]:
        example = ": pass the Laplacian itself" if name == "L" else ""
        raise InputError(f"{name} must be a square matrix [n, n], got shape {shape}{example}")
    if not value.isfinite().all():
        raise InputError(f"{name} has entries that are NaN or infinite: check the edge weights")
    n = int(shape[0])
    order = torch.argsort(row * n + col)
    row, col, value = row[order], col[order], value[order]
    _check_symmetric(row, col, value, n, name)
    on = row == col
    diagonal = value.new_zeros(n).index_add(0, row[on], value[on])
    ptr = torch.tensor([0, n], device=value.device)
    return Operator(ptr, row[~on], col[~on], value[~on], diagonal)


def _check_symmetric(row: Tensor, col: Tensor, value: Tensor, n: int, name: str) -> None:
    """Entries sorted by (row, column) against the same sorted by (column, row)."""
    with torch.no_grad():
        sparse = scipy.sparse.csr_array((value.cpu().numpy(), (row.cpu().numpy(), col.cpu().numpy())), shape=(n, n))
        gap, scale = abs(sparse - sparse.T).max() if n else 0.0, abs(sparse).max() if n else 0.0
    if gap > (1e-5 if value.dtype == torch.float32 else 1e-10) * scale:
        raise InputError(
            f"{name} is not symmetric: some {name}[i, j] and {name}[j, i] differ by {gap:.3g}; pass ({name} +"
            f" {name}.T) / 2"
        )


def _entries(matrix: Any, name: str) -> tuple[Tensor, Tensor, Tensor, tuple[int, int]]:
    """Rows, columns and values of the entries; all of a dense matrix that wants gradients, else only those that are not
    0.
    """
    if is_scipy(matrix):
        coo = matrix.tocoo()
        coo.sum_duplicates()
        row, col = torch.as_tensor(coo.row).long(), torch.as_tensor(coo.col).long()
        return row, col, _floating(torch.as_tensor(coo.data), name), (int(matrix.shape[0]), int(matrix.shape[1]))
    if isinstance(matrix, Tensor) and matrix.layout != torch.strided:
        sparse = matrix.to_sparse(layout=torch.sparse_coo).coalesce()
        return (
            sparse.indices()[0],
            sparse.indices()[1],
            _floating(sparse.values(), name),
            (int(matrix.shape[0]), int(matrix.shape[1])),
        )
    dense = _dense(matrix, name)
    if dense.ndim != 2:
        raise InputError(f"{name} must be a matrix with two dimensions, got shape {tuple(dense.shape)}")
    mask = torch.ones_like(dense, dtype=torch.bool) if dense.requires_grad else dense != 0
    row, col = mask.nonzero(as_tuple=True)
    return row, col, dense[row, col], (dense.shape[0], dense.shape[1])


def _floating(x: Tensor, name: str) -> Tensor:
    """As float32 or float64: scipy supports no shorter floats."""
    _refuse_complex(x.is_complex(), name)
    return x if x.dtype in (torch.float32, torch.float64) else x.double()


def _refuse_complex(complex_: bool, name: str) -> None:
    if complex_:
        raise InputError(
            f"{name} has complex entries, but only real ones are supported: pass {name}.real if you mean that"
        )


def _dense(x: Any, name: str) -> Tensor:
    try:
        dense = torch.as_tensor(x)
    except (TypeError, ValueError, RuntimeError) as error:
        function = ", or a function x ↦ L x" if name == "L" else ""
        raise InputError(
            f"{name} must be a torch or numpy array, a torch or scipy sparse matrix{function}, got {type(x).__name__}"
        ) from error
    return _floating(dense, name)


def as_block(start: Any, n: int) -> Tensor:
    """A given start, `[n]` or `[n, b]`, as a block `[n, b]` in float64."""
    if is_scipy(start):
        start = start.toarray()
    block = _dense(start.to_dense() if isinstance(start, Tensor) else start, "start").double()
    block = block[:, None] if block.ndim == 1 else block
    if block.ndim != 2 or block.shape[0] != n or block.shape[1] < 1:
        raise InputError(f"start must have one row for each of the {n} nodes, [n] or [n, b], got {tuple(block.shape)}")
    if not block.isfinite().all():
        raise InputError("start has entries that are NaN or infinite: fix the signal")
    return block


def as_columns(C: Any, n: int | None) -> Tensor | scipy.sparse.csc_array:
    """`C [n, k]` as a float64 tensor, or a scipy matrix where it came sparse."""
    if C is None:
        return torch.zeros(n or 0, 0, dtype=torch.float64)
    if isinstance(C, Tensor) and C.layout != torch.strided:
        if C.requires_grad and torch.is_grad_enabled():
            raise InputError("C is sparse and carries no gradients here: pass C.to_dense(), or C.detach()")
        row, col, value, shape = _entries(C, "C")
        C = scipy.sparse.csc_array((value.detach().cpu().numpy(), (row.cpu().numpy(), col.cpu().numpy())), shape=shape)
    if is_scipy(C):
        C = C.reshape(-1, 1) if C.ndim == 1 else C
        _refuse_complex(np.dtype(C.dtype).kind == "c", "C")
        columns: Tensor | scipy.sparse.csc_array = scipy.sparse.csc_array(C, dtype=np.float64)
        finite = bool(np.isfinite(columns.data).all())
    else:
        columns = _dense(C, "C").double()
        columns = columns[:, None] if columns.ndim == 1 else columns
        finite = bool(columns.isfinite().all())
    if columns.ndim != 2 or (n is not None and columns.shape[0] != n):
        want = f"[{n}, k]" if n is not None else "[n, k]"
        raise InputError(
            f"C must have one row for each row of L, {want}, got {tuple(columns.shape)}: did you mean C.T?"
        )
    if not finite:
        raise InputError("C has entries that are NaN or infinite: fix or drop those columns")
    return columns


def as_linear_map(L: Callable[[Tensor], Any] | LinearOperator, n: int, name: str = "L") -> tuple[LinearMap, Tensor]:
    """A function x ↦ L x on vectors `[n]` as one on `[1, n, b]`, and an estimate of ‖L‖ by twenty power iterations,
    `[1]`.
    """

    def one(x: Tensor) -> Tensor:
        try:
            y = torch.as_tensor(L.matvec(x.numpy()) if isinstance(L, LinearOperator) else L(x)).double().cpu()
        except RuntimeError as error:
            if "device" not in str(error):
                raise
            raise InputError(
                f"{name}(x) is called with vectors on the CPU, and uses a tensor on another device: write lambda x:"
                " A @ x.to(A.device)"
            ) from error
        if y.numel() != n:
            raise InputError(f"{name}(x) must give {n} numbers for x of shape [{n}], got shape {tuple(y.shape)}")
        return y.reshape(n)

    def apply(x: Tensor) -> Tensor:
        return torch.stack([one(c) for c in x[0].mT.contiguous()], 1)[None] if x.shape[2] else x

    x, y = torch.randn(2, n, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    Lx, Ly = one(x), one(y)
    if not (Lx.isfinite().all() and Ly.isfinite().all()):
        raise InputError(f"{name}(x) is NaN or infinite for a finite x: fix the function")
    gap = abs(float(y @ Lx - x @ Ly))
    if gap > 1e-6 * float(y.norm() * Lx.norm() + x.norm() * Ly.norm()):
        raise InputError(
            f"{name} is not symmetric: yᵀ{name}(x) and xᵀ{name}(y) differ by {gap:.3g} for random x, y; pass the"
            " symmetric part, half the sum of it and its transpose"
        )
    norm = float(Lx.norm())
    for _ in range(20 if norm > 0 else 0):
        x, norm = Lx / norm, float(one(Lx / norm).norm())
        if norm == 0:
            break
        Lx = one(x)
    return apply, torch.tensor([norm], dtype=torch.float64)
