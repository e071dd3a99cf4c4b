"""The constrained Lanczos eigenbasis of one matrix: dense, sparse or a function x ↦ L x."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import scipy.sparse
import torch
from scipy.sparse.linalg import LinearOperator
from torch import Tensor

from llwlc.errors import InputError
from llwlc.linalg._basis import Eigenbasis
from llwlc.linalg._batch_lanczos import lanczos
from llwlc.linalg._krylov import TOLERANCE, LinearMap, all_eigenpairs, ritz_pairs
from llwlc.linalg._matrix import (
    as_block,
    as_columns,
    as_linear_map,
    as_operator,
    check_dtype,
    check_gradient,
    check_steps,
    is_matvec,
)
from llwlc.linalg._operator import Operator
from llwlc.linalg._projector import direct_projector, lsqr_projector, orthonormal_range

DENSE_COLUMNS = 10_000_000
"""Entries up to which a sparse C is made dense and factorised; beyond, LSQR."""


def constrained_lanczos(
    L: Any | Callable[[Tensor], Any],
    C: Any = None,
    *,
    steps: int,
    start: str | Any = "random",
    query: tuple[int, int] | None = None,
    complete: bool = False,
    dtype: torch.dtype = torch.float32,
    gradient: Literal["exact", "truncated"] = "exact",
    ridge: float = 0.0,
    projector: Literal["auto", "direct", "lsqr"] = "auto",
    num_nodes: int | None = None,
    seed: int = 0,
) -> Eigenbasis:
    """Ritz pairs of PLP, P the projector onto the null space of Cᵀ, after `steps` vectors from `start`: Algorithm 1 of
    the paper.

    Computed in float64, stored in `dtype`. For gradients see `spectral_filter`; dense tensors carry them. Its oracle is
    `scipy.sparse.linalg.eigsh` of PLP, and `lobpcg(PLP, X, Y=C)`.

    Args:
        L: symmetric `[n, n]`, dense or sparse, torch, numpy or scipy, or a function x ↦ L x on float64 vectors `[n]`
            (or a scipy `LinearOperator`); then n comes from C, from a start vector or from `num_nodes`.
        C: `[n, k]`, dense or sparse; None is plain Lanczos.
        steps: κ, the number of basis vectors.
        start: `"random"` (standard normal, by `seed`), `"constraint"` (P L C 1), `"query"` (the block e_u, e_v of
            `query=(u, v)`), a vector `[n]` or a block `[n, b]`.
        query: the two nodes of the start `"query"`.
        complete: return all eigenpairs on the null space, whatever `steps` and `start`.
        dtype: float32 or float64, of the result.
        gradient: `"exact"` or `"truncated"`, as in `eigenbasis`.
        ridge: bounds the gradient of C, as in `eigenbasis`.
        projector: `"direct"` factorises C; `"lsqr"` is the inner–outer iteration of Golub, Zhang and Zha, for a C too
            large to factorise; `"auto"` takes it for a large sparse C.
        num_nodes: n, where nothing else tells it.
        seed: seed of the start `"random"`.

    Returns:
        An `Eigenbasis` with B = 1: `values [1, κ]`, `vectors [n, κ]`.

    >>> L = torch.tensor([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    >>> basis = constrained_lanczos(L, torch.ones(3, 1), steps=3)
    >>> basis.values.round(decimals=6).tolist(), basis.mask.tolist()
    ([[1.0, 3.0, 0.0]], [[True, True, False]])
    """
    check_steps(steps)
    check_dtype(dtype)
    if projector not in ("auto", "direct", "lsqr"):
        raise InputError(f"projector must be 'auto', 'direct' or 'lsqr', got {projector!r}")
    operator = None if is_matvec(L) else as_operator(L).double()
    n = operator.diagonal.shape[0] if operator is not None else _size(L, C, start, num_nodes)
    columns = as_columns(C, n)
    if operator is not None:
        apply: LinearMap = lambda x: (operator @ x[0])[None]  # noqa: E731
        bound, device = operator.bound, operator.ptr.device
    else:
        apply, bound = as_linear_map(L, n)
        device = bound.device
    block = make_start_block(start, n, lambda x: apply(x[None].to(device))[0], columns, query, seed).to(device)
    inner = projector == "lsqr" or (projector == "auto" and _large(columns))
    if operator is not None and not (inner and not complete):
        return lanczos(
            operator,
            _dense(columns, device),
            start=block,
            steps=steps,
            complete=complete,
            dtype=dtype,
            truncated=gradient == "truncated",
            ridge=check_gradient(gradient, ridge),
        )
    _refuse_gradients(operator, columns, block)
    with torch.no_grad():
        if complete:
            pairs = all_eigenpairs(apply, orthonormal_range(_dense(columns, device)[None]).Y[0])
        else:
            project = (
                lsqr_projector(columns) if inner else direct_projector(orthonormal_range(_dense(columns, device)[None]))
            )
            pairs = ritz_pairs(apply, project, block[None], steps, bound, TOLERANCE[dtype])
    ptr = torch.tensor([0, n], device=device)
    return Eigenbasis(pairs.values.to(dtype), pairs.vectors[0].to(dtype), pairs.mask, pairs.residual.to(dtype), ptr)


def _large(columns: Tensor | scipy.sparse.csc_array) -> bool:
    return not isinstance(columns, Tensor) and columns.shape[0] * columns.shape[1] > DENSE_COLUMNS


def _refuse_gradients(operator: Operator | None, columns: Tensor | scipy.sparse.csc_array, block: Tensor) -> None:
    """Refuses inputs that require gradients where none can be computed: they would be dropped silently."""
    inputs = [
        block,
        *([] if operator is None else [operator.value]),
        *([columns] if isinstance(columns, Tensor) else []),
    ]
    if torch.is_grad_enabled() and any(x.requires_grad for x in inputs):
        raise InputError(
            "projector='lsqr' and an L given as a function carry no gradients: pass a matrix with projector='direct',"
            " or detach L, C and start"
        )


def _size(L: Any, C: Any, start: Any, num_nodes: int | None) -> int:
    if num_nodes is not None:
        if num_nodes < 1:
            raise InputError(f"num_nodes must be at least 1, got {num_nodes}: it is the number of rows of L")
        return num_nodes
    if isinstance(L, LinearOperator):
        return int(L.shape[0])
    for known in (C, start):
        shape = np.shape(known) if isinstance(known, list | tuple) else getattr(known, "shape", ())
        if shape:
            return int(shape[0])
    raise InputError("L is a function, so its size is unknown: pass num_nodes=n, a C or a start of n rows")


def _dense(columns: Tensor | scipy.sparse.csc_array, device: torch.device) -> Tensor:
    dense = columns if isinstance(columns, Tensor) else torch.as_tensor(columns.toarray())
    return dense.to(device)


def make_start_block(
    start: str | Any,
    n: int,
    apply: Callable[[Tensor], Tensor],
    columns: Tensor | scipy.sparse.csc_array,
    query: tuple[int, int] | None,
    seed: int,
) -> Tensor:
    """The start as a block `[n, b]` in float64, before projection."""
    if not isinstance(start, str):
        return as_block(start, n)
    if start == "random":
        return torch.randn(n, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    if start == "constraint":
        if columns.shape[1] == 0:
            raise InputError("start='constraint' is P L C 1 and needs a C: pass one, or start='random'")
        total = columns.sum(1)
        return apply(torch.as_tensor(total).reshape(n, 1))
    if start == "query":
        nodes = np.asarray(() if query is None else query)
        if nodes.ndim != 1 or nodes.dtype.kind not in "iu" or not len(nodes) or nodes.min() < 0 or nodes.max() >= n:
            raise InputError(f"start='query' needs query=(u, v), two nodes from 0 to {n - 1}, got query={query}")
        return torch.eq(torch.arange(n)[:, None], torch.as_tensor(nodes)).double()
    raise InputError(f"start must be 'random', 'constraint', 'query' or a tensor [n] or [n, b], got {start!r}")
