"""Vertex-deleted constraints of a subset S without their n × k matrix.

The column of v is c_v = d − d_v e_v, so every column is a·d + b·e_v, and all that a constrained basis needs of G = (L −
w)⁻¹ are the scalars dᵀGd, the vector Gd and entries of G. Where S holds isolated vertices (d_v = 0), their columns are
all equal to d, and the same space is spanned by e_v (v ∈ S, d_v > 0) and d, of which d is dropped where it vanishes off
S (docs/numerics.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from llwlc._support.compiler import compiled

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]
Index = NDArray[np.int64]


@compiled
def columns(degree: Real, subset: Index, a: Real, b: Real, at: Index) -> int:
    """Write the columns a·d + b·e_at that span range C, and return how many there are: at most k, all independent.

    They are independent: Σ x_v c_v = 0 off S gives Σ x_v = 0 and then x_v d_v = 0, and where d vanishes off S, x_v = Σ
    x_u for every v, so (k − 1) Σ x_u = 0, and for k = 1 the vertex v has a neighbour off S.
    """
    isolated = False
    inside = 0.0
    for v in subset:
        inside += degree[v]
        if degree[v] == 0:
            isolated = True
    if not isolated:
        for i, v in enumerate(subset):
            a[i], b[i], at[i] = 1.0, -degree[v], v
        return len(subset)
    count = 0
    for v in subset:
        if degree[v] > 0:
            a[count], b[count], at[count] = 0.0, 1.0, v
            count += 1
    if degree.sum() > inside:
        a[count], b[count], at[count] = 1.0, 0.0, subset[0]
        count += 1
    return count


@compiled
def gram(G: Complex, Gd: Complex, dGd: complex, a: Real, b: Real, at: Index, k: int, out: Complex) -> None:
    """CᵀGC into `out [k, k]`."""
    for i in range(k):
        for j in range(i + 1):
            out[i, j] = (
                a[i] * a[j] * dGd + a[i] * b[j] * Gd[at[j]] + b[i] * a[j] * Gd[at[i]] + b[i] * b[j] * G[at[i], at[j]]
            )
            out[j, i] = out[i, j]


@compiled
def gram_identity(degree: Real, square: float, a: Real, b: Real, at: Index, k: int, out: Complex) -> None:
    """CᵀC into `out [k, k]`; `square` is dᵀd."""
    for i in range(k):
        for j in range(i + 1):
            same = 1.0 if at[i] == at[j] else 0.0
            out[i, j] = (
                a[i] * a[j] * square + a[i] * b[j] * degree[at[j]] + b[i] * a[j] * degree[at[i]] + b[i] * b[j] * same
            )
            out[j, i] = out[i, j]


@compiled
def cholesky(M: Complex, k: int) -> None:
    """M = ℓℓᵀ (transposed, not conjugated) in place, lower triangle.

    No pivoting: for Im w ≠ 0 the imaginary part of CᵀGC, and so that of every Schur complement's inverse, is definite.
    """
    for i in range(k):
        for j in range(i):
            x = M[i, j]
            for c in range(j):
                x -= M[i, c] * M[j, c]
            M[i, j] = x / M[j, j]
        x = M[i, i]
        for c in range(i):
            x -= M[i, c] * M[i, c]
        M[i, i] = np.sqrt(x)
