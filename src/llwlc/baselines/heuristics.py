"""Scores without training: common neighbours, Adamic–Adar, resource allocation, and the cosine of smoothed features.

They belong beside every result: a trained model that does not beat them has learned nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array
from torch import Tensor

from llwlc.errors import InputError
from llwlc.graph import Graph

# pairs whose rows are multiplied at once
CHUNK = 65_536

Weights = NDArray[np.float64]


def common_neighbors(graph: Graph, pairs: Tensor) -> Tensor:
    """|N(u) ∩ N(v)| of the pairs `[m, 2]`, `[m]` (networkx's `common_neighbors`).

    >>> square = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 0]]))
    >>> common_neighbors(square, torch.tensor([[0, 2], [0, 1]])).tolist()
    [2.0, 0.0]
    """
    return _shared(graph, pairs, np.ones_like)


def adamic_adar(graph: Graph, pairs: Tensor) -> Tensor:
    """Σ 1 / log d(w) over the common neighbours w of u and v, `[m]` (networkx's `adamic_adar_index`)."""
    # a common neighbour has degree 2 at least, so no weight of smaller degrees is ever used
    return _shared(graph, pairs, lambda degree: 1 / np.log(np.maximum(degree, 2)))


def resource_allocation(graph: Graph, pairs: Tensor) -> Tensor:
    """Σ 1 / d(w) over the common neighbours w of u and v, `[m]` (networkx's `resource_allocation_index`)."""
    return _shared(graph, pairs, lambda degree: 1 / np.maximum(degree, 1))


def feature_cosine(graph: Graph, pairs: Tensor, *, hops: int = 2) -> Tensor:
    """The cosine of rows u and v of Âʰ X, with Â = D^−½ (A + I) D^−½ and D the degrees of A + I, `[m]`; 0 where a row is zero."""
    if graph.x is None:
        raise InputError("feature_cosine needs node features: load the graph with them, or use common_neighbors")
    n = graph.num_nodes
    inverse = 1 / np.sqrt(graph.degree.double().numpy() + 1)
    looped: Any = _adjacency(graph) + eye_array(n, format="csr")
    smooth: Any = csr_array(looped * inverse[:, None] * inverse[None])
    x: Any = graph.x.double().numpy() if isinstance(graph.x, Tensor) else graph.x
    for _ in range(hops):
        x = smooth @ x
    x = csr_array(x)
    norm = np.sqrt((x * x).sum(1))
    unit = csr_array(x / np.where(norm > 0, norm, 1)[:, None])
    return _row_products(unit, unit, pairs, chunk=4096)


HEURISTICS: dict[str, Callable[[Graph, Tensor], Tensor]] = {
    "common neighbours": common_neighbors,
    "Adamic–Adar": adamic_adar,
    "resource allocation": resource_allocation,
    "cosine of Â²X": feature_cosine,
}


def _shared(graph: Graph, pairs: Tensor, weight: Callable[[Weights], Weights]) -> Tensor:
    adjacency = _adjacency(graph)
    weighted: Any = csr_array(
        (weight(graph.degree.double().numpy())[adjacency.indices], adjacency.indices, adjacency.indptr),
        shape=adjacency.shape,
    )
    return _row_products(adjacency, weighted, pairs, chunk=CHUNK)


def _adjacency(graph: Graph) -> Any:
    """The 0/1 adjacency matrix; edge weights do not enter, as in the published heuristics."""
    n = graph.num_nodes
    return csr_array((np.ones(len(graph.indices)), graph.indices.numpy(), graph.indptr.numpy()), shape=(n, n))


def _row_products(left: Any, right: Any, pairs: Tensor, *, chunk: int) -> Tensor:
    """⟨row u of left, row v of right⟩ for each pair; any shape `[..., 2]` gives `[...]`."""
    flat = pairs.reshape(-1, 2)
    parts = [torch.empty(0, dtype=torch.float64)]
    for u, v in _chunks(flat, chunk):
        parts.append(torch.from_numpy((left[u] * right[v]).sum(1)))
    return torch.cat(parts).reshape(pairs.shape[:-1])


def _chunks(pairs: Tensor, size: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    for start in range(0, len(pairs), size):
        part = pairs[start : start + size].numpy()
        yield part[:, 0], part[:, 1]
