"""One enclosing subgraph: its nodes by breadth-first search, the edges among them, the distances from both ends.

`where [num_nodes]` maps a node of the graph to its position in the subgraph plus one, 0 outside; it is all zeros between links.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from llwlc.kernels.compiled import compiled
from llwlc.kernels.hashing import draw

# a row this many times longer than the subgraph is searched for the subgraph's nodes instead of read through
LONG_ROW = 24


class Adjacency(NamedTuple):
    """The whole graph: `indptr [n + 1]`, `indices [2m]`, `weight [2m]` or `[0]`."""

    indptr: np.ndarray
    indices: np.ndarray
    weight: np.ndarray


class Room(NamedTuple):
    """Scratch of one thread. `node`, `hop` and `queue` hold the nodes of one subgraph, `start`, `near` its CSR, `edge` the places of its
    edges in the graph (only used with weights)."""

    where: np.ndarray
    node: np.ndarray
    hop: np.ndarray
    queue: np.ndarray
    start: np.ndarray
    near: np.ndarray
    edge: np.ndarray


@compiled
def find_nodes(
    graph: Adjacency,
    u: int,
    v: int,
    hops: int,
    cap: int,
    key: np.uint64,
    where: np.ndarray,
    node: np.ndarray,
    hop: np.ndarray,
) -> int:
    """Writes `node` and `hop` in the order of discovery, marks them in `where`, returns their number. `cap` 0: none."""
    node[0], node[1], hop[0], hop[1] = u, v, 0, 0
    where[u], where[v] = 1, 2
    begin, end = 0, 2
    for level in range(1, hops + 1):
        found = end
        for i in range(begin, end):
            x = node[i]
            for p in range(graph.indptr[x], graph.indptr[x + 1]):
                y = graph.indices[p]
                if where[y] == 0:
                    where[y] = found + 1
                    node[found] = y
                    found += 1
        if cap > 0 and found - end > cap:
            found = keep_lowest(node, end, found, cap, key, where)
        hop[end:found] = level
        begin, end = end, found
    return end


@compiled
def lowest(bits: np.ndarray, cap: int) -> int:
    """The `cap`-th lowest of more than `cap` hashes; no two are the same, as the last mixing step is a bijection.

    Hashes are uniform, so only those below a level with a little more than `cap` of them under it need sorting: at a hub of a
    million neighbours that is nearly none.
    """
    share = (cap + 6 * math.sqrt(cap) + 16) / len(bits)
    if share < 1:
        few = bits[bits <= np.int64(share * 2.0**64 - 2.0**63)]
        if len(few) >= cap:
            return int(np.sort(few)[cap - 1])
    return int(np.sort(bits)[cap - 1])


@compiled
def keep_lowest(node: np.ndarray, begin: int, end: int, cap: int, key: np.uint64, where: np.ndarray) -> int:
    """Of the nodes just found, leaves the `cap` with the lowest hashes in their order and forgets the others."""
    bits = np.empty(end - begin, np.int64)
    for i in range(begin, end):
        bits[i - begin] = draw(key, node[i])
    limit = lowest(bits, cap)
    kept = begin
    for i in range(begin, end):
        x = node[i]
        if bits[i - begin] <= limit:
            node[kept] = x
            where[x] = kept + 1
            kept += 1
        else:
            where[x] = 0
    return kept


@compiled
def forget(where: np.ndarray, node: np.ndarray, n: int) -> None:
    for i in range(n):
        where[node[i]] = 0


@compiled
def lower_bound(values: np.ndarray, begin: int, end: int, wanted: int) -> int:
    """The first place in the sorted `values[begin:end]` that is not below `wanted`."""
    while begin < end:
        middle = (begin + end) >> 1
        if values[middle] < wanted:
            begin = middle + 1
        else:
            end = middle
    return begin


@compiled
def count_edges(graph: Adjacency, n: int, where: np.ndarray, node: np.ndarray) -> int:
    """The number of directed edges of the graph among the nodes, the link itself left out."""
    total = 0
    for i in range(n):
        x = node[i]
        begin, end = graph.indptr[x], graph.indptr[x + 1]
        if end - begin > LONG_ROW * n:
            for j in range(n):
                p = lower_bound(graph.indices, begin, end, node[j])
                total += p < end and graph.indices[p] == node[j]
        else:
            for p in range(begin, end):
                total += where[graph.indices[p]] > 0
    begin, end = graph.indptr[node[0]], graph.indptr[node[0] + 1]
    p = lower_bound(graph.indices, begin, end, node[1])
    linked = p < end and graph.indices[p] == node[1]
    return total - 2 if linked else total


@compiled
def fill_edges(graph: Adjacency, n: int, room: Room) -> int:
    """The CSR of the subgraph, `start [n + 1]` and `near [E]` (positions), rows in the order of the neighbour's id."""
    where, node, near, edge = room.where, room.node, room.near, room.edge
    by_id = np.empty(0, np.int64)
    e = 0
    for i in range(n):
        room.start[i] = e
        x = node[i]
        if i < 2:
            where[node[1 - i]] = 0  # the link is no edge
        begin, end = graph.indptr[x], graph.indptr[x + 1]
        if end - begin > LONG_ROW * n:
            if len(by_id) == 0:
                by_id = np.argsort(node[:n])
            e = search_row(graph, begin, end, by_id, room, e)
        elif len(edge) > 0:
            for p in range(begin, end):
                j = where[graph.indices[p]]
                near[e], edge[e] = j - 1, p
                e += j > 0
        else:
            for p in range(begin, end):
                j = where[graph.indices[p]]
                near[e] = j - 1  # overwritten unless j is inside: a store is cheaper than a branch nobody can predict
                e += j > 0
        if i < 2:
            where[node[1 - i]] = 2 - i
    room.start[n] = e
    return e


@compiled
def search_row(graph: Adjacency, begin: int, end: int, by_id: np.ndarray, room: Room, e: int) -> int:
    """One row of a hub, by a binary search for each node of the subgraph."""
    for j in by_id:
        y = room.node[j]
        begin = lower_bound(graph.indices, begin, end, y)
        if begin < end and graph.indices[begin] == y and room.where[y] > 0:
            room.near[e] = j
            if len(room.edge) > 0:
                room.edge[e] = begin
            e += 1
    return e


@compiled
def distances(room: Room, n: int, source: int, removed: int, far: int, out: np.ndarray) -> None:
    """Distances from `source` with `removed` taken out, `far` where that or more, `[n]`."""
    start, near, queue = room.start, room.near, room.queue
    out[:n] = far
    out[removed], out[source] = -1, 0
    queue[0] = source
    head, tail = 0, 1
    while head < tail:
        x = queue[head]
        head += 1
        d = out[x] + 1
        if d == far:
            break
        for e in range(start[x], start[x + 1]):
            y = near[e]
            if out[y] == far:
                out[y] = d
                queue[tail] = y
                tail += 1
    out[removed] = far
