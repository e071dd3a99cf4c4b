"""StudyNet: our network with further readings of the paper, which the study tried and no preset uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import Embedding, LayerNorm, Linear, Parameter, ReLU, Sequential
from torch.nn import functional as F

from llwlc._support.options import option
from llwlc._support.ragged import pad
from llwlc.bases._link_batch import LinkBatch
from llwlc.errors import InputError
from llwlc.linalg._basis import Eigenbasis
from llwlc.nn._config import NetConfig
from llwlc.nn._conv import LLwLCConv, SpectralMLP, eigenvalue_powers
from llwlc.nn._end_readout import FilteredEnds, cosines
from llwlc.nn._link_dropout import LinkDropout
from llwlc.nn._net import LLwLCNet
from llwlc.nn._node_input import NodeInput
from llwlc.subgraphs._labels import drnl_of_distances

LABELS = {
    "distance": "the unordered pair of distances to the ends, one-hot, and log(1 + degree)",
    "drnl": "SEAL's label of that pair, as a learned row",
    "none": "log(1 + degree) alone",
    "features": "nothing: the input is the features alone, as Algorithm 2 has it",
}
"""How the position of a node relative to the two ends is encoded in its input, by name."""
MOST_POWERS = 64
COMMON = 2
"""The distance class of common neighbours, at distance 1 from both ends."""


@dataclass(frozen=True)
class StudyConfig(NetConfig):
    """The shape of a `StudyNet`: that of our network, and what the study tried beside it."""

    labels: str = option(
        "distance", "how a node's distances to the two ends are encoded for the network", choices=LABELS
    )
    """A name of `LABELS`."""
    powers: int = option(1, "number of powers of an eigenvalue that a filter reads", least=1, most=MOST_POWERS)
    sort_channel: bool = option(False, "whether the readout sorts rows by a last block of one channel, as SEAL does")
    """The block has a tanh, and its channel is read out too."""
    common: bool = option(False, "whether the readout sees the sum of the common neighbours' filtered features")
    """As NCN does."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.common and self.distance_cap < 2:
            raise InputError(
                "common needs a distance_cap of 2 or more: below it, common neighbours have no class of their own"
            )


class StudyNet(LLwLCNet):
    """`LLwLCNet` with the further options of a `StudyConfig`, computed in torch.

    Parts are created in the order in which stored lines drew their weights: a cell has the weights that it always had.
    """

    config: StudyConfig
    order: LLwLCConv | None

    def make_input(self) -> NodeInput:
        return NodeInput(self.config) if self.config.labels == "distance" else LabelInput(self.config)

    def make_block(self, in_channels: int, out_channels: int) -> LLwLCConv:
        c = self.config
        if c.powers == 1:
            return super().make_block(in_channels, out_channels)
        return PowersConv(
            in_channels,
            out_channels,
            powers=c.powers,
            num_filters=c.filters,
            hidden_channels=c.filter_hidden,
            skip=c.skip,
            dropout=self.dropout / 2,
        )

    def make_pool(self, channels: int) -> Any:
        self.order = self.make_block(self.config.channels, 1) if self.config.sort_channel else None
        return super().make_pool(channels + (0 if self.order is None else 1))

    def make_ends(self) -> FilteredEnds:
        return CommonAndEnds(self.config) if self.config.common else super().make_ends()

    def pooled_rows(self, states: list[Tensor], batch: LinkBatch) -> list[Tensor]:
        rows = super().pooled_rows(states, batch)
        return rows if self.order is None else [*rows, self.order(states[-1], batch.basis).tanh()]


class LabelInput(NodeInput):
    """The input of the first block with other labels: SEAL's, as learned rows, or none but the degree."""

    def __init__(self, config: StudyConfig) -> None:
        super().__init__(config)
        self.out_channels -= self.classes + 1
        self.labels = None
        if config.labels == "drnl":
            table = drnl_of_classes(config.distance_cap)
            self.labels = Embedding(int(table.max()) + 1, config.channels)
            self.register_buffer("drnl", table, persistent=False)
        self.alone = config.labels == "features"
        self.out_channels += 0 if self.alone else 1 if self.labels is None else config.channels

    def places(self, batch: LinkBatch) -> Tensor:
        if self.alone:
            return batch.degree.new_empty(len(batch.degree), 0)
        if self.labels is None:
            return batch.degree.log1p().unsqueeze(1)
        table = self.get_buffer("drnl")
        row: Tensor = self.labels(table[batch.label.clamp(min=0)])  # rows that fill a batch up have label −1
        return row


def drnl_of_classes(cap: int) -> Tensor:
    """SEAL's label of each value of `distance_encoding`, `[distance_classes(cap)]`; the cap is what distances in the
    subgraph are capped at, 2 · hops + 1.

    >>> drnl_of_classes(3).tolist()
    [1, 1, 2, 1, 3, 5, 1, 0, 0, 0]
    """
    far = torch.arange(cap + 1).repeat_interleave(torch.arange(1, cap + 2))
    near = torch.arange(len(far)) - far * (far + 1) // 2
    label = drnl_of_distances(near, far, cap)
    label[near == 0] = 1  # the ends themselves, whichever of them reaches the other
    return label


class PowersConv(LLwLCConv):
    """A block whose filters are a `PowersMLP`."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        powers: int,
        num_filters: int,
        hidden_channels: int,
        skip: bool,
        dropout: float,
    ) -> None:
        torch.nn.Module.__init__(self)  # the block's own would draw the weights of another filter first
        self.in_channels, self.out_channels, self.num_filters = in_channels, out_channels, num_filters
        self.filter = PowersMLP(num_filters, hidden_channels=hidden_channels, powers=powers, dropout=dropout)
        self.weight = Parameter(torch.empty(num_filters * in_channels, out_channels))
        self.bias = Parameter(torch.empty(out_channels))
        self.skip = Linear(in_channels, out_channels, bias=False) if skip else None
        self.reset_parameters()


class PowersMLP(SpectralMLP):
    """f of λ, (λ/λ₁)², …, (λ/λ₁)^powers side by side, λ₁ being the link's largest: λ itself keeps the scale, and
    dividing by λ₁ keeps the powers small beside a hub.
    """

    def __init__(self, num_filters: int, *, powers: int, hidden_channels: int = 32, dropout: float = 0.0) -> None:
        torch.nn.Module.__init__(self)
        self.powers = powers
        self.layers = Sequential(
            Linear(powers, hidden_channels), ReLU(), LinkDropout(dropout), Linear(hidden_channels, num_filters)
        )

    def forward(self, basis: Eigenbasis) -> Tensor:
        largest = basis.values.amax(1, keepdim=True).clamp(min=torch.finfo(basis.values.dtype).tiny)
        powers = eigenvalue_powers(basis.values / largest, range(2, self.powers + 1))
        out: Tensor = self.layers(torch.cat([basis.values.unsqueeze(2), powers], 2))
        return out * basis.mask.unsqueeze(2)


class CommonAndEnds(FilteredEnds):
    """The filtered features of the ends, and those of their common neighbours, summed."""

    def __init__(self, config: StudyConfig) -> None:
        super().__init__(config)
        self.common = LayerNorm(config.filtered_channels)
        self.out_channels += config.filtered_channels

    def forward(self, batch: LinkBatch, features: Tensor) -> Tensor:
        a, b, shared = self.rows(batch, features)
        mixed = self.mixed(a, b)  # before the sum: gradients are added in that order in the runs that are stored
        # the same weights as for the ends, without their bias, which would count the neighbours
        summed = self.common(F.linear(shared.flatten(1), self.mix.weight))
        out: Tensor = self.dropout(torch.cat([mixed, summed], 1))
        return torch.cat([out, cosines(a, b)], 1) if self.cosines else out

    def sources(self, batch: LinkBatch, features: Tensor) -> list[tuple[Tensor, Tensor]]:
        basis, x = batch.basis, pad(features[batch.node], batch.basis.slots)
        member = pad(batch.label.eq(COMMON).to(x.dtype).unsqueeze(1), basis.slots).transpose(1, 2)
        shared = (member @ basis.padded).squeeze(1), (member @ x).squeeze(1)
        return [*super().sources(batch, features), shared]
