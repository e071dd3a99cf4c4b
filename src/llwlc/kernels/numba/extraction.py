"""`subgraphs.extract`, compiled: a pass that counts, one allocation of the output, a pass that fills it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from llwlc.kernels.numba import memo, memory
from llwlc.kernels.numba.enclosing import (
    FOUR,
    Adjacency,
    ExtractionScratch,
    count_edges,
    distance_bits,
    fetch,
    fill_edges,
    find_nodes,
    forget,
    in_fours,
    ones,
    relax_node,
    remember,
    seed_distances,
    settle_distances,
)
from llwlc.kernels.numba.hashing import link_key
from llwlc.support.compiler import U, compiled
from llwlc.support.threads import number_of_threads, over_links


class Reach(NamedTuple):
    """How far to go: `hops`, at most `cap` new nodes each (0: any number), those drawn by `seed` on `stream`."""

    hops: int
    cap: int
    seed: int
    stream: int


class Ragged(NamedTuple):
    """The arrays of `Subgraphs`, and where the edges of each graph begin, `first [B + 1]`."""

    ptr: np.ndarray
    first: np.ndarray
    node: np.ndarray
    row: np.ndarray
    col: np.ndarray
    weight: np.ndarray
    hop: np.ndarray
    dist_u: np.ndarray
    dist_v: np.ndarray


class Counted(NamedTuple):
    """What the first pass finds: the numbers of nodes and of directed edges of each graph behind a zero, `sizes`, `edges [B + 1]`; and for
    each run of links, by its first one, what has been kept of it (nothing where it was too much)."""

    sizes: np.ndarray
    edges: np.ndarray
    kept: dict[int, np.ndarray]

    @property
    def largest(self) -> tuple[int, int]:
        """The largest numbers of nodes and of edges of any graph."""
        return int(self.sizes.max()), int(self.edges.max())


def extract(graph: Adjacency, pairs: np.ndarray, reach: Reach) -> Ragged:
    """The enclosing subgraphs of `pairs [B, 2]`."""
    counted = count(graph, pairs, reach)
    out = allocate(graph, counted)

    def make() -> Callable[[int, int], None]:
        room = make_room(graph, *counted.largest)
        return lambda begin, end: _fill(graph, pairs, reach, begin, end, room, counted.kept[begin], out)

    over_links(len(pairs), number_of_threads(len(pairs), room_bytes(graph)), make)
    return out


def count(graph: Adjacency, pairs: np.ndarray, reach: Reach) -> Counted:
    """The first pass over the pairs `[B, 2]`."""
    links = len(pairs)
    sizes, edges = np.zeros(links + 1, np.int64), np.zeros(links + 1, np.int64)
    nothing = np.empty(0, np.uint32)
    kept: dict[int, np.ndarray] = {}
    budget = [memo.BUDGET]
    keeps = len(graph.weight) == 0

    def make() -> Callable[[int, int], None]:
        room = make_room(graph, len(graph.indptr) - 1, 0)
        words, last = nothing, 0

        def work(begin: int, end: int) -> None:
            nonlocal words, last
            if keeps and len(words) <= 2 * last and memo.WORDS * words.itemsize <= budget[0]:
                # what is left may not hold another run
                budget[0] -= memo.WORDS * words.itemsize
                words = memory.empty(memo.WORDS, np.uint32)
            used = _count(graph, pairs, reach, begin, end, room, words, sizes, edges)
            kept[begin], words = words[:used], words[used:]
            if used:
                last = used
            elif len(words) < memo.WORDS:
                words = nothing  # too little was left after all

        return work

    over_links(links, number_of_threads(links, room_bytes(graph)), make)
    return Counted(sizes, edges, kept)


def allocate(graph: Adjacency, counted: Counted) -> Ragged:
    """The output with its pointers filled in."""
    ptr, first = np.cumsum(counted.sizes), np.cumsum(counted.edges)
    n, e = int(ptr[-1]), int(first[-1])
    weight = np.empty(e if len(graph.weight) else 0, graph.weight.dtype)
    node, hop, dist_u, dist_v = memory.empty(4 * n, np.int64).reshape(4, n)
    row, col = memory.empty(2 * e, np.int64).reshape(2, e)
    return Ragged(ptr, first, node, row, col, weight, hop, dist_u, dist_v)


def no_subgraphs(graph: Adjacency) -> Ragged:
    """An output without places: nothing is written there."""
    none = np.empty(0, np.int64)
    return Ragged(none, none, none, none, none, np.empty(0, graph.weight.dtype), none, none, none)


def room_bytes(graph: Adjacency) -> int:
    """What a thread's scratch takes for the whole graph: `where` in full, and the node list if a link reaches everything."""
    return 16 * len(graph.indptr)


def make_room(graph: Adjacency, n: int, e: int) -> ExtractionScratch:
    """Scratch for subgraphs of up to n nodes and e edges. The node list is as long as the graph, since a hop finds its nodes before
    the cap drops some of them; memory that is never touched is never given out. Beyond the edges, rows in fours take up to three places more
    each, and the last one the link, a neighbour not yet judged and three fillers."""
    nodes = len(graph.indptr) - 1
    places = e + (FOUR - 1) * n + 8
    return ExtractionScratch(
        where=np.zeros(nodes + 1, np.int32),
        mark=np.zeros(nodes // 64 + 1, np.uint64),
        node=np.empty(nodes + 1, np.uint64),
        hop=np.empty(nodes, np.int8),
        start=np.empty(n + 1, np.uint64),
        size=np.empty(n, np.uint32),
        near=np.empty(places, np.uint32),
        edge=np.empty(places if len(graph.weight) else 0, np.uint64),
        reach=np.empty(n + 1, np.uint64),
    )


@compiled
def _count(
    graph: Adjacency, pairs: np.ndarray, reach: Reach, begin: int, end: int,
    room: ExtractionScratch, words: np.ndarray, sizes: np.ndarray, edges: np.ndarray,
) -> int:  # fmt: skip
    """The sizes of a run of links, and in `words` its subgraphs; returns how many words, 0 where not all of it fits."""
    used = 0
    keeping = len(words) > 0
    for b in range(begin, end):
        u, v = pairs[b, 0], pairs[b, 1]
        key = link_key(reach.seed, 0, reach.stream, u, v, graph.drawn_by)
        n = find_nodes(graph, u, v, reach.hops, reach.cap, key, room.where, room.node, room.hop)
        remember(room.mark, room.node, n)
        sizes[b + 1] = n
        keeping = memo.fits(n, fetch(graph, room.node, n), words, used) and keeping
        if keeping:
            edges[b + 1] = fill_edges(graph, n, room, memo.rows_of(words, used, n))
            used = memo.keep(n, room, words, used)
        else:
            edges[b + 1] = count_edges(graph, n, room.mark, room.node)
        forget(room.where, room.mark, room.node, n)
    return used if keeping else 0


@compiled
def enclose(
    graph: Adjacency, u: int, v: int, reach: Reach, room: ExtractionScratch, words: np.ndarray, at: int
) -> tuple[int, np.ndarray]:
    """One link's nodes, hops and CSR in `room`, from the `words` kept of its run where there are any; returns the number of nodes, and the
    rows of the CSR."""
    if len(words) > 0:
        n = memo.recall(words, at, room)
        return n, memo.rows_of(words, at, n)
    key = link_key(reach.seed, 0, reach.stream, u, v, graph.drawn_by)
    n = find_nodes(graph, u, v, reach.hops, reach.cap, key, room.where, room.node, room.hop)
    remember(room.mark, room.node, n)
    fetch(graph, room.node, n)
    fill_edges(graph, n, room, room.near)
    forget(room.where, room.mark, room.node, n)
    return n, room.near


@compiled
def emit(graph: Adjacency, b: int, n: int, hops: int, room: ExtractionScratch, near: np.ndarray, out: Ragged) -> None:
    """One link's arrays, from `room` to their places in the output."""
    p, end = out.ptr[b], U(out.first[b + 1])
    for i in range(n):
        out.node[p + i] = room.node[i]
        out.hop[p + i] = room.hop[i]
    far = distance_bits(hops)
    sure = seed_distances(room, near, n, far)
    e, changed = U(out.first[b]), U(0)
    for i in range(n):
        if len(room.edge) > 0:
            for at in range(U(room.size[i])):
                out.weight[e + at] = graph.weight[room.edge[room.start[i] + at]]
        copy_row(room, near, i, p, e, end, out)
        e += U(room.size[i])
        if i > 1:  # here, as the row is at hand
            changed |= relax_node(room, near, i, far)
    settle_distances(room, near, n, far, sure + 1, 2 * hops, changed)
    for i in range(n):
        out.dist_u[p + i] = 2 * hops + 1 - ones(room.reach[i] & far.u)
        out.dist_v[p + i] = 2 * hops + 1 - ones(room.reach[i] & far.v)


@compiled
def copy_row(
    room: ExtractionScratch, near: np.ndarray, i: int, p: int, e: np.uint64, end: np.uint64, out: Ragged
) -> None:
    """Row i of the graph whose nodes begin at p, to the edges from e on. In fours: what is too much, the next row overwrites; but nothing at
    `end` or beyond, which belongs to another thread."""
    begin, size = room.start[i], U(room.size[i])
    if e + in_fours(size) <= end:
        size = in_fours(size)
    whole = size & ~U(FOUR - 1)
    for at in range(U(0), whole, U(FOUR)):
        to, of = e + at, begin + at
        c0, c1, c2, c3 = near[of], near[of + U(1)], near[of + U(2)], near[of + U(3)]
        out.row[to], out.row[to + U(1)], out.row[to + U(2)], out.row[to + U(3)] = p + i, p + i, p + i, p + i
        out.col[to], out.col[to + U(1)], out.col[to + U(2)], out.col[to + U(3)] = p + c0, p + c1, p + c2, p + c3
    for at in range(whole, size):
        out.row[e + at] = p + i
        out.col[e + at] = p + near[begin + at]


@compiled
def _fill(
    graph: Adjacency,
    pairs: np.ndarray,
    reach: Reach,
    begin: int,
    end: int,
    room: ExtractionScratch,
    words: np.ndarray,
    out: Ragged,
) -> None:
    at = 0
    for b in range(begin, end):
        n, near = enclose(graph, pairs[b, 0], pairs[b, 1], reach, room, words, at)
        at += memo.words_of(n, room)
        emit(graph, b, n, reach.hops, room, near, out)
