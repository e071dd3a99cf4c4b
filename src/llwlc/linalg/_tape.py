"""What a basis was made of, kept where gradients with respect to L, C or the start are wanted."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from llwlc.linalg._operator import Operator


@dataclass(frozen=True, eq=False)
class Tape:
    """The differentiable inputs of a basis: `operator`, `columns [N, k]`, `start [N, b]`, all float64, and how it was
    run.
    """

    operator: Operator
    columns: Tensor
    start: Tensor
    complete: bool
    tolerance: float

    @property
    def requires_grad(self) -> bool:
        inputs = (self.operator.value, self.operator.diagonal, self.columns, self.start)
        return any(x.requires_grad for x in inputs)
