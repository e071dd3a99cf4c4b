"""Eigenbasis: what every route to a constrained eigenbasis returns."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Eigenbasis:
    """Ritz pairs of PLP for a ragged batch of B graphs with N nodes in all.

    Shapes: `values [B, κ]` ascending, live columns first, 0 where dead; `vectors [N, κ]` ragged rows, zero where dead;
    `mask [B, κ]`, true where live; `residual [B, κ]` = ‖PLPv − λv‖, 0 where dead; `ptr [B + 1]`, graph b owns the rows
    `ptr[b]` to `ptr[b + 1]`.
    """

    values: Tensor
    vectors: Tensor
    mask: Tensor
    residual: Tensor
    ptr: Tensor

    @property
    def num_graphs(self) -> int:
        return len(self.ptr) - 1

    @property
    def steps(self) -> int:
        """κ, the number of columns, live or dead."""
        return self.values.shape[1]
