"""Products of small matrices: rows have `width` entries, a multiple of 32; matrices are flat and begin at an index that
is passed in.

The arithmetic is compiled once for all shapes of arrays, which are passed on as memory.

Each entry of a product is added up in the same order whatever its position, so the numbers of a link do not depend on
the links around it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from llwlc._kernels.numba.lanes import LANES, broadcast, constant, fma, larger, load, memory, plus, store
from llwlc._support.compiler import uncounted

PAIR = 2 * LANES
FOUR = 4


@uncounted
def whole_fours(n: int) -> int:
    return (n + 3) // 4 * 4


@uncounted
def zero_entries(out: np.ndarray, begin: int, count: int) -> None:
    """Zeroes `count` entries from `begin` on."""
    zero = constant(out, 0.0)
    for i in range(begin, begin + count, LANES):
        store(out, i, zero)


@uncounted
def four_rows(out: np.ndarray, at: int, width: int, add: bool) -> tuple[Any, ...]:
    """32 entries of each of four rows: of `out` where the product is added to it, else zeros."""
    if add:
        return (
            load(out, at),
            load(out, at + LANES),
            load(out, at + width),
            load(out, at + width + LANES),
            load(out, at + 2 * width),
            load(out, at + 2 * width + LANES),
            load(out, at + 3 * width),
            load(out, at + 3 * width + LANES),
        )
    zero = constant(out, 0.0)
    return zero, zero, zero, zero, zero, zero, zero, zero


@uncounted
def multiply(
    A: np.ndarray,
    a: int,
    stride: int,
    n: int,
    K: int,
    W: np.ndarray,
    w: int,
    width: int,
    out: np.ndarray,
    b: int,
    add: bool,
) -> None:
    """out = A W, or out += A W: n rows, a multiple of four, of K entries, `stride` apart."""
    multiply_memory(memory(A, a), stride, n, K, memory(W, w), width, memory(out, b), add)


@uncounted
def multiply_memory(A: Any, stride: int, n: int, K: int, W: Any, width: int, out: Any, add: bool) -> None:
    for o in range(0, width, PAIR):
        for i in range(0, n, FOUR):
            r0 = i * stride
            r1, r2, r3 = r0 + stride, r0 + 2 * stride, r0 + 3 * stride
            to = i * width + o
            c00, c01, c10, c11, c20, c21, c30, c31 = four_rows(out, to, width, add)
            for k in range(K):
                at = k * width + o
                w0, w1 = load(W, at), load(W, at + LANES)
                s0, s1, s2, s3 = broadcast(A, r0 + k), broadcast(A, r1 + k), broadcast(A, r2 + k), broadcast(A, r3 + k)
                c00, c01 = fma(s0, w0, c00), fma(s0, w1, c01)
                c10, c11 = fma(s1, w0, c10), fma(s1, w1, c11)
                c20, c21 = fma(s2, w0, c20), fma(s2, w1, c21)
                c30, c31 = fma(s3, w0, c30), fma(s3, w1, c31)
            store(out, to, c00)
            store(out, to + LANES, c01)
            store(out, to + width, c10)
            store(out, to + width + LANES, c11)
            store(out, to + 2 * width, c20)
            store(out, to + 2 * width + LANES, c21)
            store(out, to + 3 * width, c30)
            store(out, to + 3 * width + LANES, c31)


@uncounted
def project(
    V: np.ndarray,
    v: int,
    stride: int,
    n: int,
    columns: int,
    X: np.ndarray,
    x: int,
    width: int,
    out: np.ndarray,
    b: int,
    add: bool,
) -> None:
    """out = VᵀX, or out += VᵀX, for the first `columns` of V, four at a time: up to three columns more are read, and
    written to rows behind the others.
    """
    project_memory(memory(V, v), stride, n, columns, memory(X, x), width, memory(out, b), add)


@uncounted
def project_memory(V: Any, stride: int, n: int, columns: int, X: Any, width: int, out: Any, add: bool) -> None:
    for o in range(0, width, PAIR):
        for k in range(0, columns, FOUR):
            to = k * width + o
            c00, c01, c10, c11, c20, c21, c30, c31 = four_rows(out, to, width, add)
            for i in range(n):
                at, of = i * width + o, i * stride + k
                x0, x1 = load(X, at), load(X, at + LANES)
                s0, s1, s2, s3 = broadcast(V, of), broadcast(V, of + 1), broadcast(V, of + 2), broadcast(V, of + 3)
                c00, c01 = fma(s0, x0, c00), fma(s0, x1, c01)
                c10, c11 = fma(s1, x0, c10), fma(s1, x1, c11)
                c20, c21 = fma(s2, x0, c20), fma(s2, x1, c21)
                c30, c31 = fma(s3, x0, c30), fma(s3, x1, c31)
            store(out, to, c00)
            store(out, to + LANES, c01)
            store(out, to + width, c10)
            store(out, to + width + LANES, c11)
            store(out, to + 2 * width, c20)
            store(out, to + 2 * width + LANES, c21)
            store(out, to + 3 * width, c30)
            store(out, to + 3 * width + LANES, c31)


@uncounted
def project_gathered(
    V: np.ndarray, stride: int, node: np.ndarray, p: int, n: int, columns: int, table: np.ndarray, out: np.ndarray
) -> None:
    """`project` with X the rows of a table at the nodes `node[p : p + n]`."""
    width = table.shape[1]
    for o in range(0, width, PAIR):
        for k in range(0, columns, FOUR):
            zero = constant(table, 0.0)
            c00, c01, c10, c11 = zero, zero, zero, zero
            c20, c21, c30, c31 = zero, zero, zero, zero
            for i in range(n):
                at, of = np.int64(node[p + i]) * width + o, i * stride + k
                x0, x1 = load(table, at), load(table, at + LANES)
                s0, s1, s2, s3 = broadcast(V, of), broadcast(V, of + 1), broadcast(V, of + 2), broadcast(V, of + 3)
                c00, c01 = fma(s0, x0, c00), fma(s0, x1, c01)
                c10, c11 = fma(s1, x0, c10), fma(s1, x1, c11)
                c20, c21 = fma(s2, x0, c20), fma(s2, x1, c21)
                c30, c31 = fma(s3, x0, c30), fma(s3, x1, c31)
            to = k * width + o
            store(out, to, c00)
            store(out, to + LANES, c01)
            store(out, to + width, c10)
            store(out, to + width + LANES, c11)
            store(out, to + 2 * width, c20)
            store(out, to + 2 * width + LANES, c21)
            store(out, to + 3 * width, c30)
            store(out, to + 3 * width + LANES, c31)


@uncounted
def add_row(z: np.ndarray, a: int, K: int, W: np.ndarray, w: int, width: int, out: np.ndarray, b: int) -> None:
    """out += z W for one row z of K entries, in four independent sums, which the processor computes in parallel."""
    add_row_memory(memory(z, a), K, memory(W, w), width, memory(out, b))


@uncounted
def add_row_memory(z: Any, K: int, W: Any, width: int, out: Any) -> None:
    for o in range(0, width, PAIR):
        zero = constant(W, 0.0)
        c00, c01, c10, c11 = load(out, o), load(out, o + LANES), zero, zero
        c20, c21, c30, c31 = zero, zero, zero, zero
        fours = K - K % FOUR
        for k in range(0, fours, FOUR):
            at = k * width + o
            s0, s1, s2, s3 = (
                broadcast(z, k),
                broadcast(z, k + 1),
                broadcast(z, k + 2),
                broadcast(z, k + 3),
            )
            c00, c01 = fma(s0, load(W, at), c00), fma(s0, load(W, at + LANES), c01)
            at += width
            c10, c11 = fma(s1, load(W, at), c10), fma(s1, load(W, at + LANES), c11)
            at += width
            c20, c21 = fma(s2, load(W, at), c20), fma(s2, load(W, at + LANES), c21)
            at += width
            c30, c31 = fma(s3, load(W, at), c30), fma(s3, load(W, at + LANES), c31)
        for k in range(fours, K):
            at = k * width + o
            s = broadcast(z, k)
            c00, c01 = fma(s, load(W, at), c00), fma(s, load(W, at + LANES), c01)
        store(out, o, plus(plus(c00, c10), plus(c20, c30)))
        store(out, o + LANES, plus(plus(c01, c11), plus(c21, c31)))


@uncounted
def rectify(out: np.ndarray, begin: int, count: int) -> None:
    """ReLU of `count` entries, a multiple of 16, in place."""
    zero = constant(out, 0.0)
    for i in range(begin, begin + count, LANES):
        store(out, i, larger(load(out, i), zero))
