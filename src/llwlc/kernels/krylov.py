"""The recurrence for one graph in float64: band Lanczos, every vector orthogonalised against [Y Q] jointly, and twice where it matters.

The same algorithm as `linalg.krylov`, candidate by candidate. Two things are had for free here: T = QᵀLQ from the coefficients of the
orthogonalisation, and the residuals from the candidates that found no place, since PLQ = QT + [those] is exact.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from llwlc.kernels.compiled import U, compiled, in_order
from llwlc.kernels.small_eigen import eigh

EPS = 2.0**-50  # a few units of rounding: what one dot product leaves
ROUNDING = 2e-15
# The second pass is left out while a bound on the loss of orthogonality stays below this part of the breakdown tolerance: below 1e-10 for a
# basis stored in float32, which rounds at 6e-8; never for one in float64, since no bound is below its 1e-15
ENOUGH = 1e-5


# Every vector of n entries has zeros behind them, at least one, up to a multiple of this: the loops of the compiler take so many at a time,
# and what is left of a vector behind them entry by entry
WIDTH = 16
# a start with at most so many entries is multiplied by L through the columns of these alone
SPARSE = 4


@compiled
def padded(n: int) -> int:
    """The length of a vector of n entries."""
    return (n // WIDTH + 1) * WIDTH


class Matrix(NamedTuple):
    """L = diag − S W S of one graph of n nodes: its CSR in fours `start [n + 1]`, `near` (see `enclosing.FOUR`), row i with `size[i]` entries;
    `weight` likewise (0 at the fillers), or empty where every edge weighs 1; `scale`, `diagonal`, zero behind their n entries. Scaling the
    vector instead of the entries spares a read for each edge. `z` is scratch for two vectors."""

    n: int
    start: np.ndarray
    size: np.ndarray
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
def dots(A: np.ndarray, m: int, w: np.ndarray, c: np.ndarray) -> None:
    """c = A w for the first m rows of A, four at a time: w is read once for all of them. The last four may have some in common with those
    before, whose sums come out the same again."""
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
    """w ← w − Aᵀc, likewise; rows that were among the four before count nothing in the last ones."""
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
    """c[j] … c[j + 3], those before `part` as zeros."""
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
    largest = 0.0  # by this one first: squares of 1e-200 would vanish
    for i in range(len(w)):
        largest = max(largest, abs(w[i]))
    if not (0.0 < largest < np.inf):
        return False
    w /= largest
    w /= norm(w)
    return True


@in_order
def apply(L: Matrix, x: np.ndarray, out: np.ndarray) -> None:
    """out = L x."""
    z, near = L.z, L.near
    for i in range(len(x)):
        z[i] = L.scale[i] * x[i]
    for i in range(L.n):
        total = 0.0
        if len(L.weight) > 0:
            for e in range(L.start[i], L.start[i + 1]):
                total += L.weight[e] * z[near[e]]
        else:
            for e in range(L.start[i], L.start[i + 1], U(4)):
                total += (z[near[e]] + z[near[e + U(1)]]) + (z[near[e + U(2)]] + z[near[e + U(3)]])
        out[i] = L.diagonal[i] * x[i] - L.scale[i] * total


@in_order
def apply_two(L: Matrix, x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """`out[0]` = L x, `out[1]` = L y in one walk through the edges: the walk is what costs."""
    z, near = L.z, L.near
    for i in range(len(x)):
        z[2 * i], z[2 * i + 1] = L.scale[i] * x[i], L.scale[i] * y[i]
    for i in range(L.n):
        s0 = s1 = 0.0
        if len(L.weight) > 0:
            for e in range(L.start[i], L.start[i + 1]):
                j = U(2) * U(near[e])
                s0 += L.weight[e] * z[j]
                s1 += L.weight[e] * z[j + U(1)]
        else:
            for e in range(L.start[i], L.start[i + 1], U(4)):
                j0, j1 = U(2) * U(near[e]), U(2) * U(near[e + U(1)])
                j2, j3 = U(2) * U(near[e + U(2)]), U(2) * U(near[e + U(3)])
                s0 += (z[j0] + z[j1]) + (z[j2] + z[j3])
                s1 += (z[j0 + U(1)] + z[j1 + U(1)]) + (z[j2 + U(1)] + z[j3 + U(1)])
        out[0, i] = L.diagonal[i] * x[i] - L.scale[i] * s0
        out[1, i] = L.diagonal[i] * y[i] - L.scale[i] * s1


@compiled
def entries(x: np.ndarray) -> int:
    count = 0
    for i in range(len(x)):
        count += x[i] != 0
    return count


@compiled
def apply_sparse(L: Matrix, x: np.ndarray, out: np.ndarray) -> None:
    """out = L x for an x of few entries, by the columns of L, which are its rows."""
    out[:] = 0.0
    for i in range(L.n):
        if x[i] == 0:
            continue
        out[i] += L.diagonal[i] * x[i]
        z = L.scale[i] * x[i]
        for e in range(L.start[i], L.start[i] + U(L.size[i])):
            j = L.near[e]
            across = L.weight[e] * z if len(L.weight) > 0 else z
            out[j] -= L.scale[j] * across


@in_order
def gershgorin(L: Matrix) -> float:
    """A bound on ‖L‖; NaN or infinite where some entry is."""
    near, scale = L.near, L.scale
    bound = 0.0
    for i in range(L.n):
        total = 0.0
        if len(L.weight) > 0:
            for e in range(L.start[i], L.start[i + 1]):
                total += abs(L.weight[e]) * scale[near[e]]
        else:
            for e in range(L.start[i], L.start[i + 1], U(4)):
                total += (scale[near[e]] + scale[near[e + U(1)]]) + (scale[near[e + U(2)]] + scale[near[e + U(3)]])
        row = abs(L.diagonal[i]) + scale[i] * total
        if not row <= bound:  # so that a NaN gets through
            bound = row
        if bound != bound:
            return bound
    return bound


@compiled
def rough_bound(L: Matrix) -> float:
    """No less than `gershgorin`, and without a walk through the edges where they have no weights."""
    if len(L.weight) > 0:
        return gershgorin(L)
    largest = 0.0
    for i in range(L.n):
        largest = max(largest, L.scale[i])
    bound = 0.0
    for i in range(L.n):
        bound = max(bound, L.diagonal[i] + L.scale[i] * (L.size[i] * largest))
    return bound * (1 + 1e-12)  # sums in another order


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
def purge(B: np.ndarray, m: int, P: Glue, w: np.ndarray, c: np.ndarray) -> None:
    """w ← w − BBᵀw, B the first m rows: the constraints, unless `P` is their closed form, then Q; all coefficients, `c`, from the same w."""
    dots(B, m, w, c)
    if len(P.g) > 0:
        glue(P, w)
    subtract(B, m, c, w)


@compiled
def purge_two(B: np.ndarray, m: int, P: Glue, W: np.ndarray, c: np.ndarray, d: np.ndarray) -> None:
    """`purge` for the rows of W, with B read once for both."""
    dots_two(B, m, W[0], W[1], c, d)
    if len(P.g) > 0:
        glue(P, W[0])
        glue(P, W[1])
    subtract_two(B, m, c, d, W[0], W[1])


@compiled
def krylov(
    L: Matrix, bound: float, B: np.ndarray, k: int, P: Glue, start: np.ndarray, tolerance: float, W: np.ndarray, s: Small
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
            if c == 0 and entries(Q[0]) <= SPARSE and entries(Q[1]) <= SPARSE:
                apply_sparse(L, Q[0], W[0])
                apply_sparse(L, Q[1], W[1])
            else:
                apply_two(L, Q[c], Q[c + 1], W)
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
        for i in range(c + 1):
            # T is banded; what rounding leaves outside the band would only cost rotations
            s.T[i, c] = s.T[i, c] if abs(s.T[i, c]) > ROUNDING * bound else 0.0
            s.T[c, i] = s.T[i, c]
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
def carry_back(
    count: int, Q: np.ndarray, rest: np.ndarray, W: np.ndarray, s: Small, values: np.ndarray, vectors: np.ndarray, residual: np.ndarray
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
