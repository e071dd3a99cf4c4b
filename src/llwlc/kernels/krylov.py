"""The recurrence for one graph in float64: band Lanczos, every vector orthogonalised against [Y Q] jointly, and twice where it matters.

The same algorithm as `linalg.krylov`, candidate by candidate. Two things are had for free here: T = QᵀLQ from the coefficients of the
orthogonalisation, and the residuals from the candidates that found no place, since PLQ = QT + [those] is exact.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from llwlc.kernels.compiled import U, compiled
from llwlc.kernels.small_eigen import eigh

EPS = 2.0**-50  # a few units of rounding: what one dot product leaves
ROUNDING = 2e-15
# The second pass is left out while a bound on the loss of orthogonality stays below this part of the breakdown tolerance: below 1e-10 for a
# basis stored in float32, which rounds at 6e-8; never for one in float64, since no bound is below its 1e-15
ENOUGH = 1e-5


class Matrix(NamedTuple):
    """L = diag − S W S of one graph: CSR `start [n + 1]`, `near [E]`; `weight [E]`, or empty where every edge weighs 1; `scale`,
    `diagonal [n]`. Scaling the vector instead of the entries spares a read for each edge. `z [2n]` is scratch."""

    start: np.ndarray
    near: np.ndarray
    weight: np.ndarray
    scale: np.ndarray
    diagonal: np.ndarray
    z: np.ndarray


class Glue(NamedTuple):
    """The closed-form projector of vertex-deleted constraints: `g`, `y [n]`, `glued [n]`; see `linalg.projector.vertex_deleted`."""

    g: np.ndarray
    y: np.ndarray
    glued: np.ndarray


class Small(NamedTuple):
    """Scratch of κ × κ: `T`, `Z`, `d`, `e`; coefficients `c [k + κ]`; for the leftover candidates the columns they came from, `owner [b]`, and
    their triangular factor `R [b, b]`."""

    T: np.ndarray
    Z: np.ndarray
    d: np.ndarray
    e: np.ndarray
    c: np.ndarray
    owner: np.ndarray
    R: np.ndarray


@compiled
def dots(A: np.ndarray, m: int, w: np.ndarray, c: np.ndarray) -> None:
    """c = A w for the first m rows of A, four at a time: w is read once for all of them."""
    n = len(w)
    j = 0
    while j + 4 <= m:
        a0, a1, a2, a3 = A[j], A[j + 1], A[j + 2], A[j + 3]
        s0 = s1 = s2 = s3 = 0.0
        for i in range(n):
            x = w[i]
            s0 += a0[i] * x
            s1 += a1[i] * x
            s2 += a2[i] * x
            s3 += a3[i] * x
        c[j], c[j + 1], c[j + 2], c[j + 3] = s0, s1, s2, s3
        j += 4
    while j < m:
        a0 = A[j]
        s0 = 0.0
        for i in range(n):
            s0 += a0[i] * w[i]
        c[j] = s0
        j += 1


@compiled
def subtract(A: np.ndarray, m: int, c: np.ndarray, w: np.ndarray) -> None:
    """w ← w − Aᵀc."""
    n = len(w)
    j = 0
    while j + 4 <= m:
        a0, a1, a2, a3 = A[j], A[j + 1], A[j + 2], A[j + 3]
        c0, c1, c2, c3 = c[j], c[j + 1], c[j + 2], c[j + 3]
        for i in range(n):
            w[i] -= (c0 * a0[i] + c1 * a1[i]) + (c2 * a2[i] + c3 * a3[i])
        j += 4
    while j < m:
        a0, c0 = A[j], c[j]
        for i in range(n):
            w[i] -= c0 * a0[i]
        j += 1


@compiled
def norm(w: np.ndarray) -> float:
    total = 0.0
    for i in range(len(w)):
        total += w[i] * w[i]
    return math.sqrt(total)


@compiled
def normalise(w: np.ndarray) -> bool:
    """w ← w/‖w‖, by the largest entry first (squares of 1e-200 would vanish); false where w is zero or not finite."""
    largest = 0.0
    for i in range(len(w)):
        largest = max(largest, abs(w[i]))
    if not (0.0 < largest < np.inf):
        return False
    w /= largest
    w /= norm(w)
    return True


@compiled
def apply(L: Matrix, x: np.ndarray, out: np.ndarray) -> None:
    """out = L x."""
    n, z = len(x), L.z
    for i in range(n):
        z[i] = L.scale[i] * x[i]
    for i in range(n):
        total = 0.0
        if len(L.weight) > 0:
            for e in range(L.start[i], L.start[i + 1]):
                total += L.weight[e] * z[L.near[e]]
        else:
            for e in range(L.start[i], L.start[i + 1]):
                total += z[L.near[e]]
        out[i] = L.diagonal[i] * x[i] - L.scale[i] * total


@compiled
def apply_two(L: Matrix, x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """`out[0]` = L x, `out[1]` = L y in one walk through the edges: the walk is what costs."""
    n, z = len(x), L.z
    for i in range(n):
        z[2 * i], z[2 * i + 1] = L.scale[i] * x[i], L.scale[i] * y[i]
    for i in range(n):
        s0 = s1 = 0.0
        if len(L.weight) > 0:
            for e in range(L.start[i], L.start[i + 1]):
                j = U(2) * U(L.near[e])
                s0 += L.weight[e] * z[j]
                s1 += L.weight[e] * z[j + U(1)]
        else:
            for e in range(L.start[i], L.start[i + 1]):
                j = U(2) * U(L.near[e])
                s0 += z[j]
                s1 += z[j + U(1)]
        out[0, i] = L.diagonal[i] * x[i] - L.scale[i] * s0
        out[1, i] = L.diagonal[i] * y[i] - L.scale[i] * s1


@compiled
def gershgorin(L: Matrix) -> float:
    """A bound on ‖L‖; NaN or infinite where some entry is."""
    bound = 0.0
    for i in range(len(L.diagonal)):
        total = 0.0
        if len(L.weight) > 0:
            for e in range(L.start[i], L.start[i + 1]):
                total += abs(L.weight[e]) * L.scale[L.near[e]]
        else:
            for e in range(L.start[i], L.start[i + 1]):
                total += L.scale[L.near[e]]
        row = abs(L.diagonal[i]) + L.scale[i] * total
        if not row <= bound:  # so that a NaN gets through
            bound = row
        if bound != bound:
            return bound
    return bound


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
def glue(P: Glue, w: np.ndarray) -> None:
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
def purge(Y: np.ndarray, k: int, P: Glue, Q: np.ndarray, m: int, w: np.ndarray, c: np.ndarray) -> None:
    """w ← w − YYᵀw − QQᵀw, all coefficients from the same w; Q's are left in `c[:m]`."""
    dots(Q, m, w, c)
    if len(P.g) > 0:
        glue(P, w)
    else:
        dots(Y, k, w, c[m:])
        subtract(Y, k, c[m:], w)
    subtract(Q, m, c, w)


@compiled
def krylov(
    L: Matrix, bound: float, Y: np.ndarray, k: int, P: Glue, start: np.ndarray, tolerance: float, Q: np.ndarray, W: np.ndarray, s: Small
) -> int:  # fmt: skip
    """Fills the rows of `Q [κ, n]` and T, returns the number of live rows. Candidate t is `start[t]`, then L q_{t−b}; one that adds nothing
    frees its place. Candidates of the second kind that are not taken overwrite `start`, whose rows are used up by then."""
    steps, b = len(Q), len(start)
    count, left, ready = 0, 0, -1
    loss = EPS  # a bound on |[Y Q]ᵀ[Y Q] − I|
    for t in range(steps + b):
        c = t - b
        w = W[0]
        if c < 0:
            w[:] = start[t]
            if not normalise(w):
                continue
        elif c >= count:
            break
        elif c == ready:
            w = W[1]
        elif c + 1 < count:
            apply_two(L, Q[c], Q[c + 1], W)
            ready = c + 1
        else:
            apply(L, Q[c], w)
        before = norm(w)
        purge(Y, k, P, Q, count, w, s.c)
        for i in range(c + 1):
            s.T[i, c] = s.c[i]
        size = norm(w)
        leak = (loss + EPS) * before
        if leak > tolerance * ENOUGH * size:
            purge(Y, k, P, Q, count, w, s.c)
            for i in range(c + 1):
                s.T[i, c] += s.c[i]
            size = norm(w)
        else:
            loss = max(loss, leak / size)
        for i in range(c + 1):
            # T is banded; what rounding leaves outside the band would only cost reflections
            s.T[i, c] = s.T[i, c] if abs(s.T[i, c]) > ROUNDING * bound else 0.0
            s.T[c, i] = s.T[i, c]
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
def carry_back(
    count: int, Q: np.ndarray, rest: np.ndarray, w: np.ndarray, s: Small, values: np.ndarray, vectors: np.ndarray, residual: np.ndarray
) -> None:  # fmt: skip
    """Ritz pairs V = QB of the T that `krylov` left, and ‖PLPv − λv‖ = ‖R b‖, R the candidates `rest` that found no place."""
    n = len(w)
    left = triangular(rest, s)
    eigh(s.T, count, s.Z, s.d, s.e, s.c)
    for p in range(count):
        values[p] = s.d[p]
        w[:] = 0.0
        for j in range(count):
            s.c[j] = -s.Z[p, j]
        subtract(Q, count, s.c, w)
        for i in range(n):
            vectors[i, p] = w[i]
        total = 0.0
        for i in range(left):
            part = 0.0
            for j in range(i, left):
                part += s.R[i, j] * s.Z[p, s.owner[j]]
            total += part * part
        residual[p] = math.sqrt(total)


@compiled
def triangular(rest: np.ndarray, s: Small) -> int:
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
