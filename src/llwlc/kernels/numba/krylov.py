"""The recurrence for one graph in float64: band Lanczos, every vector orthogonalised against [Y Q] jointly, and twice where it matters.

The same algorithm as `linalg.krylov`, candidate by candidate. Two things are had for free here: T = QᵀLQ from the coefficients of the
orthogonalisation, and the residuals from the candidates that found no place, since PLQ = QT + [those] is exact.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from llwlc.kernels.numba.matrix import Matrix, apply, apply_pair, gershgorin
from llwlc.kernels.numba.small_eigen import eigh
from llwlc.kernels.numba.vectors import dots, dots_two, norm, normalise, subtract, subtract_two
from llwlc.support.compiler import compiled

EPS = 2.0**-50  # a few units of rounding: what one dot product leaves
ROUNDING = 2e-15
# The second pass is left out while a bound on the loss of orthogonality stays below this part of the breakdown tolerance: below 1e-10 for a
# basis stored in float32, which rounds at 6e-8; never for one in float64, since no bound is below its 1e-15
ENOUGH = 1e-5


class ClosedFormProjector(NamedTuple):
    """The closed-form projector of vertex-deleted constraints: `g`, `y [n]`, `glued [n]`; see `linalg.projector.vertex_deleted`."""

    g: np.ndarray
    y: np.ndarray
    glued: np.ndarray


class RitzScratch(NamedTuple):
    """Scratch of κ × κ: `T`, `Z`, `d`, `e`; coefficients `c`, `c2 [k + κ]`; for the leftover candidates the columns they came from, `owner [b]`, and
    their triangular factor `R [b, b]`."""

    T: np.ndarray
    Z: np.ndarray
    d: np.ndarray
    e: np.ndarray
    c: np.ndarray
    c2: np.ndarray
    owner: np.ndarray
    R: np.ndarray


@compiled
def orthonormal(C: np.ndarray, w: np.ndarray, c: np.ndarray, rank_tolerance: float) -> int:
    """Pivoted Gram–Schmidt, twice, in place: the rows of `C [k, n]` become an orthonormal basis of their span; returns the rank."""
    k = len(C)
    for j in range(k):
        normalise(C[j])
    rank = 0
    while rank < k:
        pivot, longest = rank, -1.0
        for j in range(rank, k):
            size = norm(C[j])
            if size > longest:
                pivot, longest = j, size
        w[:] = C[pivot]
        C[pivot] = C[rank]
        dots(C, rank, w, c)
        subtract(C, rank, c, w)
        size = norm(w)
        if not size > rank_tolerance:
            break
        w /= size
        if size < 0.1:  # what is left of its unit length: less would bring rounding back to light
            dots(C, rank, w, c)
            subtract(C, rank, c, w)
            w /= norm(w)
        C[rank] = w
        rank += 1
        for j in range(rank, k):
            dots(C[rank - 1 : rank], 1, C[j], c)
            subtract(C[rank - 1 : rank], 1, c, C[j])
    return rank


@compiled
def glue(P: ClosedFormProjector, w: np.ndarray) -> None:
    """w ← Pw by the closed form, O(n)."""
    s = 0.0
    for i in range(len(w)):
        s += P.g[i] * w[i]
    t = 0.0
    for i in range(len(w)):
        if P.glued[i]:
            w[i] = s * P.g[i]
        t += P.y[i] * w[i]
    for i in range(len(w)):
        w[i] -= t * P.y[i]


@compiled
def purge(B: np.ndarray, m: int, P: ClosedFormProjector, w: np.ndarray, c: np.ndarray) -> None:
    """w ← w − BBᵀw, B the first m rows: the constraints, unless `P` is their closed form, then Q; all coefficients, `c`, from the same w."""
    dots(B, m, w, c)
    if len(P.g) > 0:
        glue(P, w)
    subtract(B, m, c, w)


@compiled
def purge_two(B: np.ndarray, m: int, P: ClosedFormProjector, W: np.ndarray, c: np.ndarray, d: np.ndarray) -> None:
    """`purge` for the rows of W, with B read once for both."""
    dots_two(B, m, W[0], W[1], c, d)
    if len(P.g) > 0:
        glue(P, W[0])
        glue(P, W[1])
    subtract_two(B, m, c, d, W[0], W[1])


@compiled
def krylov(
    L: Matrix, bound: float, B: np.ndarray, k: int, P: ClosedFormProjector, start: np.ndarray, tolerance: float, W: np.ndarray, s: RitzScratch
) -> int:  # fmt: skip
    """Fills the rows of B behind its k constraints with Q, and T; returns the number of live rows.

    Candidate t is `start[t]`, then L q_{t−b}; one that adds nothing, measured by Gershgorin's bound on ‖L‖, frees its place; `bound` is
    known to be no less than that. Candidates of the second kind that are not taken overwrite `start`, whose rows are used up by then.
    """
    Q = B[k:]
    steps, b = len(s.d), len(start)
    count, left, ready, purged = 0, 0, -1, 0
    loss = EPS  # a bound on |[Y Q]ᵀ[Y Q] − I|
    rough = True
    before = other = 0.0
    for t in range(steps + b):
        c = t - b
        rows = k + count
        w, coefficient = W[0], s.c
        if c >= count:
            break
        if c >= 0 and c == ready:
            # its part in the rows that were there when it was made is gone already
            w, coefficient, before = W[1], s.c2, other
            dots(B[purged:], rows - purged, w, coefficient[purged:])
            subtract(B[purged:], rows - purged, coefficient[purged:], w)
        elif c >= 0 and c + 1 < count:
            apply_pair(L, Q[c], Q[c + 1], W)
            before, other = norm(W[0]), norm(W[1])
            ready, purged = c + 1, rows
            purge_two(B, rows, P, W, s.c, s.c2)
        else:
            if c >= 0:
                apply(L, Q[c], w)
                before = norm(w)
            else:
                w[:] = start[t]
                if not normalise(w):
                    continue
                before = 1.0
            purge(B, rows, P, w, coefficient)
        for i in range(c + 1):
            s.T[i, c] = coefficient[k + i]
        size = norm(w)
        leak = (loss + EPS) * before
        if leak > tolerance * ENOUGH * size:
            purge(B, rows, P, w, coefficient)
            for i in range(c + 1):
                s.T[i, c] += coefficient[k + i]
            size = norm(w)
        else:
            loss = max(loss, leak / size)
        mirror(s.T, c, ROUNDING * bound)
        if c >= 0 and rough and not size > tolerance * bound:
            bound, rough = gershgorin(L), False  # few come close enough to ask
        if size > (tolerance if c < 0 else tolerance * bound) and count < steps:
            q = Q[count]
            for i in range(len(w)):
                q[i] = w[i] / size
            count += 1
        elif c >= 0:
            start[left] = w
            s.owner[left] = c
            left += 1
    s.owner[left:] = -1
    return count


@compiled
def mirror(T: np.ndarray, c: int, nothing: float) -> None:
    """Row c of T from its column. T is banded; what rounding leaves outside the band would only cost rotations."""
    for i in range(c + 1):
        T[i, c] = T[i, c] if abs(T[i, c]) > nothing else 0.0
        T[c, i] = T[i, c]


@compiled
def carry_back(
    count: int, Q: np.ndarray, rest: np.ndarray, W: np.ndarray, s: RitzScratch, values: np.ndarray, vectors: np.ndarray, residual: np.ndarray
) -> None:  # fmt: skip
    """Ritz pairs V = QB of the T that `krylov` left, and ‖PLPv − λv‖ = ‖R b‖, R the candidates `rest` that found no place."""
    left = triangular(rest, s)
    eigh(s.T, count, s.Z, s.d, s.e)
    for p in range(0, count, 5):
        five_vectors(Q, count, s.Z, p, W, vectors)
    for p in range(count):
        values[p] = s.d[p]
        total = 0.0
        for i in range(left):
            part = 0.0
            for j in range(i, left):
                part += s.R[i, j] * s.Z[p, s.owner[j]]
            total += part * part
        residual[p] = math.sqrt(total)


@compiled
def five_vectors(Q: np.ndarray, count: int, Z: np.ndarray, p: int, W: np.ndarray, vectors: np.ndarray) -> None:
    """The columns p to p + 4 of V = QB, or as many as there are, together: Q is read once for all of them, two rows at a time."""
    last = count - 1
    z0, z1, z2, z3, z4 = Z[p], Z[min(p + 1, last)], Z[min(p + 2, last)], Z[min(p + 3, last)], Z[min(p + 4, last)]
    w0, w1, w2, w3, w4 = W[0], W[1], W[2], W[3], W[4]
    W[:5] = 0.0
    for j in range(0, count, 2):
        k = min(j + 1, last)
        a, b = Q[j], Q[k]
        there = 1.0 if k > j else 0.0
        c0, c1, c2, c3, c4 = z0[j], z1[j], z2[j], z3[j], z4[j]
        d0, d1, d2, d3, d4 = there * z0[k], there * z1[k], there * z2[k], there * z3[k], there * z4[k]
        for i in range(len(w0)):
            w0[i] += c0 * a[i] + d0 * b[i]
            w1[i] += c1 * a[i] + d1 * b[i]
            w2[i] += c2 * a[i] + d2 * b[i]
            w3[i] += c3 * a[i] + d3 * b[i]
            w4[i] += c4 * a[i] + d4 * b[i]
    for q in range(p, min(p + 5, count)):
        w = W[q - p]
        for i in range(len(vectors)):
            vectors[i, q] = w[i]


@compiled
def triangular(rest: np.ndarray, s: RitzScratch) -> int:
    """Reduces the leftover candidates to the triangular factor `s.R` of their QR factorisation, which has the same norms; returns how many
    there are."""
    left = 0
    while left < len(rest) and s.owner[left] >= 0:
        left += 1
    for j in range(left):
        for i in range(j):
            dots(rest[i : i + 1], 1, rest[j], s.c)
            subtract(rest[i : i + 1], 1, s.c, rest[j])
            s.R[i, j] = s.c[0]
        size = norm(rest[j])
        s.R[j, j] = size
        for i in range(rest.shape[1]):
            rest[j, i] = rest[j, i] / size if size > 0 else 0.0
    return left
