"""Index arithmetic for ragged batches: rows of many graphs, one behind the other, told apart by a pointer."""

from __future__ import annotations

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
