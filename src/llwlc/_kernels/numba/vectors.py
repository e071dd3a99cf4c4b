"""Vectors in float64 and a few rows of a matrix at a time: sums of products, differences, lengths."""

from __future__ import annotations

import math

import numpy as np

from llwlc._support.compiler import compiled

# Vectors of n entries are padded with zeros, at least one, to a multiple of this: vectorised loops take so many entries
# at a time, and any remainder
# one by one
WIDTH = 16


@compiled
def padded_length(n: int) -> int:
    """The padded length of a vector of n entries."""
    return (n // WIDTH + 1) * WIDTH


@compiled
def copy_vector(source: np.ndarray, target: np.ndarray) -> None:
    """What `target[:] = source` does for two of one length. numba would compile the words of an error for others, which
    takes longer than all that is done with vectors here.
    """
    for i in range(len(target)):
        target[i] = source[i]


@compiled
def dots(A: np.ndarray, m: int, w: np.ndarray, c: np.ndarray) -> None:
    """c = A w for the first m rows of A, four at a time: w is read once for all of them. The last four rows may
    overlap the four before; their sums are computed twice, with the same result."""
    n = len(w)
    if m < 4:
        for j in range(m):
            a0 = A[j]
            s0 = 0.0
            for i in range(n):
                s0 += a0[i] * w[i]
            c[j] = s0
        return
    for part in range(0, m, 4):
        j = min(part, m - 4)
        a0, a1, a2, a3 = A[j], A[j + 1], A[j + 2], A[j + 3]
        s0 = s1 = s2 = s3 = 0.0
        for i in range(n):
            x = w[i]
            s0 += a0[i] * x
            s1 += a1[i] * x
            s2 += a2[i] * x
            s3 += a3[i] * x
        c[j], c[j + 1], c[j + 2], c[j + 3] = s0, s1, s2, s3


@compiled
def subtract(A: np.ndarray, m: int, c: np.ndarray, w: np.ndarray) -> None:
    """w ← w − Aᵀc for the first m rows, four at a time; rows of the last four that overlap the four before get the
    coefficient 0.
    """
    n = len(w)
    if m < 4:
        for j in range(m):
            a0, c0 = A[j], c[j]
            for i in range(n):
                w[i] -= c0 * a0[i]
        return
    for part in range(0, m, 4):
        j = min(part, m - 4)
        a0, a1, a2, a3 = A[j], A[j + 1], A[j + 2], A[j + 3]
        c0, c1, c2, c3 = four_of(c, j, part)
        for i in range(n):
            w[i] -= (c0 * a0[i] + c1 * a1[i]) + (c2 * a2[i] + c3 * a3[i])


@compiled
def dots_two(A: np.ndarray, m: int, x: np.ndarray, y: np.ndarray, c: np.ndarray, d: np.ndarray) -> None:
    """c = A x, d = A y: `dots` with A read once for both."""
    n = len(x)
    if m < 4:
        dots(A, m, x, c)
        dots(A, m, y, d)
        return
    for part in range(0, m, 4):
        j = min(part, m - 4)
        a0, a1, a2, a3 = A[j], A[j + 1], A[j + 2], A[j + 3]
        s0 = s1 = s2 = s3 = 0.0
        t0 = t1 = t2 = t3 = 0.0
        for i in range(n):
            s0 += a0[i] * x[i]
            s1 += a1[i] * x[i]
            s2 += a2[i] * x[i]
            s3 += a3[i] * x[i]
            t0 += a0[i] * y[i]
            t1 += a1[i] * y[i]
            t2 += a2[i] * y[i]
            t3 += a3[i] * y[i]
        c[j], c[j + 1], c[j + 2], c[j + 3] = s0, s1, s2, s3
        d[j], d[j + 1], d[j + 2], d[j + 3] = t0, t1, t2, t3


@compiled
def four_of(c: np.ndarray, j: int, part: int) -> tuple[float, float, float, float]:
    """c[j] … c[j + 3], with zeros in place of those before `part`."""
    c0 = c[j] if j >= part else 0.0
    c1 = c[j + 1] if j + 1 >= part else 0.0
    c2 = c[j + 2] if j + 2 >= part else 0.0
    return c0, c1, c2, c[j + 3]


@compiled
def subtract_two(A: np.ndarray, m: int, c: np.ndarray, d: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """x ← x − Aᵀc, y ← y − Aᵀd: `subtract` with A read once for both."""
    n = len(x)
    if m < 4:
        subtract(A, m, c, x)
        subtract(A, m, d, y)
        return
    for part in range(0, m, 4):
        j = min(part, m - 4)
        a0, a1, a2, a3 = A[j], A[j + 1], A[j + 2], A[j + 3]
        c0, c1, c2, c3 = four_of(c, j, part)
        d0, d1, d2, d3 = four_of(d, j, part)
        for i in range(n):
            x[i] -= (c0 * a0[i] + c1 * a1[i]) + (c2 * a2[i] + c3 * a3[i])
            y[i] -= (d0 * a0[i] + d1 * a1[i]) + (d2 * a2[i] + d3 * a3[i])


@compiled
def norm(w: np.ndarray) -> float:
    total = 0.0
    for i in range(len(w)):
        total += w[i] * w[i]
    return math.sqrt(total)


@compiled
def normalise(w: np.ndarray) -> bool:
    """w ← w/‖w‖; false where w is zero or not finite."""
    size = norm(w)
    if 1e-100 < size < 1e100:
        w /= size
        return True
    largest = 0.0  # divide by it first: squares of 1e-200 would underflow
    for i in range(len(w)):
        largest = max(largest, abs(w[i]))
    if not (0.0 < largest < np.inf):
        return False
    w /= largest
    w /= norm(w)
    return True
