"""Known non-links in a split: pairs that somebody knows to be no links, trained on and measured by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from llwlc._support.text import quote_text
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._making import fresh_negatives
from llwlc.splits._negatives import canonical, pair_number


def with_known_negatives(split: LinkSplit, graph: Graph, pairs: Tensor) -> LinkSplit:
    """The split with known non-links among its negatives, each in one part: drawn to training, validation and test in
    the proportion of their links, those that the split has drawn already where they are.

    In validation and test they stand beside random pairs, or in their place: a part has as many negatives as before, or
    as it has known ones if these are more. In training they are as large a share of each epoch's negatives.

    Args:
        split: a split of the graph.
        graph: the graph of all known links.
        pairs: the known non-links, `[k, 2]`, in any direction.

    >>> import llwlc
    >>> ring = Graph.from_edges(torch.stack([torch.arange(20), torch.arange(1, 21) % 20], 1))
    >>> known = torch.tensor([[0, 5], [1, 7], [10, 2], [3, 12]])
    >>> split = with_known_negatives(llwlc.splits.make(ring, protocol="ncn"), ring, known)
    >>> split.known_neg.tolist(), len(split.known_train_neg), llwlc.splits.audit(split, ring).ok
    ([[0, 5], [1, 7], [2, 10], [3, 12]], 3, True)
    """
    if split.valid_neg.ndim != 2 or split.test_neg.ndim != 2:
        raise InputError(
            f"protocol {split.protocol!r} compares each link with negatives of its own, among which known non-links"
            " have no place: choose another protocol, such as 'random'"
        )
    n = graph.num_nodes
    known = torch.unique(canonical(pairs), dim=0)
    _require_non_links(known, graph)
    number = pair_number(known, n)
    part = torch.zeros(len(known), dtype=torch.long)  # 0: training, 1: validation, 2: test
    part[torch.isin(number, pair_number(split.valid_neg, n))] = 1
    part[torch.isin(number, pair_number(split.test_neg, n))] = 2
    new = (part == 0).nonzero().view(-1)
    links = np.array([len(split.train_pos), len(split.valid_pos), len(split.test_pos)])
    borders = np.floor(np.cumsum(links) / max(links.sum(), 1) * len(new) + 0.5).astype(int)
    order = new[torch.from_numpy(np.random.default_rng([split.seed, 17]).permutation(len(new)))]
    part[order[borders[0] : borders[1]]], part[order[borders[1] :]] = 1, 2
    split = replace(
        split,
        known_neg=known,
        valid_neg=_among(known[part == 1], split.valid_neg, n),
        test_neg=_among(known[part == 2], split.test_neg, n),
        notes=(*split.notes, f"{len(known):,} known non-links among the negatives"),
    )
    return replace(split, train_neg=fresh_negatives(split, epoch=0))


def _among(known: Tensor, drawn: Tensor, num_nodes: int) -> Tensor:
    """Known non-links, then drawn ones as far as there is room."""
    others = drawn[~torch.isin(pair_number(drawn, num_nodes), pair_number(known, num_nodes))]
    return torch.cat([known, others])[: max(len(drawn), len(known))]


def _require_non_links(known: Tensor, graph: Graph) -> None:
    if bool((known[:, 0] == known[:, 1]).any()):
        raise InputError("a known non-link pairs a node with itself: leave such pairs out")
    linked = graph.has_edges(known)
    if bool(linked.any()):
        u, v = (quote_text(graph.name(i)) for i in known[linked][0].tolist())
        raise InputError(
            f"{int(linked.sum()):,} of {len(known):,} known non-links are links of the graph, such as {u} and {v}:"
            " remove them from the one or from the other"
        )
