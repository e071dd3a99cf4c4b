"""A block-diagonal symmetric matrix: one sparse operator for each graph of a ragged batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from llwlc.ragged import expand, pointer


@dataclass(frozen=True, eq=False)
class Operator:
    """L of every graph: a diagonal and off-diagonal entries, differentiable in both.

    Shapes: `ptr [B + 1]`; `row`, `col`, `value [E]` off the diagonal, sorted by row, each entry beside its mirror image;
    `diagonal [N]`.

    >>> ring = torch.arange(4)
    >>> row, col = ring.repeat_interleave(2), torch.stack([(ring - 1) % 4, (ring + 1) % 4], 1).flatten()
    >>> L = Operator(torch.tensor([0, 4]), row, col, -torch.ones(8), 2 * torch.ones(4))
    >>> (L @ torch.tensor([[1.0], [-1], [1], [-1]])).flatten().tolist(), L.bound.tolist()
    ([4.0, -4.0, 4.0, -4.0], [4.0])
    """

    ptr: Tensor
    row: Tensor
    col: Tensor
    value: Tensor
    diagonal: Tensor

    def __matmul__(self, x: Tensor) -> Tensor:
        """L x for `x [N, b]`."""
        return (self.diagonal[:, None] * x).index_add(0, self.row, self.value[:, None] * x[self.col])

    @cached_property
    def graph(self) -> Tensor:
        """The graph that each row belongs to, `[N]`."""
        return expand(self.ptr[:-1], self.ptr.diff())[1]

    @cached_property
    def bound(self) -> Tensor:
        """Gershgorin's bound on ‖L‖, `[B]`: the scale of every tolerance. 2 d_max for D − A."""
        rows = self.diagonal.detach().abs().index_add(0, self.row, self.value.detach().abs())
        return torch.zeros(len(self.ptr) - 1, dtype=rows.dtype, device=rows.device).scatter_reduce_(
            0, self.graph, rows, "amax"
        )

    def double(self) -> Operator:
        return Operator(self.ptr, self.row, self.col, self.value.double(), self.diagonal.double())


class Chunk(NamedTuple):
    """Some graphs of a batch, padded to one size n: M graphs with K real nodes.

    Shapes: `graphs [M]` their numbers; `operator` on M·n rows; `nodes [K]` rows of the batch; `slots [K]` where these stand
    among the M·n padded rows.
    """

    graphs: Tensor
    operator: Operator
    nodes: Tensor
    slots: Tensor
    n: int

    def pad(self, x: Tensor) -> Tensor:
        """Rows of the batch, `[N, d]`, to `[M, n, d]`, zero where padded."""
        out = x.new_zeros(len(self.graphs) * self.n, x.shape[1]).index_copy(0, self.slots, x[self.nodes])
        return out.view(len(self.graphs), self.n, x.shape[1])

    def unpad(self, x: Tensor) -> Tensor:
        """`[M, n, d]` back to the real rows, `[K, d]`, in the order of `nodes`."""
        return x.reshape(len(self.graphs) * self.n, x.shape[2])[self.slots]

    def apply(self, x: Tensor) -> Tensor:
        """L x for `x [M, n, b]`."""
        m, n, b = x.shape
        return (self.operator @ x.reshape(m * n, b)).view(m, n, b)


def chunks(operator: Operator, graphs: Tensor, *, width: int, budget: int) -> Iterator[Chunk]:
    """Cut the given graphs into chunks of like size, each with at most about `budget` padded entries of `width` columns.

    Sorted by size, so padding stays a small part; one graph larger than the budget is a chunk of its own.
    """
    sizes = operator.ptr.diff()[graphs]
    order = torch.argsort(sizes, stable=True)
    graphs, sorted_sizes = graphs[order], sizes[order].tolist()
    edge_ptr = torch.searchsorted(operator.row, operator.ptr)
    begin = 0
    while begin < len(sorted_sizes):
        end = begin + 1
        while (
            end < len(sorted_sizes)
            and (end + 1 - begin) * sorted_sizes[end] * width <= budget
            # a chunk spans sizes up to a factor, else small graphs would pay for large ones
            and sorted_sizes[end] <= 1.25 * sorted_sizes[begin] + 4
        ):
            end += 1
        yield _chunk(operator, edge_ptr, graphs[begin:end], max(sorted_sizes[end - 1], 1))
        begin = end


def _chunk(operator: Operator, edge_ptr: Tensor, graphs: Tensor, n: int) -> Chunk:
    m, device = len(graphs), graphs.device
    nodes, owner = expand(operator.ptr[graphs], operator.ptr.diff()[graphs])
    slots = nodes - operator.ptr[graphs][owner] + n * owner
    edges, at = expand(edge_ptr[graphs], edge_ptr.diff()[graphs])
    shift = n * at - operator.ptr[graphs][at]
    diagonal = operator.diagonal.new_zeros(m * n).index_copy(0, slots, operator.diagonal[nodes])
    padded = Operator(
        pointer(torch.full((m,), n, device=device)),
        operator.row[edges] + shift,
        operator.col[edges] + shift,
        operator.value[edges],
        diagonal,
    )
    return Chunk(graphs, padded, nodes, slots, n)
