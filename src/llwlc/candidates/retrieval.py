"""Candidates: the pairs that nodes' own lists propose, each once, within a budget a node."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc.candidates.lists import Integers, Lister, Lists
from llwlc.support.compiler import in_order
from llwlc.support.progress import track
from llwlc.support.threads import number_of_threads, over_links

NODES_PER_BLOCK = 16_384
LONGER = 1.3
"""A list is longer than the budget where partners want each other, which is so for about a third of them."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """`pairs [m, 2]`, u < v, each once, no link among them, in the order of their numbers; `score [m]`, the better of what the two ends' lists say; `length [n]`: how far
    each node's own list may go, as far as it went or further."""

    pairs: Tensor
    score: Tensor
    length: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.pairs)

    def of(self, node: int) -> Tensor:
        """The positions of the pairs that a node is an end of."""
        return (self.pairs == node).any(1).nonzero().view(-1)


AllLists = Callable[[int], Lists]
"""The lists of all nodes, so long at most."""


def candidates(
    lister: Lister, *, sources: Integers | None = None, about: str = "candidates", lists: AllLists | None = None
) -> Candidates:
    """All candidates of the lister's graph: what `recommend` ranks, for the whole graph and for one node.

    `sources`: only the own lists of these nodes. Which partners want them too is not known then, so their lists, and those of all others in `length`, are taken as long as
    lists are in the mean. `lists`: where the lists of all nodes are made, if not here.
    """
    n = lister.graph.num_nodes
    nodes = np.arange(n) if sources is None else np.sort(sources)
    budget = lister.budget
    if budget < lister.config.budget:
        warnings.warn(
            f"each of the {n:,} nodes proposes {budget} partners instead of {lister.config.budget}, so that all candidates fit in memory",
            stacklevel=2,
        )
    longest = min(2 * budget, max(n - 1, 1))
    found = _listed(lister, nodes, longest, about) if lists is None else lists(longest)
    partner, score = found.partner.astype(np.int32, copy=False), found.score
    if sources is None:
        own = shared_lengths(partner, budget)
        # a list that ends because nothing else speaks for a partner has room for one more, which a link that goes missing would take
        return _merged(n, nodes, partner, score, own, np.maximum(own, min(budget, longest)))
    usual = min(round(LONGER * budget), longest)
    own = np.minimum((partner >= 0).sum(1), usual)
    return _merged(n, nodes, partner, score, own, np.full(n, usual))


def seconds_to_merge(nodes: int, budget: int) -> float:
    """How long it takes to make candidates of the lists of so many nodes, a candidate: measured on lists at random."""
    longest = max(1, min(2 * budget, nodes - 1))
    partner = np.random.default_rng(0).integers(0, nodes, (nodes, longest), dtype=np.int32)
    score = np.zeros(partner.shape, np.float32)
    shared_lengths(partner[:1] * 0, 1)  # may compile
    begin = time.perf_counter()
    own = shared_lengths(partner, budget)
    found = _merged(nodes, np.arange(nodes), partner, score, own, own)
    return (time.perf_counter() - begin) / max(len(found), 1)


def _listed(lister: Lister, nodes: Integers, longest: int, about: str) -> Lists:
    """The lists of these nodes, block by block."""
    partner = np.full((len(nodes), longest), -1, dtype=np.int32)
    score = np.full((len(nodes), longest), -np.inf, dtype=np.float32)
    blocks = list(range(0, len(nodes), NODES_PER_BLOCK))
    for at in track(blocks, about) if about else blocks:
        rows = slice(at, at + NODES_PER_BLOCK)
        found: Lists = lister(nodes[rows], longest)
        partner[rows], score[rows] = found.partner, found.score
    return Lists(partner, score)  # type: ignore[arg-type]


def shared_lengths(partner: NDArray[np.int32], budget: int) -> Integers:
    """How long each node's list may be, `[n]`: a partner whose own list has the node costs half, another one whole, `budget` in all.

    >>> shared_lengths(np.array([[1, 2], [0, 2], [-1, -1]], dtype=np.int32), 1).tolist()
    [1, 1, 0]
    """
    n, longest = partner.shape
    back = np.full((n, longest), longest, dtype=np.int32)
    over_links(n, number_of_threads(n, 0), lambda: lambda begin, end: _places(partner, back, begin, end))
    filled = (partner >= 0).sum(1)
    length: Integers = np.minimum(filled, budget)
    step = max(1, (1 << 24) // max(longest, 1))
    # longer lists have more partners in common, so lengths only grow, and stop growing soon
    for _ in range(20):
        grown = length.copy()
        for at in range(0, n, step):
            rows = slice(at, at + step)
            mutual = back[rows] < length[partner[rows]]
            paid = np.cumsum(np.where(mutual, 0.5, 1.0), axis=1)
            grown[rows] = np.minimum((paid <= budget).sum(1), filled[rows])
        grown = np.maximum(grown, length)
        if (grown == length).all():
            break
        length = grown
    return length


@in_order
def _places(partner: Any, back: Any, begin: int, end: int) -> None:
    """Where each node stands in the list of each of its partners; the length of a list where it does not."""
    for u in range(begin, end):
        for k in range(partner.shape[1]):
            v = partner[u, k]
            if v < 0:
                break
            for place in range(partner.shape[1]):
                if partner[v, place] == u:
                    back[u, k] = place
                    break
                if partner[v, place] < 0:
                    break


def _merged(
    n: int, nodes: Integers, partner: NDArray[np.int32], score: NDArray[np.float32], own: Integers, length: Integers
) -> Candidates:
    """Each pair once, of the lists of some `nodes`, as far as each of their `own` goes."""
    keys, values = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.float32)]
    for at in range(0, len(nodes), NODES_PER_BLOCK):
        rows = slice(at, at + NODES_PER_BLOCK)
        inside = np.arange(partner.shape[1])[None] < own[rows][:, None]
        u = np.repeat(nodes[rows], inside.sum(1))
        v = partner[rows][inside].astype(np.int64)
        keys.append(np.minimum(u, v) * n + np.maximum(u, v))
        values.append(score[rows][inside])
    key, value = np.concatenate(keys), np.concatenate(values)
    del keys, values  # twenty million pairs are held as few times as can be
    order = np.argsort(key, kind="stable")
    key, value = key[order], value[order]
    del order
    first = np.append(True, key[1:] != key[:-1]).nonzero()[0] if len(key) else np.zeros(0, dtype=np.int64)
    key, value = key[first], np.maximum.reduceat(value, first) if len(first) else value
    pairs = torch.empty(len(key), 2, dtype=torch.long)
    np.divmod(key, max(n, 1), out=(pairs[:, 0].numpy(), pairs[:, 1].numpy()))
    return Candidates(pairs, torch.from_numpy(value), length)


def would_be_candidates(lister: Lister, links: Tensor, length: Integers) -> tuple[Tensor, Tensor]:
    """Which of the graph's own links `[m, 2]` would be candidates if each were missing, alone, from the graph, and the score they would have."""
    member, best = torch.zeros(len(links), dtype=torch.bool), torch.full((len(links),), float("-inf"))
    step, raised = lister.sources_at_once, lister.raised(lister.weights)
    for at in range(0, len(links), step):
        part = links[at : at + step].numpy()
        ends = ((part[:, 0], part[:, 1]), (part[:, 1], part[:, 0]))
        seen = [lister.evidence(u, v, removed=True) for u, v in ends]
        for (u, v), (evidence, column), (other, _) in zip(ends, seen, reversed(seen), strict=True):
            score = evidence.score(lister.weights, raised)
            # without the link the other end has a neighbour less, and another crowd
            degree = lister.graph.degree[torch.from_numpy(v)].float()
            less = lister.weights.degree * (torch.log1p(degree) - torch.log(degree.clamp(min=1)))
            if lister.weights.crowd and lister.crowds:
                less += (
                    lister.weights.crowd * (lister.crowding(other.like, v) - lister.crowd[torch.from_numpy(v)]).cpu()
                )
            score, place = score.cpu(), (torch.arange(len(u)), column)
            own = score[place] - less
            score[place] = float("-inf")  # it is not better than itself
            better = (score > own.unsqueeze(1)).sum(1)
            member[at : at + step] |= (own > float("-inf")) & (better < torch.from_numpy(length[u]))
            best[at : at + step] = torch.maximum(best[at : at + step], own)
    return member, best
