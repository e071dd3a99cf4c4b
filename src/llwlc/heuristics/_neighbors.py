"""Scores by common neighbours and degrees."""

from __future__ import annotations

import torch
from torch import Tensor

from llwlc.graph._graph import Graph
from llwlc.heuristics._pair_statistics import STATISTICS, compute_pair_statistics


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
    return _statistic(graph, pairs, "common neighbours")


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
    return _statistic(graph, pairs, "Adamic–Adar")


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
    return _statistic(graph, pairs, "resource allocation")


def preferential_attachment(graph: Graph, pairs: Tensor) -> Tensor:
    """d(u) d(v), the product of the degrees (networkx's `preferential_attachment`), without the pair's own link.

    Args:
        graph: the links that are known.
        pairs: `[m, 2]`.

    Returns:
        Scores `[m]`.

    >>> import torch
    >>> square = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 0]]))
    >>> preferential_attachment(square, torch.tensor([[0, 2], [0, 1]])).tolist()
    [4.0, 1.0]
    """
    return _statistic(graph, pairs, "smaller degree") * _statistic(graph, pairs, "larger degree")


def _statistic(graph: Graph, pairs: Tensor, name: str) -> Tensor:
    """One of `STATISTICS` of each pair; any shape `[..., 2]` gives `[...]`."""
    statistics = compute_pair_statistics(graph, pairs.reshape(-1, 2).cpu().numpy())
    return torch.from_numpy(statistics[:, STATISTICS.index(name)].copy()).reshape(pairs.shape[:-1])
