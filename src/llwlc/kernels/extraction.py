"""`subgraphs.extract`, compiled: a pass that counts, one allocation of the output, a pass that fills it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from llwlc.kernels import memo
from llwlc.kernels.compiled import U, compiled
from llwlc.kernels.enclosing import Adjacency, Room, count_edges, distances, fill_edges, find_nodes, forget, remember
from llwlc.kernels.hashing import link_key
from llwlc.kernels.threads import RUN, number_of_threads, over_links


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


def extract(graph: Adjacency, pairs: np.ndarray, reach: Reach) -> Ragged:
    """The enclosing subgraphs of `pairs [B, 2]`."""
    out, width, kept = allocate(graph, pairs, reach)

    def make() -> Callable[[int, int], None]:
        room = make_room(graph, *width)
        return lambda begin, end: _fill(graph, pairs, reach, begin, end, room, kept[begin // RUN], out)

    over_links(len(pairs), number_of_threads(len(pairs), room_bytes(graph)), make)
    return out


def allocate(graph: Adjacency, pairs: np.ndarray, reach: Reach) -> tuple[Ragged, tuple[int, int], list[np.ndarray]]:
    """The output with its pointers filled in, the largest numbers of nodes and of edges of any graph in it, and for each run of links what
    has been kept of it (nothing where it was too much)."""
    links = len(pairs)
    sizes, edges = np.zeros(links + 1, np.int64), np.zeros(links + 1, np.int64)
    kept = [np.empty(0, np.uint32)] * (links // RUN + 1)
    budget = [memo.BUDGET]
    keeps = len(graph.weight) == 0 and reach.hops <= memo.MOST_HOPS

    def make() -> Callable[[int, int], None]:
        room = make_room(graph, len(graph.indptr) - 1, memo.WORDS if keeps else 0)
        words = np.empty(memo.WORDS if keeps else 0, np.uint32)

        def work(begin: int, end: int) -> None:
            used = _count(graph, pairs, reach, begin, end, room, words, sizes, edges)
            if used * words.itemsize <= budget[0]:
                budget[0] -= used * words.itemsize
                kept[begin // RUN] = words[:used].copy()

        return work

    over_links(links, number_of_threads(links, room_bytes(graph)), make)
    ptr, first = np.cumsum(sizes), np.cumsum(edges)
    n, e = int(ptr[-1]), int(first[-1])
    weight = np.empty(e if len(graph.weight) else 0, graph.weight.dtype)
    # in two large pieces: those the system hands out in large pages, which takes a fraction of the time
    node, hop, dist_u, dist_v = np.empty((4, n), np.int64)
    row, col = np.empty((2, e), np.int64)
    out = Ragged(ptr, first, node, row, col, weight, hop, dist_u, dist_v)
    return out, (int(sizes.max()), int(edges.max())), kept


def room_bytes(graph: Adjacency) -> int:
    """What a thread's scratch takes for the whole graph: `where` in full, and the node list if a link reaches everything."""
    return 16 * len(graph.indptr)


def make_room(graph: Adjacency, n: int, e: int) -> Room:
    """Scratch for subgraphs of up to n nodes and e edges. The node list is as long as the graph, since a hop finds its nodes before
    the cap drops some of them; memory that is never touched is never given out. Two edges more: the link, and a neighbour not yet judged."""
    nodes = len(graph.indptr) - 1
    return Room(
        where=np.zeros(nodes, np.int32),
        mark=np.zeros(nodes // 64 + 1, np.uint64),
        node=np.empty(nodes + 1, np.uint64),
        hop=np.empty(nodes, np.int8),
        queue=np.empty(n + 1, np.uint32),
        start=np.empty(n + 1, np.uint64),
        near=np.empty(e + 2, np.uint32),
        edge=np.empty(e + 2 if len(graph.weight) else 0, np.uint64),
    )


@compiled
def _count(
    graph: Adjacency, pairs: np.ndarray, reach: Reach, begin: int, end: int,
    room: Room, words: np.ndarray, sizes: np.ndarray, edges: np.ndarray,
) -> int:  # fmt: skip
    """The sizes of a run of links, and in `words` its subgraphs; returns how many words, 0 where not all of it fits."""
    used = 0
    keeping = len(words) > 0
    for b in range(begin, end):
        u, v = pairs[b, 0], pairs[b, 1]
        key = link_key(reach.seed, 0, reach.stream, u, v)
        n = find_nodes(graph, u, v, reach.hops, reach.cap, key, room.where, room.node, room.hop)
        remember(room.mark, room.node, n)
        sizes[b + 1] = n
        keeping = keeping and memo.fits(graph, n, room, used)
        if keeping:
            fill_edges(graph, n, room)
            edges[b + 1] = room.start[n]
            used = memo.keep(n, room, words, used)
        else:
            edges[b + 1] = count_edges(graph, n, room.mark, room.node)
        forget(room.where, room.mark, room.node, n)
    return used if keeping else 0


@compiled
def enclose(graph: Adjacency, u: int, v: int, reach: Reach, room: Room, words: np.ndarray, at: np.int64) -> int:
    """One link's nodes, hops and CSR, in `room`, from the `words` kept of its run where there are any; returns the number of nodes."""
    if len(words) > 0:
        return memo.recall(words, at, room)
    key = link_key(reach.seed, 0, reach.stream, u, v)
    n = find_nodes(graph, u, v, reach.hops, reach.cap, key, room.where, room.node, room.hop)
    remember(room.mark, room.node, n)
    fill_edges(graph, n, room)
    forget(room.where, room.mark, room.node, n)
    return n


@compiled
def emit(graph: Adjacency, b: int, n: int, hops: int, room: Room, out: Ragged) -> None:
    """One link's arrays, from `room` to their places in the output."""
    p, e = out.ptr[b], U(out.first[b])
    for i in range(n):
        out.node[p + i] = room.node[i]
        out.hop[p + i] = room.hop[i]
        for at in range(room.start[i], room.start[i + 1]):
            out.row[e + at] = p + i
            out.col[e + at] = p + room.near[at]
    if len(room.edge) > 0:
        for at in range(room.start[n]):
            out.weight[e + at] = graph.weight[room.edge[at]]
    distances(room, n, 0, 1, 2 * hops + 1, out.dist_u[p : p + n])
    distances(room, n, 1, 0, 2 * hops + 1, out.dist_v[p : p + n])


@compiled
def _fill(
    graph: Adjacency, pairs: np.ndarray, reach: Reach, begin: int, end: int, room: Room, words: np.ndarray, out: Ragged
) -> None:
    at = np.int64(0)
    for b in range(begin, end):
        n = enclose(graph, pairs[b, 0], pairs[b, 1], reach, room, words, at)
        at += np.int64(1 + 2 * n) + np.int64(room.start[n])
        emit(graph, b, n, reach.hops, room, out)
