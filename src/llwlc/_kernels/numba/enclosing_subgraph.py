"""One enclosing subgraph: its nodes by breadth-first search, the edges among them, the distances from both ends.

`where [num_nodes]` maps a node of the graph to its position in the subgraph plus one, 0 outside. `inside_bits` has one
bit for each node, set inside the subgraph: most neighbours that are looked up are outside, and the bits of a graph of
300,000 nodes fit the innermost cache. Both arrays are zero between links.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from llwlc._kernels.numba.hashing import CapDraw, identity, window_draw
from llwlc._kernels.numba.hub_rows import HubRows, find_below, hub_row, nth_new_draw
from llwlc._kernels.numba.search import has, lower_bound
from llwlc._support.compiler import U, compiled

# a row of the graph that is this many times longer than the subgraph is searched for the subgraph's nodes instead of
# read in full
LONG_ROW = 24
# Rows of a subgraph's CSR begin at multiples of four entries and are filled up with n, a position at which every vector
# is zero. Most rows are short, so
# most take one pass of a loop over four entries, which a processor predicts well; it cannot predict loops of the rows'
# exact lengths.
FOUR = 4


class Adjacency(NamedTuple):
    """The whole graph: `indptr [n + 1]`, `indices [2m]`, both unsigned, `weight [2m]` or `[0]`; `draw_ids [n]`, what
    random draws identify the nodes by, unsigned, or `[0]` for their numbers; `hubs`: long rows in the order in which a
    capped hop takes nodes, as far as there are any."""

    indptr: np.ndarray
    indices: np.ndarray
    weight: np.ndarray
    draw_ids: np.ndarray
    hubs: HubRows


class ExtractionScratch(NamedTuple):
    """Scratch of one thread. `node`, `hop` hold the nodes of one subgraph; `start`, `size`, `neighbor` its CSR with
    rows padded to fours, `edge` the places of its edges in the graph (only used with weights); `distances` as in
    `DistanceBits`."""

    where: np.ndarray
    inside_bits: np.ndarray
    node: np.ndarray
    hop: np.ndarray
    start: np.ndarray
    size: np.ndarray
    neighbor: np.ndarray
    edge: np.ndarray
    distances: np.ndarray


@compiled
def find_nodes(
    graph: Adjacency,
    u: int,
    v: int,
    hops: int,
    cap: int,
    how: CapDraw,
    where: np.ndarray,
    node: np.ndarray,
    hop: np.ndarray,
) -> int:
    """Writes `node` and `hop` in the order of discovery, marks them in `where`, returns their number. `cap` 0: no
    limit.
    """
    node[0], node[1], hop[0], hop[1] = u, v, 0, 0
    where[u], where[v] = 1, 2
    begin, end = 0, 2
    for level in range(1, hops + 1):
        found = end
        if cap > 0:
            found = find_low_draws(graph, begin, end, cap, how, where, node)
        if found - end < cap or cap == 0:
            found = find_all(graph, begin, end, found, where, node)
        if cap > 0 and found - end > cap:
            found = keep_lowest(graph.draw_ids, node, end, found, cap, how, where)
        hop[end:found] = level
        begin, end = end, found
    return end


@compiled
def find_all(graph: Adjacency, begin: int, end: int, found: int, where: np.ndarray, node: np.ndarray) -> int:
    """Appends the neighbours of `node[begin:end]` that are not found yet to the `found` nodes, in the order of
    discovery.
    """
    for i in range(begin, end):
        x = node[i]
        for p in range(graph.indptr[x], graph.indptr[x + U(1)]):
            y = graph.indices[p]
            at = where[y]
            new = at == 0
            node[found] = y  # kept only if y is new; a branch would be mispredicted too often
            where[y] = found + 1 if new else at
            found += new
    return found


@compiled
def find_low_draws(
    graph: Adjacency, begin: int, end: int, cap: int, how: CapDraw, where: np.ndarray, node: np.ndarray
) -> int:
    """`find_all` next to a hub: finds only neighbours whose draw lies below a limit that leaves at least `cap` of the
    longest row.

    Where at least `cap` are found, the `cap` lowest of all are among them. Otherwise, or where there is no hub, finds
    none.
    """
    longest, hub = U(0), U(0)
    for i in range(begin, end):
        length = graph.indptr[node[i] + U(1)] - graph.indptr[node[i]]
        if length > longest:
            longest, hub = length, node[i]
    if longest <= U(long_row(cap)):
        return end
    first, last = hub_row(graph.hubs, hub)
    if first < last:
        limit = nth_new_draw(graph.hubs, first, last, cap, how, graph.draw_ids, where)
    else:  # uniform draws: about so many of the row are below it
        limit = np.int64(enough_for(cap) / np.float64(longest) * 2.0**64 - 2.0**63)
    found = end
    for i in range(begin, end):
        x = node[i]
        row, row_end = graph.indptr[x], graph.indptr[x + U(1)]
        first, last = U(0), U(0)
        if row_end - row > U(long_row(cap)):
            first, last = hub_row(graph.hubs, x)
        if first < last:
            found = find_below(graph.hubs, first, last, limit, how, graph.draw_ids, where, node, found)
            continue
        for p in range(row, row_end):
            y = graph.indices[p]
            if window_draw(how, identity(graph.draw_ids, y)) <= limit and where[y] == 0:
                node[found] = y
                where[y] = found + 1
                found += 1
    if found - end < cap:
        for i in range(end, found):
            where[node[i]] = 0
        return end
    return found


@compiled
def enough_for(cap: int) -> float:
    """The number of hashes to expect below a limit, so that at least `cap` are below it almost surely."""
    return cap + 6 * math.sqrt(cap) + 16


@compiled
def long_row(cap: int) -> int:
    """The longest row that is read in full for `cap` of its nodes."""
    return int(4 * enough_for(cap))


@compiled
def kth_lowest(bits: np.ndarray, cap: int) -> int:
    """The `cap`-th lowest of more than `cap` hashes; no two are the same, as the last mixing step is a bijection.

    Hashes are uniform, so only those below a limit that leaves little more than `cap` of them need sorting: at a hub of
    a million neighbours, very few.
    """
    share = enough_for(cap) / len(bits)
    if share < 1:
        few = bits[bits <= np.int64(share * 2.0**64 - 2.0**63)]
        if len(few) >= cap:
            return int(np.sort(few)[cap - 1])
    return int(np.sort(bits)[cap - 1])


@compiled
def keep_lowest(
    draw_ids: np.ndarray, node: np.ndarray, begin: int, end: int, cap: int, how: CapDraw, where: np.ndarray
) -> int:
    """Keeps the `cap` nodes with the lowest hashes, in their order, of those just found, and unmarks the others."""
    bits = np.empty(end - begin, np.int64)
    for i in range(begin, end):
        bits[i - begin] = window_draw(how, identity(draw_ids, node[i]))
    limit = kth_lowest(bits, cap)
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
def set_inside_bits(inside_bits: np.ndarray, node: np.ndarray, n: int) -> None:
    """Sets the bits of the subgraph's nodes."""
    for i in range(n):
        inside_bits[node[i] >> U(6)] |= U(1) << (node[i] & U(63))


@compiled
def reset_marks(where: np.ndarray, inside_bits: np.ndarray, node: np.ndarray, n: int) -> None:
    """Zeroes `where` and `inside_bits` at the subgraph's nodes, for the next link."""
    for i in range(n):
        where[node[i]] = 0
        inside_bits[node[i] >> U(6)] = U(0)


@compiled
def inside(inside_bits: np.ndarray, y: np.uint64) -> np.uint64:
    """1 where node y is in the subgraph, else 0."""
    word: np.uint64 = inside_bits[y >> U(6)]
    return (word >> (y & U(63))) & U(1)


@compiled
def prefetch_rows(graph: Adjacency, node: np.ndarray, n: int) -> np.uint64:
    """Returns a bound on the number of edges among the nodes: the total length of the rows, none counted for more than
    all nodes. Reads the first entry of each, so that memory delivers the rows in parallel and not one after the
    other."""
    length, touched = U(0), U(0)
    last = U(max(len(graph.indices), 1) - 1)
    if len(graph.indices) > 0:
        for i in range(n):
            begin = graph.indptr[node[i]]
            length += min(graph.indptr[node[i] + U(1)] - begin, U(n))
            touched += graph.indices[min(begin, last)]
    node[n] = touched  # behind the nodes; without a use the compiler would remove the reads
    return length


@compiled
def count_edges(graph: Adjacency, n: int, inside_bits: np.ndarray, node: np.ndarray) -> int:
    """The number of directed edges among the nodes, without the link itself."""
    total = U(0)
    for i in range(n):
        x = node[i]
        begin, end = graph.indptr[x], graph.indptr[x + U(1)]
        if end - begin > U(LONG_ROW * n):
            for j in range(n):
                total += U(has_link(graph, x, node[j]))
        else:
            for p in range(begin, end):
                total += inside(inside_bits, graph.indices[p])
    return int(total) - 2 if has_link(graph, node[0], node[1]) else int(total)


@compiled
def in_fours(count: np.uint64) -> np.uint64:
    """`count` rounded up to a multiple of four."""
    return (count + U(FOUR - 1)) & ~U(FOUR - 1)


@compiled
def fill_edges(graph: Adjacency, n: int, scratch: ExtractionScratch, neighbor: np.ndarray) -> int:
    """Writes the CSR of the subgraph to `scratch` and `neighbor`, rows in the order of the neighbour's id; returns its
    number of edges.
    """
    inside_bits, node, edge = scratch.inside_bits, scratch.node, scratch.edge
    filler = U(len(graph.indptr) - 1)  # the id behind the last node
    scratch.where[filler] = n + 1
    by_id = np.empty(0, np.int64)
    e, edges = U(0), U(0)
    for i in range(n):
        scratch.start[i] = e
        x = node[i]
        begin, end = graph.indptr[x], graph.indptr[x + U(1)]
        if end - begin > U(LONG_ROW * n):
            if len(by_id) == 0:
                by_id = np.argsort(node[:n])
            e = search_row(graph, x, by_id, scratch, neighbor, e)
        elif len(edge) > 0:
            for p in range(begin, end):
                y = graph.indices[p]
                neighbor[e], edge[e] = y, p
                e += inside(inside_bits, y)
        else:
            for p in range(begin, end):
                y = graph.indices[p]
                neighbor[e] = y  # overwritten by the next neighbour unless y is inside
                e += inside(inside_bits, y)
        if i < 2:
            e = drop_link(scratch, neighbor, scratch.start[i], e, node[1 - i])
        scratch.size[i] = e - scratch.start[i]
        edges += U(scratch.size[i])
        neighbor[e] = neighbor[e + U(1)] = neighbor[e + U(2)] = filler
        e = in_fours(e)
    scratch.start[n] = e
    for at in range(e):
        neighbor[at] = scratch.where[neighbor[at]] - 1
    return int(edges)


@compiled
def drop_link(
    scratch: ExtractionScratch, neighbor: np.ndarray, begin: np.uint64, end: np.uint64, other: np.uint64
) -> np.uint64:
    """Removes the other query node from the row `neighbor[begin:end]` of a query node: the link itself is not an edge.
    Returns the new end.
    """
    kept = begin
    for at in range(begin, end):
        neighbor[kept] = neighbor[at]
        if len(scratch.edge) > 0:
            scratch.edge[kept] = scratch.edge[at]
        kept += U(neighbor[at] != other)
    return kept


@compiled
def has_link(graph: Adjacency, x: np.uint64, y: np.uint64) -> bool:
    """Whether x and y have a link: by a search in the shorter of their rows, which is likely in a cache."""
    if graph.indptr[y + U(1)] - graph.indptr[y] < graph.indptr[x + U(1)] - graph.indptr[x]:
        x, y = y, x
    return has(graph.indices, graph.indptr[x], graph.indptr[x + U(1)], y)


@compiled
def search_row(
    graph: Adjacency, x: np.uint64, by_id: np.ndarray, scratch: ExtractionScratch, neighbor: np.ndarray, e: np.uint64
) -> np.uint64:
    """Fills the row of hub x by a search for each node of the subgraph."""
    begin, end = graph.indptr[x], graph.indptr[x + U(1)]
    for j in by_id:
        y = scratch.node[j]
        if not has_link(graph, x, y):
            continue
        neighbor[e] = y
        if len(scratch.edge) > 0:
            begin = lower_bound(graph.indices, begin, end, y)
            scratch.edge[e] = begin
        e += U(1)
    return e


class DistanceBits(NamedTuple):
    """Distances as bit sets: d in 0 … 2·hops is the set {d, …, 2·hops}, so the minimum of two distances is a union and
    one step more is a shift.

    Distances from u take the lower half of a word, those from v the upper half. `u`, `v`: distance 0 of each; `both`:
    all bits in use.
    """

    u: np.uint64
    v: np.uint64
    both: np.uint64


@compiled
def distance_bits(hops: int) -> DistanceBits:
    """The bit sets for subgraphs of so many hops."""
    all_bits = (U(1) << U(2 * hops + 1)) - U(1)
    return DistanceBits(all_bits, all_bits << U(32), all_bits | (all_bits << U(32)))


@compiled
def seed_distances(scratch: ExtractionScratch, neighbor: np.ndarray, n: int, bits: DistanceBits) -> int:
    """Initialises the distances from the rows of the ends and of their neighbours; returns the largest distance up to
    which all are final: 2, but 1 where the cap moved a neighbour of an end to the next hop."""
    distances = scratch.distances
    distances[: n + 1] = 0
    distances[0], distances[1] = bits.u, bits.v
    settled, i = 2, 0
    while i < n and scratch.hop[i] < 2:
        further = (distances[i] << U(1)) & bits.both
        for e in range(scratch.start[i], scratch.start[i] + U(scratch.size[i])):
            distances[neighbor[e]] |= further
            settled = 1 if i < 2 and scratch.hop[neighbor[e]] > 1 else settled
        i += 1
    # paths through the other end do not count
    distances[0], distances[1] = bits.u, bits.v
    return settled


@compiled
def relax_node(scratch: ExtractionScratch, neighbor: np.ndarray, i: int, bits: DistanceBits) -> np.uint64:
    """Updates the distances of node i from its neighbours; returns the bits that changed. One pass over all nodes makes
    one more distance final.
    """
    distances = scratch.distances
    before: np.uint64 = distances[i]
    for e in range(scratch.start[i], scratch.start[i + 1], U(FOUR)):
        of_neighbors = (distances[neighbor[e]] | distances[neighbor[e + U(1)]]) | (
            distances[neighbor[e + U(2)]] | distances[neighbor[e + U(3)]]
        )
        distances[i] |= (
            (of_neighbors << U(1)) & bits.both
        )  # inside the loop: otherwise the compiler vectorises over sixteen scattered entries, which is slower
    after: np.uint64 = distances[i]
    return after ^ before


@compiled
def settle_distances(
    scratch: ExtractionScratch,
    neighbor: np.ndarray,
    n: int,
    bits: DistanceBits,
    settled: int,
    wanted: int,
    changed: np.uint64,
) -> None:
    """Relaxes all nodes until every distance up to `wanted` is final, or nothing changes.

    `settled`: the largest distance up to which all are final already; `changed`: the bits that the last pass changed. A
    distance that is not final is too large, so it lies beyond `wanted`, as the exact one does.
    """
    while settled < wanted and changed != 0:
        changed = U(0)
        for i in range(2, n):
            changed |= relax_node(scratch, neighbor, i, bits)
        settled += 1


@compiled
def count_bits(bits: np.uint64) -> np.int64:
    """The number of bits set. Compilers recognise this form and use one instruction."""
    bits = bits - ((bits >> U(1)) & U(0x5555555555555555))
    bits = (bits & U(0x3333333333333333)) + ((bits >> U(2)) & U(0x3333333333333333))
    bits = (bits + (bits >> U(4))) & U(0x0F0F0F0F0F0F0F0F)
    return np.int64((bits * U(0x0101010101010101)) >> U(56))
