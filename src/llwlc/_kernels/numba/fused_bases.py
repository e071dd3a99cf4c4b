"""Pairs to bases, one link at a time: subgraph, distances, Laplacian, constraints, Lanczos, small eigenproblem, all in
cache.

Only the output leaves the kernel: no temporary grows with the number of links.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from llwlc._kernels.numba import buffer_pool, packed_subgraphs
from llwlc._kernels.numba.columns import (
    constraint_start,
    delete_vertices,
    deleted_columns,
    laplacian,
    neumann_boundary,
    neumann_degree,
    projector_of,
    query_start,
    random_start,
)
from llwlc._kernels.numba.enclosing_subgraph import Adjacency, ExtractionScratch
from llwlc._kernels.numba.encoding import EncodedArrays, allocate_encoded, write_encoded
from llwlc._kernels.numba.extraction import (
    ExtractionOptions,
    SubgraphArrays,
    SubgraphSizes,
    allocate,
    count_sizes,
    emit,
    enclose,
    extraction_bytes,
    new_extraction_scratch,
    no_subgraphs,
)
from llwlc._kernels.numba.hashing import link_key
from llwlc._kernels.numba.krylov import ClosedFormProjector, RitzScratch, krylov, orthonormalise, ritz_pairs
from llwlc._kernels.numba.matrix import Matrix, rough_bound
from llwlc._kernels.numba.vectors import padded_length
from llwlc._support.compiler import U, compiled
from llwlc._support.threads import choose_num_threads, run_over_links

QUERY, RANDOM, CONSTRAINT = 0, 1, 2
START_CODES = {"query": QUERY, "random": RANDOM, "constraint": CONSTRAINT}


class FusedOptions(NamedTuple):
    """What to compute: the fields of a `SolveOptions` first, then the start and the constraints. `boundary`, `degree`:
    the Neumann columns; `deleted`: the number of vertex-deleted columns, −1 for all, and `closed` where these are the
    only ones; `columns`: k, 0 with the closed form; `start_stream`, `deleted_stream`: streams of the random draws."""

    steps: int
    normalized: bool
    tolerance: float
    rank_tolerance: float
    start: int
    boundary: bool
    degree: bool
    deleted: int
    closed: bool
    columns: int
    seed: int
    epoch: int
    start_stream: int
    deleted_stream: int


class RitzArrays(NamedTuple):
    """The arrays of an `Eigenbasis`, zero where dead, and the number of live columns, `live [B]`."""

    values: np.ndarray
    vectors: np.ndarray
    residual: np.ndarray
    live: np.ndarray

    @property
    def mask(self) -> np.ndarray:
        """`[B, κ]`. In numpy: torch would start its own threads for it, which can take as long as thousands of
        links.
        """
        columns: np.ndarray = np.arange(self.values.shape[1])
        return columns < self.live[:, None]


class LanczosScratch(NamedTuple):
    """Float64 scratch of one thread, flat, so that the vectors of a small graph lie close together however large the
    largest graph is. `B` holds the constraints, then Q."""

    weight: np.ndarray
    rows: np.ndarray
    B: np.ndarray
    start: np.ndarray
    bits: np.ndarray
    flags: np.ndarray


class LinkArrays(NamedTuple):
    """The result for a list of pairs: `ptr [B + 1]` where the nodes of each begin, the `encoded` links, their bases."""

    ptr: np.ndarray
    encoded: EncodedArrays
    ritz: RitzArrays


def link_bases(
    graph: Adjacency, pairs: np.ndarray, reach: ExtractionOptions, plan: FusedOptions, dtype: type[np.floating]
) -> tuple[SubgraphArrays, RitzArrays]:
    """The enclosing subgraphs of `pairs [B, 2]` and their constrained eigenbases."""
    counted = count_sizes(graph, pairs, reach)
    out = allocate(graph, counted)
    ritz = make_ritz(len(pairs), len(out.node), plan.steps, dtype)
    _all_links(graph, pairs, reach, plan, 0, counted, out.ptr, out, allocate_encoded(0, 0), ritz)
    return out, ritz


def encode_links(
    graph: Adjacency, pairs: np.ndarray, reach: ExtractionOptions, plan: FusedOptions, distance_cap: int
) -> LinkArrays:
    """What a network reads of the enclosing subgraphs of `pairs [B, 2]`, and their constrained eigenbases in
    float32.
    """
    counted = count_sizes(graph, pairs, reach)
    ptr = np.cumsum(counted.sizes)
    nodes = int(ptr[-1])
    encoded = allocate_encoded(len(pairs), nodes)
    ritz = make_ritz(len(pairs), nodes, plan.steps, np.float32)
    _all_links(graph, pairs, reach, plan, distance_cap, counted, ptr, no_subgraphs(graph), encoded, ritz)
    return LinkArrays(ptr, encoded, ritz)


def _all_links(
    graph: Adjacency,
    pairs: np.ndarray,
    reach: ExtractionOptions,
    plan: FusedOptions,
    distance_cap: int,
    counted: SubgraphSizes,
    ptr: np.ndarray,
    subgraphs: SubgraphArrays,
    encoded: EncodedArrays,
    ritz: RitzArrays,
) -> None:

    def work(
        scratch: ExtractionScratch, lanczos: LanczosScratch, ritz_scratch: RitzScratch, begin: int, end: int
    ) -> None:
        kept = counted.kept[begin]
        run_links(
            graph,
            pairs,
            reach,
            plan,
            distance_cap,
            begin,
            end,
            kept,
            scratch,
            lanczos,
            ritz_scratch,
            ptr,
            subgraphs,
            encoded,
            ritz,
        )

    over_scratch(graph, len(pairs), plan, counted.largest, work)


def over_scratch(
    graph: Adjacency, links: int, plan: FusedOptions, largest: tuple[int, int],
    work: Callable[[ExtractionScratch, LanczosScratch, RitzScratch, int, int], None],
) -> None:  # fmt: skip
    """Calls `work` for all runs of links; each thread has its own scratch, for graphs of up to `largest` = (nodes,
    edges).
    """
    n, e = largest

    def make() -> Callable[[int, int], None]:
        scratch, ritz_scratch = new_extraction_scratch(graph, n, e), new_ritz_scratch(plan)
        lanczos = new_lanczos_scratch(plan, n, len(scratch.edge))
        return partial(work, scratch, lanczos, ritz_scratch)

    bytes_each = extraction_bytes(graph) + 8 * padded_length(n) * (plan.steps + plan.columns + 12)
    run_over_links(links, choose_num_threads(links, bytes_each), make)


def make_ritz(links: int, nodes: int, steps: int, dtype: type[np.floating]) -> RitzArrays:
    """Output arrays, zero except for the vectors, whose dead columns the kernels zero themselves
    (`zero_dead_columns`).
    """
    values, residual = np.zeros((2, links, steps), dtype)
    vectors = buffer_pool.empty(nodes * steps, dtype).reshape(nodes, steps)
    return RitzArrays(values, vectors, residual, np.zeros(links, np.int64))


def new_lanczos_scratch(plan: FusedOptions, n: int, places: int) -> LanczosScratch:
    """Scratch for graphs of up to n nodes, with edge weights in up to `places` places."""
    b = 2 if plan.start == QUERY else 1
    width = padded_length(n)
    return LanczosScratch(
        weight=np.empty(places),
        rows=aligned(9 * width),
        B=aligned((plan.columns + plan.steps) * width),
        start=aligned(b * width),
        bits=np.empty(n, np.int64),
        flags=np.empty(n + width, np.bool_),
    )


def aligned(count: int) -> np.ndarray:
    """`count` float64 values that begin at a cache line: unaligned, every wide read would touch two lines."""
    line = 64
    array = np.empty(count + line // 8)
    skip = -array.ctypes.data % line // 8
    return array[skip : skip + count]


def new_ritz_scratch(plan: FusedOptions) -> RitzScratch:
    return ritz_scratch_of(plan.steps, plan.columns, 2)


def ritz_scratch_of(m: int, k: int, b: int) -> RitzScratch:
    return RitzScratch(
        T=np.empty((m, m)),
        Z=np.empty((m, (m + 3) // 4 * 4)),
        d=np.empty(m),
        e=np.empty(m),
        c=np.empty(m + k + 1),
        c2=np.empty(m + k + 1),
        owner=np.empty(b, np.int64),
        R=np.empty((b, b)),
    )


@compiled
def run_links(
    graph: Adjacency,
    pairs: np.ndarray,
    reach: ExtractionOptions,
    plan: FusedOptions,
    distance_cap: int,
    begin: int,
    end: int,
    words: np.ndarray,
    scratch: ExtractionScratch,
    lanczos: LanczosScratch,
    ritz_scratch: RitzScratch,
    ptr: np.ndarray,
    subgraphs: SubgraphArrays,
    encoded: EncodedArrays,
    ritz: RitzArrays,
) -> None:
    """Computes a run of links: the subgraph, to `subgraphs`, or what a network reads of it, to `encoded`, whichever
    output is not empty; and the basis. One function for both, since compiling it takes longest of all kernels."""
    at = 0
    for b in range(begin, end):
        u, v, p = pairs[b, 0], pairs[b, 1], ptr[b]
        n, neighbor = enclose(graph, u, v, reach, scratch, words, at)
        at += packed_subgraphs.words_of(n, scratch)
        if len(subgraphs.ptr) > 0:
            emit(graph, b, n, reach.hops, scratch, neighbor, subgraphs)
        else:
            write_encoded(graph, b, p, n, reach.hops, reach.cap, distance_cap, scratch, neighbor, encoded)
        basis_of(graph, b, u, v, p, n, plan, scratch, neighbor, lanczos, ritz_scratch, ritz)


@compiled
def basis_of(
    graph: Adjacency,
    b: int,
    u: int,
    v: int,
    p: int,
    n: int,
    plan: FusedOptions,
    scratch: ExtractionScratch,
    neighbor: np.ndarray,
    lanczos: LanczosScratch,
    ritz_scratch: RitzScratch,
    ritz: RitzArrays,
) -> None:
    """Writes the basis of link b, whose subgraph of n nodes is in `scratch` and `neighbor`, to its place in the output;
    its vectors begin at row p.
    """
    if len(lanczos.weight) > 0:
        lanczos.weight[: scratch.start[n]] = 0.0
        for i in range(n):
            for e in range(scratch.start[i], scratch.start[i] + U(scratch.size[i])):
                lanczos.weight[e] = graph.weight[scratch.edge[e]]
    vectors = ritz.vectors[p : p + n]
    live = solve_link(
        u,
        v,
        n,
        graph.draw_ids,
        plan,
        scratch,
        neighbor,
        lanczos,
        ritz_scratch,
        ritz.values[b],
        vectors,
        ritz.residual[b],
    )
    zero_dead_columns(vectors, live)
    ritz.live[b] = live


@compiled
def zero_dead_columns(vectors: np.ndarray, live: int) -> None:
    """Zeroes the columns that are not live."""
    if live < vectors.shape[1]:
        vectors[:, live:] = 0.0


@compiled
def solve_link(
    u: int, v: int, n: int, draw_ids: np.ndarray, plan: FusedOptions, scratch: ExtractionScratch, neighbor: np.ndarray,
    lanczos: LanczosScratch, ritz_scratch: RitzScratch, values: np.ndarray, vectors: np.ndarray, residual: np.ndarray,
) -> int:  # fmt: skip
    """Computes the basis of the subgraph in `scratch` and `neighbor`; returns the number of live columns, 0 where some
    entry is not finite.
    """
    width = padded_length(n)
    rows = lanczos.rows[: 9 * width].reshape(9, width)
    degree, W = rows[0], rows[1:3]
    W[:, n:] = 0.0
    L = Matrix(n, scratch.start, scratch.size, neighbor, lanczos.weight, rows[3], rows[4], lanczos.rows[7 * width :])
    laplacian(L, degree, plan.normalized)
    bound = rough_bound(L)
    if not bound < np.inf:
        return 0
    B = lanczos.B[: (plan.columns + plan.steps) * width].reshape(plan.columns + plan.steps, width)
    C, deleted = B[: plan.columns], lanczos.flags[:n]
    taken = constrain(u, v, draw_ids, plan, scratch, L, degree, deleted, lanczos.bits[:n], C)
    length = width if plan.closed else 0
    P = ClosedFormProjector(rows[5][:length], rows[6][:length], lanczos.flags[n : n + length])
    if plan.closed:
        projector_of(n, degree, deleted, taken, P)
    b = 2 if plan.start == QUERY else 1
    start = lanczos.start[: b * width].reshape(b, width)
    if plan.start == QUERY:
        query_start(0, 1, start)
    elif plan.start == RANDOM:
        key = link_key(plan.seed, plan.epoch, plan.start_stream, u, v, draw_ids)
        random_start(n, scratch.node, draw_ids, key, start)
    else:
        constraint_start(L, C, degree, deleted, taken, plan.closed, W[0], start)
    k = orthonormalise(C, W[0], ritz_scratch.c, plan.rank_tolerance)
    live = krylov(L, bound, B, k, P, start, plan.tolerance, W, ritz_scratch)
    ritz_pairs(live, B[k:], start, rows[1:6], ritz_scratch, values, vectors, residual)
    return live


@compiled
def constrain(
    u: int, v: int, draw_ids: np.ndarray, plan: FusedOptions, scratch: ExtractionScratch, L: Matrix,
    degree: np.ndarray, deleted: np.ndarray, bits: np.ndarray, C: np.ndarray,
) -> int:  # fmt: skip
    """Writes the columns of C as rows, and which vertices are deleted; returns how many are."""
    j = 0
    if plan.boundary:
        neumann_boundary(L, scratch.hop, C[j])
        j += 1
    if plan.degree:
        neumann_degree(L.n, degree, scratch.hop, C[j])
        j += 1
    if plan.deleted == 0:
        deleted[:] = False
        return 0
    key = link_key(plan.seed, plan.epoch, plan.deleted_stream, u, v, draw_ids)
    taken = delete_vertices(scratch.node, draw_ids, plan.deleted, key, bits, deleted)
    if not plan.closed:
        deleted_columns(degree, deleted, C[j:])
    return taken
