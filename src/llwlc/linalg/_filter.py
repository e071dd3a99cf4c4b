"""Learned filters V f(R) Vᵀ x on a ragged basis, never n × n, with exact gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from llwlc.errors import InputError
from llwlc.linalg._basis import Eigenbasis
from llwlc.linalg._differentiable import BUDGET, attach, has_gradients, make_pieces
from llwlc.linalg._matrix_function import Filter, evaluate_filter, matrix_function
from llwlc.linalg._operator import Bucket, make_buckets
from llwlc.linalg._tape import Piece, Tape

GraphFilter = Callable[[Tensor, Tensor], Tensor]
"""A filter of some graphs: their eigenvalues `[M, κ]` and their numbers `[M]` to `[M, κ, S]`."""


def spectral_filter(basis: Eigenbasis, f: Filter, x: Tensor) -> Tensor:
    """V f(R) Vᵀ x.

    Gradients with respect to f and x are always exact. With respect to edge weights and constraint weights (a basis
    made of a `weight` or of columns that require grad) they are so on a complete basis, by divided differences
    (Daleckiĭ–Kreĭn), also at repeated eigenvalues; and for x in the span of the start block: that of f(PLP)P x where
    the Krylov space is exhausted, that of the recurrence where it is cut off. Any other x on an exhausted, incomplete
    basis is refused: no derivative exists there. A basis made with `gradient="truncated"` takes any x, at a bias; see
    `eigenbasis`. Second derivatives are refused where L, C or the start want gradients.

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
    >>> spectral_filter(basis, lambda r: 1 + 3 * r, torch.tensor([1.0, 0.0])).round(decimals=5).tolist()
    [4.0, -3.0]
    """
    if x.ndim not in (1, 2) or x.shape[0] != len(basis.vectors):
        raise InputError(
            f"x must have a row for each of the {len(basis.vectors)} rows of the basis, [N] or [N, d], got"
            f" {tuple(x.shape)}"
        )
    signal = x[:, None] if x.ndim == 1 else x
    # a batch without any live column filters to 0, but in the shape that f gives it
    if has_gradients(basis) and bool(basis.mask.any()):
        pieces, several = _with_gradients(basis, f, signal)
        filters = pieces[0][1].shape[1]
    else:
        pieces, several, filters = _plain(basis, f, signal)
    dtype = torch.promote_types(basis.values.dtype, x.dtype)
    out = torch.zeros(len(x), filters, signal.shape[1], dtype=dtype, device=x.device)
    for bucket, y in pieces:
        rows = y.transpose(1, 2).flatten(0, 1)[bucket.slots]
        out = out.index_copy(0, bucket.nodes, rows.to(dtype))
    if has_gradients(basis) and basis.tape is not None:
        out = attach(out, basis.tape)
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


def _with_gradients(basis: Eigenbasis, f: Filter, x: Tensor) -> tuple[Pieces, bool]:
    if isinstance(f, Tensor):
        raise InputError(
            "f must be a function where L or C want gradients: they need its derivative, which values lack"
        )
    pieces, several = [], False
    for piece, y, several in _filtered(basis, lambda values, _: f(values), x):  # noqa: B007 — the last one is used
        pieces.append((piece.bucket, piece.V[:, None] @ piece.coefficients(y)))
    return pieces, several


def _filtered(basis: Eigenbasis, f: GraphFilter, x: Tensor) -> Iterator[tuple[Piece, Tensor, bool]]:
    """f(T) Vᵀx of the graphs with a live column, `[M, S, m, d]`, piece by piece: V and products in the wider type
    of the basis and x, T in float64."""
    tape = basis.tape
    assert tape is not None
    x = x.to(torch.promote_types(basis.values.dtype, x.dtype))
    for piece in make_pieces(basis, tape):
        turn = None if piece.turn is None else piece.turn.to(x.dtype)
        piece = piece._replace(V=piece.V.to(x.dtype), turn=turn)
        signal, graphs = piece.bucket.pad(x), piece.bucket.graphs
        if piece.span is not None:
            signal = _inside(signal, piece.span.to(x.dtype), tape)
        given = piece.T, piece.mask, lambda values, graphs=graphs: f(values, graphs), piece.spectrum(signal)
        yield piece, *matrix_function(*given, basis.values.dtype, diagonal=piece.turn is not None)


def _inside(x: Tensor, span: Tensor, tape: Tape) -> Tensor:
    """x without its part outside range C and the Krylov space, which the truncated filter does not see."""
    inside = span @ (span.mT @ x)
    outside = (x - inside).detach().norm(dim=1)
    if bool((outside > 1e-4 * x.detach().norm(dim=1)).any()):
        raise InputError(
            "x is not in the span of the start block, and an exhausted Krylov basis is not a smooth function of L and"
            ' C: filter the start itself, make the basis with complete=True (exact) or gradient="truncated" (biased),'
            " or detach the weights and columns"
        )
    return x if tape.start.requires_grad else inside


def filter_and_mix(basis: Eigenbasis, f: GraphFilter, x: Tensor, weight: Tensor) -> Tensor:
    """Σₛ V fₛ(R) Vᵀ X Wₛ `[N, o]` on a basis with gradients, mixed on m rows per graph instead of its n: W commutes
    with V. Shapes: `x [N, d]`, `weight [S·d, o]`."""
    out = torch.zeros(len(x), weight.shape[1], dtype=x.dtype, device=x.device)
    for piece, y, _ in _filtered(basis, f, x):
        mixed = y.transpose(1, 2).flatten(2) @ weight.to(y.dtype)
        out = out.index_copy(0, piece.bucket.nodes, piece.bucket.unpad(piece.V @ piece.coefficients(mixed)).to(x.dtype))
    return attach(out, basis.tape) if basis.tape is not None else out


def filter_at(basis: Eigenbasis, f: GraphFilter, x: Tensor, rows: Tensor, filters: int) -> Tensor:
    """Some rows of V f(R) Vᵀ x on a basis with gradients: `rows [B, e]` of each graph, `x [N, d]` to
    `[B, e, filters, d]`."""
    out = torch.zeros(*rows.shape, filters, x.shape[1], dtype=x.dtype, device=x.device)
    for piece, y, _ in _filtered(basis, f, x):
        graphs, n = piece.bucket.graphs, piece.bucket.n
        first = torch.arange(len(graphs), device=graphs.device) * n
        at = rows[graphs] - basis.ptr[graphs][:, None] + first[:, None]
        V = piece.V.flatten(0, 1)[at]
        out = out.index_copy(0, graphs, (V[:, None] @ piece.coefficients(y)).transpose(1, 2).to(x.dtype))
    return attach(out, basis.tape) if basis.tape is not None else out
