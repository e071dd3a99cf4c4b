"""The Laplacian of one graph as a linear map, and bounds on it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from llwlc._support.compiler import U, compiled, in_order

# a vector with at most so many nonzero entries is multiplied by the columns of L at these alone
SPARSE = 4


class Matrix(NamedTuple):
    """L = diag − S W S of one graph of n nodes: its CSR `start [n + 1]`, `neighbor`, rows padded to fours (see
    `enclosing_subgraph.FOUR`), row i with `size[i]` entries; `weight` likewise (0 at the fillers), or empty where every
    edge weighs 1; `scale`, `diagonal`, zero behind their n entries. Scaling the vector instead of the entries saves a
    read for each edge. `z` is scratch for two vectors.
    """

    n: int
    start: np.ndarray
    size: np.ndarray
    neighbor: np.ndarray
    weight: np.ndarray
    scale: np.ndarray
    diagonal: np.ndarray
    z: np.ndarray


@in_order
def apply(L: Matrix, x: np.ndarray, out: np.ndarray) -> None:
    """out = L x."""
    z, neighbor = L.z, L.neighbor
    for i in range(len(x)):
        z[i] = L.scale[i] * x[i]
    for i in range(L.n):
        total = 0.0
        if len(L.weight) > 0:
            for e in range(L.start[i], L.start[i + 1]):
                total += L.weight[e] * z[neighbor[e]]
        else:
            for e in range(L.start[i], L.start[i + 1], U(4)):
                total += (z[neighbor[e]] + z[neighbor[e + U(1)]]) + (z[neighbor[e + U(2)]] + z[neighbor[e + U(3)]])
        out[i] = L.diagonal[i] * x[i] - L.scale[i] * total


@in_order
def apply_two(L: Matrix, x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """`out[0]` = L x, `out[1]` = L y in one pass over the edges, which dominates the cost."""
    z, neighbor = L.z, L.neighbor
    for i in range(len(x)):
        z[2 * i], z[2 * i + 1] = L.scale[i] * x[i], L.scale[i] * y[i]
    for i in range(L.n):
        s0 = s1 = 0.0
        if len(L.weight) > 0:
            for e in range(L.start[i], L.start[i + 1]):
                j = U(2) * U(neighbor[e])
                s0 += L.weight[e] * z[j]
                s1 += L.weight[e] * z[j + U(1)]
        else:
            for e in range(L.start[i], L.start[i + 1], U(4)):
                j0, j1 = U(2) * U(neighbor[e]), U(2) * U(neighbor[e + U(1)])
                j2, j3 = U(2) * U(neighbor[e + U(2)]), U(2) * U(neighbor[e + U(3)])
                s0 += (z[j0] + z[j1]) + (z[j2] + z[j3])
                s1 += (z[j0 + U(1)] + z[j1 + U(1)]) + (z[j2 + U(1)] + z[j3 + U(1)])
        out[0, i] = L.diagonal[i] * x[i] - L.scale[i] * s0
        out[1, i] = L.diagonal[i] * y[i] - L.scale[i] * s1


@compiled
def count_nonzero(x: np.ndarray) -> int:
    """The number of nonzero entries."""
    count = 0
    for i in range(len(x)):
        count += x[i] != 0
    return count


@compiled
def apply_sparse(L: Matrix, x: np.ndarray, out: np.ndarray) -> None:
    """out = L x for an x with few nonzero entries, by columns of L, which are its rows."""
    out[:] = 0.0
    for i in range(L.n):
        if x[i] == 0:
            continue
        out[i] += L.diagonal[i] * x[i]
        z = L.scale[i] * x[i]
        for e in range(L.start[i], L.start[i] + U(L.size[i])):
            j = L.neighbor[e]
            across = L.weight[e] * z if len(L.weight) > 0 else z
            out[j] -= L.scale[j] * across


@compiled
def apply_pair(L: Matrix, x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """`apply_two`, or `apply_sparse` where both vectors are sparse."""
    if count_nonzero(x) <= SPARSE and count_nonzero(y) <= SPARSE:
        apply_sparse(L, x, out[0])
        apply_sparse(L, y, out[1])
    else:
        apply_two(L, x, y, out)


@in_order
def gershgorin(L: Matrix) -> float:
    """A bound on ‖L‖; NaN or infinite where some entry is."""
    neighbor, scale = L.neighbor, L.scale
    bound = 0.0
    for i in range(L.n):
        total = 0.0
        if len(L.weight) > 0:
            for e in range(L.start[i], L.start[i + 1]):
                total += abs(L.weight[e]) * scale[neighbor[e]]
        else:
            for e in range(L.start[i], L.start[i + 1], U(4)):
                total += (scale[neighbor[e]] + scale[neighbor[e + U(1)]]) + (
                    scale[neighbor[e + U(2)]] + scale[neighbor[e + U(3)]]
                )
        row = abs(L.diagonal[i]) + scale[i] * total
        if not row <= bound:  # true for a NaN, which must reach the result
            bound = row
        if bound != bound:
            return bound
    return bound


@compiled
def rough_bound(L: Matrix) -> float:
    """At least `gershgorin`; without a pass over the edges where they have no weights."""
    if len(L.weight) > 0:
        return gershgorin(L)
    largest = 0.0
    for i in range(L.n):
        largest = max(largest, L.scale[i])
    bound = 0.0
    for i in range(L.n):
        bound = max(bound, L.diagonal[i] + L.scale[i] * (L.size[i] * largest))
    return bound * (1 + 1e-12)  # rounding of sums in another order
