"""Sketches of neighbourhoods: MinHash and HyperLogLog, which estimate the sizes of intersections without storing sets.

B_k(u) is the ball of radius k around u, u included. Its sketch is the elementwise minimum (MinHash) or maximum
(HyperLogLog) of the sketches of its nodes, so hop k + 1 is hop k merged over neighbours. With P permutations and M
registers, a Jaccard similarity J has standard error √(J (1 − J) / P), and a size about 1.04 / √M of itself (Broder
1997; Flajolet et al. 2007, with linear counting where registers are empty).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from llwlc._support.counter_hash import mix
from llwlc.models._messages import Messages


class Sketches(NamedTuple):
    """Sketches of the balls of radius 1 to k: `minima [k, n, P]` int32, `ranks [k, n, M]` int8, and the estimated sizes
    of the balls `[k, n]`.
    """

    minima: Tensor
    ranks: Tensor
    sizes: Tensor


def sketch(
    messages: Messages,
    hops: int,
    *,
    permutations: int = 128,
    registers: int = 256,
    seed: int = 0,
) -> Sketches:
    """The sketches of every node's balls; `registers` is a power of two. They depend on links, names and seed only, not
    on the order of nodes (nodes without names are identified by their numbers)."""
    node, drawn = torch.arange(messages.num_nodes, device=messages.device), messages.identity
    salt = mix(torch.arange(permutations + 1, device=messages.device) + seed * 1_000_003)
    # 31 of the 64 bits are enough to distinguish the minima of a few million nodes
    minima = (mix(drawn.unsqueeze(1) ^ salt[:-1]) >> 33).int()
    bits = mix(drawn ^ salt[-1])
    ranks = torch.zeros(messages.num_nodes, registers, dtype=torch.int8, device=messages.device)
    ranks[node, bits & (registers - 1)] = _rank((bits >> 32) & 0xFFFFFFFF)
    sketches: list[tuple[Tensor, Tensor]] = []
    for _ in range(hops):
        minima, ranks = _merged(messages, minima, "amin"), _merged(messages, ranks, "amax")
        sketches.append((minima, ranks))
    all_ranks = torch.stack([r for _, r in sketches])
    return Sketches(torch.stack([m for m, _ in sketches]), all_ranks, count(all_ranks))


def _rank(bits: Tensor) -> Tensor:
    """1 + the number of leading zeros of 32 bits; float64 is exact up to 2⁵³, so the logarithm's integer part is
    right.
    """
    return (32 - torch.floor(torch.log2(bits.double().clamp(min=0.5))).long()).clamp(max=33).to(torch.int8)


def _merged(messages: Messages, sketches: Tensor, how: str) -> Tensor:
    at = messages.row.unsqueeze(1).expand(-1, sketches.shape[1])
    return sketches.scatter_reduce(0, at, sketches[messages.col], how)


def count(ranks: Tensor) -> Tensor:
    """The estimated size of the set behind each row of registers `[..., M]`."""
    registers = ranks.shape[-1]
    alpha = 0.7213 / (1 + 1.079 / registers)
    raw = alpha * registers**2 / torch.exp2(-ranks.float()).sum(-1)
    empty = (ranks == 0).sum(-1).float()
    linear = registers * (math.log(registers) - torch.log(empty.clamp(min=1)))
    # linear counting is the better estimate while registers are empty
    return torch.where((empty > 0) & (raw <= 2.5 * registers), linear, raw)


def intersections(sketches: Sketches, pairs: Tensor) -> Tensor:
    """The estimated |B_a(u) ∩ B_b(v)| for a, b = 1 … k, `[m, k, k]`: Jaccard similarity times size of the union."""
    u, v = pairs.unbind(1)
    hops = len(sketches.sizes)
    rows = []
    for a in range(hops):
        for b in range(hops):
            alike = (sketches.minima[a, u] == sketches.minima[b, v]).float().mean(1)
            union = count(torch.maximum(sketches.ranks[a, u], sketches.ranks[b, v]))
            rows.append(alike * union)
    return torch.stack(rows, 1).reshape(len(pairs), hops, hops)


def structure(sketches: Sketches, pairs: Tensor) -> Tensor:
    """How many nodes are a steps from one end and b from the other, a ≤ b, then how many are b from one and beyond k
    from the other: `[m, k (k + 1) / 2 + k]`, estimated, with the ends unordered."""
    inside = torch.nn.functional.pad(intersections(sketches, pairs), (1, 0, 1, 0))
    # inclusion and exclusion: a ring is a ball without the smaller one
    ring = inside[:, 1:, 1:] - inside[:, :-1, 1:] - inside[:, 1:, :-1] + inside[:, :-1, :-1]
    ring = ring + ring.transpose(1, 2)
    hops = ring.shape[1]
    a, b = torch.triu_indices(hops, hops, device=pairs.device)
    both = ring[:, a, b] / torch.where(a == b, 2.0, 1.0)
    ball = torch.nn.functional.pad(sketches.sizes[:, pairs.T].sum(1).T, (1, 0))  # of both ends together, [m, k + 1]
    near = inside[:, hops] + inside[:, :, hops]
    return torch.cat([both, (ball - near).diff(dim=1)], 1)
