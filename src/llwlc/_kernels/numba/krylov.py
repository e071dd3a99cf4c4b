"""The recurrence for one graph in float64: band Lanczos, every vector orthogonalised against [Y Q] jointly, and twice
where it matters.

The same algorithm as `linalg._krylov`, candidate by candidate. Two results need no extra work here: T = QᵀLQ, whose
entries are the coefficients of the orthogonalisation, and the residuals, which are the candidates that were not taken,
since PLQ = QT + [those] is exact.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from llwlc._kernels.numba.matrix import Matrix, apply, apply_pair, gershgorin
from llwlc._kernels.numba.small_eigen import eigh
from llwlc._kernels.numba.vectors import copy_vector, dots, dots_two, norm, normalise, subtract, subtract_two
from llwlc._support.compiler import compiled

EPS = 2.0**-50  # a few units of rounding: the error of one dot product
ROUNDING = 2e-15
# The second pass is skipped while a bound on the loss of orthogonality stays below this share of the breakdown
# tolerance: below 1e-10 for a basis
# stored in float32, which rounds at 6e-8. It is never skipped for float64, since no bound is below its 1e-15
LOSS_SHARE = 1e-5


class ClosedFormProjector(NamedTuple):
    """The closed-form projector of vertex-deleted constraints: `g`, `y [n]`, `merged [n]`; see
    `linalg._projector.vertex_deleted_projector`.
    """

    g: np.ndarray
    y: np.ndarray
    merged: np.ndarray


class RitzScratch(NamedTuple):
    """Scratch of κ × κ: `T`, `Z`, `d`, `e`; coefficients `c`, `c2 [k + κ]`; for the leftover candidates the columns
    they came from, `owner [b]`, and their triangular factor `R [b, b]`."""

    T: np.ndarray
    Z: np.ndarray
    d: np.ndarray
    e: np.ndarray
    c: np.ndarray
    c2: np.ndarray
    owner: np.ndarray
    R: np.ndarray


@compiled
def orthonormalise(C: np.ndarray, w: np.ndarray, c: np.ndarray, rank_tolerance: float) -> int:
    """Pivoted Gram–Schmidt, twice, in place: the rows of `C [k, n]` become an orthonormal basis of their span; returns
    the rank.
    """
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
        copy_vector(C[pivot], w)
        copy_vector(C[rank], C[pivot])
        dots(C, rank, w, c)
        subtract(C, rank, c, w)
        size = norm(w)
        if not size > rank_tolerance:
            break
        w /= size
        if size < 0.1:  # of its unit length: the subtraction amplified rounding errors
            dots(C, rank, w, c)
            subtract(C, rank, c, w)
            w /= norm(w)
        copy_vector(w, C[rank])
        rank += 1
        for j in range(rank, k):
            dots(C[rank - 1 : rank], 1, C[j], c)
            subtract(C[rank - 1 : rank], 1, c, C[j])
    return rank


@compiled
def project_closed_form(P: ClosedFormProjector, w: np.ndarray) -> None:
    """w ← Pw by the closed form of vertex-deleted constraints, O(n)."""
    s = 0.0
    for i in range(len(w)):
        s += P.g[i] * w[i]
    t = 0.0
    for i in range(len(w)):
        if P.merged[i]:
            w[i] = s * P.g[i]
        t += P.y[i] * w[i]
    for i in range(len(w)):
        w[i] -= t * P.y[i]


@compiled
def orthogonalise(B: np.ndarray, m: int, P: ClosedFormProjector, w: np.ndarray, c: np.ndarray) -> None:
    """w ← w − BBᵀw, B the first m rows: the constraints, then Q; where the constraints have a closed form `P`, Q alone.
    All coefficients `c` are taken from the same w.
    """
    dots(B, m, w, c)
    if len(P.g) > 0:
        project_closed_form(P, w)
    subtract(B, m, c, w)


@compiled
def orthogonalise_two(
    B: np.ndarray, m: int, P: ClosedFormProjector, W: np.ndarray, c: np.ndarray, d: np.ndarray
) -> None:
    """`orthogonalise` for both rows of W, with B read once."""
    dots_two(B, m, W[0], W[1], c, d)
    if len(P.g) > 0:
        project_closed_form(P, W[0])
        project_closed_form(P, W[1])
    subtract_two(B, m, c, d, W[0], W[1])


@compiled
def krylov(
    L: Matrix,
    bound: float,
    B: np.ndarray,
    k: int,
    P: ClosedFormProjector,
    start: np.ndarray,
    tolerance: float,
    W: np.ndarray,
    s: RitzScratch,
) -> int:
    """Fills the rows of B behind its k constraints with Q, and T; returns the number of live rows.

    Candidate t is `start[t]` for t < b, then L q_{t−b}. A candidate that adds nothing, measured by Gershgorin's bound
    on ‖L‖, is not taken; `bound` is at least that bound. Candidates L q that are not taken overwrite `start`, whose
    rows have been used by then.
    """
    Q = B[k:]
    steps, b = len(s.d), len(start)
    count, leftover, paired, rows_done = 0, 0, -1, 0
    loss = EPS  # a bound on |[Y Q]ᵀ[Y Q] − I|
    rough = True
    before = paired_norm = 0.0
    for t in range(steps + b):
        c = t - b
        rows = k + count
        w, coefficient = W[0], s.c
        if c >= count:
            break
        if c >= 0 and c == paired:
            # computed with the candidate before, and orthogonal to the rows of that time already
            w, coefficient, before = W[1], s.c2, paired_norm
            dots(B[rows_done:], rows - rows_done, w, coefficient[rows_done:])
            subtract(B[rows_done:], rows - rows_done, coefficient[rows_done:], w)
        elif c >= 0 and c + 1 < count:
            apply_pair(L, Q[c], Q[c + 1], W)
            before, paired_norm = norm(W[0]), norm(W[1])
            paired, rows_done = c + 1, rows
            orthogonalise_two(B, rows, P, W, s.c, s.c2)
        else:
            if c >= 0:
                apply(L, Q[c], w)
                before = norm(w)
            else:
                copy_vector(start[t], w)
                if not normalise(w):
                    continue
                before = 1.0
            orthogonalise(B, rows, P, w, coefficient)
        for i in range(c + 1):
            s.T[i, c] = coefficient[k + i]
        size = norm(w)
        leak = (loss + EPS) * before
        if leak > tolerance * LOSS_SHARE * size:
            orthogonalise(B, rows, P, w, coefficient)
            for i in range(c + 1):
                s.T[i, c] += coefficient[k + i]
            size = norm(w)
        else:
            loss = max(loss, leak / size)
        mirror(s.T, c, ROUNDING * bound)
        if c >= 0 and rough and not size > tolerance * bound:
            bound, rough = gershgorin(L), False  # the exact bound is rarely needed
        if size > (tolerance if c < 0 else tolerance * bound) and count < steps:
            q = Q[count]
            for i in range(len(w)):
                q[i] = w[i] / size
            count += 1
        elif c >= 0:
            copy_vector(w, start[leftover])
            s.owner[leftover] = c
            leftover += 1
    s.owner[leftover:] = -1
    return count


@compiled
def mirror(T: np.ndarray, c: int, nothing: float) -> None:
    """Copies column c of T to row c, with entries below `nothing` set to zero: T is banded, and rounding noise outside
    the band would cost rotations.
    """
    for i in range(c + 1):
        T[i, c] = T[i, c] if abs(T[i, c]) > nothing else 0.0
        T[c, i] = T[i, c]


@compiled
def ritz_pairs(
    count: int,
    Q: np.ndarray,
    rest: np.ndarray,
    W: np.ndarray,
    s: RitzScratch,
    values: np.ndarray,
    vectors: np.ndarray,
    residual: np.ndarray,
) -> None:
    """Ritz pairs V = QB, B the eigenvectors of the T of `krylov`, and ‖PLPv − λv‖ = ‖R b‖, R the candidates `rest` that
    were not taken.
    """
    leftover = triangular(rest, s)
    eigh(s.T, count, s.Z, s.d, s.e)
    for p in range(0, count, 5):
        five_vectors(Q, count, s.Z, p, W, vectors)
    for p in range(count):
        values[p] = s.d[p]
        total = 0.0
        for i in range(leftover):
            part = 0.0
            for j in range(i, leftover):
                part += s.R[i, j] * s.Z[p, s.owner[j]]
            total += part * part
        residual[p] = math.sqrt(total)


@compiled
def five_vectors(Q: np.ndarray, count: int, Z: np.ndarray, p: int, W: np.ndarray, vectors: np.ndarray) -> None:
    """Computes columns p to p + 4 of V = QB (fewer at the end) together: Q is read once for all of them, two rows at a
    time.
    """
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
    """Reduces the leftover candidates to the triangular factor `s.R` of their QR factorisation, which has the same
    norms; returns how many there are."""
    leftover = 0
    while leftover < len(rest) and s.owner[leftover] >= 0:
        leftover += 1
    for j in range(leftover):
        for i in range(j):
            dots(rest[i : i + 1], 1, rest[j], s.c)
            subtract(rest[i : i + 1], 1, s.c, rest[j])
            s.R[i, j] = s.c[0]
        size = norm(rest[j])
        s.R[j, j] = size
        for i in range(rest.shape[1]):
            rest[j, i] = rest[j, i] / size if size > 0 else 0.0
    return leftover
