"""PyG graphs where things go wrong, and the dense adjacency that each stands for, written out edge by edge."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import torch
from torch_geometric.data import Data


def nasty() -> dict[str, Data]:
    """One-directed, shuffled, doubled, self-looped, isolated, empty, weighted; all have features `x [n, 3]`."""
    g = torch.Generator().manual_seed(0)
    ring = torch.tensor([[0, 1, 2, 3, 4, 5, 6, 0, 2], [1, 2, 3, 4, 5, 6, 0, 3, 5]])
    both = torch.cat([ring, ring.flip(0)], 1)
    made = {
        "one direction": Data(edge_index=ring, num_nodes=7),
        "shuffled": Data(edge_index=both[:, torch.randperm(18, generator=g)], num_nodes=7),
        "some directions": Data(edge_index=both[:, torch.randperm(18, generator=g)[:13]], num_nodes=7),
        "self-loops": Data(edge_index=torch.cat([both, torch.tensor([[0, 4, 4], [0, 4, 4]])], 1), num_nodes=7),
        "parallel edges": Data(edge_index=torch.cat([both, ring[:, :4], ring[:, :2]], 1), num_nodes=7),
        "isolated nodes": Data(edge_index=ring, num_nodes=10),
        "two components": Data(edge_index=torch.tensor([[0, 1, 2, 4, 5], [1, 2, 3, 5, 6]]), num_nodes=8),
        "no edges": Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=3),
        "no nodes": Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=0),
        "one node": Data(edge_index=torch.tensor([[0], [0]]), num_nodes=1),
    }
    for data in made.values():
        data.x = torch.randn(data.num_nodes, 3, generator=g)
    return made


def weighted() -> dict[str, Data]:
    """The same with random `edge_weight`, and an `edge_attr` that has to be ignored."""
    g = torch.Generator().manual_seed(1)
    made = nasty()
    for data in made.values():
        data.edge_weight = 0.5 + torch.rand(data.edge_index.shape[1], generator=g, dtype=torch.float64)
        data.edge_attr = torch.randn(data.edge_index.shape[1], 4, generator=g)
    return made


def adjacency(data: Data) -> np.ndarray:
    """Parallel edges are one (weights summed), directions that differ are averaged, no self-loops."""
    n = data.num_nodes
    total, seen = np.zeros((n, n)), np.zeros((n, n), bool)
    weight = data.edge_weight.tolist() if "edge_weight" in data else [None] * data.edge_index.shape[1]
    for (i, j), w in zip(data.edge_index.t().tolist(), weight, strict=True):
        if i != j:
            total[i, j] = 1 if w is None else total[i, j] + w
            seen[i, j] = True
    ways = seen.astype(int) + seen.T
    return np.divide(total + total.T, ways, out=np.zeros((n, n)), where=ways > 0)


def laplacian(A: np.ndarray, kind: str) -> np.ndarray:
    d = A.sum(1)
    if kind == "combinatorial":
        return np.diag(d) - A
    s = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0)
    return np.diag((d > 0).astype(float)) - s[:, None] * A * s


def kernel(A: np.ndarray, kind: str) -> np.ndarray:
    """The null space of the Laplacian, `[n, c]`, by SVD."""
    return scipy.linalg.null_space(laplacian(A, kind)) if len(A) else np.zeros((0, 0))
