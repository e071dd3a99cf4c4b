"""A number for every constrained spectrum, without an eigendecomposition.

The spectrum of PLP on the null space of Cᵀ is the zero set of its characteristic polynomial, and that is a k × k
determinant,

    Π_λ (λ − w) = det(L − w) · det(CᵀGC) / det(CᵀC),   G = (L − w)⁻¹,

for any C of full rank. Its logarithm at a few complex points w, mixed with fixed weights, is a sum Σ_λ g(λ) of one
function over the eigenvalues: equal spectra give equal numbers, and different spectra different ones for generic
points. A set of k deleted vertices costs O(k³) once G is known, so that millions of spectra can be compared.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch

from llwlc import constraints, subgraphs
from llwlc._support.compiler import compiled
from llwlc.graph._graph import Graph
from research.expressivity.columns import Complex, Index, Real, cholesky, columns, gram, gram_identity
from research.expressivity.resolvent import laplacian, pole, resolvent
from research.expressivity.subsets import Subsets, iterate_chunks

# where the characteristic polynomial is looked at (centre and width as in `pole`), and the weights of the three
# logarithms
POINTS = ((0.3, 0.2), (0.8, 0.1), (1.4, 0.3))
WEIGHTS = (1.0, 0.618, 0.414)


def deleted_hashes(adjacency: Real, subsets: Subsets) -> Real:
    """Σ g(λ) over the spectrum of PLP for each of the subsets `[m, k]` of deleted vertices, `[m]`."""
    degree = adjacency.sum(1)
    total = np.zeros(len(subsets))
    for (centre, width), weight in zip(POINTS, WEIGHTS, strict=True):
        w = pole(adjacency, centre=centre, width=width)
        _, log_det = np.linalg.slogdet(laplacian(adjacency) - w * np.eye(len(degree)))
        total += weight * (float(log_det) + _deleted(resolvent(adjacency, w), degree, subsets))
    return total


def deleted_spectra(adjacency: Real, k: int) -> Real:
    """`deleted_hashes` over all k-subsets, ascending, `[C(n, k)]` (k = n where there are fewer nodes). k = 0 is the
    spectrum of L alone.

    >>> from research.expressivity.families import paper
    >>> _, (_, rook, shrikhande) = paper()
    >>> [bool(np.abs(deleted_spectra(rook, k) - deleted_spectra(shrikhande, k)).max() > 1e-8) for k in (2, 3, 4)]
    [False, False, True]
    """
    return np.sort(
        np.concatenate(
            [deleted_hashes(adjacency, chunk) for chunk in iterate_chunks(len(adjacency), min(k, len(adjacency)))]
        )
    )


def edge_spectra(adjacency: Real, *, neumann: bool = True, deleted: bool = False) -> Real:
    """Σ g(λ) over the spectrum of PLP for the enclosing subgraph of every edge, ascending, `[m]`.

    As in the paper, that is the 2-hop subgraph with the edge removed, and the Neumann constraints are those of the
    edge. `deleted` adds one vertex-deleted column, for each vertex of the subgraph in turn, `[Σ subgraph sizes]`.
    """
    edges = torch.tensor(np.argwhere(np.triu(adjacency)))
    if not len(edges):
        return np.empty(0)
    subs = subgraphs.extract(Graph.from_edges(edges, num_nodes=len(adjacency)), edges)
    C = (constraints.neumann(subs) if neumann else constraints.none(subs)).columns.numpy()
    row, col = subs.row.numpy(), subs.col.numpy()
    out = []
    for start, stop in pairwise(subs.ptr.tolist()):
        inside = slice(*np.searchsorted(row, (start, stop)))  # edges are sorted by row
        A = np.zeros((stop - start, stop - start))
        A[row[inside] - start, col[inside] - start] = 1
        out.append(_one_edge(A, C[start:stop], deleted))
    return np.sort(np.concatenate(out))


def _one_edge(A: Real, C: Real, deleted: bool) -> Real:
    """The number of one enclosing subgraph, `[1]`, or of each of its vertices deleted besides, `[n]`."""
    d = A.sum(1)
    Y = _orthonormal(C)
    X = d[:, None] - np.diag(d)
    X = X - Y @ (Y.T @ X)
    length = np.linalg.norm(X, axis=0)
    independent = length > 1e-9 * max(float(np.linalg.norm(d)), 1.0)
    X = X / np.where(independent, length, 1)
    total = np.zeros(len(A) if deleted else 1)
    for (centre, width), weight in zip(POINTS, WEIGHTS, strict=True):
        w = pole(A, centre=centre, width=width)
        _, log_det = np.linalg.slogdet(laplacian(A) - w * np.eye(len(A)))
        G = resolvent(A, w)
        M = Y.T @ G @ Y
        total += weight * (float(log_det) + float(np.linalg.slogdet(M)[1]))
        if deleted:
            # det of the Gram matrix with one more column: the old one times a Schur complement
            GX = G @ X
            cross = Y.T @ GX
            schur = (X * GX).sum(0) - (cross * np.linalg.solve(M, cross)).sum(0)
            total += weight * np.log(np.abs(np.where(independent, schur, 1)))
    return total


def _orthonormal(C: Real) -> Real:
    left, singular, _ = np.linalg.svd(C, full_matrices=False)
    return np.asarray(left[:, singular > 1e-9 * max(float(singular.max(initial=0)), 1e-30)])


@compiled
def _deleted(G: Complex, degree: Real, subsets: Index) -> Real:
    """log |det(CᵀGC) / det(CᵀC)| for each subset."""
    n, (m, k) = len(degree), subsets.shape
    Gd = np.zeros(n, dtype=np.complex128)
    for i in range(n):
        for j in range(n):
            Gd[i] += G[i, j] * degree[j]
    dGd, square = (Gd * degree).sum(), (degree * degree).sum()
    a, b, at = np.empty(k + 1), np.empty(k + 1), np.empty(k + 1, dtype=np.int64)
    M, N = np.empty((k + 1, k + 1), dtype=np.complex128), np.empty((k + 1, k + 1), dtype=np.complex128)
    out = np.zeros(m)
    for t in range(m):
        count = columns(degree, subsets[t], a, b, at)
        gram(G, Gd, dGd, a, b, at, count, M)
        gram_identity(degree, square, a, b, at, count, N)
        cholesky(M, count)
        cholesky(N, count)
        for c in range(count):
            out[t] += 2 * np.log(np.abs(M[c, c]) / np.abs(N[c, c]))
    return out
