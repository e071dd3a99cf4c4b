"""Pairs to bases, one link at a time: subgraph, distances, Laplacian, constraints, Lanczos, small eigenproblem, all in cache.

What leaves the kernel is the output and nothing else: no temporary grows with the number of links.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from llwlc.kernels.columns import (
    constraint_start,
    degrees,
    delete_vertices,
    deleted_columns,
    glue_of,
    laplacian,
    neumann_boundary,
    neumann_degree,
    query_start,
    random_start,
)
from llwlc.kernels.compiled import compiled
from llwlc.kernels.enclosing import Adjacency, Room
from llwlc.kernels.extraction import Ragged, Reach, allocate, emit, enclose, make_room, room_bytes
from llwlc.kernels.hashing import link_key
from llwlc.kernels.krylov import Glue, Matrix, Small, carry_back, gershgorin, krylov, orthonormal
from llwlc.kernels.threads import RUN, number_of_threads, over_links

QUERY, RANDOM, CONSTRAINT = 0, 1, 2
STARTS = {"query": QUERY, "random": RANDOM, "constraint": CONSTRAINT}


class Plan(NamedTuple):
    """What to compute. `boundary`, `degree`: the Neumann columns; `deleted`: vertex-deleted columns, −1 for all, and `closed` where these
    are the only ones; `columns` k without the closed form; `streams` of the draws."""

    steps: int
    start: int
    normalized: bool
    tolerance: float
    rank_tolerance: float
    boundary: bool
    degree: bool
    deleted: int
    closed: bool
    columns: int
    seed: int
    epoch: int
    start_stream: int
    deleted_stream: int


class Ritz(NamedTuple):
    """The arrays of an `Eigenbasis`, zero where dead, and the number of live columns, `live [B]`."""

    values: np.ndarray
    vectors: np.ndarray
    residual: np.ndarray
    live: np.ndarray


class Space(NamedTuple):
    """Float64 scratch of one thread, flat, so that the vectors of a small graph lie close together whatever the largest one takes."""

    weight: np.ndarray
    rows: np.ndarray
    Y: np.ndarray
    Q: np.ndarray
    start: np.ndarray
    bits: np.ndarray
    flags: np.ndarray


def link_bases(
    graph: Adjacency, pairs: np.ndarray, reach: Reach, plan: Plan, dtype: type[np.floating]
) -> tuple[Ragged, Ritz]:
    """The enclosing subgraphs of `pairs [B, 2]` and their constrained eigenbases."""
    out, (n, e), kept = allocate(graph, pairs, reach)
    ritz = make_ritz(len(pairs), len(out.node), plan.steps, dtype)

    def make() -> Callable[[int, int], None]:
        room, space, small = make_room(graph, n, e), make_space(plan, n, e, len(graph.weight) > 0), make_small(plan)
        return partial(_work, graph, pairs, reach, plan, kept, room, space, small, out, ritz)

    scratch = room_bytes(graph) + 8 * n * (plan.steps + plan.columns + 12)
    over_links(len(pairs), number_of_threads(len(pairs), scratch), make)
    return out, ritz


def make_ritz(links: int, nodes: int, steps: int, dtype: type[np.floating]) -> Ritz:
    table = (np.zeros((links, steps), dtype) for _ in range(2))
    values, residual = table
    return Ritz(values, np.zeros((nodes, steps), dtype), residual, np.zeros(links, np.int64))


def make_space(plan: Plan, n: int, e: int, weighted: bool) -> Space:
    b = 2 if plan.start == QUERY else 1
    return Space(
        weight=np.empty(e if weighted else 0),
        rows=np.empty(9 * n),
        Y=np.empty(plan.columns * n),
        Q=np.empty(plan.steps * n),
        start=np.empty(b * n),
        bits=np.empty(n, np.int64),
        flags=np.empty(2 * n, np.bool_),
    )


def make_small(plan: Plan) -> Small:
    return small_of(plan.steps, plan.columns, 2)


def small_of(m: int, k: int, b: int) -> Small:
    return Small(
        T=np.empty((m, m)),
        Z=np.empty((m, m)),
        d=np.empty(m),
        e=np.empty(m),
        c=np.empty(m + k + 1),
        owner=np.empty(b, np.int64),
        R=np.empty((b, b)),
    )


def _work(
    graph: Adjacency, pairs: np.ndarray, reach: Reach, plan: Plan, kept: list[np.ndarray],
    room: Room, space: Space, small: Small, out: Ragged, ritz: Ritz, begin: int, end: int,
) -> None:  # fmt: skip
    _run(graph, pairs, reach, plan, begin, end, kept[begin // RUN], room, space, small, out, ritz)


@compiled
def _run(
    graph: Adjacency, pairs: np.ndarray, reach: Reach, plan: Plan, begin: int, end: int, words: np.ndarray,
    room: Room, space: Space, small: Small, out: Ragged, ritz: Ritz,
) -> None:  # fmt: skip
    at = np.int64(0)
    for b in range(begin, end):
        u, v = pairs[b, 0], pairs[b, 1]
        n = enclose(graph, u, v, reach, room, words, at)
        at += np.int64(1 + 2 * n) + np.int64(room.start[n])
        emit(graph, b, n, reach.hops, room, out)
        weight = space.weight
        if len(weight) > 0:
            weight = weight[: room.start[n]]
            for e in range(len(weight)):
                weight[e] = graph.weight[room.edge[e]]
        p = out.ptr[b]
        vectors = ritz.vectors[p : p + n]
        ritz.live[b] = solve(u, v, n, weight, plan, room, space, small, ritz.values[b], vectors, ritz.residual[b])


@compiled
def solve(
    u: int, v: int, n: int, weight: np.ndarray, plan: Plan, room: Room, space: Space, small: Small,
    values: np.ndarray, vectors: np.ndarray, residual: np.ndarray,
) -> int:  # fmt: skip
    """The basis of the subgraph in `room`; returns the number of live columns, 0 where some entry is not finite."""
    rows = space.rows[: 9 * n].reshape(9, n)
    degree, W = rows[0], rows[1:3]
    L = Matrix(room.start, room.near, weight, rows[3], rows[4], space.rows[7 * n :])
    degrees(room.start, weight, degree)
    laplacian(L, degree, plan.normalized)
    bound = gershgorin(L)
    if not bound < np.inf:
        return 0
    Y = space.Y[: plan.columns * n].reshape(plan.columns, n)
    deleted = space.flags[:n]
    taken = constrain(u, v, plan, room, L, degree, deleted, space.bits[:n], Y)
    width = n if plan.closed else 0
    P = Glue(rows[5][:width], rows[6][:width], space.flags[n : n + width])
    if plan.closed:
        glue_of(degree, deleted, taken, P)
    b = 2 if plan.start == QUERY else 1
    start = space.start[: b * n].reshape(b, n)
    if plan.start == QUERY:
        query_start(0, 1, start)
    elif plan.start == RANDOM:
        random_start(room.node, link_key(plan.seed, plan.epoch, plan.start_stream, u, v), start)
    else:
        constraint_start(L, Y, degree, deleted, taken, plan.closed, W[0], start)
    k = orthonormal(Y, W[0], small.c, plan.rank_tolerance)
    Q = space.Q[: plan.steps * n].reshape(plan.steps, n)
    live = krylov(L, bound, Y, k, P, start, plan.tolerance, Q, W, small)
    carry_back(live, Q, start, W[0], small, values, vectors, residual)
    return live


@compiled
def constrain(
    u: int, v: int, plan: Plan, room: Room, L: Matrix,
    degree: np.ndarray, deleted: np.ndarray, bits: np.ndarray, Y: np.ndarray,
) -> int:  # fmt: skip
    """The columns of C as rows of Y, and the marks of deleted vertices; returns how many are deleted."""
    j = 0
    if plan.boundary:
        neumann_boundary(L, room.hop, Y[j])
        j += 1
    if plan.degree:
        neumann_degree(degree, room.hop, Y[j])
        j += 1
    if plan.deleted == 0:
        deleted[:] = False
        return 0
    key = link_key(plan.seed, plan.epoch, plan.deleted_stream, u, v)
    taken = delete_vertices(room.node, plan.deleted, key, bits, deleted)
    if not plan.closed:
        deleted_columns(degree, deleted, Y[j:])
    return taken
