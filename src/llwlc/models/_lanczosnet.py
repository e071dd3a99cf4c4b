"""LanczosNet itself, on enclosing subgraphs: powers of the affinity for the short scale, learned spectral filters for
the long one.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import Dropout, Embedding, Linear, ModuleList, ReLU, Sequential

from llwlc._support.ragged import pad, unpad
from llwlc.bases._link_bases import link_bases
from llwlc.linalg._basis import Eigenbasis
from llwlc.models._baseline_features import BaselineInput, DeviceFeatures
from llwlc.models._messages import Messages
from llwlc.models._network import BaselineNetwork, BaselineShape
from llwlc.models._recipes import Recipe
from llwlc.models._seal import LinkHead, SEALEncoding
from llwlc.nn._conv import eigenvalue_powers
from llwlc.subgraphs._batch import Subgraphs
from llwlc.subgraphs._labels import distance_classes, distance_encoding

CAP = 3
"""Distances to the ends are distinguished up to this one."""


class LanczosNet(BaselineNetwork):
    """ "LanczosNet: Multi-Scale Deep Graph Convolutional Networks" (Liao et al., ICLR 2019), its layer on the enclosing
    subgraph of each pair.

    With S = I − L, L the normalised Laplacian, and its Ritz pairs (θ, V) after `steps` steps from a random vector that
    belongs to the pair: X ← ReLU([S^p X for p in `short`, V f_j(θ^q for q in `long`) Vᵀ X for each j] W), the f_j one
    MLP on all those powers of an eigenvalue. No constraints, which are LLwLC's, unless `constraints` names some. Input:
    the distances to the ends, embedded, and the raw features; readout as `seal`. Options: `hops`, `hidden`, `layers`,
    `steps`, `short`, `long`, `constraints`, `features`, `input_dropout`, `dropout` and `ends`.
    """

    NAME, TITLE = "lanczosnet", "LanczosNet"
    SORTS = True

    HEAD = ("head",)
    DECODE_BATCH_SIZE = 1024

    def __init__(self, recipe: Recipe, shape: BaselineShape, seed: int = 0) -> None:
        super().__init__(recipe, shape, seed)
        r = recipe
        self.labels = Embedding(distance_classes(CAP), r.hidden)
        self.input = (
            BaselineInput(shape.num_nodes, shape.in_channels, r.hidden, bias=False, dropout=r.input_dropout)
            if shape.in_channels
            else None
        )
        widths = [r.hidden] * (r.layers + 1)
        self.convs = ModuleList(LanczosConv(a, b, short=r.short, long=r.long) for a, b in pairwise(widths))
        self.dropout = Dropout(r.dropout)
        self.last = Linear(r.hidden, 1)
        self.head = LinkHead(r.layers * r.hidden, shape.sort_rows, ends=r.ends)

    def encode(self, messages: Messages, features: DeviceFeatures | None) -> SEALEncoding:
        return SEALEncoding(None if self.input is None else self.input(features), messages)

    def decode(self, encoded: SEALEncoding, pairs: Tensor) -> Tensor:
        messages, weight = encoded.messages, self.labels.weight
        ordered = torch.stack([pairs.amin(1), pairs.amax(1)], 1)
        subs, basis = link_bases(
            messages.graph,
            ordered,
            constraints=self.recipe.constraints,
            start="random",
            steps=self.recipe.steps,
            hops=self.recipe.hops,
            seed=self.seed,
            dtype=weight.dtype,
        )
        x = self.labels(distance_encoding(subs, CAP))
        if encoded.rows is not None:
            x = x + encoded.rows[subs.node]
        states = []
        for conv in self.convs:
            x = self.dropout(conv(x, subs, basis).relu())
            states.append(x)
        out: Tensor = self.head(torch.cat(states, 1), torch.tanh(self.last(x)), subs)
        return out


class LanczosConv(torch.nn.Module):
    """One layer: the short scale by multiplication, the long one in the Ritz basis, mixed by one matrix."""

    def __init__(
        self, in_channels: int, out_channels: int, *, short: tuple[int, ...], long: tuple[int, ...], hidden: int = 32
    ) -> None:
        super().__init__()
        self.short, self.long = short, long
        self.filter = Sequential(Linear(len(long), hidden), ReLU(), Linear(hidden, len(long)))
        self.mix = Linear((len(short) + len(long)) * in_channels, out_channels)

    def forward(self, x: Tensor, subs: Subgraphs, basis: Eigenbasis) -> Tensor:
        out: Tensor = self.mix(torch.cat([*self.short_scale(x, subs), self.long_scale(x, basis)], 1))
        return out

    def short_scale(self, x: Tensor, subs: Subgraphs) -> list[Tensor]:
        """S^p X for each of the short powers."""
        powers, power = [], x
        for p in range(1, max(self.short, default=0) + 1):
            power = affinity(power, subs)
            if p in self.short:
                powers.append(power)
        return powers

    def long_scale(self, x: Tensor, basis: Eigenbasis) -> Tensor:
        """V f_j(θ^q) Vᵀ X for each j, side by side, `[N, J d]`."""
        spectrum = basis.padded.transpose(1, 2) @ pad(x, basis.slots)  # VᵀX, [B, κ, d]
        filtered = (self.gains(basis).unsqueeze(3) * spectrum.unsqueeze(2)).flatten(2)
        return unpad(basis.padded @ filtered, basis.slots)

    def gains(self, basis: Eigenbasis) -> Tensor:
        """f of the powers of each Ritz value of S, `[B, κ, J]`, zero at dead columns."""
        out: Tensor = self.filter(eigenvalue_powers(1 - basis.values, self.long)) * basis.mask.unsqueeze(2)
        return out


def affinity(x: Tensor, subs: Subgraphs) -> Tensor:
    """S X with S = I − L: D^−½ A D^−½, and 1 at isolated nodes, where L is 0."""
    degree = subs.degree.to(x.dtype).unsqueeze(1)
    scale = degree.clamp(min=1).rsqrt()
    sent = (scale * x)[subs.col]
    return torch.where(degree > 0, scale * torch.zeros_like(x).index_add(0, subs.row, sent), x)
