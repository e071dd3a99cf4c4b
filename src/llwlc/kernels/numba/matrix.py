"""The Laplacian of one graph as a linear map, and bounds on it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from llwlc.support.compiler import U, compiled, in_order

# a vector with at most so many entries is multiplied by L through the columns of these alone
SPARSE = 4


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


@compiled
def apply_pair(L: Matrix, x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """`apply_two`, in the cheaper way."""
    if entries(x) <= SPARSE and entries(y) <= SPARSE:
        apply_sparse(L, x, out[0])
        apply_sparse(L, y, out[1])
    else:
        apply_two(L, x, y, out)


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
