"""The base of all trained methods: a network that encodes a message graph once and decodes pairs in batches."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn import Dropout, LayerNorm, Linear, ModuleList
from torch.nn import functional as F

from llwlc.models._baseline_features import DeviceFeatures
from llwlc.models._messages import Messages
from llwlc.models._recipes import Recipe


@dataclass(frozen=True)
class BaselineShape:
    """The sizes that determine a network's weights together with its recipe: nodes, width of the features (0: none are
    read), rows that a sorting readout keeps.
    """

    num_nodes: int
    in_channels: int = 0
    sort_rows: int = 0


class BaselineNetwork(torch.nn.Module):
    """A trained method. `encode` is computed once for a message graph, `decode` for each batch of pairs; `seed`: seed
    of random draws that scoring must repeat.

    `HEAD` names the children that are not part of the encoder: they have the head's learning rate, and their gradients
    are clipped separately.
    """

    NAME: str = ""
    """The name of its record in `models.MODELS`, by which its recipe is found."""
    TITLE: str = ""
    """Its name in tables."""
    SORTS: bool = False
    """Whether its readout keeps a number of rows that depends on the sizes of the subgraphs."""
    HEAD: tuple[str, ...] = ("head",)
    DECODE_BATCH_SIZE = 65_536
    """Pairs whose scores are computed together when no gradient is needed."""

    def __init__(self, recipe: Recipe, shape: BaselineShape, seed: int) -> None:
        super().__init__()
        self.recipe, self.shape, self.seed = recipe, shape, seed

    def encode(self, messages: Messages, features: DeviceFeatures | None) -> Any:
        raise NotImplementedError

    def decode(self, encoded: Any, pairs: Tensor) -> Tensor:
        """Logits `[m]` of pairs `[m, 2]`, symmetric in the ends."""
        raise NotImplementedError

    def forward(self, messages: Messages, features: DeviceFeatures | None, pairs: Tensor) -> Tensor:
        return self.decode(self.encode(messages, features), pairs)

    def training_logits(self, messages: Messages, features: DeviceFeatures | None, pairs: Tensor) -> Tensor:
        """Logits `[k, m]` whose k losses are added in training; one row, `decode`'s, unless a method says otherwise."""
        logits: Tensor = self(messages, features, pairs)
        return logits.unsqueeze(0)

    @property
    def num_parameters(self) -> int:
        return sum(p.numel() for p in self.parameters())

    def groups(self) -> tuple[list[torch.nn.Parameter], list[torch.nn.Parameter]]:
        """The parameters of the encoder and those of the head."""
        encoder: list[torch.nn.Parameter] = []
        head: list[torch.nn.Parameter] = []
        for name, parameter in self.named_parameters():
            (head if name.split(".")[0] in self.HEAD else encoder).append(parameter)
        return encoder, head


def product(rows: Tensor, pairs: Tensor) -> Tensor:
    """h_u ⊙ h_v, `[m, d]`: all that these decoders read of the two ends."""
    return rows[pairs[:, 0]] * rows[pairs[:, 1]]


class ProductHead(torch.nn.Module):
    """The MLP on h_u ⊙ h_v: `layers` linear maps, between them LayerNorm (`norm`), the activation and dropout;
    `residual` adds the input to each.
    """

    def __init__(
        self,
        channels: int,
        layers: int,
        *,
        dropout: float,
        norm: bool,
        residual: bool = False,
        activation: str = "relu",
    ) -> None:
        super().__init__()
        widths = [channels] * max(layers, 1) + [1]
        self.lins = ModuleList(Linear(a, b) for a, b in pairwise(widths))
        self.norms = ModuleList(LayerNorm(channels) if norm else torch.nn.Identity() for _ in self.lins[:-1])
        self.dropout = Dropout(dropout)
        self.residual, self.activation = residual, getattr(F, activation)

    def forward(self, x: Tensor) -> Tensor:
        given = x
        for lin, norm in zip(self.lins[:-1], self.norms, strict=True):
            x = lin(x)
            x = self.dropout(self.activation(norm(x + given if self.residual else x)))
        out: Tensor = self.lins[-1](x).squeeze(1)
        return out
