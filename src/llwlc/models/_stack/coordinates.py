"""Coordinates of nodes in the whole graph: leading eigenvectors of the adjacency matrix, lowest eigenvectors of the
Laplacian, distances to landmarks; and statistics of pairs computed from them, which do not depend on the signs of
eigenvectors or on the basis of an eigenspace.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array
from scipy.sparse.csgraph import connected_components

from llwlc._support.compiler import in_order
from llwlc._support.threads import use_one_blas_thread
from llwlc.graph._graph import Graph
from llwlc.heuristics._adjacency import adjacency
from llwlc.heuristics._spectral import leading_eigenpairs, shrink_eigenvalues
from llwlc.linalg._eigsh import constrained_eigsh

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
ADJACENCY_RANKS = (1, 2, 4, 8, 16, 32)
LAPLACIAN_RANKS = (2, 4, 8, 16, 24)
TOLERANCE = 1e-4
PRODUCTS = 2e9
"""Budget of the search for the Laplacian's eigenvectors: multiplications of single entries, over all products."""
SMALLEST_PART = 50
"""Components below a share 1 / `SMALLEST_PART` of the nodes, or of fewer than four, have no Laplacian coordinates:
each would add a vector of its own.
"""
LANDMARKS = 16


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Vectors and their weights at several ranks, `[n, k]` and `[k, ranks]`; steps to landmarks, `[n, LANDMARKS]`."""

    vectors: Floats
    weights: Floats
    smooth: Floats
    smooth_weights: Floats
    landmarks: Integers

    @classmethod
    def of(cls, graph: Graph) -> Coordinates:
        """The coordinates of a graph's nodes."""
        values, vectors = leading_eigenpairs(adjacency(graph), ADJACENCY_RANKS[-1] + 1)
        weights = np.stack([shrink_eigenvalues(values, rank) for rank in ADJACENCY_RANKS], 1)
        low, smooth = smoothest_vectors(graph, LAPLACIAN_RANKS[-1] + 1)
        inverse = np.zeros((len(low), len(LAPLACIAN_RANKS)))
        for column, rank in enumerate(LAPLACIAN_RANKS):
            cut = 1 / low[rank] if rank < len(low) else 0.0
            inverse[:, column] = np.maximum(1 / low - cut, 0)
        return cls(vectors, weights, smooth, inverse, landmark_distances(graph))

    @staticmethod
    def names() -> tuple[str, ...]:
        """The names of the columns of `statistics`."""
        return (
            *(f"adjacency entry at rank {rank}" for rank in ADJACENCY_RANKS),
            *(f"adjacency cosine at rank {rank}" for rank in ADJACENCY_RANKS[2:]),
            *(f"resistance at rank {rank}" for rank in LAPLACIAN_RANKS),
            *(f"Laplacian cosine at rank {rank}" for rank in LAPLACIAN_RANKS),
            "distance by landmarks, at least",
            "distance by landmarks, at most",
        )

    def statistics(self, pairs: Integers) -> Floats:
        """The statistics `names` of pairs `[m, 2]`, smaller node first: `[m, s]`."""
        m = len(pairs)
        entry, size_u, size_v = (np.zeros((m, len(ADJACENCY_RANKS))) for _ in range(3))
        _products(self.vectors, self.weights, np.abs(self.weights), pairs, entry, size_u, size_v)
        dot, norm_u, norm_v = (np.zeros((m, len(LAPLACIAN_RANKS))) for _ in range(3))
        _products(self.smooth, self.smooth_weights, self.smooth_weights, pairs, dot, norm_u, norm_v)
        steps = self.landmarks[pairs]
        least, most = np.abs(steps[:, 0] - steps[:, 1]).max(1), steps.sum(1).min(1)
        return np.concatenate(
            [
                entry,
                _cosine(entry, size_u, size_v)[:, 2:],
                norm_u + norm_v - 2 * dot,
                _cosine(dot, norm_u, norm_v),
                np.stack([least, most], 1),
            ],
            1,
        )


def _cosine(dot: Floats, u: Floats, v: Floats) -> Floats:
    size = np.sqrt(u * v)
    return np.asarray(np.where(size > 1e-12, dot / np.maximum(size, 1e-12), 0))


@in_order
def _products(
    vectors: Floats, weights: Floats, positive: Floats, pairs: Integers, dot: Floats, at_u: Floats, at_v: Floats
) -> None:
    """Σ_k w_k φ_k(u) φ_k(v) for each column w of the weights, and the same for (u, u) and (v, v) with the weights'
    absolute values.
    """
    for i in range(len(pairs)):
        u, v = pairs[i, 0], pairs[i, 1]
        for k in range(vectors.shape[1]):
            a, b = vectors[u, k], vectors[v, k]
            for r in range(weights.shape[1]):
                dot[i, r] += weights[k, r] * a * b
                at_u[i, r] += positive[k, r] * a * a
                at_v[i, r] += positive[k, r] * b * b


def smoothest_vectors(graph: Graph, count: int) -> tuple[Floats, Floats]:
    """The lowest non-zero eigenvalues `[k]` of I − D^−½ A D^−½ on the large components, ascending, and D^−½ times
    their vectors times √(2m), `[n, k]`: functions on the nodes with mean square about one."""
    n = graph.num_nodes
    matrix = adjacency(graph)
    _, part = connected_components(matrix, directed=False)
    size = np.bincount(part, minlength=1)
    inside = np.flatnonzero(size[part] >= max(4, n / SMALLEST_PART)) if n else np.zeros(0, dtype=np.int64)
    vectors = np.zeros((n, 0))
    if not len(inside):
        return np.zeros(0), vectors
    own = csr_array(matrix[inside][:, inside])
    root = np.sqrt(own.sum(1))
    laplacian = csr_array(eye_array(len(inside)) - own / root[:, None] / root[None])
    _, label = np.unique(part[inside], return_inverse=True)
    trivial = csr_array((root, (np.arange(len(inside)), label)), shape=(len(inside), int(label.max()) + 1))
    wanted = min(count, len(inside) - trivial.shape[1])
    products = int(np.clip(PRODUCTS / (laplacian.nnz + 20 * len(inside)), 200, 20_000))
    with use_one_blas_thread():
        found = constrained_eigsh(laplacian, trivial, k=wanted, tol=TOLERANCE, max_products=products)
    values = found.values.numpy()
    # a vector that has not converged is kept: it is a smooth function all the same
    good = values > 1e-9
    vectors = np.zeros((n, int(good.sum())))
    vectors[inside] = found.vectors.numpy()[:, good] / root[:, None] * np.sqrt(own.nnz)
    return values[good], vectors


def landmark_distances(graph: Graph) -> Integers:
    """Steps from each node to `LANDMARKS` nodes that are far from each other, `[n, LANDMARKS]`; n without a path."""
    n = graph.num_nodes
    out = np.full((n, LANDMARKS), n, dtype=np.int64)
    if n:
        _walk_levels(graph.indptr.cpu().numpy(), graph.indices.cpu().numpy(), out)
    return out


@in_order
def _walk_levels(indptr: Integers, indices: Integers, out: Integers) -> None:
    n, count = out.shape
    queue = np.empty(n, dtype=np.int64)
    nearest = np.full(n, n, dtype=np.int64)
    start = int(np.argmax(np.diff(indptr)))
    for column in range(count):
        queue[0], head, end = start, 0, 1
        out[start, column] = 0
        while head < end:
            u = queue[head]
            head += 1
            for v in indices[indptr[u] : indptr[u + 1]]:
                if out[v, column] == n:
                    out[v, column] = out[u, column] + 1
                    queue[end] = v
                    end += 1
        # the next one is the farthest of those that can be reached at all
        for u in range(n):
            nearest[u] = min(nearest[u], out[u, column])
        far = -1
        for u in range(n):
            if nearest[u] < n and nearest[u] > far:
                far, start = nearest[u], u
