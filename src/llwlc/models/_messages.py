"""Messages: the links that carry messages, on the device of a network, and what methods compute from the links
alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache, cached_property
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from llwlc._support.ragged import expand, pointer
from llwlc.graph._graph import Graph


class Messages:
    """A graph in the form that methods read: 0/1, both directions of every link, sorted by row, then by column; weights
    are not used, as in the published codes.

    Shapes: `row`, `col [2m]`. `names`: the names of the nodes, by which random draws identify them. `kept` stores what
    a method computes from the links alone (sketches), so that it is computed once.
    """

    def __init__(self, row: Tensor, col: Tensor, num_nodes: int, names: Sequence[str] | None = None) -> None:
        self.row, self.col, self.num_nodes, self.names = row, col, num_nodes, names
        self.kept: dict[Any, Any] = {}

    @staticmethod
    def of(graph: Graph, device: torch.device | str = "cpu") -> Messages:
        row, col = graph.edge_index.to(device)
        return Messages(row, col, graph.num_nodes, graph.names)

    @property
    def device(self) -> torch.device:
        return self.row.device

    @cached_property
    def graph(self) -> Graph:
        """The links as a `Graph` on the same device, without weights or features, for extraction."""
        return Graph(self.indptr, self.col, names=self.names)

    @cached_property
    def identity(self) -> Tensor:
        """The number by which random draws identify each node, `[n]`: made from its name, or the node's own number if
        it has no name.
        """
        known = self.graph.identity
        return torch.arange(self.num_nodes, device=self.device) if known is None else known.to(self.device)

    @cached_property
    def degree(self) -> Tensor:
        return torch.bincount(self.row, minlength=self.num_nodes)

    @cached_property
    def indptr(self) -> Tensor:
        return pointer(self.degree)

    @cached_property
    def edge_index(self) -> Tensor:
        """PyG's `[2, 2m]`."""
        return torch.stack([self.row, self.col])

    @cached_property
    def key(self) -> Tensor:
        """row · n + column of every entry, ascending, for looking pairs up."""
        return self.row * self.num_nodes + self.col

    def places(self, pairs: Tensor) -> Tensor:
        """The entries of these links `[m, 2]` in both directions, `[2m]`; they must be links."""
        u, v = pairs.to(self.device).unbind(1)
        return torch.searchsorted(self.key, torch.cat([u * self.num_nodes + v, v * self.num_nodes + u]))

    def without(self, places: Tensor) -> Messages:
        """The graph without the entries at these places."""
        keep = torch.ones(len(self.row), dtype=torch.bool, device=self.device)
        keep[places] = False
        return Messages(self.row[keep], self.col[keep], self.num_nodes, self.names)

    def neighbours(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """The neighbours of each node, concatenated, and for each the position of its node in `nodes`."""
        at, owner = expand(self.indptr[nodes], self.degree[nodes])
        return self.col[at], owner

    def linked(self, u: Tensor, v: Tensor) -> Tensor:
        """Which of the pairs are links."""
        if not len(self.key):
            return torch.zeros(len(u), dtype=torch.bool, device=self.device)
        key = u * self.num_nodes + v
        return torch.eq(self.key[torch.searchsorted(self.key, key).clamp(max=len(self.key) - 1)], key)

    def total(self, x: Tensor) -> Tensor:
        """A X: the sum of the neighbours' rows, `[n, d]`."""
        out: Tensor = _Symmetric.apply(self._matrix(x.dtype), x)  # type: ignore[no-untyped-call]
        return out

    def smooth(self, x: Tensor) -> Tensor:
        """D^−½ (A + I) D^−½ X with D the degrees of A + I, `[n, d]`: GCN's propagation, without weights of its own."""
        scale = (self.degree + 1).to(x.dtype).rsqrt().unsqueeze(1)
        x = scale * x
        return scale * (self.total(x) + x)

    def _matrix(self, dtype: torch.dtype) -> Tensor:
        if dtype not in self.kept:
            ones = torch.ones(len(self.col), dtype=dtype, device=self.device)
            self.kept[dtype] = csr(self.indptr, self.col, ones, (self.num_nodes, self.num_nodes))
        matrix: Tensor = self.kept[dtype]
        return matrix


_QUIETLY = Lock()


def csr(indptr: Tensor, col: Tensor, value: Tensor, shape: tuple[int, int]) -> Tensor:
    """torch's sparse matrix in CSR, without its warnings that the format is in beta, and that what we ask for is not
    checked.
    """
    with _QUIETLY:
        _first_matrix()
    return torch.sparse_csr_tensor(indptr, col, value, shape, check_invariants=False)


@cache
def _first_matrix() -> None:
    """torch warns of the first matrix of a process only. Filters of warnings are one for all threads: they are set
    here, and never again.
    """
    none = torch.zeros(1, dtype=torch.int64)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta|Sparse invariant checks")
        torch.sparse_csr_tensor(none, none[:0], none[:0], (0, 0), check_invariants=False)


class _Symmetric(torch.autograd.Function):
    """A X for a symmetric A; with its own backward pass, since autograd would transpose the matrix at every step."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, x: Tensor) -> Tensor:
        ctx.matrix = matrix
        return matrix @ x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:
        return None, ctx.matrix @ grad.contiguous()
