"""NCN: neural common neighbours, a sum of their rows beside the product of the ends."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import Dropout, Identity, LayerNorm, Linear, Parameter, ReLU, Sequential

from llwlc.models._baseline_features import BaselineInput, DeviceFeatures
from llwlc.models._messages import Messages
from llwlc.models._network import BaselineNetwork, BaselineShape, product
from llwlc.models._recipes import Recipe


class NCNEncoding(NamedTuple):
    """Rows `[n, d]` of all nodes, and the messages by which common neighbours are found."""

    rows: Tensor
    messages: Messages


class NCN(BaselineNetwork):
    """ "Neural Common Neighbor with Completion for Link Prediction" (Wang, Yang and Zhang, ICLR 2024).

    h = Â (X W + b) with no weights in the propagation; score = head(β · f(Σ_{w ∈ N(u) ∩ N(v)} g(h_w)) + p(h_u ⊙ h_v))
    with g(h) = h + MLP(h). All links of a batch are removed from the messages it is trained on. Reads `hidden`,
    `layers`, the five dropouts and `deep_head`.
    """

    NAME, TITLE = "ncn", "NCN"

    HEAD = ("lift", "common", "ends", "head", "beta")
    DECODE_BATCH_SIZE = 8192

    def __init__(self, recipe: Recipe, shape: BaselineShape, seed: int = 0) -> None:
        super().__init__(recipe, shape, seed)
        r = recipe
        self.input = BaselineInput(
            shape.num_nodes, shape.in_channels, r.hidden, embedding=r.embedding, dropout=r.input_dropout
        )
        self.scale = Parameter(torch.randn(r.layers))  # jumping knowledge: a factor for each step
        self.dropout, self.tail = Dropout(r.dropout), Dropout(r.tail_dropout)
        self.lift = Sequential(*_two_layers(r.hidden, r.head_dropout))
        self.common = Sequential(*_two_layers(r.hidden, r.head_dropout))
        self.ends = Sequential(*_layer(r.hidden, r.head_dropout))
        deep = _layer(r.hidden, r.head_dropout) if r.deep_head else [Identity()]
        self.head = Sequential(*_layer(r.hidden, r.head_dropout), *deep, Linear(r.hidden, 1))
        self.beta = Parameter(torch.ones(1))

    def encode(self, messages: Messages, features: DeviceFeatures | None) -> NCNEncoding:
        x = self.dropout(self.input(features))
        total = torch.zeros_like(x)
        for i in range(self.recipe.layers):
            x = messages.smooth(x)
            x = self.tail(x) if i == self.recipe.layers - 1 else x
            total = total + self.scale[i] * x
        return NCNEncoding(total, messages)

    def decode(self, encoded: NCNEncoding, pairs: Tensor) -> Tensor:
        seen = self.thinned(encoded.messages)
        lifted = encoded.rows + self.lift(encoded.rows)
        return self.read(encoded.rows, overlap_sum(seen, pairs, lifted), pairs)

    def read(self, rows: Tensor, overlap: Tensor, pairs: Tensor) -> Tensor:
        """Logits `[m]` from the rows of the ends and the sum over common neighbours `[m, d]`."""
        out: Tensor = self.head(self.beta * self.common(overlap) + self.ends(product(rows, pairs))).squeeze(1)
        return out

    def thinned(self, messages: Messages) -> Messages:
        """In training, the messages without a random share of the adjacency's entries, drawn for each direction
        separately; otherwise all messages.
        """
        share = self.recipe.overlap_dropout
        if not self.training or not share:
            return messages
        drop = torch.rand(len(messages.row), device=messages.device) < share
        return messages.without(drop.nonzero().view(-1))


def overlap_sum(messages: Messages, pairs: Tensor, rows: Tensor) -> Tensor:
    """Σ rows_w over the common neighbours w of each pair, `[m, d]`."""
    neighbour, owner = messages.neighbours(pairs[:, 0])
    common = messages.linked(pairs[owner, 1], neighbour)
    return rows.new_zeros(len(pairs), rows.shape[1]).index_add(0, owner[common], rows[neighbour[common]])


def _layer(channels: int, dropout: float) -> list[torch.nn.Module]:
    return [Linear(channels, channels), LayerNorm(channels), Dropout(dropout), ReLU()]


def _two_layers(channels: int, dropout: float) -> list[torch.nn.Module]:
    return [Linear(channels, channels), Dropout(dropout), ReLU(), *_layer(channels, dropout)]
