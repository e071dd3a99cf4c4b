"""Folds of the links of a graph: a link is scored on the graph without its fold, so that it never sees itself."""

from __future__ import annotations

import torch
from torch import Tensor

from llwlc._support.counter_hash import FOLD_STREAM, draw
from llwlc.graph._graph import Graph


def fold_numbers(graph: Graph, pairs: Tensor, count: int) -> Tensor:
    """The fold `[m]` of each pair `[m, 2]`, 0 to `count` − 1: a hash of its nodes' names, or of their numbers where
    they have none. It depends neither on the other pairs nor on the links of the graph.

    >>> link = Graph.from_edges(torch.tensor([[0, 1]]))
    >>> one, other = (fold_numbers(link, torch.tensor([pair]), 5).item() for pair in ([0, 1], [1, 0]))
    >>> one == other
    True
    """
    ends = pairs if graph.identity is None else graph.identity[pairs]
    bits = draw(0, 0, ends.amin(1), ends.amax(1), torch.zeros(len(pairs), dtype=torch.long), FOLD_STREAM)
    return bits.remainder(count)


def without_fold(graph: Graph, number: int, count: int) -> Graph:
    """The graph without the links of one fold."""
    edges = graph.edges
    return graph.with_edges(edges[fold_numbers(graph, edges, count) != number])
