"""Eigenbasis: what every route to a constrained eigenbasis returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from torch import Tensor

from llwlc.ragged import Slots, pad, slots

if TYPE_CHECKING:
    from llwlc.linalg.tape import Tape


@dataclass(frozen=True, eq=False)
class Eigenbasis:
    """Ritz pairs of PLP for a ragged batch of B graphs with N nodes in all.

    Shapes: `values [B, κ]` ascending, live columns first, 0 where dead; `vectors [N, κ]` ragged rows, zero where dead;
    `mask [B, κ]`, true where live; `residual [B, κ]` = ‖PLPv − λv‖, 0 where dead; `ptr [B + 1]`, graph b owns the rows
    `ptr[b]` to `ptr[b + 1]`. `tape`, where L, C or the start want gradients, is what `spectral_filter` needs for them; the five
    tensors themselves carry none, since a truncated basis is no smooth function of L and C.
    """

    values: Tensor
    vectors: Tensor
    mask: Tensor
    residual: Tensor
    ptr: Tensor
    tape: Tape | None = field(default=None, repr=False)

    @property
    def num_graphs(self) -> int:
        return len(self.ptr) - 1

    @property
    def steps(self) -> int:
        """κ, the number of columns, live or dead."""
        return self.values.shape[1]

    @cached_property
    def slots(self) -> Slots:
        """Where its rows stand in a padded layout."""
        return slots(self.ptr)

    @cached_property
    def padded(self) -> Tensor:
        """The vectors `[B, width, κ]`, zero where a graph has no row."""
        return pad(self.vectors, self.slots)
