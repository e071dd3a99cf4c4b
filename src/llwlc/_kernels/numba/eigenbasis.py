"""`bases._eigenbasis`, compiled, for any subgraphs, constraint columns and start block."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from llwlc._kernels.numba.columns import laplacian, projector_of
from llwlc._kernels.numba.enclosing_subgraph import FOUR, in_fours
from llwlc._kernels.numba.fused_bases import RitzArrays, aligned, make_ritz, ritz_scratch_of, zero_dead_columns
from llwlc._kernels.numba.krylov import ClosedFormProjector, RitzScratch, krylov, orthonormalise, ritz_pairs
from llwlc._kernels.numba.matrix import Matrix, rough_bound
from llwlc._kernels.numba.vectors import padded_length
from llwlc._kernels.solve_options import SolveOptions
from llwlc._support.compiler import U, compiled
from llwlc._support.threads import choose_num_threads, run_over_links


class BasisInputs(NamedTuple):
    """`ptr [B + 1]` where the nodes of each graph begin, `first [N + 1]` where the edges of each node do; `col [E]`
    positions in the batch; `weight [E]` or `[0]`; `columns [N, k]`; `start [N, b]`; `deleted [N]` where the projector
    has a closed form, else `[0]`."""

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
    neighbor: np.ndarray
    weight: np.ndarray
    rows: np.ndarray
    block: np.ndarray
    B: np.ndarray
    merged: np.ndarray


def eigenbasis(inputs: BasisInputs, solve: SolveOptions, dtype: type[np.floating]) -> RitzArrays:
    """The Ritz pairs of every graph."""
    graphs, k, b, steps = len(inputs.ptr) - 1, inputs.columns.shape[1], inputs.start.shape[1], solve.steps
    n = int(np.diff(inputs.ptr).max(initial=0))
    e = int(np.diff(inputs.first[inputs.ptr]).max(initial=0))
    ritz = make_ritz(graphs, len(inputs.first) - 1, steps, dtype)

    def make() -> Callable[[int, int], None]:
        scratch, ritz_scratch = _new_scratch(n, e, k, b, steps, len(inputs.weight) > 0), ritz_scratch_of(steps, k, b)
        return lambda begin, end: _run(inputs, solve, begin, end, scratch, ritz_scratch, ritz)

    run_over_links(graphs, choose_num_threads(graphs, 8 * (padded_length(n) * (steps + k + b + 9) + 2 * e)), make)
    return ritz


def _new_scratch(n: int, e: int, k: int, b: int, steps: int, weighted: bool) -> GraphScratch:
    places, width = e + (FOUR - 1) * n, padded_length(n)
    return GraphScratch(
        start=np.empty(n + 1, np.uint64),
        size=np.empty(n, np.uint32),
        neighbor=np.empty(places, np.uint32),
        weight=np.empty(places if weighted else 0),
        rows=aligned(9 * width),
        block=aligned(b * width),
        B=aligned((k + steps) * width),
        merged=np.empty(width, np.bool_),
    )


@compiled
def load_graph(inputs: BasisInputs, b: int, scratch: GraphScratch) -> None:
    """Copies the CSR of graph b to the scratch, with positions inside the graph and rows padded to fours."""
    p, n = inputs.ptr[b], inputs.ptr[b + 1] - inputs.ptr[b]
    at = U(0)
    for i in range(n):
        begin, size = inputs.first[p + i], U(inputs.first[p + i + 1] - inputs.first[p + i])
        scratch.start[i], scratch.size[i] = at, size
        for e in range(in_fours(size)):
            there = e < size
            scratch.neighbor[at + e] = inputs.col[begin + np.int64(e)] - p if there else n
            if len(scratch.weight) > 0:
                scratch.weight[at + e] = inputs.weight[begin + np.int64(e)] if there else 0.0
        at += in_fours(size)
    scratch.start[n] = at


@compiled
def transpose(rows: np.ndarray, out: np.ndarray) -> bool:
    """out = rowsᵀ, padded with zeros; returns false where an entry is not finite."""
    finite = True
    out[:, len(rows) :] = 0.0
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[j, i] = rows[i, j]
            finite = finite and abs(rows[i, j]) < np.inf
    return finite


@compiled
def _run(
    inputs: BasisInputs,
    solve: SolveOptions,
    begin: int,
    end: int,
    scratch: GraphScratch,
    ritz_scratch: RitzScratch,
    ritz: RitzArrays,
) -> None:
    k, b = inputs.columns.shape[1], inputs.start.shape[1]
    steps = solve.steps
    for graph in range(begin, end):
        p, q = inputs.ptr[graph], inputs.ptr[graph + 1]
        n = q - p
        load_graph(inputs, graph, scratch)
        width = padded_length(n)
        rows = scratch.rows[: 9 * width].reshape(9, width)
        degree, W = rows[0], rows[1:3]
        W[:, n:] = 0.0
        L = Matrix(
            n,
            scratch.start,
            scratch.size,
            scratch.neighbor,
            scratch.weight,
            rows[3],
            rows[4],
            scratch.rows[7 * width :],
        )
        laplacian(L, degree, solve.normalized)
        bound = rough_bound(L)
        closed = len(inputs.deleted) > 0
        columns = 0 if closed else k
        B = scratch.B[: (columns + steps) * width].reshape(columns + steps, width)
        block = scratch.block[: b * width].reshape(b, width)
        finite = transpose(inputs.start[p:q], block)
        if not closed:
            finite = transpose(inputs.columns[p:q], B[:k]) and finite
        if n == 0 or not bound < np.inf or not finite:
            zero_dead_columns(ritz.vectors[p:q], 0)
            continue
        length = width if closed else 0
        P = ClosedFormProjector(rows[5][:length], rows[6][:length], scratch.merged[:length])
        if closed:
            deleted = inputs.deleted[p:q]
            projector_of(n, degree, deleted, deleted.sum(), P)
        rank = orthonormalise(B[:columns], W[0], ritz_scratch.c, solve.rank_tolerance)
        live = krylov(L, bound, B, rank, P, block, solve.tolerance, W, ritz_scratch)
        ritz_pairs(
            live, B[rank:], block, rows[1:6], ritz_scratch, ritz.values[graph], ritz.vectors[p:q], ritz.residual[graph]
        )
        zero_dead_columns(ritz.vectors[p:q], live)
        ritz.live[graph] = live
