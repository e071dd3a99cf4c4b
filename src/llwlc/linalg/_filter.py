"""Learned filters V f(R) Vᵀ x on a ragged basis, never n × n, with exact gradients."""

from __future__ import annotations

import torch
from torch import Tensor

from llwlc.errors import InputError
from llwlc.linalg._basis import Eigenbasis
from llwlc.linalg._krylov import all_eigenpairs, krylov, projected_matrix
from llwlc.linalg._matrix_function import Filter, evaluate_filter, matrix_function
from llwlc.linalg._operator import Bucket, BucketOperator, make_buckets, split_operator
from llwlc.linalg._projector import direct_projector, tangent_range
from llwlc.linalg._tape import Tape

BUDGET = 1 << 22
INVARIANT = 1e-8
"""Residual, relative to ‖L‖, below which a Krylov space is exhausted: the filter of its start is then exact."""


def spectral_filter(basis: Eigenbasis, f: Filter, x: Tensor) -> Tensor:
    """V f(R) Vᵀ x.

    Gradients with respect to f and x are always exact. With respect to edge weights and constraint weights (a basis
    made of a `weight` or of columns that require grad) they are so on a complete basis, by divided differences
    (Daleckiĭ–Kreĭn), also at repeated eigenvalues; and for x in the span of the start block: that of f(PLP)P x where
    the Krylov space is exhausted, that of the recurrence where it is cut off. Any other x on an exhausted, incomplete
    basis is refused: no derivative exists there.

    Args:
        basis: V and R, B graphs with N rows in all.
        f: a function applied to each eigenvalue, `[B, κ] → [B, κ]` or `[B, κ, S]` for S filters at once, or its values
            as a tensor.
        x: a signal `[N]`, or d of them `[N, d]`.

    Returns:
        A tensor of x's shape, or `[N, S, d]` (`[N, S]`) for S filters. Dead columns contribute 0.

    >>> from llwlc.linalg._lanczos import constrained_lanczos
    >>> L = torch.tensor([[1.0, -1.0], [-1.0, 1.0]])
    >>> basis = constrained_lanczos(L, steps=2, start=torch.tensor([1.0, 0.0]))
    >>> spectral_filter(basis, lambda r: 1 + 3 * r, torch.tensor([1.0, 0.0])).round(decimals=9).tolist()
    [4.0, -3.0]
    """
    if x.ndim not in (1, 2) or x.shape[0] != len(basis.vectors):
        raise InputError(
            f"x must have a row for each of the {len(basis.vectors)} rows of the basis, [N] or [N, d], got"
            f" {tuple(x.shape)}"
        )
    signal = x[:, None] if x.ndim == 1 else x
    # a batch without any live column filters to 0, but in the shape that f gives it
    if basis.tape is not None and torch.is_grad_enabled() and bool(basis.mask.any()):
        pieces, several = _with_gradients(basis, basis.tape, f, signal.double())
        filters = pieces[0][1].shape[1]
    else:
        pieces, several, filters = _plain(basis, f, signal)
    dtype = torch.promote_types(basis.values.dtype, x.dtype)
    out = torch.zeros(len(x), filters, signal.shape[1], dtype=dtype, device=x.device)
    for bucket, y in pieces:
        rows = y.transpose(1, 2).flatten(0, 1)[bucket.slots]
        out = out.index_copy(0, bucket.nodes, rows.to(dtype))
    out = out if several else out[:, 0]
    return out[..., 0] if x.ndim == 1 else out


Pieces = list[tuple[Bucket, Tensor]]
"""Results `[M, S, n, d]` of some buckets."""


def _plain(basis: Eigenbasis, f: Filter, x: Tensor) -> tuple[Pieces, bool, int]:
    F, _, several = evaluate_filter(f, basis.values, basis.mask)
    dtype = torch.promote_types(basis.vectors.dtype, x.dtype)
    width = basis.steps + (1 + F.shape[2]) * x.shape[1]
    pieces = []
    for bucket in make_buckets(basis.ptr, basis.mask.any(1).nonzero()[:, 0], width=width, budget=BUDGET):
        V = bucket.pad(basis.vectors).to(dtype)
        c = V.mT @ bucket.pad(x).to(dtype)
        response = F[bucket.graphs].mT[..., None].to(dtype)
        pieces.append((bucket, V[:, None] @ (response * c[:, None])))
    return pieces, several, F.shape[2]


def _with_gradients(basis: Eigenbasis, tape: Tape, f: Filter, x: Tensor) -> tuple[Pieces, bool]:
    if isinstance(f, Tensor):
        raise InputError(
            "f must be a function where L or C want gradients: they need its derivative, which values lack"
        )
    live, small = basis.mask.any(1), INVARIANT * tape.operator.bound
    exhausted = ~basis.mask.all(1) | (basis.residual.double().amax(1) <= small) if basis.steps else ~live
    exhausted = exhausted | tape.complete
    pieces, several = [], False
    for chunk in split_operator(tape.operator, (live & exhausted).nonzero()[:, 0], width=1, budget=0):
        y, several = _whole(chunk, basis, tape, f, x)
        pieces.append((chunk.bucket, y))
    for chunk in split_operator(
        tape.operator, (live & ~exhausted).nonzero()[:, 0], width=4 * basis.steps, budget=BUDGET
    ):
        y, several = _recurrence(chunk, basis, tape, f, x)
        pieces.append((chunk.bucket, y))
    return pieces, several


def _whole(chunk: BucketOperator, basis: Eigenbasis, tape: Tape, f: Filter, x: Tensor) -> tuple[Tensor, bool]:
    """f(PLP)P x of one graph through all its eigenpairs. Projected by the P that moves with C, V has its derivative; T
    = VᵀLV then has that of PLP on the moving null space."""
    bucket = chunk.bucket
    space = tangent_range(bucket.pad(tape.columns))
    with torch.no_grad():
        V = all_eigenpairs(chunk.apply, space.Y[0]).vectors
    signal = bucket.pad(x)
    if not tape.complete:
        signal = _inside(signal, space.Y.detach(), bucket.pad(basis.vectors).double(), tape.start.requires_grad)
    V = direct_projector(space)(V)
    T = V.mT @ chunk.apply(V)
    mask = torch.ones(V.shape[0], V.shape[2], dtype=torch.bool, device=V.device)
    y, several = matrix_function((T + T.mT) / 2, mask, f, V.mT @ signal, basis.values.dtype)
    return V[:, None] @ y, several


def _inside(x: Tensor, Y: Tensor, V: Tensor, start_moves: bool) -> Tensor:
    """x without its part outside range C and the Krylov space, which the truncated filter does not see."""
    inside = Y @ (Y.mT @ x) + V @ (V.mT @ x)
    outside = (x - inside).detach().norm(dim=1)
    if bool((outside > 1e-4 * x.detach().norm(dim=1)).any()):
        raise InputError(
            "x is not in the span of the start block, and an exhausted Krylov basis is not a smooth function of L"
            " and C: filter the start itself, make the basis with complete=True, or detach the weights"
        )
    return x if start_moves else inside


def _recurrence(chunk: BucketOperator, basis: Eigenbasis, tape: Tape, f: Filter, x: Tensor) -> tuple[Tensor, bool]:
    """Q f(T) Qᵀ x through the recurrence itself, which is smooth as long as nothing breaks down."""
    bucket = chunk.bucket
    project = direct_projector(tangent_range(bucket.pad(tape.columns)))
    start, bound = bucket.pad(tape.start), chunk.operator.bound
    space = krylov(chunk.apply, project, start, steps=basis.steps, bound=bound, tolerance=tape.tolerance)
    T, mask = projected_matrix(space)
    y, several = matrix_function(T, mask, f, space.Q.mT @ bucket.pad(x), basis.values.dtype)
    return space.Q[:, None] @ y, several
