"""Pairs without a link: drawn uniformly and exactly, without rejection, from graphs of any density.

The pairs u < v of n nodes are numbered row by row, 0 to n(n−1)/2 − 1. With the numbers of the excluded pairs sorted,
k₀ < k₁ < …, exactly kᵢ − i admissible pairs lie below kᵢ, so the r-th admissible pair has number r + #{i : kᵢ − i ≤ r}:
one binary search. Distinct ranks r give distinct pairs; a complete graph simply has no ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from llwlc._support.mapped_arrays import allocate_array
from llwlc.errors import InputError
from llwlc.graph._edge_list import EdgeList

# torch's permutation of all non-edges is what PyG draws from; beyond this it would take more than 2 GB
PERMUTABLE = 2**28
AT_ONCE = 1 << 21
"""Pairs whose numbers are computed together."""


def canonical(pairs: Tensor) -> Tensor:
    """The pairs `[..., 2]` with the smaller node first."""
    u, v = pairs[..., 0], pairs[..., 1]
    return torch.stack([torch.minimum(u, v), torch.maximum(u, v)], -1)


def pair_number(pairs: Tensor, num_nodes: int) -> Tensor:
    """The number of each pair `[m, 2]` in the row-by-row order of the upper triangle, `[m]`; direction does not matter.

    >>> pair_number(torch.tensor([[0, 1], [2, 0], [2, 3]]), 4).tolist()
    [0, 1, 5]
    """
    lo, hi = canonical(pairs).unbind(-1)
    return lo * (2 * num_nodes - lo - 1) // 2 + hi - lo - 1


def among(pairs: Tensor, few: Tensor, num_nodes: int) -> Tensor:
    """Which of the pairs `[m, 2]` are among the `few` `[k, 2]`, by a binary search for each: `[m]`. (`torch.isin` sorts
    all of them.)

    >>> among(torch.tensor([[1, 0], [2, 3]]), torch.tensor([[0, 1], [0, 2]]), 4).tolist()
    [True, False]
    """
    number, wanted = pair_number(pairs, num_nodes), pair_number(few, num_nodes).sort().values
    if not len(wanted):
        return torch.zeros(len(number), dtype=torch.bool)
    return wanted[torch.searchsorted(wanted, number).clamp(max=len(wanted) - 1)] == number


def numbered_pair(number: Tensor, num_nodes: int) -> Tensor:
    """The pairs `[m, 2]` of these numbers: the inverse of `pair_number`.

    >>> numbered_pair(torch.tensor([0, 1, 5]), 4).tolist()
    [[0, 1], [0, 2], [2, 3]]
    """
    return _numbered_pair(number, _first_numbers(num_nodes))


def _first_numbers(num_nodes: int) -> Tensor:
    """The number of the first pair of each row."""
    node = torch.arange(num_nodes)
    return node * (2 * num_nodes - node - 1) // 2


def _numbered_pair(number: Tensor, first: Tensor) -> Tensor:
    lo = torch.searchsorted(first, number, right=True) - 1
    # the last node is the smaller one of no pair: its row is empty and must not be chosen
    lo = lo.clamp(max=max(len(first) - 2, 0))
    return torch.stack([lo, number - first[lo] + lo + 1], 1)


def replace_share(pairs: Tensor, others: Tensor, share: float, rng: np.random.Generator) -> Tensor:
    """The pairs `[m, 2]`, a share of them, at random places, replaced by others `[k, 2]`, each of which stands there as
    often as any other, or once more.

    >>> pairs, others = torch.zeros(4, 2, dtype=torch.long), torch.ones(1, 2, dtype=torch.long)
    >>> replace_share(pairs, others, 0.5, np.random.default_rng(0)).sum().item()
    4
    """
    count = round(min(share, 1.0) * len(pairs)) if len(others) else 0
    if not count:
        return pairs
    turns = [rng.permutation(len(others)) for _ in range(-(-count // len(others)))]
    mixed, places = pairs.clone(), rng.permutation(len(pairs))[:count]
    mixed[torch.from_numpy(places)] = others[torch.from_numpy(np.concatenate(turns)[:count])]
    return mixed


class NonEdges:
    """The pairs of `nodes` (default: all) that are not among the `excluded` ones `[k, 2]`, given at once or in several
    parts: a sequence whose elements are computed when asked for, never stored. `mapped`: what is drawn is as large as a
    graph that does not fit, and belongs into a file.

    >>> free = NonEdges(4, torch.tensor([[0, 1], [2, 1], [2, 3]]))
    >>> len(free), free.at(torch.arange(3)).tolist()
    (3, [[0, 2], [0, 3], [1, 3]])
    """

    def __init__(
        self,
        num_nodes: int,
        excluded: Tensor | Sequence[Tensor | EdgeList],
        nodes: Tensor | None = None,
        *,
        mapped: bool = False,
    ) -> None:
        self.nodes, self.mapped = nodes, mapped
        self.num_local = num_nodes if nodes is None else len(nodes)
        local = None
        if nodes is not None:
            local = torch.full((num_nodes,), -1)
            local[nodes] = torch.arange(self.num_local)
        parts = [excluded] if isinstance(excluded, Tensor) else excluded
        # in one array that is sorted in place: it is the largest of a split
        number, done = np.empty(sum(map(len, parts)), dtype=np.int64), 0
        for pairs in _chunks(parts):
            own = pairs if local is None else local[pairs]
            proper = (own[:, 0] >= 0) & (own[:, 1] >= 0) & (own[:, 0] != own[:, 1])
            own = own if bool(proper.all()) else own[proper]
            number[done : done + len(own)] = pair_number(own, self.num_local).numpy()
            done += len(own)
        number = number[:done]
        number.sort()
        first = np.ones(len(number), dtype=bool)
        np.not_equal(number[1:], number[:-1], out=first[1:])
        number = number[first]
        number -= np.arange(len(number))
        self._below = torch.from_numpy(number)

    def __len__(self) -> int:
        return self.num_local * (self.num_local - 1) // 2 - len(self._below)

    def at(self, rank: Tensor) -> Tensor:
        """The pairs `[m, 2]` at these ranks, 0 to len − 1."""
        result, first = allocate_array((len(rank), 2), torch.long, mapped=self.mapped), _first_numbers(self.num_local)
        for begin in range(0, len(rank), AT_ONCE):
            part, order = rank[
                begin : begin + AT_ONCE
            ].sort()  # in order, a search finds in the cache what the last one left
            pairs = _numbered_pair(part + torch.searchsorted(self._below, part, right=True), first)
            result[begin : begin + AT_ONCE][order] = pairs if self.nodes is None else self.nodes[pairs]
        return result

    def ranks(self, count: int, rng: np.random.Generator) -> Tensor:
        """The ranks `[count]` of distinct pairs, all equally likely."""
        self.require(count)
        return torch.from_numpy(rng.choice(len(self), count, replace=False))

    def sample(self, count: int, rng: np.random.Generator) -> Tensor:
        """`count` distinct pairs `[count, 2]`, all equally likely."""
        return self.at(self.ranks(count, rng))

    def sample_as_pyg(self, count: int, generator: torch.Generator) -> Tensor:
        """Like `sample`, by PyG's own draw (the head of one permutation), so that a torch seed gives the pairs of the
        published code.
        """
        self.require(count)
        if len(self) > PERMUTABLE:
            seed = int(torch.randint(2**62, (), generator=generator))
            return self.sample(count, np.random.default_rng(seed))
        return self.at(torch.randperm(len(self), generator=generator)[:count])

    def require(self, count: int) -> None:
        if count > len(self):
            raise InputError(
                f"{count} pairs without a link are needed, but only {len(self)} of the pairs of {self.num_local} nodes"
                " are free: the graph is too dense for this split; hold out fewer links"
            )


def _chunks(parts: Sequence[Tensor | EdgeList]) -> Iterator[Tensor]:
    for part in parts:
        yield from part.parts() if isinstance(part, EdgeList) else torch.split(part, AT_ONCE)
