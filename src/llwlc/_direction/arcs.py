"""Arcs: the directed links of a graph as a sparse matrix, and the directions of given links."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from llwlc.errors import InputError
from llwlc.graph._graph import Graph

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def arc_matrix(graph: Graph) -> csr_array:
    """The matrix `[n, n]` with a one for each link u → v, u its row and v its column.

    >>> arc_matrix(Graph.from_edges(torch.tensor([[1, 0], [1, 2]]), directed=True)).toarray().tolist()
    [[0.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """
    require_directions(graph)
    source, target = graph.arcs.numpy().T
    n = graph.num_nodes
    return csr_array((np.ones(len(source)), (source, target)), shape=(n, n))


def arcs_of(graph: Graph, pairs: Tensor) -> tuple[Tensor, Tensor]:
    """Which of the links `[m, 2]` of a graph point from the first node to the second, and which from the second to the
    first; of a pair that is no link, neither does.

    >>> one_way = Graph.from_edges(torch.tensor([[1, 0], [1, 2], [2, 1]]), directed=True)
    >>> [part.tolist() for part in arcs_of(one_way, torch.tensor([[0, 1], [1, 2], [0, 2]]))]
    [[False, True, False], [True, True, False]]
    """
    require_directions(graph)
    n, (source, target) = graph.num_nodes, graph.arcs.T
    known = source * n + target
    return torch.isin(pairs[:, 0] * n + pairs[:, 1], known), torch.isin(pairs[:, 1] * n + pairs[:, 0], known)


def require_directions(graph: Graph) -> None:
    """Refuses a graph that does not keep which way its links point."""
    if graph.forward is None:
        raise InputError(
            "this graph does not know which way its links point: read it with directed=True, as in"
            " Graph.read(file, directed=True) or Graph.from_edges(pairs, directed=True)"
        )
