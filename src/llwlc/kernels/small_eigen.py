"""Eigenpairs of one small symmetric matrix in float64: Householder's tridiagonal form, then QL with implicit shifts.

Equivalent to `numpy.linalg.eigh` (values ascending), without its call overhead, which at κ = 10 is more than the arithmetic.
Eigenvectors stand in the *rows* of the result, so that every rotation runs along memory.
"""

from __future__ import annotations

import math

import numpy as np

from llwlc.kernels.compiled import compiled

EPS = 2.0**-52
SWEEPS = 60  # QL needs about two a value; nothing may run for ever


@compiled
def eigh(T: np.ndarray, m: int, Z: np.ndarray, d: np.ndarray, e: np.ndarray, p: np.ndarray) -> None:
    """Overwrites `d [m]` with the eigenvalues, the rows of `Z [m, m]` with the vectors; `T` is destroyed, `e`, `p [m]` are scratch."""
    for i in range(m):
        for j in range(m):
            Z[i, j] = 1.0 if i == j else 0.0
    tridiagonalise(T, m, Z, e, p)
    for i in range(m):
        d[i] = T[i, i]
        e[i] = T[i, i + 1] if i + 1 < m else 0.0
    ql(d, e, m, Z)
    sort(d, m, Z)


@compiled
def tridiagonalise(T: np.ndarray, m: int, Z: np.ndarray, h: np.ndarray, p: np.ndarray) -> None:
    """T ← HTH, Z ← HZ for the reflections H = I − 2hhᵀ that clear row after row beyond the superdiagonal; clear rows are skipped."""
    for k in range(m - 2):
        beyond = 0.0
        for i in range(k + 2, m):
            beyond += T[k, i] * T[k, i]
        if beyond == 0.0:
            continue
        alpha = -math.copysign(math.sqrt(beyond + T[k, k + 1] * T[k, k + 1]), T[k, k + 1])
        head = T[k, k + 1] - alpha
        scale = 1.0 / math.sqrt(head * head + beyond)
        h[k + 1] = head * scale
        for i in range(k + 2, m):
            h[i] = T[k, i] * scale
        T[k, k + 1] = alpha
        # T ← T − 2(hqᵀ + qhᵀ), q = Th − (hᵀTh)h, on the block that is left
        times(T, h, k + 1, k + 1, m, p)
        dot = 0.0
        for i in range(k + 1, m):
            dot += h[i] * p[i]
        for i in range(k + 1, m):
            p[i] -= dot * h[i]
        for i in range(k + 1, m):
            a, b = 2.0 * h[i], 2.0 * p[i]
            for j in range(k + 1, m):
                T[i, j] -= a * p[j] + b * h[j]
        times(Z, h, k + 1, 0, m, p)
        for i in range(k + 1, m):
            a = 2.0 * h[i]
            for j in range(m):
                Z[i, j] -= a * p[j]


@compiled
def times(A: np.ndarray, h: np.ndarray, first: int, left: int, m: int, p: np.ndarray) -> None:
    """p = hᵀA over the rows from `first`, the columns from `left`: row by row, as memory lies."""
    for j in range(left, m):
        p[j] = 0.0
    for i in range(first, m):
        a = h[i]
        for j in range(left, m):
            p[j] += a * A[i, j]


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
            r = math.hypot(g, 1.0)
            ql_sweep(d, e, low, high, d[high] - d[low] + e[low] / (g + math.copysign(r, g)), m, Z)


@compiled
def ql_sweep(d: np.ndarray, e: np.ndarray, low: int, high: int, g: float, m: int, Z: np.ndarray) -> None:
    """One implicit shift, chased from the bottom of the block to its top."""
    s, c, p = 1.0, 1.0, 0.0
    for i in range(high - 1, low - 1, -1):
        f, b = s * e[i], c * e[i]
        r = math.sqrt(f * f + g * g)
        e[i + 1] = r
        if r == 0.0:  # the block falls apart here
            d[i + 1] -= p
            e[high] = 0.0
            return
        s, c = f / r, g / r
        g = d[i + 1] - p
        r = (d[i] - g) * s + 2.0 * c * b
        p = s * r
        d[i + 1] = g + p
        g = c * r - b
        for k in range(m):
            z = Z[i + 1, k]
            Z[i + 1, k] = s * Z[i, k] + c * z
            Z[i, k] = c * Z[i, k] - s * z
    d[low] -= p
    e[low] = g
    e[high] = 0.0


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
