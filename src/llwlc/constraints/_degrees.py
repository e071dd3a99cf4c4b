"""Edge weights and degrees inside a subgraph, from which constraint columns are made."""

from __future__ import annotations

import torch
from torch import Tensor

from llwlc.subgraphs._batch import Subgraphs, symmetric_weight


def edge_weight(subs: Subgraphs) -> Tensor:
    """Edge weights `[E]` in float64, 1 where there are none; as in the Laplacian, an edge is one parameter where
    gradients are asked for.
    """
    if subs.weight is not None and not subs.weight.requires_grad:
        return subs.weight.double()  # both directions are the same already
    return symmetric_weight(subs)


def node_degree(subs: Subgraphs) -> Tensor:
    """Degrees inside the subgraph, summed in float64: at a hub, sums in float32 would differ from the exact column."""
    zero = torch.zeros(subs.num_nodes, dtype=torch.float64, device=subs.row.device)
    return zero.index_add(0, subs.row, edge_weight(subs))
