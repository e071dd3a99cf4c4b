"""SAGE: PyG's `SAGEConv` as an encoder, otherwise as `gcn`."""

from __future__ import annotations

from typing import Any

from torch_geometric.nn import SAGEConv

from llwlc.models._gcn import GCN


class SAGE(GCN):
    """GraphSAGE (Hamilton, Ying and Leskovec, NeurIPS 2017) with all neighbours: h ← ReLU(mean of the neighbours' h W +
    h W′).
    """

    NAME, TITLE = "sage", "SAGE"

    def conv(self, channels: int) -> Any:
        return SAGEConv(channels, channels)
