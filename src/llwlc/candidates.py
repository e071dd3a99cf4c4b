"""Pairs worth scoring: nodes two hops apart, and nodes of like features. Existing links are left out.

Both are streamed: memory is bounded by a block of source nodes, not by the number of candidates.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from llwlc.baselines.heuristics import common_neighbors
from llwlc.graph import Graph
from llwlc.ragged import expand

HUB = 500
"""A node with more neighbours than this introduces no one to anyone: paths through it are not followed, and of its own
neighbours the HUB with the fewest neighbours themselves are."""
WALKS_PER_BLOCK = 2_000_000
FEATURE_NEIGHBORS = 10
COSINES_PER_BLOCK = 1 << 24
FEATURE_NODES = 50_000
"""Above this many nodes feature neighbours are left out: finding them takes time quadratic in the number of nodes."""


def two_hop(graph: Graph, *, hub: int = HUB, sources: Tensor | None = None) -> Iterator[Tensor]:
    """Blocks `[m, 2]` of pairs u < v that share a neighbour and no link, each pair once.

    With `sources`, the pairs of these nodes with any other, in the order (source, other).

    >>> path = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3]]))
    >>> torch.cat(list(two_hop(path))).tolist()
    [[0, 2], [1, 3]]
    """
    nodes = torch.arange(graph.num_nodes) if sources is None else sources
    first = graph.degree.clamp(max=hub)[nodes]
    block = ((first * min(hub, int(graph.degree.max()) if graph.num_nodes else 0)).cumsum(0) // WALKS_PER_BLOCK).long()
    for part in torch.split(nodes, torch.unique_consecutive(block, return_counts=True)[1].tolist()):
        pairs = _neighbours_of_neighbours(graph, part, hub)
        if sources is None:
            pairs = pairs[pairs[:, 0] < pairs[:, 1]]
        pairs = pairs[~graph.has_edges(pairs)]
        if len(pairs):
            yield pairs


def _neighbours_of_neighbours(graph: Graph, source: Tensor, hub: int) -> Tensor:
    at, owner = expand(graph.indptr[source], graph.degree[source])
    between, owner = graph.indices[at], source[owner]
    plain = graph.degree[between] <= hub
    between, owner = between[plain], owner[plain]
    if bool((graph.degree[source] > hub).any()):
        between, owner = _least_known(graph, between, owner, hub)
    at, step = expand(graph.indptr[between], graph.degree[between])
    key = torch.unique(owner[step] * graph.num_nodes + graph.indices[at])
    pairs = torch.stack([key // graph.num_nodes, key % graph.num_nodes], 1)
    return pairs[pairs[:, 0] != pairs[:, 1]]


def _least_known(graph: Graph, between: Tensor, owner: Tensor, hub: int) -> tuple[Tensor, Tensor]:
    """Of each owner's neighbours the `hub` with the fewest neighbours of their own, by number where these are equal."""
    order = torch.argsort(graph.degree[between], stable=True)
    order = order[torch.argsort(owner[order], stable=True)]
    _, count = torch.unique_consecutive(owner[order], return_counts=True)
    rank = torch.arange(len(order)) - torch.repeat_interleave(count.cumsum(0) - count, count)
    keep = order[rank < hub]
    return between[keep], owner[keep]


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


def count_two_hop(graph: Graph, *, sample: int = 2_000, seed: int = 0) -> float:
    """How many pairs `two_hop` gives, estimated from a sample of source nodes where there are more than that."""
    n = graph.num_nodes
    chosen = torch.randperm(n, generator=torch.Generator().manual_seed(seed))[:sample].sort().values
    found = sum(len(block) for block in two_hop(graph, sources=chosen))
    return found / 2 * n / max(len(chosen), 1)


def share_of_links(graph: Graph, hidden: Tensor) -> float:
    """The share of two-hop candidates that are hidden links `[m, 2]` of the graph: a prior for candidates like these."""
    total = count_two_hop(graph)
    found = float((common_neighbors(graph, hidden) > 0).sum()) if len(hidden) else 0.0
    return min(max(found, 0.5) / max(total, 1.0), 0.5)
