"""LLwLCNet: blocks on one constrained eigenbasis, a pooling, a readout of the two ends, a score."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor
from torch.nn import Conv1d, Dropout, LayerNorm, Linear, ModuleList, ReLU, Sequential
from torch.nn import functional as F

from llwlc.errors import InputError
from llwlc.nn.batch import LinkBatch
from llwlc.nn.conv import LLwLCConv, SpectralMLP
from llwlc.nn.pool import class_pool, max_pool, sort_pool, uniform_class_pool
from llwlc.ragged import pad
from llwlc.subgraphs import distance_classes


@dataclass(frozen=True)
class NetConfig:
    """The shape of the network. The defaults are `anchored`'s; `PAPER` is the paper's."""

    feature_channels: int = 0
    """Width of the compact features, 0 for none."""
    blocks: int = 2
    channels: int = 32
    filters: int = 4
    filter_hidden: int = 32
    skip: bool = True
    jumping: bool = True
    pooling: Literal["sort", "class"] = "class"
    sort_rows: int = 30
    distance_cap: int = 3
    ends: bool = True
    """Read out the two ends' rows of the last block."""
    filtered_channels: int = 64
    """Width of the ends' filtered features in the readout, 0 for none."""
    cosines: bool = True
    """Read out the cosines between the ends' filtered features too: they need no weights."""
    head: int = 32
    dropout: float | None = None
    """None here and below: chosen by the number of training links, see `presets.Preset.adapted`; 0.5 if it is not."""
    feature_dropout: float | None = None

    def __post_init__(self) -> None:
        if self.pooling not in ("sort", "class"):
            raise InputError(f"pooling is sort or class, got {self.pooling!r}")
        for name in ("dropout", "feature_dropout"):
            share = getattr(self, name)
            if share is not None and not 0 <= share < 1:
                raise InputError(f"{name} is at least 0 and below 1, got {share!r}")
        for name in ("blocks", "channels", "filters", "filter_hidden", "head"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is at least 1, got {getattr(self, name)!r}")


PAPER = NetConfig(
    filters=1,
    skip=False,
    jumping=False,
    pooling="sort",
    ends=False,
    filtered_channels=0,
    cosines=False,
    head=48,
    dropout=0.5,
)
"""The paper's network in one reading where it is silent: one filter a block, no skip, sorted rows through DGCNN's convolutions."""


class LLwLCNet(torch.nn.Module):
    r"""The network of "Boosting Graph Neural Network Expressivity with Learnable Lanczos Constraints" (ICML 2025), Algorithm 2, and
    what grew out of it here.

    Input of a node: its unordered pair of distances to the ends, one-hot, log(1 + degree). Blocks
    :math:`\mathbf{X}_{i+1} = \mathrm{ReLU}(\mathbf{V} f_i(\mathbf{R}) \mathbf{V}^{\top} \mathbf{X}_i \mathbf{W}_i)` share one
    basis. The score is symmetric in the two ends and does not depend on the order of nodes.

    Args:
        config: the shape; see `NetConfig`.

    Shapes:
        - **input:** a `LinkBatch` of B links, compact features :math:`(n, F)` of the graph's nodes or None
        - **output:** logits :math:`(B)`
    """

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.config = c = config
        dropout = 0.5 if c.dropout is None else c.dropout
        self.classes = distance_classes(c.distance_cap)
        widths = [self.classes + 1] + [c.channels] * c.blocks
        self.convs = ModuleList(
            LLwLCConv(a, b, num_filters=c.filters, hidden_channels=c.filter_hidden, skip=c.skip, dropout=dropout / 2)
            for a, b in pairwise(widths)
        )
        hidden = c.channels * (c.blocks if c.jumping else 1)
        self.pool: SortReadout | ClassReadout = (
            SortReadout(hidden, c.sort_rows) if c.pooling == "sort" else ClassReadout(hidden, self.classes, c.head)
        )
        width = self.pool.out_channels + (2 * c.channels if c.ends else 0)
        self.filtered = None
        if c.feature_channels and c.filtered_channels:
            self.filtered = FilteredEnds(c)
            width += self.filtered.out_channels
        self.head = Sequential(Linear(width, c.head), ReLU(), Dropout(dropout), Linear(c.head, 1))

    def forward(self, batch: LinkBatch, features: Tensor | None = None) -> Tensor:
        c = self.config
        width = 0 if features is None else features.shape[1]
        if width != c.feature_channels:
            raise InputError(f"this network reads {c.feature_channels} compact features a node, got {width}")
        self._check_classes(batch.label)
        x = torch.cat([one_hot(batch.label, self.classes, batch.degree.dtype), batch.degree.log1p().unsqueeze(1)], 1)
        states = []
        for conv in self.convs:
            x = conv(x, batch.basis).relu()
            states.append(x)
        parts = [self.pool(torch.cat(states, 1) if c.jumping else x, batch)]
        if c.ends:
            parts.append(symmetric(x.index_select(0, batch.u), x.index_select(0, batch.v)))
        if self.filtered is not None and features is not None:
            parts.append(self.filtered(batch, features))
        out: Tensor = self.head(torch.cat(parts, 1)).squeeze(1)
        return out

    def _check_classes(self, label: Tensor) -> None:
        """On the CPU only: a GPU would have to be waited for."""
        most = int(label.max()) if label.numel() and not label.is_cuda else -1
        if most >= self.classes:
            raise InputError(
                f"the batch has distance class {most}, this network knows 0 to {self.classes - 1}: its distance_cap is not the basis's"
            )

    @property
    def num_parameters(self) -> int:
        return sum(p.numel() for p in self.parameters())

    def __repr__(self) -> str:
        return f"LLwLCNet({self.config.blocks} blocks of {self.config.channels}, {self.num_parameters:,} parameters)"


def one_hot(label: Tensor, classes: int, dtype: torch.dtype) -> Tensor:
    """`[N, classes]`, a zero row for a negative label; unlike torch's without a look at the values."""
    return label.unsqueeze(1).eq(torch.arange(classes, device=label.device)).to(dtype)


def symmetric(a: Tensor, b: Tensor) -> Tensor:
    """Product and distance of two rows: all that a score symmetric in the ends reads of them."""
    return torch.cat([a * b, (a - b).abs()], 1)


class SortReadout(torch.nn.Module):
    """DGCNN's: k sorted rows, a 1-d convolution over each, pooling, a second one over five, the largest of ten stretches."""

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
        out: Tensor = self.mix(torch.cat([pooled, largest], 1)).relu()
        return out


class FilteredEnds(torch.nn.Module):
    """Compact features at u and v after S learned filters: a graph convolution of the two ends that never saw their link.

    Rows u and v of V f(R) Vᵀ X, computed on κ rows a graph; exact for polynomial filters up to degree ⌊κ/2⌋ − 1 with a query start.
    """

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        filters, channels = config.filters, config.filtered_channels
        self.dropout = 0.5 if config.dropout is None else config.dropout
        self.feature_dropout = 0.5 if config.feature_dropout is None else config.feature_dropout
        self.cosines = config.cosines
        self.filter = SpectralMLP(filters, hidden_channels=config.filter_hidden)
        self.mix = Linear((filters + 1) * config.feature_channels, channels)
        self.norm = LayerNorm(channels)
        self.out_channels = 2 * channels + ((filters + 1) * (filters + 2) // 2 if self.cosines else 0)

    def forward(self, batch: LinkBatch, features: Tensor) -> Tensor:
        a, b = self.ends(batch, features)
        mixed = symmetric(self.norm(self.mix(a.flatten(1))), self.norm(self.mix(b.flatten(1))))
        out = F.dropout(mixed, self.dropout, self.training)
        return torch.cat([out, cosines(a, b)], 1) if self.cosines else out

    def ends(self, batch: LinkBatch, features: Tensor) -> tuple[Tensor, Tensor]:
        """The features of the ends, the smaller id first, S times filtered and once as they are, `[B, S + 1, F]` each."""
        basis = batch.basis
        spectrum = basis.padded.transpose(1, 2) @ pad(features[batch.node], basis.slots)
        gain = self.filter(basis).transpose(1, 2)  # [B, S, κ]
        # whole channels of a link are dropped, alike at both ends: dropped on their own, three products in four would vanish
        keep = F.dropout(features.new_ones(batch.num_links, 1, features.shape[1]), self.feature_dropout, self.training)

        def at(end: Tensor) -> Tensor:
            filtered = (gain * basis.vectors[end].unsqueeze(1)) @ spectrum
            return torch.cat([filtered, features[batch.node[end]].unsqueeze(1)], 1) * keep

        # in one order, since a matrix product and the product of the transposes may round differently
        first = batch.node[batch.u] <= batch.node[batch.v]
        return at(torch.where(first, batch.u, batch.v)), at(torch.where(first, batch.v, batch.u))


def cosines(a: Tensor, b: Tensor) -> Tensor:
    """Cosines between all rows of a and all rows of b, `[B, S, F]` each, symmetric in a and b: `[B, S (S + 1) / 2]`."""
    table = F.normalize(a, dim=2, eps=1e-6) @ F.normalize(b, dim=2, eps=1e-6).transpose(1, 2)
    row, col = torch.triu_indices(*table.shape[1:], device=a.device)
    return (table + table.transpose(1, 2))[:, row, col] / 2
