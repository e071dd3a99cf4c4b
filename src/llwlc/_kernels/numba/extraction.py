"""`subgraphs.extract`, compiled: a pass that counts, one allocation of the output, a pass that fills it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from llwlc._kernels.numba import buffer_pool, packed_subgraphs
from llwlc._kernels.numba.enclosing_subgraph import (
    FOUR,
    Adjacency,
    ExtractionScratch,
    count_bits,
    count_edges,
    distance_bits,
    fill_edges,
    find_nodes,
    in_fours,
    prefetch_rows,
    relax_node,
    reset_marks,
    seed_distances,
    set_inside_bits,
    settle_distances,
)
from llwlc._kernels.numba.hashing import cap_draw
from llwlc._support.compiler import U, compiled
from llwlc._support.threads import choose_num_threads, run_over_links


class ExtractionOptions(NamedTuple):
    """How far to search: `hops`, each with at most `cap` new nodes (0: no limit), which are drawn by `seed` on
    `stream`, as `counter_hash.window` has it.
    """

    hops: int
    cap: int
    seed: int
    stream: int


class SubgraphArrays(NamedTuple):
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


class SubgraphSizes(NamedTuple):
    """What the first pass finds: the numbers of nodes and of directed edges of each graph behind a zero, `sizes`,
    `edges [B + 1]`; and `kept`, for each run of links by the number of its first link, its subgraphs in brief
    (`packed_subgraphs`), empty where they did not fit.
    """

    sizes: np.ndarray
    edges: np.ndarray
    kept: dict[int, np.ndarray]

    @property
    def largest(self) -> tuple[int, int]:
        """The largest numbers of nodes and of edges of any graph."""
        return int(self.sizes.max()), int(self.edges.max())


def extract(graph: Adjacency, pairs: np.ndarray, reach: ExtractionOptions) -> SubgraphArrays:
    """The enclosing subgraphs of `pairs [B, 2]`."""
    counted = count_sizes(graph, pairs, reach)
    out = allocate(graph, counted)

    def make() -> Callable[[int, int], None]:
        scratch = new_extraction_scratch(graph, *counted.largest)
        return lambda begin, end: _fill(graph, pairs, reach, begin, end, scratch, counted.kept[begin], out)

    run_over_links(len(pairs), choose_num_threads(len(pairs), extraction_bytes(graph)), make)
    return out


def count_sizes(graph: Adjacency, pairs: np.ndarray, reach: ExtractionOptions) -> SubgraphSizes:
    """The first pass over the pairs `[B, 2]`."""
    links = len(pairs)
    sizes, edges = np.zeros(links + 1, np.int64), np.zeros(links + 1, np.int64)
    nothing = np.empty(0, np.uint32)
    kept: dict[int, np.ndarray] = {}
    budget = [packed_subgraphs.BUDGET]
    keeps = len(graph.weight) == 0

    def make() -> Callable[[int, int], None]:
        scratch = new_extraction_scratch(graph, len(graph.indptr) - 1, 0)
        words, last = nothing, 0

        def work(begin: int, end: int) -> None:
            nonlocal words, last
            if keeps and len(words) <= 2 * last and packed_subgraphs.WORDS * words.itemsize <= budget[0]:
                # the rest of the array may be too short for another run
                budget[0] -= packed_subgraphs.WORDS * words.itemsize
                words = buffer_pool.empty(packed_subgraphs.WORDS, np.uint32)
            used = _count(graph, pairs, reach, begin, end, scratch, words, sizes, edges)
            kept[begin], words = words[:used], words[used:]
            if used:
                last = used
            elif len(words) < packed_subgraphs.WORDS:
                words = nothing  # the run did not fit

        return work

    run_over_links(links, choose_num_threads(links, extraction_bytes(graph)), make)
    return SubgraphSizes(sizes, edges, kept)


def allocate(graph: Adjacency, counted: SubgraphSizes) -> SubgraphArrays:
    """The output with its pointers filled in."""
    ptr, first = np.cumsum(counted.sizes), np.cumsum(counted.edges)
    n, e = int(ptr[-1]), int(first[-1])
    weight = np.empty(e if len(graph.weight) else 0, graph.weight.dtype)
    node, hop, dist_u, dist_v = buffer_pool.empty(4 * n, np.int64).reshape(4, n)
    row, col = buffer_pool.empty(2 * e, np.int64).reshape(2, e)
    return SubgraphArrays(ptr, first, node, row, col, weight, hop, dist_u, dist_v)


def no_subgraphs(graph: Adjacency) -> SubgraphArrays:
    """An empty output: kernels write nothing there."""
    none = np.empty(0, np.int64)
    return SubgraphArrays(none, none, none, none, none, np.empty(0, graph.weight.dtype), none, none, none)


def extraction_bytes(graph: Adjacency) -> int:
    """Bytes of a thread's scratch for the whole graph: `where`, and the node list of a link that reaches every node."""
    return 16 * len(graph.indptr)


def new_extraction_scratch(graph: Adjacency, n: int, e: int) -> ExtractionScratch:
    """Scratch for subgraphs of up to n nodes and e edges.

    The node list is as long as the graph, since a hop finds all its nodes before the cap drops some; the system
    provides memory only where it is touched. Rows are padded to multiples of four, so each takes up to three places
    more; the last row also needs places for the link, for a neighbour that is not tested yet and for three fillers.
    """
    nodes = len(graph.indptr) - 1
    places = e + (FOUR - 1) * n + 8
    return ExtractionScratch(
        where=np.zeros(nodes + 1, np.int32),
        inside_bits=np.zeros(nodes // 64 + 1, np.uint64),
        node=np.empty(nodes + 1, np.uint64),
        hop=np.empty(nodes, np.int8),
        start=np.empty(n + 1, np.uint64),
        size=np.empty(n, np.uint32),
        neighbor=np.empty(places, np.uint32),
        edge=np.empty(places if len(graph.weight) else 0, np.uint64),
        distances=np.empty(n + 1, np.uint64),
    )


@compiled
def _count(
    graph: Adjacency, pairs: np.ndarray, reach: ExtractionOptions, begin: int, end: int,
    scratch: ExtractionScratch, words: np.ndarray, sizes: np.ndarray, edges: np.ndarray,
) -> int:  # fmt: skip
    """Writes the sizes of a run of links, and its subgraphs to `words`; returns the number of words, 0 where not all
    subgraphs fit.
    """
    used = 0
    keeping = len(words) > 0
    for b in range(begin, end):
        u, v = pairs[b, 0], pairs[b, 1]
        how = cap_draw(reach.seed, reach.stream, u, v, graph.draw_ids)
        n = find_nodes(graph, u, v, reach.hops, reach.cap, how, scratch.where, scratch.node, scratch.hop)
        set_inside_bits(scratch.inside_bits, scratch.node, n)
        sizes[b + 1] = n
        keeping = packed_subgraphs.fits(n, prefetch_rows(graph, scratch.node, n), words, used) and keeping
        if keeping:
            edges[b + 1] = fill_edges(graph, n, scratch, packed_subgraphs.packed_rows(words, used, n))
            used = packed_subgraphs.pack_subgraph(n, scratch, words, used)
        else:
            edges[b + 1] = count_edges(graph, n, scratch.inside_bits, scratch.node)
        reset_marks(scratch.where, scratch.inside_bits, scratch.node, n)
    return used if keeping else 0


@compiled
def enclose(
    graph: Adjacency, u: int, v: int, reach: ExtractionOptions, scratch: ExtractionScratch, words: np.ndarray, at: int
) -> tuple[int, np.ndarray]:
    """Writes one link's nodes, hops and CSR to `scratch`, from the `words` that the first pass kept, if any; returns
    the number of nodes, and the rows of the CSR."""
    if len(words) > 0:
        n = packed_subgraphs.unpack_subgraph(words, at, scratch)
        return n, packed_subgraphs.packed_rows(words, at, n)
    how = cap_draw(reach.seed, reach.stream, u, v, graph.draw_ids)
    n = find_nodes(graph, u, v, reach.hops, reach.cap, how, scratch.where, scratch.node, scratch.hop)
    set_inside_bits(scratch.inside_bits, scratch.node, n)
    prefetch_rows(graph, scratch.node, n)
    fill_edges(graph, n, scratch, scratch.neighbor)
    reset_marks(scratch.where, scratch.inside_bits, scratch.node, n)
    return n, scratch.neighbor


@compiled
def emit(
    graph: Adjacency, b: int, n: int, hops: int, scratch: ExtractionScratch, neighbor: np.ndarray, out: SubgraphArrays
) -> None:
    """Copies one link's arrays from `scratch` to their places in the output."""
    p, end = out.ptr[b], U(out.first[b + 1])
    for i in range(n):
        out.node[p + i] = scratch.node[i]
        out.hop[p + i] = scratch.hop[i]
    bits = distance_bits(hops)
    settled = seed_distances(scratch, neighbor, n, bits)
    e, changed = U(out.first[b]), U(0)
    for i in range(n):
        if len(scratch.edge) > 0:
            for at in range(U(scratch.size[i])):
                out.weight[e + at] = graph.weight[scratch.edge[scratch.start[i] + at]]
        copy_row(scratch, neighbor, i, p, e, end, out)
        e += U(scratch.size[i])
        if i > 1:  # in this loop, while the row is in the cache
            changed |= relax_node(scratch, neighbor, i, bits)
    settle_distances(scratch, neighbor, n, bits, settled + 1, 2 * hops, changed)
    for i in range(n):
        out.dist_u[p + i] = 2 * hops + 1 - count_bits(scratch.distances[i] & bits.u)
        out.dist_v[p + i] = 2 * hops + 1 - count_bits(scratch.distances[i] & bits.v)


@compiled
def copy_row(
    scratch: ExtractionScratch, neighbor: np.ndarray, i: int, p: int, e: np.uint64, end: np.uint64, out: SubgraphArrays
) -> None:
    """Copies row i of the graph whose nodes begin at p to the edges from e on, four entries at a time. The surplus is
    overwritten by the next row; but nothing is written at `end` or beyond, which belongs to another thread."""
    begin, size = scratch.start[i], U(scratch.size[i])
    if e + in_fours(size) <= end:
        size = in_fours(size)
    in_whole_fours = size & ~U(FOUR - 1)
    for at in range(U(0), in_whole_fours, U(FOUR)):
        to, of = e + at, begin + at
        c0, c1, c2, c3 = neighbor[of], neighbor[of + U(1)], neighbor[of + U(2)], neighbor[of + U(3)]
        out.row[to], out.row[to + U(1)], out.row[to + U(2)], out.row[to + U(3)] = p + i, p + i, p + i, p + i
        out.col[to], out.col[to + U(1)], out.col[to + U(2)], out.col[to + U(3)] = p + c0, p + c1, p + c2, p + c3
    for at in range(in_whole_fours, size):
        out.row[e + at] = p + i
        out.col[e + at] = p + neighbor[begin + at]


@compiled
def _fill(
    graph: Adjacency,
    pairs: np.ndarray,
    reach: ExtractionOptions,
    begin: int,
    end: int,
    scratch: ExtractionScratch,
    words: np.ndarray,
    out: SubgraphArrays,
) -> None:
    at = 0
    for b in range(begin, end):
        n, neighbor = enclose(graph, pairs[b, 0], pairs[b, 1], reach, scratch, words, at)
        at += packed_subgraphs.words_of(n, scratch)
        emit(graph, b, n, reach.hops, scratch, neighbor, out)
