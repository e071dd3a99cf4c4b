"""`bases.eigenbasis`, compiled: subgraphs, constraint columns and start block are given, whatever they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from llwlc.kernels.numba.columns import laplacian, projector_of
from llwlc.kernels.numba.enclosing import FOUR, in_fours
from llwlc.kernels.numba.fused import Ritz, aligned, clear, make_ritz, small_of
from llwlc.kernels.numba.krylov import ClosedFormProjector, RitzScratch, carry_back, krylov, orthonormal
from llwlc.kernels.numba.matrix import Matrix, rough_bound
from llwlc.kernels.numba.vectors import padded
from llwlc.kernels.solve import Solve
from llwlc.support.compiler import U, compiled
from llwlc.support.threads import number_of_threads, over_links


class BasisInputs(NamedTuple):
    """`ptr [B + 1]` where the nodes of each graph begin, `first [N + 1]` where the edges of each node do; `col [E]` positions in the batch;
    `weight [E]` or `[0]`; `columns [N, k]`; `start [N, b]`; `deleted [N]` where the closed form serves, else `[0]`."""

    ptr: np.ndarray
    first: np.ndarray
    col: np.ndarray
    weight: np.ndarray
    columns: np.ndarray
    start: np.ndarray
    deleted: np.ndarray


class GraphScratch(NamedTuple):
    """Scratch of one thread, for graphs of up to n nodes and e edges."""

    start: np.ndarray
    size: np.ndarray
    near: np.ndarray
    weight: np.ndarray
    rows: np.ndarray
    block: np.ndarray
    B: np.ndarray
    glued: np.ndarray


def eigenbasis(given: BasisInputs, solve: Solve, dtype: type[np.floating]) -> Ritz:
    """The Ritz pairs of every graph."""
    graphs, k, b, steps = len(given.ptr) - 1, given.columns.shape[1], given.start.shape[1], solve.steps
    n = int(np.diff(given.ptr).max(initial=0))
    e = int(np.diff(given.first[given.ptr]).max(initial=0))
    ritz = make_ritz(graphs, len(given.first) - 1, steps, dtype)

    def make() -> Callable[[int, int], None]:
        desk, small = _desk(n, e, k, b, steps, len(given.weight) > 0), small_of(steps, k, b)
        return lambda begin, end: _run(given, solve, begin, end, desk, small, ritz)

    over_links(graphs, number_of_threads(graphs, 8 * (padded(n) * (steps + k + b + 9) + 2 * e)), make)
    return ritz


def _desk(n: int, e: int, k: int, b: int, steps: int, weighted: bool) -> GraphScratch:
    places, width = e + (FOUR - 1) * n, padded(n)
    return GraphScratch(
        start=np.empty(n + 1, np.uint64),
        size=np.empty(n, np.uint32),
        near=np.empty(places, np.uint32),
        weight=np.empty(places if weighted else 0),
        rows=aligned(9 * width),
        block=aligned(b * width),
        B=aligned((k + steps) * width),
        glued=np.empty(width, np.bool_),
    )


@compiled
def load(given: BasisInputs, b: int, desk: GraphScratch) -> None:
    """Graph b's CSR in its own positions, in fours."""
    p, n = given.ptr[b], given.ptr[b + 1] - given.ptr[b]
    at = U(0)
    for i in range(n):
        begin, size = given.first[p + i], U(given.first[p + i + 1] - given.first[p + i])
        desk.start[i], desk.size[i] = at, size
        for e in range(in_fours(size)):
            there = e < size
            desk.near[at + e] = given.col[begin + np.int64(e)] - p if there else n
            if len(desk.weight) > 0:
                desk.weight[at + e] = given.weight[begin + np.int64(e)] if there else 0.0
        at += in_fours(size)
    desk.start[n] = at


@compiled
def transpose(rows: np.ndarray, out: np.ndarray) -> bool:
    """out = rowsᵀ with zeros behind; false where an entry is not finite."""
    finite = True
    out[:, len(rows) :] = 0.0
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[j, i] = rows[i, j]
            finite = finite and abs(rows[i, j]) < np.inf
    return finite


@compiled
def _run(
    given: BasisInputs, solve: Solve, begin: int, end: int, desk: GraphScratch, small: RitzScratch, ritz: Ritz
) -> None:  # fmt: skip
    k, b = given.columns.shape[1], given.start.shape[1]
    steps = solve.steps
    for graph in range(begin, end):
        p, q = given.ptr[graph], given.ptr[graph + 1]
        n = q - p
        load(given, graph, desk)
        width = padded(n)
        rows = desk.rows[: 9 * width].reshape(9, width)
        degree, W = rows[0], rows[1:3]
        W[:, n:] = 0.0
        L = Matrix(n, desk.start, desk.size, desk.near, desk.weight, rows[3], rows[4], desk.rows[7 * width :])
        laplacian(L, degree, solve.normalized)
        bound = rough_bound(L)
        closed = len(given.deleted) > 0
        columns = 0 if closed else k
        B = desk.B[: (columns + steps) * width].reshape(columns + steps, width)
        block = desk.block[: b * width].reshape(b, width)
        finite = transpose(given.start[p:q], block)
        if not closed:
            finite = transpose(given.columns[p:q], B[:k]) and finite
        if n == 0 or not bound < np.inf or not finite:
            clear(ritz.vectors[p:q], 0)
            continue
        glued = width if closed else 0
        P = ClosedFormProjector(rows[5][:glued], rows[6][:glued], desk.glued[:glued])
        if closed:
            deleted = given.deleted[p:q]
            projector_of(n, degree, deleted, deleted.sum(), P)
        rank = orthonormal(B[:columns], W[0], small.c, solve.rank_tolerance)
        live = krylov(L, bound, B, rank, P, block, solve.tolerance, W, small)
        carry_back(live, B[rank:], block, rows[1:6], small, ritz.values[graph], ritz.vectors[p:q], ritz.residual[graph])
        clear(ritz.vectors[p:q], live)
        ritz.live[graph] = live
