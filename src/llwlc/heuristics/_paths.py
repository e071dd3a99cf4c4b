"""The length of the shortest path between the ends of a pair, without the pair's own link."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc._support.compiler import in_order
from llwlc._support.threads import choose_num_threads, run_over_links
from llwlc.graph._graph import Graph
from llwlc.heuristics._pair_statistics import check_inside

Integers = NDArray[np.int64]
MOST_ENTRIES = 1 << 14
"""Entries of rows that the search for one path reads; a longer one counts as the length at which it was given up."""


def shortest_path(graph: Graph, pairs: Tensor, *, most_entries: int = MOST_ENTRIES) -> Tensor:
    """−d(u, v), d the number of steps of the shortest path that is not the pair's own link; −n where there is no path.

    Found from both ends at once. A search that has read `most_entries` entries of rows ends with the length that it has
    excluded, plus one: a lower bound.

    Args:
        graph: the links that are known; the pair's own does not enter.
        pairs: `[m, 2]`, or any shape `[..., 2]`.
        most_entries: bounds the time of a pair.

    Returns:
        Scores `[m]`, or `[...]`.

    >>> square = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 0]]), num_nodes=5)
    >>> shortest_path(square, torch.tensor([[0, 2], [0, 1], [0, 4]])).tolist()
    [-2.0, -3.0, -5.0]
    """
    flat = pairs.reshape(-1, 2).cpu().numpy()
    lengths = compute_path_lengths(graph, flat, most_entries)
    return torch.from_numpy(-lengths.astype(np.float64)).reshape(pairs.shape[:-1])


def compute_path_lengths(
    graph: Graph, pairs: Integers, most_entries: int = MOST_ENTRIES, *, longest: int | None = None
) -> Integers:
    """The lengths `[m]` of the shortest paths of the pairs `[m, 2]`, n where there is none; `longest` + 1 where they
    are found to be longer than that.
    """
    n = graph.num_nodes
    beyond = n if longest is None else longest + 1
    pairs, out = check_inside(pairs, n), np.zeros(len(pairs), dtype=np.int64)
    indptr, indices = graph.indptr.cpu().numpy(), graph.indices.cpu().numpy()

    def make_work() -> Callable[[int, int], None]:
        side, queues = np.zeros(n, dtype=np.int8), np.empty((2, n), dtype=np.int64)

        def work(begin: int, end: int) -> None:
            _search(indptr, indices, pairs[begin:end], most_entries, beyond, side, queues, out[begin:end])

        return work

    run_over_links(len(pairs), choose_num_threads(len(pairs), 17 * n), make_work)
    return out


@in_order
def _search(
    indptr: Integers,
    indices: Integers,
    pairs: Integers,
    most_entries: int,
    beyond: int,
    side: NDArray[np.int8],
    queues: Integers,
    out: Integers,
) -> None:
    n = len(indptr) - 1
    begin, end = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)  # of the last level of each queue
    for i in range(len(pairs)):
        u, v = min(pairs[i, 0], pairs[i, 1]), max(pairs[i, 0], pairs[i, 1])
        if u == v:
            continue
        queues[0, 0], queues[1, 0], side[u], side[v] = u, v, 1, 2
        begin[:], end[:] = 0, 1
        length, read, met = 1, 0, 0
        while read < most_entries and length < beyond:
            # the smaller level goes on; every path of fewer than `length` steps has been excluded
            s = 0 if end[0] - begin[0] <= end[1] - begin[1] else 1
            last = end[s]
            for k in range(begin[s], last):
                x = queues[s, k]
                read += indptr[x + 1] - indptr[x]
                for y in indices[indptr[x] : indptr[x + 1]]:
                    if (x == u and y == v) or (x == v and y == u):
                        continue
                    if side[y] == 0:
                        side[y] = s + 1
                        queues[s, end[s]] = y
                        end[s] += 1
                    elif side[y] == 2 - s:
                        met = 1
                        break
                if met:
                    break
            begin[s] = last
            if met:
                break
            if end[s] == last:
                length = n
                break
            length += 1
        out[i] = length
        for s in range(2):
            for k in range(end[s]):
                side[queues[s, k]] = 0
