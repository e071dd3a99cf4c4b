"""Index arithmetic for ragged batches: rows of many graphs, one behind the other, told apart by a pointer."""

from __future__ import annotations

from typing import Any

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
    """The ranges `starts[i] … starts[i] + sizes[i] - 1`, one behind the other, and the i that each entry belongs to.

    >>> expand(torch.tensor([10, 20]), torch.tensor([2, 3]))
    (tensor([10, 11, 20, 21, 22]), tensor([0, 0, 1, 1, 1]))
    """
    owner = torch.repeat_interleave(torch.arange(len(sizes), device=sizes.device), sizes)
    offset = starts - pointer(sizes)[:-1]
    return torch.arange(len(owner), device=sizes.device) + offset[owner], owner


def slots(ptr: Tensor) -> tuple[Tensor, int]:
    """Where each ragged row stands in a `[B · width]` padded layout, `[N]`, and that width, the largest size.

    >>> slots(torch.tensor([0, 2, 2, 5]))
    (tensor([0, 1, 6, 7, 8]), 3)
    """
    sizes = ptr.diff()
    width = int(sizes.max()) if len(sizes) else 0
    return expand(torch.arange(len(sizes), device=ptr.device) * width, sizes)[0], width


class _Pad(torch.autograd.Function):
    """Rows to their slots; backward is `_Unpad`: a gather, where autograd's own would be a slow scatter-add."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, slot: Tensor, rows: int) -> Tensor:
        ctx.save_for_backward(slot)
        return x.new_zeros(rows, x.shape[1]).index_copy_(0, slot, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return _Unpad.apply(grad, ctx.saved_tensors[0]), None, None  # type: ignore[no-untyped-call]


class _Unpad(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, slot: Tensor) -> Tensor:
        ctx.save_for_backward(slot)
        ctx.rows = len(x)
        return x[slot]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _Pad.apply(grad.contiguous(), ctx.saved_tensors[0], ctx.rows), None  # type: ignore[no-untyped-call]


def pad(x: Tensor, ptr: Tensor) -> Tensor:
    """Ragged rows `[N, d]` as `[B, width, d]`, zero where a graph has no row."""
    slot, width = slots(ptr)
    out: Tensor = _Pad.apply(x, slot, (len(ptr) - 1) * width)  # type: ignore[no-untyped-call]
    return out.reshape(len(ptr) - 1, width, x.shape[1])


def unpad(x: Tensor, ptr: Tensor) -> Tensor:
    """`[B, width, d]` as ragged rows `[N, d]`: the inverse of `pad`."""
    out: Tensor = _Unpad.apply(x.flatten(0, 1), slots(ptr)[0])  # type: ignore[no-untyped-call]
    return out
