"""GCN: PyG's `GCNConv` as an encoder, an MLP on the product of the ends as a decoder."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import Dropout, ModuleList
from torch_geometric.nn import GCNConv

from llwlc.models._baseline_features import BaselineInput, DeviceFeatures
from llwlc.models._messages import Messages
from llwlc.models._network import BaselineNetwork, BaselineShape, ProductHead, product
from llwlc.models._recipes import Recipe


class GCN(BaselineNetwork):
    """Kipf and Welling's convolutions (ICLR 2017): h ← ReLU(D^−½ (A + I) D^−½ h W), the last one without ReLU; score =
    head(h_u ⊙ h_v).

    The features pass a linear map first, as that of sparse features is cheap. Uses the options of `mlp`.
    """

    NAME, TITLE = "gcn", "GCN"

    def __init__(self, recipe: Recipe, shape: BaselineShape, seed: int = 0) -> None:
        super().__init__(recipe, shape, seed)
        r = recipe
        self.input = BaselineInput(
            shape.num_nodes, shape.in_channels, r.hidden, embedding=r.embedding, dropout=r.input_dropout
        )
        self.convs = ModuleList(self.conv(r.hidden) for _ in range(r.layers))
        self.dropout = Dropout(r.dropout)
        self.head = ProductHead(r.hidden, r.head_layers, dropout=r.head_dropout, norm=r.norm)

    def conv(self, channels: int) -> Any:
        return GCNConv(channels, channels)

    def encode(self, messages: Messages, features: DeviceFeatures | None) -> Tensor:
        x: Tensor = self.input(features)
        for i, conv in enumerate(self.convs):
            x = conv(x if i == 0 else self.dropout(torch.relu(x)), messages.edge_index)
        return x

    def decode(self, encoded: Tensor, pairs: Tensor) -> Tensor:
        out: Tensor = self.head(product(encoded, pairs))
        return out
