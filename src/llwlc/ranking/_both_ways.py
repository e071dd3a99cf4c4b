"""Ranked candidates of a directed run: each pair in both directions, by the probability of that directed link."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from llwlc._candidates.scope import CandidateScope
from llwlc.ranking._ranking import RankedCandidates

AT_ONCE = 256

OneWay = Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]
"""The probabilities that the links of pairs `[m, 2]` point from the first node to the second, and from the second to
the first; and a third value that is not used here."""


def rank_both_ways(
    ranked: RankedCandidates, rho: float, top: int, directions: OneWay, scope: CandidateScope | None
) -> tuple[RankedCandidates, Tensor]:
    """The `top` likeliest directed links among candidates, and the probability `[top]` of each direction.

    A directed link is at most as likely as its pair's link, by which candidates are sorted: once that is less likely
    than the `top`-th directed link so far, no later candidate can be in the list. The list is exact although
    directions are computed for few candidates.
    """
    chance = torch.sigmoid(ranked.log_ratio + math.log(rho))
    number = torch.zeros(0, dtype=torch.long)  # the candidate of each row
    way, pairs = torch.zeros(0, dtype=torch.float64), ranked.pairs[:0]
    best, begin, size = torch.zeros(0, dtype=torch.float64), 0, AT_ONCE
    while begin < len(chance) and (len(best) < top or float(chance[begin]) > float(best[-1])):
        some = ranked.pairs[begin : begin + size]
        forward, backward, _ = directions(some)
        rows = torch.stack([some, some.flip(1)], 1).reshape(-1, 2)
        allowed = torch.ones(len(rows), dtype=torch.bool) if scope is None else scope.allows(rows)
        number = torch.cat([number, torch.arange(begin, begin + len(some)).repeat_interleave(2)[allowed]])
        way = torch.cat([way, torch.stack([forward, backward], 1).flatten()[allowed]])
        pairs = torch.cat([pairs, rows[allowed]])
        best = (chance[number] * way).sort(descending=True).values[:top]
        begin, size = begin + len(some), 2 * size
    order = torch.argsort(chance[number] * way, descending=True, stable=True)[:top]
    at = number[order]
    best_rows = replace(
        ranked,
        pairs=pairs[order],
        score=ranked.score[at],
        sharing=ranked.sharing[at],
        log_ratio=ranked.log_ratio[at],
    )
    return best_rows, way[order]
