"""Candidates: the pairs that nodes' candidate lists propose, each once, within a budget a node."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc._candidates.candidate_lists import CandidateLists
from llwlc._candidates.evidence import count_better
from llwlc._candidates.pairing import compute_list_lengths, merge_lists
from llwlc._candidates.retriever import CandidateRetriever, Integers
from llwlc._support.progress import track
from llwlc._support.repeated_warnings import warn

NODES_PER_BLOCK = 16_384
LIST_LENGTH_FACTOR = 1.3
"""A list is longer than the budget where partners want each other, which is so for about a third of them."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """`pairs [m, 2]`, u < v, each once, no link among them, in the order of their numbers; `score [m]`, the better of
    what the two ends' lists say; `length [n]`: how far each node's own list may go, as far as it went or further."""

    pairs: Tensor
    score: Tensor
    length: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.pairs)

    def of(self, node: int) -> Tensor:
        """The positions of the pairs that a node is an end of."""
        return (self.pairs == node).any(1).nonzero().view(-1)

    def find(self, pairs: Tensor) -> tuple[Tensor, Tensor]:
        """Which of some pairs `[k, 2]` are candidates, and at which position; 0 for one that is not. (They are in
        order, so nothing is sorted.)
        """
        n = len(self.length)
        number, wanted = self.pairs[:, 0] * n + self.pairs[:, 1], pairs.amin(1) * n + pairs.amax(1)
        place = torch.searchsorted(number, wanted)
        inside = place < len(number)
        inside[inside.clone()] = number[place[inside]] == wanted[inside]
        return inside, place.where(inside, torch.zeros_like(place))


MakeLists = Callable[[int], CandidateLists]
"""The lists of all nodes, so long at most."""


def find_candidates(
    retriever: CandidateRetriever,
    *,
    sources: Integers | None = None,
    about: str = "candidates",
    lists: MakeLists | None = None,
) -> Candidates:
    """All candidates of the retriever's graph: what `recommend` ranks, for the whole graph and for one node.

    `sources`: only the candidate lists of these nodes. Which partners want them too is not known then, so their lists,
    and those of all others in `length`, are taken as long as lists are in the mean. `lists`: where the lists of all
    nodes are made, if not here.
    """
    n = retriever.graph.num_nodes
    if sources is None:
        nodes = np.arange(n) if lists is not None else retriever.node_types.linkable_nodes
    else:
        nodes = np.sort(sources)
    budget, proposing = retriever.budget, retriever.num_proposing_nodes or n
    if budget < retriever.config.budget:
        warn(
            f"each of the {proposing:,} nodes proposes {budget} partners instead of {retriever.config.budget}, so that"
            " all candidates fit in memory",
            stacklevel=2,
        )
    longest = min(2 * budget, max(n - 1, 1))
    candidate_lists = _listed(retriever, nodes, longest, about) if lists is None else lists(longest)
    partner, score = candidate_lists.partner.astype(np.int32, copy=False), candidate_lists.score
    if sources is None:
        place = np.full(n + 1, -1, dtype=np.int32)  # its last entry is that of partner −1
        place[nodes] = np.arange(len(nodes))
        own = compute_list_lengths(partner if len(nodes) == n else place[partner], budget)
        # a list that ends because nothing else speaks for a partner has room for one more, which a link that goes
        # missing would take
        length = np.full(n, min(budget, longest))
        length[nodes] = np.maximum(own, length[nodes])
        return _paired(n, nodes, partner, score, own, length)
    usual = min(round(LIST_LENGTH_FACTOR * budget), longest)
    own = np.minimum((partner >= 0).sum(1), usual)
    return _paired(n, nodes, partner, score, own, np.full(n, usual))


def measure_merge_seconds(nodes: int, budget: int) -> float:
    """Seconds per candidate to merge the lists of this many nodes, measured on lists at random."""
    longest = max(1, min(2 * budget, nodes - 1))
    partner = np.random.default_rng(0).integers(0, nodes, (nodes, longest), dtype=np.int32)
    score = np.zeros(partner.shape, np.float32)
    one = np.ones(1, np.int64)
    _paired(2, one, partner[:1] * 0, score[:1], compute_list_lengths(partner[:1] * 0, 1), one)  # may compile
    begin = time.perf_counter()
    own = compute_list_lengths(partner, budget)
    pairs = _paired(nodes, np.arange(nodes), partner, score, own, own)
    return (time.perf_counter() - begin) / max(len(pairs), 1)


def _listed(retriever: CandidateRetriever, nodes: Integers, longest: int, about: str) -> CandidateLists:
    """The lists of these nodes, block by block."""
    partner = np.full((len(nodes), longest), -1, dtype=np.int32)
    score = np.full((len(nodes), longest), -np.inf, dtype=np.float32)
    blocks = list(range(0, len(nodes), NODES_PER_BLOCK))
    for at in track(blocks, about) if about else blocks:
        rows = slice(at, at + NODES_PER_BLOCK)
        block: CandidateLists = retriever(nodes[rows], longest)
        partner[rows], score[rows] = block.partner, block.score
    return CandidateLists(partner, score)  # type: ignore[arg-type]


def _paired(
    n: int, nodes: Integers, partner: NDArray[np.int32], score: NDArray[np.float32], own: Integers, length: Integers
) -> Candidates:
    """The candidates of the lists of some `nodes`, as far as each of their `own` goes."""
    pairs, best = merge_lists(n, nodes, partner, score, own)
    return Candidates(torch.from_numpy(pairs), torch.from_numpy(best), length)


def check_membership(retriever: CandidateRetriever, links: Tensor, length: Integers) -> tuple[Tensor, Tensor]:
    """Which of the graph's own links `[m, 2]` would be candidates if each were missing, alone, from the graph, and the
    score they would have.
    """
    member, best = torch.zeros(len(links), dtype=torch.bool), torch.full((len(links),), float("-inf"))
    step, node_bias = retriever.sources_at_once, retriever.node_bias(retriever.weights)
    weights, one_end_is_enough = retriever.weights, retriever.exact and not retriever.has_hubness
    for at in range(0, len(links), step):
        block = slice(at, at + step)
        part = links[block].numpy()
        ends = ((part[:, 0], part[:, 1]), (part[:, 1], part[:, 0]))
        if one_end_is_enough:  # a link that the first one lists is a candidate, wherever it stands on the other list
            for u, v in ends:
                less = _degree_less(retriever, v)
                own, _ = count_better(
                    retriever.evidence_of_links(u, v), weights, node_bias, torch.zeros(len(u), dtype=torch.long), less
                )
                best[block] = torch.maximum(best[block], own)
                rows = (~member[block] & (own > float("-inf"))).numpy()
                evidence, column = retriever.evidence(u[rows], v[rows], removed=True)
                _, better = count_better(evidence, weights, node_bias, column, less[rows])
                member[block][rows] = better < torch.from_numpy(length[u[rows]])
            continue
        seen = [retriever.evidence(u, v, removed=True) for u, v in ends]
        for (u, v), (evidence, column), (other, _) in zip(ends, seen, reversed(seen), strict=True):
            less = _degree_less(retriever, v)
            if weights.hubness_penalty and retriever.has_hubness:  # it has another hubness too
                change = retriever.compute_hubness(other.like, v) - retriever.hubness[torch.from_numpy(v)]
                less += (weights.hubness_penalty * change).cpu()
            own, better = count_better(evidence, weights, node_bias, column, less)
            member[block] |= (own > float("-inf")) & (better < torch.from_numpy(length[u]))
            best[block] = torch.maximum(best[block], own)
    return member, best


def _degree_less(retriever: CandidateRetriever, nodes: Integers) -> Tensor:
    """What the degree of each node counts less in a list when one of its links is gone."""
    degree = retriever.graph.degree[torch.from_numpy(nodes)].float()
    return retriever.weights.degree * (torch.log1p(degree) - torch.log(degree.clamp(min=1)))
