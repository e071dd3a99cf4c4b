"""V and T = VᵀLV of a basis as differentiable functions of L, C and the start block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from llwlc.linalg._basis import Eigenbasis
from llwlc.linalg._krylov import all_eigenpairs, krylov, padded_matrix, projected_matrix
from llwlc.linalg._matrix_function import first_order
from llwlc.linalg._operator import BucketOperator, Operator, split_operator
from llwlc.linalg._projector import direct_projector, orthonormal_range, tangent_range, tangent_turn
from llwlc.linalg._tape import Piece, Tape

BUDGET = 1 << 22
SPARE_ROWS = 2000
"""Rows of padding that take less time than another bucket: autograd records some hundred small operations for each."""
INVARIANT = 1e-8
"""Residual, relative to ‖L‖, below which a Krylov space is exhausted: the filter of its start is then exact."""


def has_gradients(basis: Eigenbasis) -> bool:
    """Whether a filter on this basis has gradients with respect to L, C or the start."""
    return basis.tape is not None and torch.is_grad_enabled()


def record(basis: Eigenbasis) -> Eigenbasis:
    """The basis with V and T computed once, for several filters and one backward pass."""
    if basis.tape is None or not torch.is_grad_enabled():
        return basis
    return replace(basis, tape=replace(basis.tape, pieces=tuple(make_pieces(basis, basis.tape))))


def make_pieces(basis: Eigenbasis, tape: Tape) -> Iterator[Piece]:
    """The graphs with a live column, in buckets."""
    if tape.pieces is not None:
        yield from tape.pieces
        return
    live, tape = basis.mask.any(1), _first_order(tape)
    whole = live & (tape.complete or tape.truncated)
    exhausted = ~basis.mask.all(1)
    if basis.steps:
        exhausted |= basis.residual.double().amax(1) <= INVARIANT * tape.operator.bound
    for make, graphs, width, budget in (
        (_in_given_span, whole, 4 * basis.steps, BUDGET),
        (_through_all_pairs, live & ~whole & exhausted, 1, 0),
        (_through_recurrence, live & ~whole & ~exhausted, 4 * basis.steps, BUDGET),
    ):
        for chunk in split_operator(
            tape.operator, graphs.nonzero()[:, 0], width=width, budget=budget, spare=SPARE_ROWS
        ):
            yield make(chunk, basis, tape)


def _first_order(tape: Tape) -> Tape:
    """Second derivatives would be wrong: `tangent_range` is right to first order, as is T's."""
    value, diagonal, columns, start = (first_order(x) for x in tape.inputs)
    operator = Operator(tape.operator.ptr, tape.operator.row, tape.operator.col, value, diagonal)
    return replace(tape, operator=operator, columns=columns, start=start)


def _in_given_span(chunk: BucketOperator, basis: Eigenbasis, tape: Tape) -> Piece:
    """The span of V, projected by the P that moves with C. Of a complete basis it is the whole null space, and its
    derivative is exact: V has its own, and T = VᵀLV that of PLP on the moving null space. Of any other, the derivative
    is that of Rayleigh and Ritz on a constant trial space, which leaves out how the Krylov space turns.

    V moves within range C alone, V − YZ, so T = R − VᵀLYZ − its transpose to first order."""
    bucket, operator = chunk.bucket, chunk.operator
    mask, columns = basis.mask[bucket.graphs], bucket.pad(tape.columns)
    V = bucket.pad(basis.vectors.detach()).double() * mask[:, None]
    space = orthonormal_range(columns)
    turn = tangent_turn(columns, space, V, tape.ridge)
    with torch.no_grad():
        coupling = V.mT @ operator.times(space.Y.flatten(0, 1)).view_as(space.Y)
    T = torch.diag_embed(basis.values[bucket.graphs].detach().double()) - 2 * coupling @ turn
    if operator.value.requires_grad or operator.diagonal.requires_grad:
        moved = V.mT @ chunk.apply(V)
        T = T + moved - moved.detach()
    both, turn = (x.to(basis.vectors.dtype) for x in (torch.cat([V, space.Y], 2), turn))
    return Piece(bucket, both, padded_matrix(T, mask), mask, turn=turn)


def _through_all_pairs(chunk: BucketOperator, basis: Eigenbasis, tape: Tape) -> Piece:
    """All eigenpairs of one graph whose Krylov space is exhausted: a change of L or C leads out of that space. The
    truncated filter does not see the part of a signal outside range C and this space."""
    bucket = chunk.bucket
    space = tangent_range(bucket.pad(tape.columns), tape.ridge)
    with torch.no_grad():
        V = all_eigenpairs(chunk.apply, space.Y[0]).vectors
    V = direct_projector(space)(V)
    mask = torch.ones(V.shape[0], V.shape[2], dtype=torch.bool, device=V.device)
    span = torch.cat([space.Y.detach(), bucket.pad(basis.vectors).double()], 2)
    return Piece(bucket, V, padded_matrix(V.mT @ chunk.apply(V), mask), mask, span)


def _through_recurrence(chunk: BucketOperator, basis: Eigenbasis, tape: Tape) -> Piece:
    """The recurrence itself, which is smooth as long as nothing breaks down."""
    bucket = chunk.bucket
    project = direct_projector(tangent_range(bucket.pad(tape.columns), tape.ridge))
    start, bound = bucket.pad(tape.start), chunk.operator.bound
    space = krylov(chunk.apply, project, start, steps=basis.steps, bound=bound, tolerance=tape.tolerance)
    return Piece(bucket, space.Q, *projected_matrix(space))


def attach(out: Tensor, tape: Tape) -> Tensor:
    """`out`, with a gradient of zero for each input that has had no part in it: a zero column, a graph without a live
    column, a batch that has nothing else."""
    for x in tape.inputs:
        if x.requires_grad:  # where, not a product with 0: an entry may be infinite
            out = out + torch.where(torch.zeros_like(x, dtype=torch.bool), x, 0).sum().to(out.dtype)
    return out
