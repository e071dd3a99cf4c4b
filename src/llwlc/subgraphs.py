"""Enclosing subgraphs of a batch of node pairs, ragged, with the target link removed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Subgraphs:
    """The enclosing subgraphs of B pairs, one behind the other: N nodes and E directed edges in all.

    Shapes: `ptr [B + 1]`, graph b owns the nodes `ptr[b]` to `ptr[b + 1]`; `node [N]` ids in the graph; `row`, `col [E]`
    positions in the batch, both directions, sorted by row (then by column); `weight [E]` or None; `u`, `v [B]` positions of
    the query nodes; `hop [N]` distance from the nearer of the two in the graph; `dist_u`, `dist_v [N]` exact distances inside the
    subgraph with the link and the other end removed (DRNL's), capped at 2·hops + 1, which also stands for unreachable.
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

    @property
    def num_graphs(self) -> int:
        return len(self.ptr) - 1

    @property
    def num_nodes(self) -> int:
        return len(self.node)

    @cached_property
    def graph(self) -> Tensor:
        """The graph that each node belongs to, `[N]`."""
        return torch.repeat_interleave(torch.arange(self.num_graphs, device=self.ptr.device), self.ptr.diff())

    @cached_property
    def degree(self) -> Tensor:
        """The number (with weights: the sum) of edges at each node inside its subgraph, `[N]`."""
        if self.weight is None:
            return torch.bincount(self.row, minlength=self.num_nodes)
        return torch.zeros(self.num_nodes, dtype=self.weight.dtype, device=self.row.device).index_add_(
            0, self.row, self.weight
        )
