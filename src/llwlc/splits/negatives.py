"""Pairs without a link: drawn uniformly and exactly, without rejection, from graphs of any density.

The pairs u < v of n nodes are numbered row by row, 0 to n(n−1)/2 − 1. With the numbers of the excluded pairs sorted,
k₀ < k₁ < …, exactly kᵢ − i admissible pairs lie below kᵢ, so the r-th admissible pair has number r + #{i : kᵢ − i ≤ r}: one binary
search. Distinct ranks r give distinct pairs; a complete graph simply has no ranks.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from llwlc.errors import InputError

# torch's permutation of all non-edges is what PyG draws from; beyond this it would take more than 2 GB
PERMUTABLE = 2**28


def canonical(pairs: Tensor) -> Tensor:
    """The pairs `[..., 2]` with the smaller node first."""
    return torch.stack([pairs.amin(-1), pairs.amax(-1)], -1)


def pair_number(pairs: Tensor, num_nodes: int) -> Tensor:
    """The number of each pair `[m, 2]` in the row-by-row order of the upper triangle, `[m]`; direction does not matter.

    >>> pair_number(torch.tensor([[0, 1], [2, 0], [2, 3]]), 4).tolist()
    [0, 1, 5]
    """
    lo, hi = canonical(pairs).unbind(-1)
    return lo * (2 * num_nodes - lo - 1) // 2 + hi - lo - 1


def numbered_pair(number: Tensor, num_nodes: int) -> Tensor:
    """The pairs `[m, 2]` of these numbers: the inverse of `pair_number`.

    >>> numbered_pair(torch.tensor([0, 1, 5]), 4).tolist()
    [[0, 1], [0, 2], [2, 3]]
    """
    node = torch.arange(num_nodes)
    first = node * (2 * num_nodes - node - 1) // 2
    lo = torch.searchsorted(first, number, right=True) - 1
    # the last node is the smaller one of no pair: its row is empty and must not be chosen
    lo = lo.clamp(max=max(num_nodes - 2, 0))
    return torch.stack([lo, number - first[lo] + lo + 1], 1)


class NonEdges:
    """The pairs of `nodes` (default: all) that are not among the `excluded` ones `[k, 2]`: a sequence whose elements are computed when asked for, never stored.

    >>> free = NonEdges(4, torch.tensor([[0, 1], [2, 1], [2, 3]]))
    >>> len(free), free.at(torch.arange(3)).tolist()
    (3, [[0, 2], [0, 3], [1, 3]])
    """

    def __init__(self, num_nodes: int, excluded: Tensor, nodes: Tensor | None = None) -> None:
        self.nodes = torch.arange(num_nodes) if nodes is None else nodes
        self.num_local = len(self.nodes)
        local = torch.full((num_nodes,), -1)
        local[self.nodes] = torch.arange(self.num_local)
        pairs = local[excluded]
        number = pair_number(pairs[(pairs >= 0).all(1) & (pairs[:, 0] != pairs[:, 1])], self.num_local)
        number = torch.unique(number)
        self._below = number - torch.arange(len(number))

    def __len__(self) -> int:
        return self.num_local * (self.num_local - 1) // 2 - len(self._below)

    def at(self, rank: Tensor) -> Tensor:
        """The pairs `[m, 2]` at these ranks, 0 to len − 1."""
        number = rank + torch.searchsorted(self._below, rank, right=True)
        return self.nodes[numbered_pair(number, self.num_local)]

    def sample(self, count: int, rng: np.random.Generator) -> Tensor:
        """`count` distinct pairs `[count, 2]`, all equally likely."""
        self.require(count)
        return self.at(torch.from_numpy(rng.choice(len(self), count, replace=False)))

    def sample_as_pyg(self, count: int, generator: torch.Generator) -> Tensor:
        """Like `sample`, by PyG's own draw (the head of one permutation), so that a torch seed gives the pairs of the published code."""
        self.require(count)
        if len(self) > PERMUTABLE:
            seed = int(torch.randint(2**62, (), generator=generator))
            return self.sample(count, np.random.default_rng(seed))
        return self.at(torch.randperm(len(self), generator=generator)[:count])

    def require(self, count: int) -> None:
        if count > len(self):
            raise InputError(
                f"{count} pairs without a link are needed, but only {len(self)} of the pairs of {self.num_local} nodes are free: "
                "the graph is too dense for this split; hold out fewer links"
            )
