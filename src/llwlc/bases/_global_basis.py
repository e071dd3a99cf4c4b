"""GlobalBasis: eigenvectors of a whole graph at both ends of its spectrum, without the trivial ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import block_array, coo_array, csr_array, eye_array, hstack
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from llwlc.graph._graph import Graph
from llwlc.linalg._eigsh import constrained_eigsh

LOW, HIGH = 64, 32
"""Vectors at the lower and at the upper end."""
SMALLEST, SMALLEST_SHARE = 4, 50
"""Components of fewer nodes than `SMALLEST`, or than n / `SMALLEST_SHARE`, have no coordinates: each would take a
constraint and vectors of its own, and path lengths say all about it."""
TOLERANCE = 1e-6
PRODUCTS = 4e9
"""Products of single entries that the search for one end may take."""
MAX_ENTRIES = 1 << 24
"""Entries of the vectors; larger graphs have fewer vectors."""


@dataclass(frozen=True, eq=False)
class GlobalBasis:
    """Eigenpairs of the normalised Laplacian of a graph, ascending: `values [k]`, `vectors [n, k]`.

    A vector is ψ = √(2m) D^(−½) φ, φ of length one: its mean square by degree is one, whatever the size of the graph.

    >>> import torch
    >>> path = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 4]]))
    >>> basis = global_basis(path, low=2, high=0)
    >>> basis.values.round(decimals=4).tolist(), basis.vectors.shape
    ([0.2929, 1.0], torch.Size([5, 2]))
    """

    values: Tensor
    vectors: Tensor


def global_basis(graph: Graph, *, low: int = LOW, high: int = HIGH) -> GlobalBasis:
    """The `low` smoothest and the `high` roughest eigenvectors of I − D^(−½) A D^(−½) on the large components.

    Trivial vectors are projected out by constraints: D^(½) on each component (λ = 0), and the same with alternating
    signs on each bipartite component (λ = 2). A cluster of equal eigenvalues is kept whole or
    left out, so that Σ_k f(λ_k) ψ_k(u) ψ_k(v) depends neither on signs nor on the vectors chosen in an eigenspace;
    vectors that have not converged are left out too, and everything behind them. Oracle: `numpy.linalg.eigh`.

    Args:
        graph: the links that are known; weights do not enter.
        low: most vectors at the lower end.
        high: most vectors at the upper end.

    Returns:
        A `GlobalBasis` with `values [k]` and `vectors [n, k]`, zero on small components.

    >>> import torch
    >>> star = Graph.from_edges(torch.tensor([[0, 1], [0, 2], [0, 3], [0, 4]]))
    >>> global_basis(star, low=2, high=0).values.tolist()    # λ = 1 has three vectors, of which two are none
    []
    """
    n = graph.num_nodes
    matrix: Any = csr_array(
        (np.ones(len(graph.indices)), graph.indices.cpu().numpy(), graph.indptr.cpu().numpy()), shape=(n, n)
    )
    label = connected_components(matrix, directed=False)[1] if n else np.zeros(0, dtype=np.int32)
    size = np.bincount(label, minlength=1)
    inside = np.flatnonzero(size[label] >= max(SMALLEST, n / SMALLEST_SHARE))
    own = csr_array(matrix[inside][:, inside])
    root = np.sqrt(own.sum(1))
    smooth = csr_array(own / root[:, None] / root[None]) if len(inside) else own
    laplacian = csr_array(eye_array(len(inside)) - smooth)
    most = MAX_ENTRIES // max(n, 1)
    trivial = hstack([_component_columns(own, root), _bipartite_columns(own, root)], format="csr")
    ends = [_one_end(laplacian, trivial, min(low, most), "SA"), _one_end(laplacian, trivial, min(high, most), "LA")]
    # the two ends of a small spectrum overlap
    reach = ends[0][0][-1] + 1e-6 if len(ends[0][0]) else -1.0
    keep = ends[1][0] > reach
    if not keep.all():
        ends[1] = (ends[1][0][keep], ends[1][1][:, keep])
    values = np.concatenate([values for values, _ in ends])
    vectors = np.zeros((n, len(values)))
    if len(values):
        vectors[inside] = np.concatenate([own for _, own in ends], 1) / root[:, None] * np.sqrt(own.nnz)
    return GlobalBasis(torch.from_numpy(values), torch.from_numpy(vectors))


def _one_end(laplacian: Any, columns: Any, count: int, which: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Whole clusters of converged eigenpairs at one end, ascending."""
    n = laplacian.shape[0]
    wanted = min(count, n - columns.shape[1])
    if wanted < 1:
        return np.zeros(0), np.zeros((n, 0))
    products = int(np.clip(PRODUCTS / (laplacian.nnz + 20 * n), 200, 20_000))
    found = constrained_eigsh(laplacian, columns, k=wanted, which=which, tol=TOLERANCE, max_products=products)
    values, vectors = found.values.numpy(), found.vectors.numpy()
    outward = np.arange(len(values)) if which == "SA" else np.arange(len(values))[::-1]  # from the end inwards
    bad = np.flatnonzero(~found.converged.numpy()[outward])
    keep = outward[: bad[0]] if len(bad) else outward
    if len(keep) and (found.cut is not False or len(bad)):
        # the cluster at the inner edge may be incomplete
        keep = keep[np.abs(values[keep] - values[keep[-1]]) > 100 * TOLERANCE]
    keep = np.sort(keep)
    return values[keep], vectors[:, keep]


def _component_columns(matrix: Any, root: NDArray[np.float64]) -> Any:
    """D^(½) on each component, a column each: the kernel of the Laplacian."""
    if not len(root):
        return coo_array((0, 0))
    count, label = connected_components(matrix, directed=False)
    return csr_array((root, (np.arange(len(root)), label)), shape=(len(root), count))


def _bipartite_columns(matrix: Any, root: NDArray[np.float64]) -> Any:
    """±D^(½) on each bipartite component, a column each: the eigenvectors of eigenvalue 2.

    A component is bipartite where its double cover, the graph of A ⊗ [0 1; 1 0], falls into two.
    """
    n = len(root)
    if not n:
        return coo_array((0, 0))
    label = connected_components(block_array([[None, matrix], [matrix, None]]), directed=False)[1]
    here, there = label[:n], label[n:]
    sides = np.flatnonzero(here != there)
    _, column = np.unique(np.minimum(here, there)[sides], return_inverse=True)
    value = np.where(here < there, root, -root)[sides]
    return csr_array((value, (sides, column)), shape=(n, int(column.max(initial=-1)) + 1))
