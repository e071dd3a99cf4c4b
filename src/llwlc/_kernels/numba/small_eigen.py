"""Eigenpairs of one small symmetric matrix, a banded one above all, in float64: rotations to a tridiagonal form, then
QL with implicit shifts.

Equivalent to `numpy.linalg.eigh` (values ascending), without its call overhead, which at κ = 10 is more than the
arithmetic. Eigenvectors stand in the *rows* of the result, so that every rotation runs along memory.
"""

from __future__ import annotations

import math

import numpy as np

from llwlc._support.compiler import compiled

EPS = 2.0**-52
NEGLIGIBLE = (
    2.0**-75
)  # relative to an entry of 1; a smaller one would underflow while it is chased, and its rotation would be undefined
SWEEPS = 60  # QL needs about two sweeps a value; this bounds the loop


@compiled
def eigh(T: np.ndarray, m: int, Z: np.ndarray, d: np.ndarray, e: np.ndarray) -> None:
    """Overwrites `d [m]` with the eigenvalues, the rows of `Z`, of a length that is a multiple of 4, with the vectors;
    `T` is destroyed, `e [m]` is scratch."""
    for i in range(m):
        Z[i] = 0.0
        Z[i, i] = 1.0
    scale = largest(T, m)
    for i in range(m):
        for j in range(m):
            T[i, j] = T[i, j] / scale if scale > 0 else 0.0  # squares of 1e-160 would underflow
    tridiagonalise(T, m, Z)
    for i in range(m):
        d[i] = T[i, i]
        e[i] = T[i, i + 1] if i + 1 < m else 0.0
    ql(d, e, m, Z)
    sort(d, m, Z)
    for i in range(m):
        d[i] *= scale


@compiled
def tridiagonalise(T: np.ndarray, m: int, Z: np.ndarray) -> None:
    """T ← RTRᵀ, Z ← RZ, T's entries at most 1, for rotations R that remove one outer diagonal of the band after the
    other. Each rotation creates an entry one place outside the band, which further rotations chase down to the end: the
    T of a block of two takes about 2m rotations, where reflections would fill the matrix first."""
    for width in range(bandwidth(T, m), 1, -1):
        for k in range(m - width):
            row, far = k, k + width
            while far < m and abs(T[row, far]) > NEGLIGIBLE:
                i = far - 1
                r = math.sqrt(T[row, i] * T[row, i] + T[row, far] * T[row, far])
                c, s = T[row, i] / r, -T[row, far] / r
                end = min(far + width + 1, m)
                for j in range(row, end):
                    x, y = T[i, j], T[far, j]
                    T[i, j], T[far, j] = c * x - s * y, s * x + c * y
                for j in range(row, end):
                    x, y = T[j, i], T[j, far]
                    T[j, i], T[j, far] = c * x - s * y, s * x + c * y
                T[row, far] = T[far, row] = 0.0
                rotate(Z[i], Z[far], c, s)
                row, far = i, far + width


@compiled
def largest(T: np.ndarray, m: int) -> float:
    top = 0.0
    for i in range(m):
        for j in range(i, m):
            top = max(top, abs(T[i, j]))
    return top


@compiled
def bandwidth(T: np.ndarray, m: int) -> int:
    """The outermost diagonal with a nonzero entry."""
    widest = 0
    for i in range(m):
        for j in range(i + 1 + widest, m):
            if T[i, j] != 0.0:
                widest = j - i
    return widest


@compiled
def ql(d: np.ndarray, e: np.ndarray, m: int, Z: np.ndarray) -> None:
    """Diagonalises the tridiagonal matrix (diagonal d, subdiagonal e), its rotations applied to the rows of Z."""
    top = 0.0
    for i in range(m):
        top = max(top, abs(d[i]) + abs(e[i]))
    for low in range(m):
        for _ in range(SWEEPS):
            high = low
            while high < m - 1 and abs(e[high]) > EPS * top:
                high += 1
            if high == low:
                break
            g = (d[low + 1] - d[low]) / (2.0 * e[low])
            r = math.sqrt(g * g + 1.0)  # g is below 1/EPS here: no overflow
            ql_sweep(d, e, low, high, d[high] - d[low] + e[low] / (g + math.copysign(r, g)), m, Z)


@compiled
def ql_sweep(d: np.ndarray, e: np.ndarray, low: int, high: int, g: float, m: int, Z: np.ndarray) -> None:
    """One implicit shift, chased from the bottom of the block to its top."""
    s, c, p = 1.0, 1.0, 0.0
    for i in range(high - 1, low - 1, -1):
        f, b = s * e[i], c * e[i]
        square = f * f + g * g
        r = math.sqrt(square)
        e[i + 1] = r
        if r == 0.0:  # the block splits here
            d[i + 1] -= p
            e[high] = 0.0
            return
        over = 1.0 / square  # computed in parallel with the root: every rotation waits for the one before
        s, c = (f * r) * over, (g * r) * over
        g = d[i + 1] - p
        r = (d[i] - g) * s + 2.0 * c * b
        p = s * r
        d[i + 1] = g + p
        g = c * r - b
        rotate(Z[i], Z[i + 1], c, s)
    d[low] -= p
    e[low] = g
    e[high] = 0.0


@compiled
def rotate(x: np.ndarray, y: np.ndarray, c: float, s: float) -> None:
    """(x, y) ← (cx − sy, sx + cy), four entries at a time."""
    for k in range(0, len(x), 4):
        x0, x1, x2, x3 = x[k], x[k + 1], x[k + 2], x[k + 3]
        y0, y1, y2, y3 = y[k], y[k + 1], y[k + 2], y[k + 3]
        x[k], x[k + 1], x[k + 2], x[k + 3] = c * x0 - s * y0, c * x1 - s * y1, c * x2 - s * y2, c * x3 - s * y3
        y[k], y[k + 1], y[k + 2], y[k + 3] = s * x0 + c * y0, s * x1 + c * y1, s * x2 + c * y2, s * x3 + c * y3


@compiled
def sort(d: np.ndarray, m: int, Z: np.ndarray) -> None:
    for i in range(m - 1):
        best = i
        for j in range(i + 1, m):
            if d[j] < d[best]:
                best = j
        if best != i:
            d[i], d[best] = d[best], d[i]
            for k in range(m):
                Z[i, k], Z[best, k] = Z[best, k], Z[i, k]
