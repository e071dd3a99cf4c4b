"""NCN: neural common neighbours, a sum of their rows beside the product of the ends."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import Identity, Linear, Parameter, Sequential

from llwlc.models._baseline_features import DeviceFeatures
from llwlc.models._linear_encoder import LinearEncoder, layer, two_layers
from llwlc.models._messages import Messages
from llwlc.models._network import BaselineShape, product
from llwlc.models._recipes import Recipe


class NCNEncoding(NamedTuple):
    """Rows `[n, d]` of all nodes, and the messages by which common neighbours are found."""

    rows: Tensor
    messages: Messages


class NCN(LinearEncoder):
    """ "Neural Common Neighbor with Completion for Link Prediction" (Wang, Yang and Zhang, ICLR 2024).

    h = Â (X W + b) with no weights in the propagation; score = head(β · f(Σ_{w ∈ N(u) ∩ N(v)} g(h_w)) + p(h_u ⊙ h_v))
    with g(h) = h + MLP(h). All links of a batch are removed from the messages it is trained on. Options: `hidden`,
    `layers`, the five dropouts and `deep_head`.
    """

    NAME, TITLE = "ncn", "NCN"

    HEAD = ("lift", "common", "ends", "head", "beta")
    DECODE_BATCH_SIZE = 8192

    def __init__(self, recipe: Recipe, shape: BaselineShape, seed: int = 0) -> None:
        super().__init__(recipe, shape, seed)
        r = recipe
        self.lift = Sequential(*two_layers(r.hidden, r.head_dropout))
        self.common = Sequential(*two_layers(r.hidden, r.head_dropout))
        self.ends = Sequential(*layer(r.hidden, r.head_dropout))
        deep = layer(r.hidden, r.head_dropout) if r.deep_head else [Identity()]
        self.head = Sequential(*layer(r.hidden, r.head_dropout), *deep, Linear(r.hidden, 1))
        self.beta = Parameter(torch.ones(1))

    def encode(self, messages: Messages, features: DeviceFeatures | None) -> NCNEncoding:
        return NCNEncoding(self.rows(messages, features), messages)

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
