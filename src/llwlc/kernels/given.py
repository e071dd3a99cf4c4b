"""`bases.eigenbasis`, compiled: subgraphs, constraint columns and start block are given, whatever they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from llwlc.kernels.columns import degrees, glue_of, laplacian
from llwlc.kernels.compiled import U, compiled
from llwlc.kernels.fused import Ritz, make_ritz, small_of
from llwlc.kernels.krylov import Glue, Matrix, Small, carry_back, gershgorin, krylov, orthonormal
from llwlc.kernels.threads import number_of_threads, over_links


class Given(NamedTuple):
    """`ptr`, `first [B + 1]` where the nodes and edges of each graph begin; `col [E]` positions in the batch; `weight [E]` or `[0]`;
    `columns [N, k]`; `start [N, b]`; `deleted [N]` where the closed form serves, else `[0]`."""

    ptr: np.ndarray
    first: np.ndarray
    col: np.ndarray
    weight: np.ndarray
    columns: np.ndarray
    start: np.ndarray
    deleted: np.ndarray


class Desk(NamedTuple):
    """Scratch of one thread, for graphs of up to n nodes and e edges."""

    start: np.ndarray
    near: np.ndarray
    weight: np.ndarray
    rows: np.ndarray
    block: np.ndarray
    Y: np.ndarray
    Q: np.ndarray
    glued: np.ndarray


def eigenbasis(
    given: Given, steps: int, normalized: bool, tolerance: float, rank_tolerance: float, dtype: type[np.floating]
) -> Ritz:
    """The Ritz pairs of every graph; `row` is not needed beyond the `first` edge of each node, so `given.first` is by node here."""
    graphs, k, b = len(given.ptr) - 1, given.columns.shape[1], given.start.shape[1]
    n = int(np.diff(given.ptr).max(initial=0))
    e = int(np.diff(given.first[given.ptr]).max(initial=0))
    ritz = make_ritz(graphs, len(given.first) - 1, steps, dtype)

    def make() -> Callable[[int, int], None]:
        desk, small = _desk(n, e, k, b, steps, len(given.weight) > 0), small_of(steps, k, b)
        return lambda begin, end: _run(given, normalized, tolerance, rank_tolerance, begin, end, desk, small, ritz)

    over_links(graphs, number_of_threads(graphs, 8 * (n * (steps + k + b + 9) + 2 * e)), make)
    return ritz


def _desk(n: int, e: int, k: int, b: int, steps: int, weighted: bool) -> Desk:
    return Desk(
        start=np.empty(n + 1, np.uint64),
        near=np.empty(e, np.uint32),
        weight=np.empty(e if weighted else 0),
        rows=np.empty(9 * n),
        block=np.empty(b * n),
        Y=np.empty(k * n),
        Q=np.empty(steps * n),
        glued=np.empty(n, np.bool_),
    )


@compiled
def load(given: Given, b: int, desk: Desk) -> int:
    """Graph b's CSR in its own positions; returns how many edges it has."""
    p, n = given.ptr[b], given.ptr[b + 1] - given.ptr[b]
    e = given.first[p]
    for i in range(n + 1):
        desk.start[i] = U(given.first[p + i] - e)
    edges = int(desk.start[n])
    for at in range(edges):
        desk.near[at] = given.col[e + at] - p
        if len(given.weight) > 0:
            desk.weight[at] = given.weight[e + at]
    return edges


@compiled
def transpose(rows: np.ndarray, out: np.ndarray) -> bool:
    """out = rowsᵀ; false where an entry is not finite."""
    finite = True
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[j, i] = rows[i, j]
            finite = finite and abs(rows[i, j]) < np.inf
    return finite


@compiled
def _run(
    given: Given, normalized: bool, tolerance: float, rank_tolerance: float, begin: int, end: int,
    desk: Desk, small: Small, ritz: Ritz,
) -> None:  # fmt: skip
    k, b = given.columns.shape[1], given.start.shape[1]
    steps = ritz.values.shape[1]
    for graph in range(begin, end):
        p, q = given.ptr[graph], given.ptr[graph + 1]
        n = q - p
        edges = load(given, graph, desk)
        weight = desk.weight[:edges] if len(desk.weight) > 0 else desk.weight
        rows = desk.rows[: 9 * n].reshape(9, n)
        degree, W = rows[0], rows[1:3]
        L = Matrix(desk.start, desk.near, weight, rows[3], rows[4], desk.rows[7 * n :])
        degrees(desk.start, weight, degree)
        laplacian(L, degree, normalized)
        bound = gershgorin(L)
        closed = len(given.deleted) > 0
        Y = desk.Y[: 0 if closed else k * n].reshape(0 if closed else k, n)
        block = desk.block[: b * n].reshape(b, n)
        finite = transpose(given.start[p:q], block)
        if not closed:
            finite = transpose(given.columns[p:q], Y) and finite
        if n == 0 or not bound < np.inf or not finite:
            continue
        width = n if closed else 0
        P = Glue(rows[5][:width], rows[6][:width], desk.glued[:width])
        if closed:
            deleted = given.deleted[p:q]
            glue_of(degree, deleted, deleted.sum(), P)
        rank = orthonormal(Y, W[0], small.c, rank_tolerance)
        Q = desk.Q[: steps * n].reshape(steps, n)
        live = krylov(L, bound, Y, rank, P, block, tolerance, Q, W, small)
        carry_back(live, Q, block, W[0], small, ritz.values[graph], ritz.vectors[p:q], ritz.residual[graph])
        ritz.live[graph] = live
