"""One enclosing subgraph: its nodes by breadth-first search, the edges among them, the distances from both ends.

`where [num_nodes]` maps a node of the graph to its position in the subgraph plus one, 0 outside. `mark` says only whether a node is inside,
a bit for each: most neighbours looked up are not, and the bits of a graph of 300,000 nodes fit the innermost cache. Both are all
zeros between links.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from llwlc.kernels.numba.hashing import draw, identity
from llwlc.support.compiler import U, compiled

# a row this many times longer than the subgraph is searched for the subgraph's nodes instead of read through
LONG_ROW = 24
# Rows of a subgraph's CSR begin at multiples of this, and what is left of the last four is filled with n, a place at which every vector has a
# zero. Most rows are short: read in whole fours, most take one turn, which a processor can guess; their exact lengths it cannot.
FOUR = 4


class Adjacency(NamedTuple):
    """The whole graph: `indptr [n + 1]`, `indices [2m]`, both unsigned, `weight [2m]` or `[0]`; `drawn_by [n]`, what draws know the nodes
    by, unsigned, or `[0]` for their numbers."""

    indptr: np.ndarray
    indices: np.ndarray
    weight: np.ndarray
    drawn_by: np.ndarray


class ExtractionScratch(NamedTuple):
    """Scratch of one thread. `node`, `hop` hold the nodes of one subgraph; `start`, `size`, `near` its CSR in fours, `edge` the places of its
    edges in the graph (only used with weights); `reach` the distances, see `DistanceBits`."""

    where: np.ndarray
    mark: np.ndarray
    node: np.ndarray
    hop: np.ndarray
    start: np.ndarray
    size: np.ndarray
    near: np.ndarray
    edge: np.ndarray
    reach: np.ndarray


@compiled
def find_nodes(
    graph: Adjacency, u: int, v: int, hops: int, cap: int, key: np.uint64, where: np.ndarray, node: np.ndarray, hop: np.ndarray
) -> int:  # fmt: skip
    """Writes `node` and `hop` in the order of discovery, marks them in `where`, returns their number. `cap` 0: none."""
    node[0], node[1], hop[0], hop[1] = u, v, 0, 0
    where[u], where[v] = 1, 2
    begin, end = 0, 2
    for level in range(1, hops + 1):
        found = end
        if cap > 0:
            found = find_few(graph, begin, end, cap, key, where, node)
        if found - end < cap or cap == 0:
            found = find_all(graph, begin, end, found, where, node)
        if cap > 0 and found - end > cap:
            found = keep_lowest(graph.drawn_by, node, end, found, cap, key, where)
        hop[end:found] = level
        begin, end = end, found
    return end


@compiled
def find_all(graph: Adjacency, begin: int, end: int, found: int, where: np.ndarray, node: np.ndarray) -> int:
    """The unmarked neighbours of `node[begin:end]`, behind the `found` nodes, in the order of their first mention."""
    for i in range(begin, end):
        x = node[i]
        for p in range(graph.indptr[x], graph.indptr[x + U(1)]):
            y = graph.indices[p]
            at = where[y]
            new = at == 0
            node[found] = y  # stays only if y is new: nobody can predict that, so no branch
            where[y] = found + 1 if new else at
            found += new
    return found


@compiled
def find_few(
    graph: Adjacency, begin: int, end: int, cap: int, key: np.uint64, where: np.ndarray, node: np.ndarray
) -> int:
    """`find_all` beside a hub: only neighbours whose hash is so low that the longest row alone should hold `cap` of them.

    Where `cap` are found, the `cap` lowest of all are among them. Where not, or where there is no hub, none is found.
    """
    longest = U(0)
    for i in range(begin, end):
        longest = max(longest, graph.indptr[node[i] + U(1)] - graph.indptr[node[i]])
    share = a_little_more(cap) / max(np.float64(longest), 1.0)
    if share > 0.25:
        return end
    limit = np.int64(share * 2.0**64 - 2.0**63)
    found = end
    for i in range(begin, end):
        for p in range(graph.indptr[node[i]], graph.indptr[node[i] + U(1)]):
            y = graph.indices[p]
            if draw(key, identity(graph.drawn_by, y)) <= limit and where[y] == 0:
                node[found] = y
                where[y] = found + 1
                found += 1
    if found - end < cap:
        for i in range(end, found):
            where[node[i]] = 0
        return end
    return found


@compiled
def a_little_more(cap: int) -> float:
    """So many hashes below a level are expected where `cap` are all but sure to be below it."""
    return cap + 6 * math.sqrt(cap) + 16


@compiled
def lowest(bits: np.ndarray, cap: int) -> int:
    """The `cap`-th lowest of more than `cap` hashes; no two are the same, as the last mixing step is a bijection.

    Hashes are uniform, so only those below a level with a little more than `cap` of them under it need sorting: at a hub of a
    million neighbours that is nearly none.
    """
    share = a_little_more(cap) / len(bits)
    if share < 1:
        few = bits[bits <= np.int64(share * 2.0**64 - 2.0**63)]
        if len(few) >= cap:
            return int(np.sort(few)[cap - 1])
    return int(np.sort(bits)[cap - 1])


@compiled
def keep_lowest(
    drawn_by: np.ndarray, node: np.ndarray, begin: int, end: int, cap: int, key: np.uint64, where: np.ndarray
) -> int:
    """Of the nodes just found, leaves the `cap` with the lowest hashes in their order and forgets the others."""
    bits = np.empty(end - begin, np.int64)
    for i in range(begin, end):
        bits[i - begin] = draw(key, identity(drawn_by, node[i]))
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
def remember(mark: np.ndarray, node: np.ndarray, n: int) -> None:
    for i in range(n):
        mark[node[i] >> U(6)] |= U(1) << (node[i] & U(63))


@compiled
def forget(where: np.ndarray, mark: np.ndarray, node: np.ndarray, n: int) -> None:
    for i in range(n):
        where[node[i]] = 0
        mark[node[i] >> U(6)] = U(0)


@compiled
def inside(mark: np.ndarray, y: np.uint64) -> np.uint64:
    """1 or 0."""
    word: np.uint64 = mark[y >> U(6)]
    return (word >> (y & U(63))) & U(1)


@compiled
def fetch(graph: Adjacency, node: np.ndarray, n: int) -> np.uint64:
    """The length of all rows together. Reads the beginning of each, so that they come from memory side by side and not one after the other."""
    length, touched = U(0), U(0)
    last = U(max(len(graph.indices), 1) - 1)
    if len(graph.indices) > 0:
        for i in range(n):
            begin = graph.indptr[node[i]]
            length += graph.indptr[node[i] + U(1)] - begin
            touched += graph.indices[min(begin, last)]
    node[n] = touched  # a place behind the nodes, so that the reads are not optimised away
    return length


@compiled
def lower_bound(values: np.ndarray, begin: np.uint64, end: np.uint64, wanted: np.uint64) -> np.uint64:
    """The first place in the sorted `values[begin:end]` that is not below `wanted`."""
    while begin < end:
        middle = (begin + end) >> U(1)
        if values[middle] < wanted:
            begin = middle + U(1)
        else:
            end = middle
    return begin


@compiled
def count_edges(graph: Adjacency, n: int, mark: np.ndarray, node: np.ndarray) -> int:
    """The number of directed edges of the graph among the nodes, the link itself left out."""
    total = U(0)
    for i in range(n):
        x = node[i]
        begin, end = graph.indptr[x], graph.indptr[x + U(1)]
        if end - begin > U(LONG_ROW * n):
            for j in range(n):
                total += U(has(graph.indices, begin, end, node[j]))
        else:
            for p in range(begin, end):
                total += inside(mark, graph.indices[p])
    begin, end = graph.indptr[node[0]], graph.indptr[node[0] + U(1)]
    return int(total) - 2 if has(graph.indices, begin, end, node[1]) else int(total)


@compiled
def has(values: np.ndarray, begin: np.uint64, end: np.uint64, wanted: np.uint64) -> bool:
    p = lower_bound(values, begin, end, wanted)
    return bool(p < end and values[p] == wanted)


@compiled
def in_fours(count: np.uint64) -> np.uint64:
    """`count` rounded up to a multiple of four."""
    return (count + U(FOUR - 1)) & ~U(FOUR - 1)


@compiled
def fill_edges(graph: Adjacency, n: int, room: ExtractionScratch, near: np.ndarray) -> int:
    """The CSR of the subgraph, rows in the order of the neighbour's id, in `room` and `near`; returns its number of edges."""
    mark, node, edge = room.mark, room.node, room.edge
    filler = U(len(graph.indptr) - 1)  # a node that is not there
    room.where[filler] = n + 1
    by_id = np.empty(0, np.int64)
    e, edges = U(0), U(0)
    for i in range(n):
        room.start[i] = e
        x = node[i]
        begin, end = graph.indptr[x], graph.indptr[x + U(1)]
        if end - begin > U(LONG_ROW * n):
            if len(by_id) == 0:
                by_id = np.argsort(node[:n])
            e = search_row(graph, begin, end, by_id, room, near, e)
        elif len(edge) > 0:
            for p in range(begin, end):
                y = graph.indices[p]
                near[e], edge[e] = y, p
                e += inside(mark, y)
        else:
            for p in range(begin, end):
                y = graph.indices[p]
                near[e] = y  # overwritten by the next one unless y is inside
                e += inside(mark, y)
        if i < 2:
            e = drop_link(room, near, room.start[i], e, node[1 - i])
        room.size[i] = e - room.start[i]
        edges += U(room.size[i])
        near[e] = near[e + U(1)] = near[e + U(2)] = filler
        e = in_fours(e)
    room.start[n] = e
    for at in range(e):
        near[at] = room.where[near[at]] - 1
    return int(edges)


@compiled
def drop_link(
    room: ExtractionScratch, near: np.ndarray, begin: np.uint64, end: np.uint64, other: np.uint64
) -> np.uint64:
    """Takes the other query node out of the row `near[begin:end]` of one of them: the link is no edge. Returns the new end."""
    kept = begin
    for at in range(begin, end):
        near[kept] = near[at]
        if len(room.edge) > 0:
            room.edge[kept] = room.edge[at]
        kept += U(near[at] != other)
    return kept


@compiled
def search_row(
    graph: Adjacency,
    begin: np.uint64,
    end: np.uint64,
    by_id: np.ndarray,
    room: ExtractionScratch,
    near: np.ndarray,
    e: np.uint64,
) -> np.uint64:
    """One row of a hub, by a binary search for each node of the subgraph."""
    for j in by_id:
        y = room.node[j]
        begin = lower_bound(graph.indices, begin, end, y)
        if begin < end and graph.indices[begin] == y:
            near[e] = y
            if len(room.edge) > 0:
                room.edge[e] = begin
            e += U(1)
    return e


class DistanceBits(NamedTuple):
    """A distance d among 0 … 2·hops as bits: those from d to 2·hops. The nearer of two is their union, one step further is a shift. Distances
    from u take the lower half of a word, those from v the upper one: `u`, `v` are 0 of each kind, `both` all bits in use."""

    u: np.uint64
    v: np.uint64
    both: np.uint64


@compiled
def distance_bits(hops: int) -> DistanceBits:
    whole = (U(1) << U(2 * hops + 1)) - U(1)
    return DistanceBits(whole, whole << U(32), whole | (whole << U(32)))


@compiled
def seed_distances(room: ExtractionScratch, near: np.ndarray, n: int, far: DistanceBits) -> int:
    """The rows of the ends and of their neighbours tell these of the distances; returns up to which distance all are right then: 2, but 1
    where a cap has left a neighbour of an end to the next hop."""
    reach = room.reach
    reach[: n + 1] = 0
    reach[0], reach[1] = far.u, far.v
    sure, i = 2, 0
    while i < n and room.hop[i] < 2:
        further = (reach[i] << U(1)) & far.both
        for e in range(room.start[i], room.start[i] + U(room.size[i])):
            reach[near[e]] |= further
            sure = 1 if i < 2 and room.hop[near[e]] > 1 else sure
        i += 1
    # what one end has heard of the other it must not pass on
    reach[0], reach[1] = far.u, far.v
    return sure


@compiled
def relax_node(room: ExtractionScratch, near: np.ndarray, i: int, far: DistanceBits) -> np.uint64:
    """Node i learns from its neighbours; returns what is new. Where all nodes have, one after the other, one distance more is right."""
    reach = room.reach
    before: np.uint64 = reach[i]
    for e in range(room.start[i], room.start[i + 1], U(FOUR)):
        heard = (reach[near[e]] | reach[near[e + U(1)]]) | (reach[near[e + U(2)]] | reach[near[e + U(3)]])
        reach[i] |= (heard << U(1)) & far.both  # at once, or the compiler would gather rows of sixteen
    after: np.uint64 = reach[i]
    return after ^ before


@compiled
def settle_distances(
    room: ExtractionScratch, near: np.ndarray, n: int, far: DistanceBits, sure: int, wanted: int, changed: np.uint64
) -> None:
    """Relaxes the nodes until all distances up to `wanted` are right, `sure` being the largest of which that is known, or until nothing changes;
    `changed`: what the last time did. A distance that is not right yet is too large, so it is beyond `wanted` as the right one is."""
    while sure < wanted and changed != 0:
        changed = U(0)
        for i in range(2, n):
            changed |= relax_node(room, near, i, far)
        sure += 1


@compiled
def ones(bits: np.uint64) -> np.int64:
    """How many bits are set; compilers know this way to write it, and have an instruction for it."""
    bits = bits - ((bits >> U(1)) & U(0x5555555555555555))
    bits = (bits & U(0x3333333333333333)) + ((bits >> U(2)) & U(0x3333333333333333))
    bits = (bits + (bits >> U(4))) & U(0x0F0F0F0F0F0F0F0F)
    return np.int64((bits * U(0x0101010101010101)) >> U(56))
