"""The encoder of NCN and its kin: propagation without weights, and a learned factor for each step."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import Dropout, LayerNorm, Linear, Parameter, ReLU

from llwlc.models._baseline_features import BaselineInput, DeviceFeatures
from llwlc.models._messages import Messages
from llwlc.models._network import BaselineNetwork, BaselineShape
from llwlc.models._recipes import Recipe


class LinearEncoder(BaselineNetwork):
    """h = Σ_i s_i x_i with x₀ = X W + b and x_i = P x_{i−1}, or P x_{i−1} + x_{i−1} if `residual`; P is GCN's matrix or
    the mean over neighbours (`propagation`). Options: `hidden`, `layers`, `embedding` and three dropouts.
    """

    def __init__(self, recipe: Recipe, shape: BaselineShape, seed: int = 0) -> None:
        super().__init__(recipe, shape, seed)
        r = recipe
        self.input = BaselineInput(
            shape.num_nodes, shape.in_channels, r.hidden, embedding=r.embedding, dropout=r.input_dropout
        )
        self.scale = Parameter(torch.randn(r.layers))  # jumping knowledge: a factor for each step
        self.dropout, self.tail = Dropout(r.dropout), Dropout(r.tail_dropout)

    def rows(self, messages: Messages, features: DeviceFeatures | None) -> Tensor:
        """h of all nodes, `[n, d]`."""
        x = self.dropout(self.input(features))
        total = torch.zeros_like(x)
        for i in range(self.recipe.layers):
            step = messages.smooth(x) if self.recipe.propagation == "gcn" else messages.mean(x)
            step = self.tail(step) if i == self.recipe.layers - 1 else step
            x = step + x if self.recipe.residual else step
            total = total + self.scale[i] * x
        return total


def layer(channels: int, dropout: float) -> list[torch.nn.Module]:
    """A linear map, LayerNorm, dropout, ReLU."""
    return [Linear(channels, channels), LayerNorm(channels), Dropout(dropout), ReLU()]


def two_layers(channels: int, dropout: float) -> list[torch.nn.Module]:
    """A linear map, dropout, ReLU, and a `layer`."""
    return [Linear(channels, channels), Dropout(dropout), ReLU(), *layer(channels, dropout)]
