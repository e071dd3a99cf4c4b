"""A block-diagonal symmetric matrix: one sparse operator for each graph of a ragged batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import scipy.sparse
import torch
from torch import Tensor

from llwlc._support.ragged import expand, pointer


@dataclass(frozen=True, eq=False)
class Operator:
    """L of every graph: a diagonal and off-diagonal entries, differentiable in both.

    Shapes: `ptr [B + 1]`; `row`, `col`, `value [E]` off the diagonal, sorted by row, each entry beside its mirror
    image; `diagonal [N]`.

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
        if not self.row.is_cuda and not self._differentiated(x):
            # several times as fast as index_add, which writes each product down first
            return torch.from_numpy(self._compressed @ x.detach().numpy())
        return self.times(x)

    def times(self, x: Tensor) -> Tensor:
        """L x with gradients, or of a few columns once, for which no compressed form need be made."""
        return (self.diagonal[:, None] * x).index_add(0, self.row, self.value[:, None] * x[self.col])

    def _differentiated(self, x: Tensor) -> bool:
        needs_gradients = x.requires_grad or self.value.requires_grad or self.diagonal.requires_grad
        return torch.is_grad_enabled() and needs_gradients

    @cached_property
    def _compressed(self) -> scipy.sparse.csr_array:
        n = len(self.diagonal)
        first = torch.searchsorted(self.row, torch.arange(n + 1))
        parts = (self.value.detach().numpy(), self.col.numpy(), first.numpy())
        diagonal = scipy.sparse.diags_array(self.diagonal.detach().numpy())
        return scipy.sparse.csr_array(scipy.sparse.csr_array(parts, shape=(n, n)) + diagonal)

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


class Bucket(NamedTuple):
    """Some graphs of a ragged batch, padded to one size n: M graphs with K real nodes.

    Shapes: `graphs [M]` their numbers; `nodes [K]` rows of the batch; `slots [K]` where these stand among the M·n
    padded rows.
    """

    graphs: Tensor
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


def make_buckets(ptr: Tensor, graphs: Tensor, *, width: int, budget: int, spare: int = 0) -> Iterator[Bucket]:
    """Cut the given graphs into buckets of similar size, each with at most about `budget` padded entries of `width`
    columns.

    Sorted by size, so padding stays a small part, or within `spare` rows of a bucket; one graph larger than the budget
    is a bucket of its own.

    >>> [b.graphs.tolist() for b in make_buckets(torch.tensor([0, 2, 99, 101]), torch.arange(3), width=1, budget=100)]
    [[0, 2], [1]]
    """
    sizes = ptr.diff()[graphs]
    order = torch.argsort(sizes, stable=True)
    graphs, ascending = graphs[order], sizes[order].tolist()
    begin = 0
    while begin < len(ascending):
        end, rows = begin + 1, ascending[begin]
        while (
            end < len(ascending)
            and (end + 1 - begin) * ascending[end] * width <= budget
            # a bucket spans sizes up to a factor, else small graphs would pay for large ones
            and (
                ascending[end] <= 1.25 * ascending[begin] + 4
                or (end + 1 - begin) * ascending[end] - rows - ascending[end] <= spare
            )
        ):
            rows += ascending[end]
            end += 1
        bucket, n = graphs[begin:end], ascending[end - 1]
        nodes, owner = expand(ptr[bucket], ptr.diff()[bucket])
        yield Bucket(bucket, nodes, nodes - ptr[bucket][owner] + n * owner, n)
        begin = end


class BucketOperator(NamedTuple):
    """A bucket and its operator on M·n rows."""

    bucket: Bucket
    operator: Operator

    def apply(self, x: Tensor) -> Tensor:
        """L x for `x [M, n, b]`."""
        m, n, b = x.shape
        return (self.operator @ x.reshape(m * n, b)).view(m, n, b)


def split_operator(
    operator: Operator, graphs: Tensor, *, width: int, budget: int, spare: int = 0
) -> Iterator[BucketOperator]:
    """The given graphs in buckets, each with its part of the operator."""
    edge_ptr = torch.searchsorted(operator.row, operator.ptr)
    for bucket in make_buckets(operator.ptr, graphs, width=width, budget=budget, spare=spare):
        rows = len(bucket.graphs) * bucket.n
        edges, owner = expand(edge_ptr[bucket.graphs], edge_ptr.diff()[bucket.graphs])
        shift = bucket.n * owner - operator.ptr[bucket.graphs][owner]
        padded = Operator(
            pointer(torch.full_like(bucket.graphs, bucket.n)),
            operator.row[edges] + shift,
            operator.col[edges] + shift,
            operator.value[edges],
            operator.diagonal.new_zeros(rows).index_copy(0, bucket.slots, operator.diagonal[bucket.nodes]),
        )
        yield BucketOperator(bucket, padded)
