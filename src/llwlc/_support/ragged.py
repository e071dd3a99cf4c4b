"""Index arithmetic for ragged batches: the rows of many graphs, concatenated, with a pointer to where each graph
begins.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor


def pointer(sizes: Tensor) -> Tensor:
    """`[B]` sizes to the `[B + 1]` pointer whose entry b is where graph b begins.

    >>> pointer(torch.tensor([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    out = torch.zeros(len(sizes) + 1, dtype=torch.long, device=sizes.device)
    torch.cumsum(sizes, 0, out=out[1:])
    return out


def expand(starts: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """The ranges `starts[i] … starts[i] + sizes[i] - 1`, concatenated, and the i that each entry belongs to.

    >>> expand(torch.tensor([10, 20]), torch.tensor([2, 3]))
    (tensor([10, 11, 20, 21, 22]), tensor([0, 0, 1, 1, 1]))
    """
    owner = torch.repeat_interleave(torch.arange(len(sizes), device=sizes.device), sizes)
    offset = starts - pointer(sizes)[:-1]
    return torch.arange(len(owner), device=sizes.device) + offset[owner], owner


class Slots(NamedTuple):
    """The positions of ragged rows in a padded `[graphs, width]` layout: `at [N]`, flat; None if every graph has
    `width` rows already.
    """

    at: Tensor | None
    graphs: int
    width: int


def slots(ptr: Tensor) -> Slots:
    """The padded layout of the graphs of a pointer, as wide as the largest.

    >>> slots(torch.tensor([0, 2, 2, 5]))
    Slots(at=tensor([0, 1, 6, 7, 8]), graphs=3, width=3)
    """
    sizes = ptr.diff()
    width = int(sizes.max()) if len(sizes) else 0
    return Slots(expand(torch.arange(len(sizes), device=ptr.device) * width, sizes)[0], len(sizes), width)


class _Pad(torch.autograd.Function):
    """Copies rows to their slots; backward is `_Unpad`, a gather, where autograd would use a slow scatter-add."""

    @staticmethod
    def forward(x: Tensor, slot: Tensor, rows: int) -> Tensor:
        # not in place: torch.compile of torch 2.11 then gives x a wrong gradient
        return x.new_zeros(()).expand(rows, x.shape[1]).index_copy(0, slot, x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return _Unpad.apply(grad, ctx.saved_tensors[0]), None, None  # type: ignore[no-untyped-call]

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int, None, None], x: Tensor, slot: Tensor, rows: int) -> tuple[Tensor, int]:
        x = x.movedim(in_dims[0], 2)  # further columns
        out: Tensor = _Pad.apply(x.flatten(1), slot, rows)  # type: ignore[no-untyped-call]
        return out.view(len(out), *x.shape[1:]), 2


class _Unpad(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, slot: Tensor) -> Tensor:
        return x[slot]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1])
        ctx.rows = len(inputs[0])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _Pad.apply(grad.contiguous(), ctx.saved_tensors[0], ctx.rows), None  # type: ignore[no-untyped-call]

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int, None], x: Tensor, slot: Tensor) -> tuple[Tensor, int]:
        x = x.movedim(in_dims[0], 2)
        out: Tensor = _Unpad.apply(x.flatten(1), slot)  # type: ignore[no-untyped-call]
        return out.view(len(out), *x.shape[1:]), 2


def pad(x: Tensor, layout: Slots) -> Tensor:
    """Ragged rows `[N, d]` as `[B, width, d]`, zero where a graph has no row."""
    if layout.at is None:
        return x.reshape(layout.graphs, layout.width, x.shape[1])
    out: Tensor = _Pad.apply(x, layout.at, layout.graphs * layout.width)  # type: ignore[no-untyped-call]
    return out.reshape(layout.graphs, layout.width, x.shape[1])


def unpad(x: Tensor, layout: Slots) -> Tensor:
    """`[B, width, d]` as ragged rows `[N, d]`: the inverse of `pad`."""
    if layout.at is None:
        return x.flatten(0, 1)
    out: Tensor = _Unpad.apply(x.flatten(0, 1), layout.at)  # type: ignore[no-untyped-call]
    return out
