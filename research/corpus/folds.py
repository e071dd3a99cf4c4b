"""Folds: cross-validation with the sizes of the protocol `random`, for networks that are too small for one split."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from llwlc.graph._graph import Graph
from llwlc.splits import make
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._making import fresh_negatives
from llwlc.splits._negatives import NonEdges

SMALL = 500
"""Networks with fewer links are cross-validated."""
FOLDS = 5


def corpus_splits(graph: Graph, seed: int, folds: int) -> list[LinkSplit]:
    """One split by the protocol `random`, or `folds` of them whose test links are disjoint: each of the parts into
    which the links fall in drawn order is the test part once, and as many links as `random` takes are validation links.

    >>> ring = Graph.from_edges(torch.stack([torch.arange(40), torch.arange(1, 41) % 40], 1))
    >>> splits = corpus_splits(ring, 0, 5)
    >>> len(splits), len(splits[0].train_pos), len(torch.cat([split.test_pos for split in splits]).unique(dim=0))
    (5, 30, 40)
    """
    first = make(graph, protocol="random", seed=seed)
    if folds == 1:
        return [first]
    order = torch.randperm(graph.num_edges, generator=torch.Generator().manual_seed(seed))
    parts = torch.tensor_split(graph.edges[order], folds)
    return [_fold(graph, first, parts, number) for number in range(folds)]


def _fold(graph: Graph, first: LinkSplit, parts: tuple[Tensor, ...], number: int) -> LinkSplit:
    test = parts[number]
    rest = torch.cat([part for other, part in enumerate(parts) if other != number])
    valid, train = rest[: len(first.valid_pos)], rest[len(first.valid_pos) :]
    rng = np.random.default_rng([first.seed, number])
    negative = NonEdges(graph.num_nodes, graph.edges).sample(len(valid) + len(test), rng)
    known = graph.with_edges(train)
    split = replace(
        first,
        train_pos=train,
        valid_pos=valid,
        test_pos=test,
        valid_neg=negative[: len(valid)],
        test_neg=negative[len(valid) :],
        train_graph=known,
        valid_graph=known,
        test_graph=graph.with_edges(rest),
    )
    return replace(split, train_neg=fresh_negatives(split, epoch=0))
