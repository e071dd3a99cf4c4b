"""The inputs of a basis, kept where gradients with respect to L, C or the start are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from torch import Tensor

from llwlc._support.ragged import expand, pointer
from llwlc.errors import InputError
from llwlc.linalg._operator import Bucket, Operator


class Piece(NamedTuple):
    """Some graphs of a basis with gradients: V `[M, n, m]`, T = VᵀLV `[M, m, m]` with sentinels on its dead diagonal,
    `mask [M, m]`. `span`: where not None, only signals in the span of these orthonormal columns `[M, n, j]` have a
    derivative. `turn`: Z `[M, r, m]`, where V moves with the constraints alone: V is V − YZ then, with Z = 0 in value,
    `V` holds [V Y] `[M, n, m + r]` without a gradient, and T is diagonal."""

    bucket: Bucket
    V: Tensor
    T: Tensor
    mask: Tensor
    span: Tensor | None = None
    turn: Tensor | None = None

    def spectrum(self, x: Tensor) -> Tensor:
        """Vᵀx `[M, m, d]`."""
        product = self.V.mT @ x
        if self.turn is None:
            return product
        m = self.turn.shape[2]
        return product[:, :m] - self.turn.mT @ product[:, m:]

    def coefficients(self, y: Tensor) -> Tensor:
        """What `V` multiplies for V y, `y [M, …, m, d]`: y itself, or y and −Zy below it."""
        if self.turn is None:
            return y
        turn = self.turn if y.ndim == 3 else self.turn[:, None]
        return torch.cat([y, -turn @ y], -2)


@dataclass(frozen=True, eq=False)
class Tape:
    """The differentiable inputs of a basis: `operator`, `columns [N, k]`, `start [N, b]`, all float64 whatever the
    dtype of the basis, and how it was computed.

    `truncated`: gradients take the span of V as constant but for the moving null space, see `eigenbasis`; `ridge`
    bounds the gradient of C, see `linalg._projector.tangent_range`; `pieces`: V and T with gradients, where they were
    computed once for several filters.
    """

    operator: Operator
    columns: Tensor
    start: Tensor
    complete: bool
    tolerance: float
    truncated: bool = False
    ridge: float = 0.0
    pieces: tuple[Piece, ...] | None = field(default=None, repr=False)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What gradients may be asked for."""
        return self.operator.value, self.operator.diagonal, self.columns, self.start

    @property
    def requires_grad(self) -> bool:
        return any(x.requires_grad for x in self.inputs)

    def to(self, device: torch.device | str) -> Tape:
        """The tape on another device; gradients arrive where the inputs came from."""
        given = self.operator
        parts = (x.to(device) for x in (given.ptr, given.row, given.col, given.value, given.diagonal))
        return replace(self, operator=Operator(*parts), columns=self.columns.to(device), start=self.start.to(device))

    def select(self, graphs: Tensor) -> Tape:
        """The tape of some graphs `[M]`, by their numbers, in that order; a number may come twice."""
        given = self.operator
        ptr, first = given.ptr, torch.searchsorted(given.row, given.ptr)
        sizes = ptr.diff()[graphs]
        nodes, _ = expand(ptr[graphs], sizes)
        edges, owner = expand(first[graphs], first.diff()[graphs])
        own = pointer(sizes)
        shift = (own[:-1] - ptr[graphs])[owner]
        operator = Operator(
            own, given.row[edges] + shift, given.col[edges] + shift, given.value[edges], given.diagonal[nodes]
        )
        return replace(self, operator=operator, columns=self.columns[nodes], start=self.start[nodes], pieces=None)

    @staticmethod
    def concat(tapes: Sequence[Tape | None]) -> Tape | None:
        """The tape of several batches, one after the other; None where none has one. Batches with fewer columns of C or
        of the start than others get zero columns, which constrain and span nothing."""
        known = [tape for tape in tapes if tape is not None]
        if not known:
            return None
        first = known[0]
        alike = {(t.complete, t.tolerance, t.truncated, t.ridge) for t in known}
        if len(known) < len(tapes) or len(alike) > 1:
            raise InputError(
                "bases with gradients can be concatenated only with others that were computed alike (complete,"
                " dtype, gradient, ridge): compute them together, or detach L, C and start"
            )
        operators = [tape.operator for tape in known]
        shift = pointer(torch.tensor([len(o.diagonal) for o in operators])).tolist()
        ptr = torch.cat([operators[0].ptr[:1], *(o.ptr[1:] + s for o, s in zip(operators, shift, strict=False))])
        row, col = (
            torch.cat([getattr(o, name) + s for o, s in zip(operators, shift, strict=False)]) for name in ("row", "col")
        )
        value, diagonal = (torch.cat([getattr(o, name) for o in operators]) for name in ("value", "diagonal"))
        columns, start = (_same_width([getattr(tape, name) for tape in known]) for name in ("columns", "start"))
        return replace(
            first, operator=Operator(ptr, row, col, value, diagonal), columns=columns, start=start, pieces=None
        )


def _same_width(parts: list[Tensor]) -> Tensor:
    width = max(x.shape[1] for x in parts)
    return torch.cat([torch.nn.functional.pad(x, (0, width - x.shape[1])) for x in parts])
