"""Scores by common neighbours: their number, Adamic–Adar, resource allocation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from llwlc.graph.graph import Graph
from llwlc.heuristics.products import adjacency, row_products

# pairs whose rows are multiplied at once
CHUNK = 65_536


Weights = NDArray[np.float64]


def common_neighbors(graph: Graph, pairs: Tensor) -> Tensor:
    """|N(u) ∩ N(v)|, the number of common neighbours (networkx's `common_neighbors`).

    Args:
        graph: the links that are known.
        pairs: `[m, 2]`.

    Returns:
        Scores `[m]`.

    >>> import torch
    >>> square = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 0]]))
    >>> common_neighbors(square, torch.tensor([[0, 2], [0, 1]])).tolist()
    [2.0, 0.0]
    """
    return _shared(graph, pairs, np.ones_like)


def adamic_adar(graph: Graph, pairs: Tensor) -> Tensor:
    """Σ 1 / log d(w) over the common neighbours w of u and v (networkx's `adamic_adar_index`).

    Args:
        graph: the links that are known.
        pairs: `[m, 2]`.

    Returns:
        Scores `[m]`.

    >>> import torch
    >>> square = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 0]]))
    >>> adamic_adar(square, torch.tensor([[0, 2], [0, 1]])).round(decimals=4).tolist()
    [2.8854, 0.0]
    """
    # a common neighbour has degree 2 at least, so no weight of smaller degrees is ever used
    return _shared(graph, pairs, lambda degree: 1 / np.log(np.maximum(degree, 2)))


def resource_allocation(graph: Graph, pairs: Tensor) -> Tensor:
    """Σ 1 / d(w) over the common neighbours w of u and v (networkx's `resource_allocation_index`).

    Args:
        graph: the links that are known.
        pairs: `[m, 2]`.

    Returns:
        Scores `[m]`.

    >>> import torch
    >>> square = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 0]]))
    >>> resource_allocation(square, torch.tensor([[0, 2], [0, 1]])).tolist()
    [1.0, 0.0]
    """
    return _shared(graph, pairs, lambda degree: 1 / np.maximum(degree, 1))


def _shared(graph: Graph, pairs: Tensor, weight: Callable[[Weights], Weights]) -> Tensor:
    matrix = adjacency(graph)
    weighted: Any = csr_array(
        (weight(graph.degree.double().numpy())[matrix.indices], matrix.indices, matrix.indptr),
        shape=matrix.shape,
    )
    return row_products(matrix, weighted, pairs, chunk=CHUNK)
