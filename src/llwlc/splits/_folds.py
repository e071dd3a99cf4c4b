"""Folds: a split's own training and validation links, divided again, so that settings can be compared without a look at
its test links.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.splits._known_negatives import with_known_negatives
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._making import with_training_negatives
from llwlc.splits._negatives import NonEdges, pair_number
from llwlc.splits._registry import PROTOCOLS


def make_folds(split: LinkSplit, graph: Graph, count: int) -> tuple[Graph, tuple[LinkSplit, ...]]:
    """The graph without the test links of a split, and `count` splits of it, whose test links are disjoint.

    They are made as if the test links did not exist: nothing here depends on which these are. A fold hides as many
    links for validation and for test as the split does, or fewer where there are few, at random; where the split holds
    out the latest links, the fold hides the latest ones that earlier folds have not, and later ones are not seen.
    Non-links are random pairs under every protocol, known ones among them.

    Args:
        split: the split whose test links must not be seen.
        graph: the graph that was split.
        count: the number of folds.

    >>> import llwlc
    >>> ring = Graph.from_edges(torch.stack([torch.arange(20), torch.arange(1, 21) % 20], 1))
    >>> known, folds = make_folds(llwlc.splits.make(ring, protocol="seal"), ring, 2)
    >>> known.num_edges, [len(fold.test_pos) for fold in folds]
    (18, [2, 2])
    """
    links = torch.cat([split.train_pos, split.valid_pos])
    known = graph.with_edges(links[graph.has_edges(links)])
    size = min(max(len(split.test_pos), 1), known.num_edges // (count + 2))
    valid = min(max(len(split.valid_pos), 1), known.num_edges // (count + 2))
    if size < 1:
        raise InputError(
            f"{known.num_edges} links are too few for {count} folds: give at least {count + 2}, or fewer folds"
        )
    pairs = [] if split.known_neg is None else [_not_asked_in_test(split)]
    folds = (
        _make_fold(known, parts, split, fold) for fold, parts in enumerate(_parts(known, split, count, size, valid))
    )
    return known, tuple(with_known_negatives(fold, known, pairs[0]) if pairs else fold for fold in folds)


def _parts(
    known: Graph, split: LinkSplit, count: int, size: int, valid: int
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Training, validation and test links of each fold."""
    rng = np.random.default_rng([split.seed, 19])
    order = torch.from_numpy(rng.permutation(known.num_edges))
    ordered = split.protocol in PROTOCOLS and PROTOCOLS[split.protocol].order is not None
    if ordered and known.time is not None:
        row, col = known.edge_index
        order = order[torch.argsort(known.time[row < col][order], stable=True)]
        edges = known.edges[order]
        for fold in range(count):
            end = len(edges) - fold * size
            yield edges[: end - size - valid], edges[end - size - valid : end - size], edges[end - size : end]
        return
    edges = known.edges[order]
    for fold in range(count):
        begin, end = fold * size, (fold + 1) * size
        rest = torch.cat([edges[end:], edges[:begin]])
        yield rest[valid:], rest[:valid], edges[begin:end]


def _make_fold(known: Graph, parts: tuple[Tensor, Tensor, Tensor], split: LinkSplit, fold: int) -> LinkSplit:
    train, valid, test = parts
    message = known.with_edges(train)
    valid_messages = split.test_graph.num_edges > split.train_graph.num_edges
    free = NonEdges(known.num_nodes, [known.edges], split.nodes)
    negative = free.sample(len(valid) + len(test), np.random.default_rng([split.seed, fold, 20]))
    return with_training_negatives(
        LinkSplit(
            split.protocol,
            split.seed,
            train,
            train[:0],
            valid,
            negative[: len(valid)],
            test,
            negative[len(valid) :],
            message,
            message,
            known.with_edges(torch.cat([train, valid])) if valid_messages else message,
            split.nodes,
            notes=(f"fold {fold + 1} of the training and validation links",),
            metric=split.metric,
        )
    )


def _not_asked_in_test(split: LinkSplit) -> Tensor:
    """The known non-links that the split does not measure by."""
    assert split.known_neg is not None
    n = split.train_graph.num_nodes
    asked = pair_number(split.test_neg.reshape(-1, 2), n)
    return split.known_neg[~torch.isin(pair_number(split.known_neg, n), asked)]
