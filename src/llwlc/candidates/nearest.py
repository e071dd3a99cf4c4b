"""Pairs of nodes of like features."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from llwlc.graph.graph import Graph
from llwlc.heuristics.neighbors import common_neighbors

FEATURE_NEIGHBORS = 10


COSINES_PER_BLOCK = 1 << 24


FEATURE_NODES = 50_000
"""Above this many nodes feature neighbours are left out: finding them takes time quadratic in the number of nodes."""


def feature_neighbors(graph: Graph, features: Tensor, *, k: int = FEATURE_NEIGHBORS) -> Tensor:
    """Pairs u < v `[m, 2]` where one is among the k nearest of the other by the cosine of features, and which share neither a link nor
    a neighbour, since those are `two_hop`'s."""
    unit = F.normalize(features.double(), dim=1)
    n = len(unit)
    keys = []
    rows = max(1, COSINES_PER_BLOCK // max(n, 1))
    for begin in range(0, n, rows):
        cosine = unit[begin : begin + rows] @ unit.T
        cosine[torch.arange(len(cosine)), torch.arange(begin, begin + len(cosine))] = -torch.inf
        near = cosine.topk(min(k, n - 1), dim=1).indices
        source = torch.arange(begin, begin + len(cosine)).unsqueeze(1).expand_as(near)
        keys.append((torch.minimum(source, near) * n + torch.maximum(source, near)).reshape(-1))
    key = torch.unique(torch.cat(keys)) if keys else torch.zeros(0, dtype=torch.long)
    pairs = torch.stack([key // max(n, 1), key % max(n, 1)], 1)
    pairs = pairs[~graph.has_edges(pairs)]
    return pairs[common_neighbors(graph, pairs) == 0] if len(pairs) else pairs
