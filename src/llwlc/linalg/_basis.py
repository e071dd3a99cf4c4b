"""Eigenbasis: the result of every function that computes a constrained eigenbasis."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from llwlc._support.ragged import Slots, pad, slots

if TYPE_CHECKING:
    from llwlc.linalg._tape import Tape


@dataclass(frozen=True, eq=False)
class Eigenbasis:
    """Ritz pairs of PLP for a ragged batch of B graphs with N nodes in all. κ is the number of columns; a column is
    *live* where the recurrence found a direction, *dead* behind the last one.

    Shapes: `values [B, κ]` ascending, live columns first, 0 where dead; `vectors [N, κ]` ragged rows, zero where dead;
    `mask [B, κ]`, true where live; `residual [B, κ]` = ‖PLPv − λv‖, 0 where dead; `ptr [B + 1]`, graph b owns the rows
    `ptr[b]` to `ptr[b + 1]`. `tape`, where L, C or the start want gradients, is what `spectral_filter` needs for them;
    the five tensors themselves carry none, since a truncated basis is not a smooth function of L and C.

    >>> from llwlc.linalg._lanczos import constrained_lanczos
    >>> basis = constrained_lanczos(torch.diag(torch.tensor([1.0, 2.0, 3.0])), steps=3, start=torch.ones(3))
    >>> basis.num_graphs, basis.steps, basis.values.round(decimals=6).tolist()
    (1, 3, [[1.0, 2.0, 3.0]])
    """

    values: Tensor
    vectors: Tensor
    mask: Tensor
    residual: Tensor
    ptr: Tensor
    tape: Tape | None = field(default=None, repr=False)

    @classmethod
    def uniform(cls, values: Tensor, vectors: Tensor, mask: Tensor, residual: Tensor) -> Eigenbasis:
        """A basis whose graphs all have the same number of rows, zero rows where a graph had fewer: its layout is known
        without reading from the device.

        Args:
            values: `[B, κ]`.
            vectors: `[B · width, κ]`.
            mask: `[B, κ]`.
            residual: `[B, κ]`.
        """
        graphs = len(values)
        width = len(vectors) // max(graphs, 1)
        basis = cls(values, vectors, mask, residual, torch.arange(graphs + 1, device=values.device) * width)
        basis.__dict__["slots"] = Slots(None, graphs, width)  # where `cached_property` stores its value
        return basis

    def to(self, device: torch.device | str, dtype: torch.dtype) -> Eigenbasis:
        """A copy on another device, with real numbers of this type; without a tape.

        Args:
            device: "cpu", "cuda" or a torch device.
            dtype: float32 or float64.
        """
        values, vectors, residual = (x.to(device, dtype) for x in (self.values, self.vectors, self.residual))
        mask = self.mask.to(device)
        layout = self.__dict__.get("slots")
        if layout is not None and layout.at is None:
            return Eigenbasis.uniform(values, vectors, mask, residual)
        return Eigenbasis(values, vectors, mask, residual, self.ptr.to(device))

    @property
    def num_graphs(self) -> int:
        """B, the number of graphs."""
        return len(self.ptr) - 1

    @property
    def steps(self) -> int:
        """κ, the number of columns, live or dead."""
        return self.values.shape[1]

    @cached_property
    def slots(self) -> Slots:
        """The positions of its rows in a padded layout."""
        return slots(self.ptr)

    @cached_property
    def padded(self) -> Tensor:
        """The vectors `[B, width, κ]`, zero where a graph has no row."""
        return pad(self.vectors, self.slots)
