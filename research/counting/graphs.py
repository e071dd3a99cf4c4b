"""The usual 5,000 random graphs, by their recipe (Chen et al. 2020): regular graphs of which n edges are deleted.

The published file has graphs of these four kinds in equal shares, 1,500 for training, 1,000 for validation, 2,500 for
test. Ours are drawn by the same recipe from a seed: the same distribution, other graphs.
"""

from __future__ import annotations

from typing import NamedTuple

import networkx as nx
import numpy as np

from llwlc.errors import InputError

KINDS = ((10, 6), (15, 6), (20, 5), (30, 5))
"""Numbers of nodes and degrees, drawn with equal chances."""
COUNT = 5000
SHARES = {"train": 0.3, "valid": 0.2, "test": 0.5}


class GraphSet(NamedTuple):
    """Adjacency matrices of zeros and ones, and the numbers of the graphs of each part."""

    adjacency: list[np.ndarray]
    parts: dict[str, np.ndarray]


def make_graphs(count: int = COUNT, *, seed: int = 0) -> GraphSet:
    """Random graphs and their split; the order is random, so the parts are runs of it.

    >>> graphs = make_graphs(10)
    >>> {name: len(part) for name, part in graphs.parts.items()}
    {'train': 3, 'valid': 2, 'test': 5}
    >>> {len(A): int(A.sum()) // 2 for A in graphs.adjacency} == {10: 20, 15: 30, 20: 30, 30: 45}
    True
    """
    if count < 10:
        raise InputError(f"at least 10 graphs are needed for three parts, got {count}")
    draw = np.random.default_rng(seed)
    adjacency = [_make_graph(*KINDS[draw.integers(len(KINDS))], draw) for _ in range(count)]
    ends = np.round(np.cumsum([0.0, *SHARES.values()]) * count).astype(int)
    parts = {name: np.arange(ends[i], ends[i + 1]) for i, name in enumerate(SHARES)}
    return GraphSet(adjacency, parts)


def _make_graph(num_nodes: int, degree: int, draw: np.random.Generator) -> np.ndarray:
    graph = nx.random_regular_graph(degree, num_nodes, seed=int(draw.integers(2**31)))
    edges = np.array(sorted(tuple(sorted(edge)) for edge in graph.edges))
    kept = edges[np.sort(draw.permutation(len(edges))[num_nodes:])]
    adjacency = np.zeros((num_nodes, num_nodes), dtype=np.int64)
    adjacency[kept[:, 0], kept[:, 1]] = adjacency[kept[:, 1], kept[:, 0]] = 1
    return adjacency
