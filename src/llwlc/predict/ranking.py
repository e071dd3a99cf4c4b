"""Recommendations: the best of many candidates, kept while they are scored, and described in the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from llwlc.bases.config import DEFAULT_CAP, BasisConfig
from llwlc.bases.encoded_links import messages_on
from llwlc.candidates.hops import count_two_hop
from llwlc.graph.graph import Graph
from llwlc.heuristics.neighbors import common_neighbors
from llwlc.subgraphs.extraction import stream
from llwlc.support.progress import bars
from llwlc.training.scoring import Scorer

HOPS = 2  # steps between two ends are counted up to 2 · HOPS + 1


@dataclass(frozen=True)
class Recommendation:
    """A missing link: its ends by name, how likely it is, and what a reader would look at first.

    `distance` is the number of steps between the ends without the link, None where it is more than 5.
    """

    source: str
    target: str
    score: float
    probability: float
    common_neighbors: int
    distance: int | None


def best_pairs(
    blocks: Iterator[Tensor], graph: Graph, scorer: Scorer, config: BasisConfig, *, top: int, whole: bool
) -> tuple[Tensor, Tensor]:
    """The `top` best of the pairs in the blocks, `[top, 2]`, and their scores, under a bar that counts pairs.

    Of a `whole` graph's candidates the number is estimated for the bar.
    """
    pairs, best = torch.zeros(0, 2, dtype=torch.long), torch.zeros(0, dtype=torch.float64)
    messages = messages_on(graph, scorer.device)
    with bars() as progress:
        total = round(count_two_hop(graph)) if whole and not progress.disable else None
        task = progress.add_task("scoring candidates", total=total)
        for block in blocks:
            begin = 0
            for found in scorer.pairs(messages, block, config):
                score = torch.cat([best, found])
                # ties go to the smaller numbers, so that a block's size cannot decide
                keep = torch.argsort(score, descending=True, stable=True)[:top]
                pairs, best = torch.cat([pairs, block[begin : begin + len(found)]])[keep], score[keep]
                begin += len(found)
                progress.advance(task, len(found))
        progress.update(task, total=progress.tasks[-1].completed)
    return pairs, best


def described(graph: Graph, pairs: Tensor, score: Tensor, probability: Tensor) -> list[Recommendation]:
    """The pairs by name, with their common neighbours and distance."""
    if not len(pairs):
        return []
    common = common_neighbors(graph, pairs)
    return [
        Recommendation(graph.name(u), graph.name(v), s, p, int(c), d)
        for (u, v), s, p, c, d in zip(
            pairs.tolist(), score.tolist(), probability.tolist(), common.tolist(), distances(graph, pairs), strict=True
        )
    ]


def distances(graph: Graph, pairs: Tensor) -> list[int | None]:
    """Steps between the ends: one more than the nearest of v's neighbours is from u."""
    found: list[int | None] = []
    for subs in stream(graph, pairs, HOPS, max_nodes_per_hop=DEFAULT_CAP):
        beyond = 2 * subs.hops + 1
        at_v = torch.isin(subs.row, subs.v)
        reach = torch.full((subs.num_graphs,), beyond).scatter_reduce(
            0, subs.graph[subs.row[at_v]], subs.dist_u[subs.col[at_v]], "amin", include_self=True
        )
        found += [int(d) + 1 if d < beyond else None for d in reach.tolist()]
    return found
