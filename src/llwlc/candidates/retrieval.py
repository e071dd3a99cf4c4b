"""Pairs worth scoring: nodes two hops apart, and nodes of like features. Existing links are left out.

Both are streamed: memory is bounded by a block of source nodes, not by the number of candidates.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from llwlc.candidates.hops import count_two_hop, two_hop
from llwlc.candidates.nearest import FEATURE_NODES, feature_neighbors
from llwlc.graph.graph import Graph
from llwlc.heuristics.neighbors import common_neighbors


def candidates(graph: Graph, features: Tensor | None, *, node: int | None = None) -> Iterator[Tensor]:
    """All candidate pairs, block by block, of the whole graph (u < v), or of one node, which then comes first."""
    near = None
    if features is not None and graph.num_nodes <= FEATURE_NODES:
        near = feature_neighbors(graph, features)
    if node is None:
        yield from two_hop(graph)
    else:
        yield from two_hop(graph, sources=torch.tensor([node]))
        if near is not None:
            near = near[(near == node).any(1)]
            near = torch.stack([torch.full((len(near),), node), near.sum(1) - node], 1)
    if near is not None:
        yield from torch.split(near, 65_536)


def share_of_links(graph: Graph, hidden: Tensor) -> float:
    """The share of two-hop candidates that are hidden links `[m, 2]` of the graph: a prior for candidates like these."""
    total = count_two_hop(graph)
    found = float((common_neighbors(graph, hidden) > 0).sum()) if len(hidden) else 0.0
    return min(max(found, 0.5) / max(total, 1.0), 0.5)
