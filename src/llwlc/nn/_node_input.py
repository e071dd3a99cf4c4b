"""The input of the first block: a row for each node."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import Linear
from torch.nn import functional as F

from llwlc.bases._link_batch import LinkBatch
from llwlc.nn._config import NetConfig
from llwlc.nn._readouts import one_hot
from llwlc.subgraphs._labels import distance_classes


class NodeInput(torch.nn.Module):
    """The rows `[N, out_channels]` of the nodes of a batch: where they lie and, with `node_features`, their features.

    Where a node lies: its unordered pair of distances to the two ends, one-hot, and log(1 + degree).

    Features are mapped to the width of a block before they are gathered: V f(R) Vᵀ (X W) is V f(R) Vᵀ X W, and a
    subgraph's raw features would be a matrix of thousands of columns.
    """

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.classes = distance_classes(config.distance_cap)
        self.dropout = 0.5 if config.feature_dropout is None else config.feature_dropout
        self.features = None
        if config.node_features and config.feature_channels:
            self.features = Linear(config.feature_channels, config.channels, bias=False)
        self.out_channels = self.classes + 1 + (0 if self.features is None else config.channels)

    def forward(self, batch: LinkBatch, features: Tensor | None) -> Tensor:
        parts = [self.places(batch)]
        if self.features is not None and features is not None:
            mapped = self.features(F.dropout(features, self.dropout, self.training))
            parts.append(mapped[batch.node])
        return torch.cat(parts, 1) if len(parts) > 1 else parts[0]

    def places(self, batch: LinkBatch) -> Tensor:
        """Where the nodes lie."""
        degree = batch.degree.log1p().unsqueeze(1)
        return torch.cat([one_hot(batch.label, self.classes, degree.dtype), degree], 1)
