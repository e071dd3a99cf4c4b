"""A number for every constrained eigenbasis: the entries of V f(R) Vᵀ, hashed row by row.

For a set S of deleted vertices, with P the projector onto the null space of its vertex-deleted constraints, take the
filter

    F_S = f(PLP)P = V f(R) Vᵀ,   f(λ) = Im e^{iθ} / (λ − w),   w = E + iη,

and hash it as a multiset of rows, each a multiset of entries, with the diagonal and the deleted vertices marked:

    h(S) = Σ_i ψ(y_i),   y_i = Σ_j φ(F_ij) + φ(F_ii / 2) + Σ_{j∈S} φ(F_ij + 0.4),   ψ different on S,

φ(x) = 1 / (1 + 0.7x + x²). Two rows with the same entries get the same y, two sets with the same rows the same h, so
graphs whose h differ are different graphs; the converse holds for generic constants, as φ is analytic and no
polynomial.

f is a band-pass around E instead of a resolvent at −z: e^{−length} of a low-pass hides the twist of a CFI graph below
rounding, a band of width η inside the spectrum carries it across the graph (CFI pair 60 of BREC, k = 2: 4e-13 apart
with z = 1, 8e-5 here).

The resolvent of PLP is a rank-k update, P(PLP − w)⁻¹P = G − GC(CᵀGC)⁻¹CᵀG with G = (L − w)⁻¹, so a subset costs O(kn²),
not O(n³).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from llwlc._support.compiler import compiled
from research.expressivity.columns import Complex, Index, Real, cholesky, columns, gram
from research.expressivity.subsets import Subsets, iterate_chunks

Band = tuple[float, float]
# E and η in units of the mean degree and of √(1 + mean degree), the centre and about half the width of a regular
# graph's spectrum
CENTRE, WIDTH, PHASE = 0.7, 0.05, 0.6
NARROW = ((0.55, 0.01), (0.45, 0.02))


def laplacian(adjacency: Real) -> Real:
    """D − A."""
    return np.diag(adjacency.sum(1)) - adjacency


def pole(adjacency: Real, *, centre: float = CENTRE, width: float = WIDTH) -> complex:
    """w = E + iη, scaled to the graph by its mean degree alone, so that isomorphic graphs share it."""
    mean = float(adjacency.sum()) / max(len(adjacency), 1)
    return complex(centre * mean, width * (1 + mean) ** 0.5)


def resolvent(adjacency: Real, w: complex) -> Complex:
    """(L − w)⁻¹, symmetric to the last bit."""
    G = np.linalg.inv(laplacian(adjacency) - w * np.eye(len(adjacency)))
    return np.asarray((G + G.T) / 2)


def filter_rows(adjacency: Real, subsets: Subsets, *, w: complex | None = None, phase: float = PHASE) -> Real:
    """y_i of every node i and each of the subsets `[m, k]`, `[m, n]`: a node's view of the constrained filter."""
    w = pole(adjacency) if w is None else w
    G = resolvent(adjacency, w) * np.exp(1j * phase)
    off = G.imag[~np.eye(len(G), dtype=bool)]
    spread = float(np.sqrt(np.mean(off**2))) if len(off) else 0.0
    # entries in units of their own root mean square, so that φ bends where they lie
    return _views(G, adjacency.sum(1), subsets, 1 / spread if spread > 1e-9 else 1.0)


def filter_hashes(adjacency: Real, subsets: Subsets, *, band: Band = (CENTRE, WIDTH)) -> Real:
    """h(S) for each of the subsets `[m, k]`, `[m]`.

    >>> path = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)
    >>> h = filter_hashes(path, np.array([[0], [1], [2], [3]]))
    >>> bool(abs(h[0] - h[3]) < 1e-12), bool(abs(h[0] - h[1]) > 1e-3)
    (True, True)
    """
    w = pole(adjacency, centre=band[0], width=band[1])
    return _total(filter_rows(adjacency, subsets, w=w), subsets)


def filter_fingerprint(adjacency: Real, k: int, *, bands: Sequence[Band] = ((CENTRE, WIDTH),)) -> Real:
    """h(S) over all k-subsets (all n vertices where there are fewer), `[C(n, k)]`, ascending; several bands one behind
    the other.
    """
    n = len(adjacency)
    parts = [[filter_hashes(adjacency, chunk, band=band) for chunk in iterate_chunks(n, min(k, n))] for band in bands]
    return np.concatenate([np.sort(np.concatenate(part)) for part in parts])


def constrained_filter(adjacency: Real, subset: Index) -> Real:
    """F_S itself, `[n, n]`, in dense algebra: what the hashes are checked against."""
    d = adjacency.sum(1)
    C = d[:, None] - np.eye(len(d))[:, subset] * d[subset]
    left, singular, _ = np.linalg.svd(C, full_matrices=True)
    null = left[:, int((singular > 1e-9 * max(singular.max(initial=0.0), 1e-30)).sum()) :]
    values, vectors = np.linalg.eigh(null.T @ laplacian(adjacency) @ null)
    V = null @ vectors
    return np.asarray((V * (np.exp(1j * PHASE) / (values - pole(adjacency))).imag) @ V.T)


@compiled
def _phi(x: float) -> float:
    return 1.0 / (1.0 + 0.7 * x + x * x)


@compiled
def _total(y: Real, subsets: Index) -> Real:
    """h = Σ_i ψ(y_i)."""
    out = np.zeros(len(y))
    for t in range(len(y)):
        for i in range(y.shape[1]):
            out[t] += _phi(0.5 * y[t, i] + 0.2)
        for v in subsets[t]:
            out[t] += 0.37 * _phi(0.7 * y[t, v] - 0.4) - _phi(0.5 * y[t, v] + 0.2)
    return out


@compiled
def _views(G: Complex, degree: Real, subsets: Index, scale: float) -> Real:
    n, (m, k) = len(degree), subsets.shape
    base = np.ascontiguousarray(G.imag) * scale
    Gd = np.zeros(n, dtype=np.complex128)
    for i in range(n):
        for j in range(n):
            Gd[i] += G[i, j] * degree[j]
    dGd = (Gd * degree).sum()
    a, b, at = np.empty(k + 1), np.empty(k + 1), np.empty(k + 1, dtype=np.int64)
    M = np.empty((k + 1, k + 1), dtype=np.complex128)
    U = np.empty((k + 1, n), dtype=np.complex128)
    re, im = np.empty((k + 1, n)), np.empty((k + 1, n))
    row, out = np.empty(n), np.empty((m, n))
    for t in range(m):
        count = columns(degree, subsets[t], a, b, at)
        gram(G, Gd, dGd, a, b, at, count, M)
        cholesky(M, count)
        _update(G, Gd, a, b, at, M, count, U)
        for c in range(count):
            for i in range(n):
                re[c, i] = U[c, i].real * np.sqrt(scale)
                im[c, i] = U[c, i].imag * np.sqrt(scale)
        _rows(base, re, im, count, subsets[t], row, out[t])
    return out


@compiled
def _update(G: Complex, Gd: Complex, a: Real, b: Real, at: Index, M: Complex, k: int, U: Complex) -> None:
    """ℓ⁻¹CᵀG into U, so that the constrained resolvent is G − UᵀU."""
    n = len(Gd)
    for c in range(k):
        v = at[c]
        for i in range(n):
            U[c, i] = a[c] * Gd[i] + b[c] * G[v, i]
        for e in range(c):
            f = M[c, e]
            for i in range(n):
                U[c, i] -= f * U[e, i]
        g = 1.0 / M[c, c]
        for i in range(n):
            U[c, i] *= g


@compiled
def _rows(base: Real, re: Real, im: Real, k: int, subset: Index, row: Real, y: Real) -> None:
    """y_i of Im(G − UᵀU); the innermost loops are what all the time goes into, and vectorise."""
    n = len(row)
    for i in range(n):
        for j in range(n):
            row[j] = base[i, j]
        for c in range(k):
            p, q = re[c, i], im[c, i]
            for j in range(n):
                row[j] -= p * im[c, j] + q * re[c, j]
        entries = 0.0
        for j in range(n):
            x = row[j]
            entries += 1.0 / (1.0 + 0.7 * x + x * x)
        # φ(0) n is what a row of zeros would give; without it y would leave the range where ψ bends
        y[i] = entries - n + _phi(0.5 * row[i])
        for v in subset:
            y[i] += _phi(row[v] + 0.4)
