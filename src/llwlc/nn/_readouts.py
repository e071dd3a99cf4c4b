"""From the rows of a subgraph to one vector."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import Conv1d, Linear
from torch.nn import functional as F

from llwlc._support.ragged import pad
from llwlc.bases._link_batch import LinkBatch
from llwlc.nn._config import NetConfig
from llwlc.nn._pooling import class_pool, max_pool, sort_pool, sort_pool_by_last, uniform_class_pool
from llwlc.subgraphs._labels import distance_classes


def one_hot(label: Tensor, classes: int, dtype: torch.dtype) -> Tensor:
    """One-hot rows `[N, classes]`, zero for a negative label; unlike torch's function it does not inspect the values,
    which would wait for a GPU.
    """
    return label.unsqueeze(1).eq(torch.arange(classes, device=label.device)).to(dtype)


class SortReadout(torch.nn.Module):
    """DGCNN's readout: k sorted rows, a 1-d convolution over each row, pooling, a second convolution over five rows,
    the maxima of ten sections.
    """

    def __init__(self, channels: int, rows: int) -> None:
        super().__init__()
        self.rows = max(rows, 20)
        self.first = Conv1d(1, 16, channels, channels)
        self.second = Conv1d(16, 32, 5, padding=2)
        self.out_channels = 320

    def forward(self, x: Tensor, batch: LinkBatch) -> Tensor:
        rows = sort_pool(x, batch.basis.ptr, self.rows).flatten(1).unsqueeze(1)
        out = F.max_pool1d(self.first(rows).relu(), 2)
        return F.adaptive_max_pool1d(self.second(out).relu(), 10).flatten(1)


class DGCNNReadout(torch.nn.Module):
    """SEAL's readout: k rows sorted by the last channel, a 1-d convolution over each row, pooling, a second convolution
    over five rows, flattened.

    "An End-to-End Deep Learning Architecture for Graph Classification" (Zhang et al., AAAI 2018) as SEAL's public code
    has it. `sort` differs in what follows the second convolution: there ten maxima, here every place, so that k is part
    of the shape.
    """

    def __init__(self, channels: int, rows: int) -> None:
        super().__init__()
        self.rows = max(rows, 10)  # the second convolution needs at least as many
        self.first = Conv1d(1, 16, channels, channels)
        self.second = Conv1d(16, 32, 5)
        self.out_channels = 32 * (self.rows // 2 - 4)

    def forward(self, x: Tensor, batch: LinkBatch) -> Tensor:
        return self.pool(x, batch.basis.ptr)

    def pool(self, x: Tensor, ptr: Tensor) -> Tensor:
        """Rows `[N, channels]` of the graphs of a pointer to `[B, out_channels]`."""
        rows = sort_pool_by_last(x, ptr, self.rows).flatten(1).unsqueeze(1)
        out = F.max_pool1d(self.first(rows).relu(), 2)
        flat: Tensor = self.second(out).relu().flatten(1)
        return flat


class ClassReadout(torch.nn.Module):
    """Mean and number of nodes of each distance class, and the largest entry of each channel."""

    def __init__(self, channels: int, classes: int, out_channels: int) -> None:
        super().__init__()
        self.classes, self.out_channels = classes, out_channels
        self.mix = Linear(classes * (channels + 1) + channels, out_channels)

    def forward(self, x: Tensor, batch: LinkBatch) -> Tensor:
        layout = batch.basis.slots
        if layout.at is None:
            rows, member = pad(x, layout), pad(one_hot(batch.label, self.classes, x.dtype), layout)
            pooled = uniform_class_pool(rows, member).flatten(1)
            largest = (rows * member.sum(2, keepdim=True)).amax(1)
        else:
            pooled = class_pool(x, batch.label, batch.basis.ptr, self.classes).flatten(1)
            largest = max_pool(x, layout)
        return self.read(pooled, largest)

    def read(self, pooled: Tensor, largest: Tensor) -> Tensor:
        """The output from means and counts `[B, classes (channels + 1)]` and largest entries `[B, channels]`."""
        out: Tensor = self.mix(torch.cat([pooled, largest], 1)).relu()
        return out


def sort_readout(channels: int, config: NetConfig) -> SortReadout:
    return SortReadout(channels, config.sort_rows)


def dgcnn_readout(channels: int, config: NetConfig) -> DGCNNReadout:
    return DGCNNReadout(channels, config.sort_rows)


def class_readout(channels: int, config: NetConfig) -> ClassReadout:
    return ClassReadout(channels, distance_classes(config.distance_cap), config.head)
