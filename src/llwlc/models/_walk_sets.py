"""Sets of nodes that random walks from a node land on, with the share of walks that are there at each step."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from llwlc._support.counter_hash import WALK_STREAM, draw, uniform
from llwlc._support.ragged import expand, pointer
from llwlc.models._messages import Messages


class WalkSets(NamedTuple):
    """The sets of k nodes, concatenated: `ptr [k + 1]`, `key [e]` (position of the node · n + node that was reached,
    ascending), `share [e, steps + 1]`, float64: the share of the walks that are there after 0 … `steps` steps.
    """

    ptr: Tensor
    key: Tensor
    share: Tensor

    @property
    def sizes(self) -> Tensor:
        return self.ptr.diff()

    def common(self, pairs: Tensor, num_nodes: int) -> tuple[Tensor, Tensor, Tensor]:
        """The places of nodes that are in both sets of pairs of positions `[m, 2]`: in the set of the first, in that
        of the second, and the pair.
        """
        u, v = pairs.unbind(1)
        here, pair = expand(self.ptr[u], self.sizes[u])
        wanted = v[pair] * num_nodes + self.key[here] % num_nodes
        there = torch.searchsorted(self.key, wanted).clamp(max=max(len(self.key) - 1, 0))
        both = torch.eq(self.key[there], wanted)
        return here[both], there[both], pair[both]


def walk_sets(messages: Messages, nodes: Tensor, *, walks: int, steps: int, seed: int) -> WalkSets:
    """The sets of these nodes. First steps are spread over the neighbours as evenly as can be, later ones are uniform.

    A draw belongs to (seed, name of the node, walk, step), so that a set depends neither on the other nodes nor on
    their order.
    """
    n, k = messages.num_nodes, len(nodes)
    neighbours, degree = _shuffled(messages, seed), messages.degree
    walk = torch.arange(walks, device=nodes.device).expand(k, -1)
    name = messages.identity[nodes].unsqueeze(1).expand(-1, walks)
    at = nodes.unsqueeze(1).expand(-1, walks)
    visited = [at]
    for step in range(1, steps + 1):
        if step == 1:
            turn = walk % degree[at].clamp(min=1)
        else:
            bits = draw(seed, step, name, walk, torch.zeros_like(walk), WALK_STREAM)
            turn = (uniform(bits) * degree[at]).long()
        place = (messages.indptr[at] + turn).clamp(max=max(len(neighbours) - 1, 0))
        if len(neighbours):
            at = torch.where(degree[at] > 0, neighbours[place], at)  # a node without neighbours stays where it is
        visited.append(at)
    owner = torch.arange(k, device=nodes.device).reshape(1, -1, 1)
    key, entry = torch.unique(owner * n + torch.stack(visited), return_inverse=True)
    step_of = torch.arange(steps + 1, device=nodes.device).reshape(-1, 1, 1).expand_as(entry)
    count = torch.bincount((entry * (steps + 1) + step_of).flatten(), minlength=len(key) * (steps + 1))
    sizes = torch.bincount(key // max(n, 1), minlength=k)
    return WalkSets(pointer(sizes), key, count.reshape(-1, steps + 1).double() / walks)


def _shuffled(messages: Messages, seed: int) -> Tensor:
    """The neighbours of each node in an order drawn by names, kept with the messages: the nodes' own order is theirs by
    number.
    """
    key = "shuffled", seed
    if key not in messages.kept:
        row, col = messages.row, messages.col
        bits = draw(seed, 0, messages.identity[row], messages.identity[col], torch.zeros_like(row), WALK_STREAM)
        order = torch.argsort(bits, stable=True)
        messages.kept[key] = col[order[torch.argsort(row[order], stable=True)]]
    shuffled: Tensor = messages.kept[key]
    return shuffled
