"""The Laplacian, the constraint columns and the start block of one graph, as `bases` and `constraints` define them."""

from __future__ import annotations

import math

import numpy as np

from llwlc._kernels.numba.enclosing_subgraph import kth_lowest
from llwlc._kernels.numba.hashing import draw, identity, normal
from llwlc._kernels.numba.krylov import ClosedFormProjector
from llwlc._kernels.numba.matrix import Matrix, apply
from llwlc._kernels.numba.vectors import copy_vector, norm
from llwlc._support.compiler import U, compiled


@compiled
def laplacian(L: Matrix, degree: np.ndarray, normalized: bool) -> None:
    """Fills the degrees (row sums of the weights), scale and diagonal: D − A, or D^(−1/2) (D − A) D^(−1/2) with 0 at
    isolated nodes.
    """
    for i in range(L.n):
        if len(L.weight) > 0:
            total = 0.0
            for e in range(L.start[i], L.start[i + 1]):
                total += L.weight[e]
            degree[i] = total
        else:
            degree[i] = np.float64(L.size[i])
    degree[L.n :] = 0.0
    for i in range(len(degree)):
        if normalized:
            linked = not degree[i] <= 0  # true for a NaN, which must reach the result
            L.diagonal[i] = degree[i] / degree[i] if linked else 0.0
            L.scale[i] = 1.0 / math.sqrt(degree[i]) if linked else 0.0
        else:
            L.diagonal[i], L.scale[i] = degree[i], 1.0
    L.scale[L.n :] = 0.0


@compiled
def neumann_boundary(L: Matrix, hop: np.ndarray, column: np.ndarray) -> None:
    """The number (weight) of the edges between S (hop 1) and δS (hop 2) at a node, negative on δS."""
    column[:] = 0.0
    for i in range(L.n):
        if hop[i] != 1:
            continue
        total = 0.0
        for e in range(L.start[i], L.start[i] + U(L.size[i])):
            j = L.neighbor[e]
            across = L.weight[e] if len(L.weight) > 0 else 1.0
            across = across if hop[j] == 2 else 0.0
            column[j] -= across
            total += across
        column[i] += total


@compiled
def neumann_degree(n: int, degree: np.ndarray, hop: np.ndarray, column: np.ndarray) -> None:
    """The degrees on S."""
    column[:] = 0.0
    for i in range(n):
        column[i] = degree[i] if hop[i] == 1 else 0.0


@compiled
def delete_vertices(
    node: np.ndarray, draw_ids: np.ndarray, count: int, key: np.uint64, bits: np.ndarray, deleted: np.ndarray
) -> int:
    """Marks min(count, ⌊n/2⌋) vertices with the lowest hashes (all of them where count is negative), returns how
    many.
    """
    n = len(deleted)
    take = n if count < 0 else min(count, n // 2)
    if take == 0 or take == n:
        deleted[:] = take > 0
        return take
    for i in range(n):
        bits[i] = draw(key, identity(draw_ids, node[i]))
    limit = kth_lowest(bits, take)
    for i in range(n):
        deleted[i] = bits[i] <= limit
    return take


@compiled
def deleted_columns(degree: np.ndarray, deleted: np.ndarray, columns: np.ndarray) -> None:
    """One column for each deleted vertex: the degrees, zero at that vertex. Surplus columns are zero."""
    j = 0  # `degree` has zeros behind its last node
    for v in range(len(deleted)):
        if deleted[v]:
            copy_vector(degree, columns[j])
            columns[j, v] = 0.0
            j += 1
    columns[j:] = 0.0


@compiled
def projector_of(n: int, degree: np.ndarray, deleted: np.ndarray, count: int, P: ClosedFormProjector) -> None:
    """The closed-form projector where all columns are vertex-deleted ones; `linalg._projector.vertex_deleted_projector`
    derives it.
    """
    P.g[:], P.y[:], P.merged[:] = 0.0, 0.0, False
    has_isolated = False
    for i in range(n):
        P.merged[i] = deleted[i] and degree[i] > 0
        has_isolated = has_isolated or (deleted[i] and degree[i] <= 0)
    for i in range(n):
        P.g[i] = 1.0 / degree[i] if P.merged[i] and not has_isolated else 0.0
    size = norm(P.g)
    if size > 0:
        P.g[:] /= size
    dot = 0.0
    for i in range(n):
        P.y[i] = 0.0 if count == 0 else degree[i] * (1.0 - 1.0 / count if deleted[i] else 1.0)
        dot += P.g[i] * P.y[i]
    for i in range(n):
        if P.merged[i]:
            P.y[i] = P.g[i] * dot
    size = norm(P.y)
    if size > 0:
        P.y[:] /= size


@compiled
def query_start(u: int, v: int, start: np.ndarray) -> None:
    """The block [e_u, e_v]."""
    start[:] = 0.0
    start[0, u], start[1, v] = 1.0, 1.0


@compiled
def random_start(n: int, node: np.ndarray, draw_ids: np.ndarray, key: np.uint64, start: np.ndarray) -> None:
    """A standard normal for each node, drawn for the link."""
    start[:] = 0.0
    for i in range(n):
        start[0, i] = normal(key, identity(draw_ids, node[i]))


@compiled
def constraint_start(
    L: Matrix,
    Y: np.ndarray,
    degree: np.ndarray,
    deleted: np.ndarray,
    count: int,
    closed: bool,
    w: np.ndarray,
    start: np.ndarray,
) -> None:
    """L C 1, C the columns in `Y` before they are made orthonormal; or, with the closed form, the vertex-deleted
    columns, which are never stored.
    """
    w[:] = 0.0
    if closed:
        for i in range(L.n):
            w[i] = degree[i] * (count - 1 if deleted[i] else count)
    for j in range(len(Y)):
        w += Y[j]
    start[:] = 0.0
    apply(L, w, start[0])
