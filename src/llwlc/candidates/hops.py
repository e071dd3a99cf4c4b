"""Pairs of nodes two hops apart, streamed block by block."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from llwlc.graph.graph import Graph
from llwlc.support.ragged import expand

HUB = 500
"""A node with more neighbours than this introduces no one to anyone: paths through it are not followed, and of its own
neighbours the HUB with the fewest neighbours themselves are."""


WALKS_PER_BLOCK = 2_000_000


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


def count_two_hop(graph: Graph, *, sample: int = 2_000, seed: int = 0) -> float:
    """How many pairs `two_hop` gives, estimated from a sample of source nodes where there are more than that."""
    n = graph.num_nodes
    chosen = torch.randperm(n, generator=torch.Generator().manual_seed(seed))[:sample].sort().values
    found = sum(len(block) for block in two_hop(graph, sources=chosen))
    return found / 2 * n / max(len(chosen), 1)
