"""GAE, tuned: a linear graph autoencoder, stronger than most methods published after it."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import Dropout, LayerNorm, ModuleList, Parameter

from llwlc.models._baseline_features import BaselineInput, DeviceFeatures
from llwlc.models._messages import Messages
from llwlc.models._network import BaselineNetwork, BaselineShape, ProductHead, product
from llwlc.models._recipes import Recipe


class GAE(BaselineNetwork):
    """The optimised GAE of "Reconsidering the Performance of GAE in Link Prediction" (Ma et al., CIKM 2025).

    h₁ = Â X W, hᵢ₊₁ = Â dropout(LayerNorm(hᵢ)), h = Σ softmax(a)ᵢ hᵢ with no non-linearity in between; score = head(h_u
    ⊙ h_v). Without features X is a learned matrix, initialised orthogonal. Several negatives per link with balanced
    means and the clipped gradient are the loop's. Options: `hidden`, `layers` (the steps), `decay`, `head_layers`,
    `norm`, `residual`, `activation`, `dropout` and `head_dropout`.
    """

    NAME, TITLE = "gae", "GAE"

    def __init__(self, recipe: Recipe, shape: BaselineShape, seed: int = 0) -> None:
        super().__init__(recipe, shape, seed)
        r = recipe
        self.input = BaselineInput(shape.num_nodes, shape.in_channels, r.hidden, embedding=r.embedding, bias=False)
        self.share = Parameter(r.decay ** torch.arange(r.layers, dtype=torch.float32))
        self.norms = ModuleList(LayerNorm(r.hidden) if r.norm else torch.nn.Identity() for _ in range(r.layers - 1))
        self.dropout = Dropout(r.dropout if r.norm else 0.0)
        self.head = ProductHead(
            r.hidden,
            r.head_layers,
            dropout=r.head_dropout,
            norm=r.norm,
            residual=r.residual,
            activation=r.activation,
        )

    def encode(self, messages: Messages, features: DeviceFeatures | None) -> Tensor:
        share = self.share.softmax(0)
        x = messages.smooth(self.input(features))
        total = share[0] * x
        for i, norm in enumerate(self.norms, start=1):
            x = messages.smooth(self.dropout(norm(x)))
            total = total + share[i] * x
        return total

    def decode(self, encoded: Tensor, pairs: Tensor) -> Tensor:
        out: Tensor = self.head(product(encoded, pairs))
        return out
