"""SEAL: a DGCNN on the enclosing subgraph of each pair, on this package's own extraction."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import Dropout, Embedding, Linear, ModuleList, ReLU, Sequential
from torch_geometric.nn import GCNConv

from llwlc.models._baseline_features import BaselineInput, DeviceFeatures
from llwlc.models._messages import Messages
from llwlc.models._network import BaselineNetwork, BaselineShape
from llwlc.models._recipes import Recipe
from llwlc.nn._readouts import DGCNNReadout
from llwlc.subgraphs._batch import Subgraphs
from llwlc.subgraphs._extraction import extract
from llwlc.subgraphs._labels import drnl


class SEALEncoding(NamedTuple):
    """Mapped features `[n, d]` of all nodes or None, and the messages that subgraphs are taken from."""

    rows: Tensor | None
    messages: Messages


class SEAL(BaselineNetwork):
    """ "Link Prediction Based on Graph Neural Networks" (Zhang and Chen, NeurIPS 2018), DGCNN as its public code has
    it.

    DRNL labels, embedded, beside the raw features; `layers` GCN convolutions with tanh and a last one of one channel,
    all concatenated; sorted by the last channel, k at the 60th percentile of the training subgraphs' sizes; flattened
    convolutions and an MLP of 128. The link itself is removed from its subgraph. With `ends` the product of the two
    ends' rows goes to that MLP too, as in the variant of SEAL that BUDDY's authors compare with: sorted rows alone make
    little of features. Options: `hops`, `hidden`, `layers`, `features`, `input_dropout` and `ends`.
    """

    NAME, TITLE = "seal", "SEAL"
    SORTS = True

    HEAD = ("head",)
    DECODE_BATCH_SIZE = 256

    def __init__(self, recipe: Recipe, shape: BaselineShape, seed: int = 0) -> None:
        super().__init__(recipe, shape, seed)
        r = recipe
        self.labels = Embedding(num_labels(r.hops), r.hidden)
        # the public code concatenates labels and features; adding their images under two matrices is the same linear
        # map
        self.input = (
            BaselineInput(shape.num_nodes, shape.in_channels, r.hidden, bias=False, dropout=r.input_dropout)
            if shape.in_channels
            else None
        )
        self.convs = ModuleList(GCNConv(r.hidden, r.hidden) for _ in range(r.layers))
        self.last = GCNConv(r.hidden, 1)
        self.head = LinkHead(r.layers * r.hidden, shape.sort_rows, ends=r.ends)

    def encode(self, messages: Messages, features: DeviceFeatures | None) -> SEALEncoding:
        return SEALEncoding(None if self.input is None else self.input(features), messages)

    def decode(self, encoded: SEALEncoding, pairs: Tensor) -> Tensor:
        return self.read(encoded.rows, extract_subgraphs(encoded.messages, pairs, self.recipe.hops))

    def read(self, rows: Tensor | None, subs: Subgraphs) -> Tensor:
        """Logits `[B]` of the pairs that these subgraphs enclose."""
        x = self.labels(drnl(subs))
        if rows is not None:
            x = x + rows[subs.node]
        edges = torch.stack([subs.row, subs.col])
        states = []
        for conv in self.convs:
            x = torch.tanh(conv(x, edges))
            states.append(x)
        out: Tensor = self.head(torch.cat(states, 1), torch.tanh(self.last(x, edges)), subs)
        return out


class LinkHead(torch.nn.Module):
    """Rows `[N, channels]` of all layers and the channel to sort by `[N, 1]` to logits `[B]`: SEAL's readout, beside it
    the product of the ends where `ends`, and an MLP of 128."""

    def __init__(self, channels: int, rows: int, *, ends: bool) -> None:
        super().__init__()
        self.ends = ends
        self.readout = DGCNNReadout(channels + 1, rows)
        width = self.readout.out_channels + (channels if ends else 0)
        self.mlp = Sequential(Linear(width, 128), ReLU(), Dropout(0.5), Linear(128, 1))

    def forward(self, x: Tensor, order: Tensor, subs: Subgraphs) -> Tensor:
        read = [self.readout.pool(torch.cat([x, order], 1), subs.ptr)]
        if self.ends:
            read.append(x[subs.u] * x[subs.v])
        out: Tensor = self.mlp(torch.cat(read, 1)).squeeze(1)
        return out


def num_labels(hops: int) -> int:
    """The values that DRNL takes within this many hops: distances are capped at 2 · hops + 1, which is read as
    unreachable.
    """
    return 4 * hops**2 + 2


def extract_subgraphs(messages: Messages, pairs: Tensor, hops: int) -> Subgraphs:
    """The enclosing subgraphs of pairs on the messages' device, the smaller end first, so that the score does not
    depend on the order of the ends.
    """
    ordered = torch.stack([pairs.amin(1), pairs.amax(1)], 1)
    return extract(messages.graph, ordered, hops)
