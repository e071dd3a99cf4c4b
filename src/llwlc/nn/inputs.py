"""The input of the first block: a row for each node."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import Embedding, Linear
from torch.nn import functional as F

from llwlc.bases.link_batch import LinkBatch
from llwlc.nn.config import NetConfig
from llwlc.nn.readouts import one_hot
from llwlc.subgraphs.labels import distance_classes, drnl_of_classes


class NodeInput(torch.nn.Module):
    """The rows `[N, out_channels]` of the nodes of a batch: where they lie (see `LABELS`) and, with `node_features`, their features.

    Features are mapped to the width of a block before they are gathered: V f(R) Vᵀ (X W) is V f(R) Vᵀ X W, and a subgraph's raw features would be a matrix of thousands of columns.
    """

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.kind, self.classes = config.labels, distance_classes(config.distance_cap)
        self.dropout = 0.5 if config.feature_dropout is None else config.feature_dropout
        self.features = None
        if config.node_features and config.feature_channels:
            self.features = Linear(config.feature_channels, config.channels, bias=False)
        self.labels = None
        if config.labels == "drnl":
            table = drnl_of_classes(config.distance_cap)
            self.labels = Embedding(int(table.max()) + 1, config.channels)
            self.register_buffer("drnl", table, persistent=False)
        where = {"distance": self.classes + 1, "drnl": config.channels, "none": 1}[config.labels]
        self.out_channels = where + (0 if self.features is None else config.channels)

    def forward(self, batch: LinkBatch, features: Tensor | None) -> Tensor:
        parts = [self._places(batch)]
        if self.features is not None and features is not None:
            mapped = self.features(F.dropout(features, self.dropout, self.training))
            parts.append(mapped[batch.node])
        return torch.cat(parts, 1) if len(parts) > 1 else parts[0]

    def _places(self, batch: LinkBatch) -> Tensor:
        if self.labels is not None:
            table: Tensor = self.get_buffer("drnl")
            row: Tensor = self.labels(table[batch.label.clamp(min=0)])  # rows that fill a batch up have label −1
            return row
        degree = batch.degree.log1p().unsqueeze(1)
        if self.kind == "none":
            return degree
        return torch.cat([one_hot(batch.label, self.classes, degree.dtype), degree], 1)
