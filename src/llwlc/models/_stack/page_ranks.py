"""Personalised PageRank of pairs, by push from one end of each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from llwlc._support.compiler import in_order
from llwlc.graph._graph import Graph

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
TELEPORT = 0.15
PRECISION = 1e-4
"""Pushing ends where no residual is above `PRECISION` · degree, after at most 1 / (`TELEPORT` · `PRECISION`) steps
along links, whatever the size of the graph.
"""


def compute_page_ranks(graph: Graph, pairs: Integers) -> Floats:
    """π_u(v) and π_v(u) of pairs `[m, 2]` in order of size, `[m, 2]`, up to `PRECISION` times the degree: on an
    undirected graph d_u π_u(v) = d_v π_v(u), so that a push from one end gives both.

    >>> import torch
    >>> link = Graph.from_edges(torch.tensor([[0, 1]]))
    >>> compute_page_ranks(link, np.array([[0, 1]])).round(2).tolist()    # 0.85 · 0.15 / (1 − 0.85²)
    [[0.46, 0.46]]
    """
    indptr, indices = graph.indptr.cpu().numpy(), graph.indices.cpu().numpy()
    degree = np.diff(indptr)
    # from the end of lower degree, whose push is shorter
    first, second = pairs.min(1), pairs.max(1)
    swap = degree[first] > degree[second]
    source, target = np.where(swap, second, first), np.where(swap, first, second)
    order = np.argsort(source, kind="stable")
    there = np.zeros(len(pairs))
    n = graph.num_nodes
    scratch = np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    _push_all(indptr, indices, source[order], target[order], order, *scratch, there)
    back = there * degree[source] / np.maximum(degree[target], 1)
    return np.stack([np.minimum(there, back), np.maximum(there, back)], 1)


@in_order
def _push_all(
    indptr: Integers,
    indices: Integers,
    source: Integers,
    target: Integers,
    order: Integers,
    rank: Floats,
    residual: Floats,
    waiting: NDArray[np.bool_],
    seen: NDArray[np.bool_],
    out: Floats,
) -> None:
    n = len(indptr) - 1
    queue, touched = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    count, last = 0, -1
    for i in range(len(source)):
        s = source[i]
        if s != last:
            for k in range(count):
                rank[touched[k]] = residual[touched[k]] = 0
                seen[touched[k]] = False
            last, count = s, 1
            touched[0], queue[0], residual[s], seen[s], waiting[s] = s, s, 1.0, True, True
            head, size = 0, 1
            while size:  # first in, first out: the queue is a ring, as a node waits at most once
                u = queue[head]
                head, size = (head + 1) % n, size - 1
                waiting[u] = False
                degree = indptr[u + 1] - indptr[u]
                pushed, residual[u] = residual[u], 0.0
                rank[u] += TELEPORT * pushed
                for v in indices[indptr[u] : indptr[u + 1]]:
                    residual[v] += (1 - TELEPORT) * pushed / degree
                    if not seen[v]:
                        seen[v] = True
                        touched[count] = v
                        count += 1
                    if not waiting[v] and residual[v] >= PRECISION * (indptr[v + 1] - indptr[v]):
                        waiting[v] = True
                        queue[(head + size) % n] = v
                        size += 1
        # the remaining residual counts too, as if it stayed
        out[order[i]] = rank[target[i]] + TELEPORT * residual[target[i]]
