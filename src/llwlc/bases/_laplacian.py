"""The Laplacian of every subgraph of a batch, as a linear operator."""

from __future__ import annotations

import torch
from torch import Tensor

from llwlc.linalg._operator import Operator
from llwlc.subgraphs._batch import Subgraphs, symmetric_weight


def laplacian_of(subs: Subgraphs, kind: str) -> Operator:
    """D − A, or D^(−1/2) (D − A) D^(−1/2) with L_ii = 0 at isolated nodes, in float64; differentiable in the
    weights.
    """
    row, col, weight = subs.row, subs.col, symmetric_weight(subs)
    degree = weighted_degree(subs, weight)
    if kind == "combinatorial":
        return Operator(subs.ptr, row, col, -weight, degree)
    linked = degree > 0
    scale = torch.where(linked, torch.where(linked, degree, 1).rsqrt(), 0)
    return Operator(subs.ptr, row, col, -weight * scale[row] * scale[col], linked.double())


def weighted_degree(subs: Subgraphs, weight: Tensor) -> Tensor:
    """Degrees, summed in float64 as in the constraint columns: with float32 sums the closed-form projector would belong
    to another null space.
    """
    return torch.zeros(subs.num_nodes, dtype=torch.float64, device=weight.device).index_add(0, subs.row, weight)
