"""Subgraphs: the enclosing subgraphs of many pairs as one ragged batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from llwlc._support import counter_hash
from llwlc._support.ragged import pointer


@dataclass(frozen=True, eq=False)
class Subgraphs:
    """The enclosing subgraphs of B pairs, concatenated: N nodes and E directed edges in all.

    Shapes: `ptr [B + 1]`, graph b owns the nodes `ptr[b]` to `ptr[b + 1]`; `node [N]` ids in the graph; `row`,
    `col [E]` positions in the batch, both directions, sorted by row; `weight [E]` or None; `u`, `v [B]` positions of
    the query nodes; `hop [N]` distance from the nearer of the two; `dist_u`, `dist_v [N]` exact distances inside the
    subgraph with the link and the other end removed (DRNL's), capped at 2·hops + 1, which also stands for unreachable;
    `draw_ids [N]`, the number by which random draws identify each node (`Graph.identity`), None where that is its id.

    The nodes of a graph are in the order of a breadth-first search from u, then v, and the edges of a row in the order
    of the neighbour's id: every backend gives the same arrays.

    >>> import torch, llwlc
    >>> path = llwlc.Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3]]))
    >>> subs = llwlc.subgraphs.extract(path, torch.tensor([[1, 2]]), hops=1)
    >>> subs.node.tolist(), subs.row.tolist(), subs.col.tolist()
    ([1, 2, 0, 3], [0, 1, 2, 3], [2, 3, 0, 1])
    """

    ptr: Tensor
    node: Tensor
    row: Tensor
    col: Tensor
    weight: Tensor | None
    u: Tensor
    v: Tensor
    hop: Tensor
    dist_u: Tensor
    dist_v: Tensor
    hops: int = 2
    draw_ids: Tensor | None = None

    @property
    def num_graphs(self) -> int:
        """B, the number of subgraphs."""
        return len(self.ptr) - 1

    @property
    def num_nodes(self) -> int:
        """N, the number of nodes of all subgraphs."""
        return len(self.node)

    @cached_property
    def graph(self) -> Tensor:
        """The graph that each node belongs to, `[N]`."""
        return torch.repeat_interleave(torch.arange(self.num_graphs, device=self.ptr.device), self.ptr.diff())

    @cached_property
    def first(self) -> Tensor:
        """Where the edges of each node begin, `[N + 1]`."""
        return pointer(torch.bincount(self.row, minlength=self.num_nodes))

    @cached_property
    def degree(self) -> Tensor:
        """The number (with weights: the sum) of edges at each node inside its subgraph, `[N]`."""
        if self.weight is None:
            return self.first.diff()
        zero = torch.zeros(self.num_nodes, dtype=self.weight.dtype, device=self.row.device)
        return zero.index_add(0, self.row, self.weight)

    @property
    def pairs(self) -> Tensor:
        """The pair of nodes that each subgraph encloses, `[B, 2]`."""
        return torch.stack([self.node[self.u], self.node[self.v]], 1)

    @property
    def identity(self) -> Tensor:
        """The number by which random draws identify each node, `[N]`."""
        return self.node if self.draw_ids is None else self.draw_ids

    def draws(self, seed: int, epoch: int, stream: int) -> Tensor:
        """64 random bits for each node, a function of seed, epoch, stream, pair and node alone: see
        `counter_hash.draw`.

        Args:
            seed: seed of the draw.
            epoch: number of the epoch.
            stream: purpose of the draw, a constant of `_support.counter_hash`.

        Returns:
            Bits `[N]`, int64.
        """
        ends = torch.stack([self.identity[self.u], self.identity[self.v]], 1)
        low, high = ends.amin(1)[self.graph], ends.amax(1)[self.graph]
        return counter_hash.draw(seed, epoch, low, high, self.identity, stream)

    def to(self, device: torch.device | str) -> Subgraphs:
        """The subgraphs with their tensors on a device.

        Args:
            device: "cpu", "cuda" or a torch device.
        """
        moved = {k: t.to(device) for k, t in vars(self).items() if k in self.__match_args__ and isinstance(t, Tensor)}
        return replace(self, **moved)  # type: ignore[arg-type]  # `hops` is not a tensor and stays


def symmetric_weight(subs: Subgraphs) -> Tensor:
    """The edge weights in float64, 1 where there are none. The mean of both directions: an edge is one parameter,
    whichever direction a gradient is asked for.

    Args:
        subs: B subgraphs with E directed edges in all.

    Returns:
        Weights `[E]`.

    >>> import torch, llwlc
    >>> path = llwlc.Graph.from_edges(torch.tensor([[0, 1], [1, 2]]), weight=torch.tensor([2.0, 3.0]))
    >>> symmetric_weight(llwlc.subgraphs.extract(path, torch.tensor([[0, 2]]))).tolist()
    [2.0, 3.0, 2.0, 3.0]
    """
    if subs.weight is None:
        return torch.ones(len(subs.row), dtype=torch.float64, device=subs.row.device)
    weight, n = subs.weight.double(), subs.num_nodes
    # inside a row the edges follow the neighbours' ids, not their positions, so both directions have to be sorted
    mirror = torch.empty_like(subs.row)
    mirror[torch.argsort(subs.row * n + subs.col)] = torch.argsort(subs.col * n + subs.row)
    return (weight + weight[mirror]) / 2


def concat(parts: list[Subgraphs]) -> Subgraphs:
    """Several batches as one.

    Args:
        parts: one or more batches, all with the same number of hops.

    >>> import torch, llwlc
    >>> path = llwlc.Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3]]))
    >>> one, two = (llwlc.subgraphs.extract(path, torch.tensor([pair])) for pair in ([0, 2], [1, 3]))
    >>> concat([one, two]).ptr.tolist()
    [0, 4, 8]
    """
    if len(parts) == 1:
        return parts[0]
    shift = pointer(torch.tensor([p.num_nodes for p in parts])).tolist()
    shifted = {
        k: torch.cat([getattr(p, k) + s for p, s in zip(parts, shift, strict=False)]) for k in ("row", "col", "u", "v")
    }
    ptr = torch.cat([parts[0].ptr[:1], *[p.ptr[1:] + s for p, s in zip(parts, shift, strict=False)]])
    same = {k: torch.cat([getattr(p, k) for p in parts]) for k in ("node", "hop", "dist_u", "dist_v")}
    weights = [p.weight for p in parts if p.weight is not None]
    draw_ids = [p.draw_ids for p in parts if p.draw_ids is not None]
    return Subgraphs(
        ptr=ptr,
        weight=torch.cat(weights) if weights else None,
        draw_ids=torch.cat(draw_ids) if draw_ids else None,
        hops=parts[0].hops,
        **same,
        **shifted,
    )
