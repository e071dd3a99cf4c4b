"""EdgeList: the edges of a graph by their numbers, and graphs of some of them, in memory that does not grow with what
is asked of a mapped graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc._support.compiler import exact
from llwlc._support.mapped_arrays import allocate_array
from llwlc.graph._graph import Graph
from llwlc.graph._sorted_search import lower_bound

Integers = NDArray[np.int64]
AT_ONCE = 1 << 21
"""Edges, or entries of rows, that are looked at together."""


class RowRange(NamedTuple):
    """The rows from `begin` to `end` of a graph that keeps some edges of another: how long they are, and where their
    entries stand in the arrays of the other.
    """

    begin: int
    end: int
    length: Integers
    at: Integers


@dataclass(frozen=True, eq=False)
class EdgeList:
    """The undirected edges of a graph, numbered in the order of `Graph.edges`, and not stored.

    >>> edges = EdgeList(Graph.from_edges(torch.tensor([[0, 1], [1, 2], [0, 3]])))
    >>> len(edges), edges.at(torch.tensor([2, 0])).tolist(), edges.numbers(torch.tensor([[3, 0], [2, 3]])).tolist()
    (3, [[1, 2], [0, 1]], [1, -1])
    """

    graph: Graph

    def __len__(self) -> int:
        return self.graph.num_edges

    @property
    def mapped(self) -> bool:
        """Whether arrays as large as the graph belong into files."""
        return self.graph.folder is not None

    @cached_property
    def _arrays(self) -> tuple[Integers, Integers, Integers]:
        """`indptr`, `indices`, and `first [n + 1]`: the number of the first edge whose smaller node is u."""
        indptr, indices = self.graph.indptr.numpy(), self.graph.indices.numpy()
        first = np.zeros(len(indptr), dtype=np.int64)
        _first_numbers(indptr, indices, first)
        return indptr, indices, first

    def at(self, number: Tensor) -> Tensor:
        """The edges `[k, 2]` of these numbers, smaller node first."""
        pairs = allocate_array((len(number), 2), torch.long, mapped=self.mapped)
        for begin in range(0, len(number), AT_ONCE):
            part, order = number[begin : begin + AT_ONCE].sort()  # neighbouring edges stand in neighbouring rows
            edges = np.empty((len(part), 2), dtype=np.int64)
            _edges_at(*self._arrays, part.numpy(), edges)
            pairs[begin : begin + AT_ONCE][order] = torch.from_numpy(edges)
        return pairs

    def parts(self) -> Iterator[Tensor]:
        """All edges in their order, some at a time."""
        for begin in range(0, len(self), AT_ONCE):
            number = np.arange(begin, min(begin + AT_ONCE, len(self)))
            out = np.empty((len(number), 2), dtype=np.int64)
            _edges_at(*self._arrays, number, out)
            yield torch.from_numpy(out)

    def numbers(self, pairs: Tensor) -> Tensor:
        """The number of each pair `[k, 2]`, in either direction; −1 where it is not an edge."""
        numbers = np.empty(len(pairs), dtype=np.int64)
        array = pairs.numpy()
        for begin in range(0, len(array), AT_ONCE):
            part = slice(begin, begin + AT_ONCE)
            _numbers_of(*self._arrays, np.ascontiguousarray(array[part]), numbers[part])
        return torch.from_numpy(numbers)

    def once(self, values: Tensor) -> Tensor:
        """Of values of both directions `[2m]`, such as weights, those of each edge once, `[m]`."""
        indptr, _, first = self._arrays
        per_edge = torch.empty(len(self), dtype=values.dtype)
        _upper_values(indptr, first, values.numpy(), per_edge.numpy())
        return per_edge

    def flags(self, *numbers: Tensor) -> Tensor:
        """Which edges are among these numbers, `[m]`."""
        flags = torch.zeros(len(self), dtype=torch.bool)
        for some in numbers:
            flags[some] = True
        return flags

    def select(self, flags: Tensor) -> Graph:
        """The graph with all its nodes and only the edges whose flag `[m]` is set; each keeps its weight and time. It
        is mapped if this graph is.
        """
        graph, size = self.graph, 2 * int(flags.sum())
        indptr = allocate_array((graph.num_nodes + 1,), torch.long, mapped=self.mapped)
        arrays = {name: getattr(graph, name) for name in ("indices", "weight", "time", "forward")}
        entries = {
            name: allocate_array((size,), array.dtype, mapped=self.mapped)
            for name, array in arrays.items()
            if array is not None
        }
        done, bounds = 0, indptr.numpy()
        bounds[0] = 0
        for rows in self._rows(flags):
            np.cumsum(rows.length, out=bounds[rows.begin + 1 : rows.end + 1])
            bounds[rows.begin + 1 : rows.end + 1] += done
            for name, out in entries.items():
                np.take(arrays[name].numpy(), rows.at, out=out.numpy()[done : done + len(rows.at)])
            done += len(rows.at)
        return replace(
            graph,
            indptr=indptr,
            indices=entries["indices"],
            weight=entries.get("weight"),
            time=entries.get("time"),
            forward=entries.get("forward"),
            report=None,
        )

    def equals_selected(self, other: Graph, flags: Tensor) -> bool:
        """Whether another graph has the links and weights of `select(flags)`, which is not made."""
        mine, theirs = self.graph, other
        if (mine.weight is None) != (theirs.weight is None) or mine.num_nodes != theirs.num_nodes:
            return False
        if len(theirs.indices) != 2 * int(flags.sum()):
            return False
        done = 0
        for rows in self._rows(flags):
            part = slice(done, done + len(rows.at))
            if not np.array_equal(theirs.indptr[rows.begin : rows.end + 1].diff().numpy(), rows.length):
                return False
            for a, b in ((mine.indices, theirs.indices), (mine.weight, theirs.weight)):
                if a is not None and b is not None and not np.array_equal(a.numpy()[rows.at], b[part].numpy()):
                    return False
            done += len(rows.at)
        return True

    def _rows(self, flags: Tensor) -> Iterator[RowRange]:
        indptr, indices, first = self._arrays
        n, begin = self.graph.num_nodes, 0
        below = first[:-1].copy()  # the number of the next edge that each node has to a larger one
        while begin < n:
            end = int(np.searchsorted(indptr, indptr[begin] + AT_ONCE, side="right")) - 1
            end = min(max(end, begin + 1), begin + AT_ONCE, n)
            at = np.empty(int(indptr[end] - indptr[begin]), dtype=np.int64)
            length = np.zeros(end - begin, dtype=np.int64)
            count = _kept_entries(indptr, indices, first, flags.numpy(), below, begin, end, length, at)
            yield RowRange(begin, end, length, at[:count])
            begin = end


@exact
def _first_numbers(indptr: Integers, indices: Integers, first: Integers) -> None:
    for u in range(len(indptr) - 1):
        larger = lower_bound(indices, indptr[u], indptr[u + 1], u)
        first[u + 1] = first[u] + indptr[u + 1] - larger


@exact
def _edges_at(indptr: Integers, indices: Integers, first: Integers, number: Integers, out: Integers) -> None:
    for i in range(len(number)):
        low, high = 0, len(first) - 1  # the last row that begins at or before this number
        while high - low > 1:
            middle = (low + high) // 2
            if first[middle] <= number[i]:
                low = middle
            else:
                high = middle
        out[i, 0] = low
        out[i, 1] = indices[indptr[low + 1] - (first[low + 1] - number[i])]


@exact
def _numbers_of(indptr: Integers, indices: Integers, first: Integers, pairs: Integers, found: Integers) -> None:
    n = len(indptr) - 1
    for i in range(len(pairs)):
        u, v = min(pairs[i, 0], pairs[i, 1]), max(pairs[i, 0], pairs[i, 1])
        found[i] = -1
        if u < 0 or v >= n or u == v:
            continue
        end = indptr[u + 1]
        begin = end - (first[u + 1] - first[u])
        at = lower_bound(indices, begin, end, v)
        if at < end and indices[at] == v:
            found[i] = first[u] + at - begin


@exact
def _upper_values(indptr: Integers, first: Integers, values: NDArray[np.int64], out: NDArray[np.int64]) -> None:
    for u in range(len(indptr) - 1):
        shift = indptr[u + 1] - first[u + 1]
        for number in range(first[u], first[u + 1]):
            out[number] = values[number + shift]


@exact
def _kept_entries(
    indptr: Integers,
    indices: Integers,
    first: Integers,
    flags: NDArray[np.bool_],
    below: Integers,
    begin: int,
    end: int,
    length: Integers,
    at: Integers,
) -> int:
    """Where the kept entries of these rows stand. Rows are asked for in ascending order: an entry (u, v) with v < u
    belongs to the edge of v that is `below[v]`, and the next such entry of v to the next."""
    count = 0
    for u in range(begin, end):
        shift = first[u + 1] - indptr[u + 1]
        before = count
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            if v > u:
                number = e + shift
            else:
                number = below[v]
                below[v] += 1
            if flags[number]:
                at[count] = e
                count += 1
        length[u - begin] = count - before
    return count
