"""MLP: features alone, no messages: what the other methods gain over it, they gain from links."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import Dropout, Linear, ModuleList

from llwlc.models._baseline_features import BaselineInput, DeviceFeatures
from llwlc.models._messages import Messages
from llwlc.models._network import BaselineNetwork, BaselineShape, ProductHead, product
from llwlc.models._recipes import Recipe


class MLP(BaselineNetwork):
    """h = MLP(x), score = head(h_u ⊙ h_v). Options: `hidden`, `layers`, `head_layers`, `norm` and the dropouts."""

    NAME, TITLE = "mlp", "MLP"

    def __init__(self, recipe: Recipe, shape: BaselineShape, seed: int = 0) -> None:
        super().__init__(recipe, shape, seed)
        r = recipe
        self.input = BaselineInput(
            shape.num_nodes, shape.in_channels, r.hidden, embedding=r.embedding, dropout=r.input_dropout
        )
        self.lins = ModuleList(Linear(r.hidden, r.hidden) for _ in range(r.layers - 1))
        self.dropout = Dropout(r.dropout)
        self.head = ProductHead(r.hidden, r.head_layers, dropout=r.head_dropout, norm=r.norm)

    def encode(self, messages: Messages, features: DeviceFeatures | None) -> Tensor:
        x: Tensor = self.input(features)
        for lin in self.lins:
            x = lin(self.dropout(torch.relu(x)))
        return x

    def decode(self, encoded: Tensor, pairs: Tensor) -> Tensor:
        out: Tensor = self.head(product(encoded, pairs))
        return out
