"""Eigenpairs of one small symmetric matrix in float64: Householder's tridiagonal form, then QL with implicit shifts.

Equivalent to `numpy.linalg.eigh` (values ascending), without its call overhead, which at κ = 10 is more than the arithmetic.
Eigenvectors stand in the *rows* of the result, so that every rotation runs along memory.
"""

from __future__ import annotations

import math

import numpy as np

from llwlc.kernels.compiled import compiled

EPS = 2.0**-52
SWEEPS = 60  # QL needs about two a value; a matrix with a NaN would never end


@compiled
def eigh(T: np.ndarray, m: int, Z: np.ndarray, d: np.ndarray, e: np.ndarray) -> None:
    """Overwrites `d [m]` with the eigenvalues, the rows of `Z [m, m]` with the vectors; `T` is destroyed, `e [m]` is scratch."""
    for i in range(m):
        for j in range(m):
            Z[i, j] = 1.0 if i == j else 0.0
    tridiagonalise(T, m, Z, e)
    for i in range(m):
        d[i] = T[i, i]
        e[i] = T[i + 1, i] if i + 1 < m else 0.0
    ql(d, e, m, Z)
    sort(d, m, Z)


@compiled
def tridiagonalise(T: np.ndarray, m: int, Z: np.ndarray, h: np.ndarray) -> None:
    """T ← HTH, Z ← HZ for reflections H that clear column after column below the subdiagonal; banded columns are skipped."""
    for k in range(m - 2):
        below = 0.0
        for i in range(k + 2, m):
            below += T[i, k] * T[i, k]
        if below == 0.0:
            continue
        size = math.sqrt(below + T[k + 1, k] * T[k + 1, k])
        alpha = -math.copysign(size, T[k + 1, k])
        head = T[k + 1, k] - alpha
        scale = 1.0 / math.sqrt(head * head + below)
        h[k + 1] = head * scale
        for i in range(k + 2, m):
            h[i] = T[i, k] * scale
        reflect(T, k, m, h)
        reflect(Z, k, m, h)
        for i in range(m):
            dot = 0.0
            for j in range(k + 1, m):
                dot += T[i, j] * h[j]
            for j in range(k + 1, m):
                T[i, j] -= 2.0 * dot * h[j]


@compiled
def reflect(A: np.ndarray, k: int, m: int, h: np.ndarray) -> None:
    """A ← (I − 2hhᵀ) A on the rows from k + 1."""
    for j in range(m):
        dot = 0.0
        for i in range(k + 1, m):
            dot += h[i] * A[i, j]
        for i in range(k + 1, m):
            A[i, j] -= 2.0 * dot * h[i]


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
