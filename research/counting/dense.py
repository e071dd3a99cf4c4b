"""Graphs as padded matrices: what networks of messages read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse.csgraph import shortest_path
from torch import Tensor

MAX_DISTANCE = 5


@dataclass(frozen=True)
class DenseBatch:
    """Shapes: `adjacency [B, n, n]`; `alive [B, n]`, 1 at real nodes; `distance [B, n, n]`, path lengths, at most
    MAX_DISTANCE, one more where there is no path; `edges [3, R]`: graph and ends of each edge, the smaller end first.
    """

    adjacency: Tensor
    alive: Tensor
    distance: Tensor
    edges: Tensor

    def to(self, device: str) -> DenseBatch:
        return DenseBatch(**{name: x.to(device) for name, x in vars(self).items()})


def make_dense(adjacency: list[np.ndarray]) -> DenseBatch:
    """These graphs, padded to the largest.

    >>> make_dense([np.array([[0, 1], [1, 0]]), np.zeros((1, 1))]).alive.tolist()
    [[1.0, 1.0], [1.0, 0.0]]
    """
    size = max(map(len, adjacency))
    matrices = torch.zeros(len(adjacency), size, size)
    distance = torch.full((len(adjacency), size, size), MAX_DISTANCE + 1)
    alive = torch.zeros(len(adjacency), size)
    for i, A in enumerate(adjacency):
        n = len(A)
        matrices[i, :n, :n], alive[i, :n] = torch.from_numpy(A).float(), 1.0
        paths = shortest_path(A, unweighted=True)
        near = np.where(np.isinf(paths), MAX_DISTANCE + 1, np.minimum(paths, MAX_DISTANCE))
        distance[i, :n, :n] = torch.from_numpy(near).long()
    return DenseBatch(matrices, alive, distance, torch.triu(matrices, 1).nonzero().t())
