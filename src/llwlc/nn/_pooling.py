"""Poolings from the rows of ragged graphs to one vector per graph, invariant to the order of nodes."""

from __future__ import annotations

import torch
from torch import Tensor

from llwlc._support.ragged import Slots, pad, slots


def sort_pool(x: Tensor, ptr: Tensor, k: int) -> Tensor:
    """The k rows that are largest in the last channel, in that order; zero rows where a graph has fewer.

    Rows that tie in the last channel (after a ReLU many do, at zero) are ordered by the channel before, and so on, so
    that only equal rows are left to their order in the input: unlike PyG's `SortAggregation`, which breaks ties by
    index.

    Args:
        x: rows `[N, d]` of B graphs.
        ptr: `[B + 1]`, graph b owns the rows `ptr[b]` to `ptr[b + 1]`.
        k: rows to keep of each graph.

    Returns:
        `[B, k, d]`.

    >>> x = torch.tensor([[1.0, 0.0], [3.0, 0.0], [2.0, 5.0]])
    >>> sort_pool(x, torch.tensor([0, 3]), k=2)
    tensor([[[2., 5.],
             [3., 0.]]])
    """
    return _first_rows(x, ptr, k, x.detach())


def sort_pool_by_last(x: Tensor, ptr: Tensor, k: int) -> Tensor:
    """`sort_pool` for a last channel with few ties (no output of a ReLU): ties are ordered by the sum of all channels
    only.

    Two sorts instead of d, and still only rows that agree in both are left to their order in the input.
    """
    return _first_rows(x, ptr, k, torch.stack([x.detach().sum(1), x.detach()[:, -1]], 1))


def _first_rows(x: Tensor, ptr: Tensor, k: int, keys: Tensor) -> Tensor:
    """The k rows of each graph that come first by the last key, ties by the one before, and so on."""
    order = torch.arange(len(x), device=x.device)
    for key in _sortable(keys).unbind(1):
        order = order[torch.argsort(key[order], descending=True, stable=True)]
    graph = torch.repeat_interleave(torch.arange(len(ptr) - 1, device=x.device), ptr.diff())
    order = order[torch.argsort(graph[order], stable=True)]
    padded = pad(x[order], slots(ptr))[:, :k]
    return torch.nn.functional.pad(padded, (0, 0, 0, k - padded.shape[1]))


def _sortable(keys: Tensor) -> Tensor:
    """Columns with the same order, the last first: two columns of float32 become one integer, so that half as many
    sorts are needed.
    """
    if keys.dtype != torch.float32:
        return keys
    bits = (keys + 0.0).contiguous().view(torch.int32).long()  # + 0.0 turns −0.0 into 0.0
    whole = torch.where(bits < 0, -(bits & 0x7FFFFFFF), bits)  # in the order of the floats
    if whole.shape[1] % 2:
        whole = torch.nn.functional.pad(whole, (1, 0))
    return (whole[:, 1::2] << 32) + whole[:, ::2]


def class_pool(x: Tensor, label: Tensor, ptr: Tensor, num_classes: int) -> Tensor:
    """Mean of the rows of each class, and log(1 + its size): continuous in x, so no tie matters.

    Args:
        x: rows `[N, d]` of B graphs.
        label: the class of each row, `[N]`, from 0.
        ptr: `[B + 1]`, graph b owns the rows `ptr[b]` to `ptr[b + 1]`.
        num_classes: number of classes.

    Returns:
        `[B, num_classes, d + 1]`.

    >>> class_pool(torch.tensor([[1.0], [3.0]]), torch.tensor([0, 0]), torch.tensor([0, 2]), 2)
    tensor([[[2.0000, 1.0986],
             [0.0000, 0.0000]]])
    """
    size = ptr.diff()
    graph = torch.repeat_interleave(torch.arange(len(size), device=x.device), size)
    cell = graph * num_classes + label
    count = torch.bincount(cell, minlength=len(size) * num_classes).to(x.dtype).unsqueeze(1)
    total = x.new_zeros(len(count), x.shape[1]).index_add(0, cell, x)
    out = torch.cat([total / count.clamp(min=1), torch.log1p(count)], 1)
    return out.reshape(len(size), num_classes, -1)


def uniform_class_pool(x: Tensor, member: Tensor) -> Tensor:
    """`class_pool` where all graphs have as many rows: `x [B, width, d]`, `member [B, width, classes]` one-hot, zero at
    rows to leave out.
    """
    count = member.sum(1).unsqueeze(2)
    return torch.cat([member.transpose(1, 2) @ x / count.clamp(min=1), torch.log1p(count)], 2)


def max_pool(x: Tensor, layout: Slots) -> Tensor:
    """The largest entry of each channel, of rows that are nowhere negative: padding counts as zero.

    Args:
        x: rows `[N, d]` of B graphs.
        layout: the positions of the rows in a padded layout (`Eigenbasis.slots`, or `_support.ragged.slots(ptr)`).

    Returns:
        `[B, d]`.

    >>> max_pool(torch.tensor([[1.0, 0.0], [0.0, 2.0], [5.0, 0.0]]), slots(torch.tensor([0, 2, 3]))).tolist()
    [[1.0, 2.0], [5.0, 0.0]]
    """
    return pad(x, layout).amax(1)
