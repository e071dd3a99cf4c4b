"""SUREL+: the sets of nodes that walks from the two ends reach, joined and pooled."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import Dropout, Linear, ReLU, Sequential

from llwlc.models._baseline_features import BaselineInput, DeviceFeatures
from llwlc.models._messages import Messages
from llwlc.models._network import BaselineNetwork, BaselineShape
from llwlc.models._recipes import Recipe
from llwlc.models._walk_sets import walk_sets


class SURELEncoding(NamedTuple):
    """Mapped features `[n, d]` of all nodes or None, and the messages that walks go along."""

    rows: Tensor | None
    messages: Messages


class SURELPlus(BaselineNetwork):
    """ "SUREL+: Moving from Walks to Sets for Scalable Subgraph-based Graph Representation Learning" (Yin et al., VLDB
    2023), with landing probabilities and mean pooling.

    z_u(w) are the shares of u's walks that are at w after 0 … `steps` steps, 0 outside u's set S_u. One end's row is
    the mean over w ∈ S_u of E(z_u(w)) + E(z_v(w)) with E an MLP, beside an MLP of its features; score = head of both
    ends' rows, the mean of both orders. Walks are recomputed from a hash when needed, never stored.
    Options: `hidden`, `walks`, `steps`, `features` and `head_dropout`.
    """

    NAME, TITLE = "surelplus", "SUREL+"

    DECODE_BATCH_SIZE = 2048

    def __init__(self, recipe: Recipe, shape: BaselineShape, seed: int = 0) -> None:
        super().__init__(recipe, shape, seed)
        width, read = recipe.hidden, shape.in_channels > 0
        self.input = BaselineInput(shape.num_nodes, shape.in_channels, width) if read else None
        self.mix = Linear(width, width) if read else None
        self.first, self.second = Linear(recipe.steps + 1, width), Linear(width, width)
        inside = (4 if read else 2) * width
        self.head = Sequential(Linear(inside, width), ReLU(), Dropout(recipe.head_dropout), Linear(width, 1))
        for module in self.modules():
            if isinstance(module, Linear):
                torch.nn.init.xavier_normal_(module.weight)

    def encode(self, messages: Messages, features: DeviceFeatures | None) -> SURELEncoding:
        if self.input is None or self.mix is None:
            return SURELEncoding(None, messages)
        return SURELEncoding(self.mix(torch.relu(self.input(features))), messages)

    def decode(self, encoded: SURELEncoding, pairs: Tensor) -> Tensor:
        left, right = self.ends(encoded.messages, pairs)
        if encoded.rows is not None:
            left = torch.cat([left, encoded.rows[pairs[:, 0]]], 1)
            right = torch.cat([right, encoded.rows[pairs[:, 1]]], 1)
        forth, back = self.head(torch.cat([left, right], 1)), self.head(torch.cat([right, left], 1))
        out: Tensor = (forth + back).squeeze(1) / 2
        return out

    def ends(self, messages: Messages, pairs: Tensor) -> tuple[Tensor, Tensor]:
        """The pooled rows `[m, d]` of both ends.

        A mean of a linear map is the map of the mean: so E's last map comes after pooling, and of a pair only the nodes
        in both sets have to be looked at.
        """
        r = self.recipe
        nodes, place = torch.unique(pairs, return_inverse=True)
        sets = walk_sets(messages, nodes, walks=r.walks, steps=r.steps, seed=self.seed)
        inner = torch.relu(self.first(sets.share.to(self.first.weight.dtype)))
        absent = torch.relu(self.first.bias)
        size = sets.sizes.to(inner.dtype).unsqueeze(1)
        owner = torch.repeat_interleave(torch.arange(len(nodes), device=nodes.device), sets.sizes)
        own = self.second(inner.new_zeros(len(nodes), inner.shape[1]).index_add(0, owner, inner) / size)
        here, there, pair = sets.common(place, messages.num_nodes)
        none = inner.new_zeros(len(pairs), inner.shape[1])

        def row(end: Tensor, seen: Tensor) -> Tensor:
            # of the set of `end`, what the other end's walks are at; `absent` for nodes that they do not reach
            other = none.index_add(0, pair, inner[seen] - absent) / size[end] + absent
            pooled: Tensor = own[end] + self.second(other)
            return pooled

        return row(place[:, 0], there), row(place[:, 1], here)
