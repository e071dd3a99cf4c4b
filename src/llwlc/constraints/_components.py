"""The kernel of the Laplacian: a condition for each component."""

from __future__ import annotations

from typing import Literal

import scipy.sparse
import torch
from scipy.sparse.csgraph import connected_components

from llwlc.constraints._columns import Constraints, custom
from llwlc.constraints._degrees import node_degree
from llwlc.subgraphs._batch import Subgraphs


def components(subs: Subgraphs, *, laplacian: Literal["normalized", "combinatorial"] = "normalized") -> Constraints:
    """The kernel of the Laplacian, one column for each component: what is left has no eigenvalue 0.

    D^½ 1 on a component for the normalised Laplacian, 1 for the combinatorial one; 1 at an isolated node for both.

    Args:
        subs: B subgraphs, or whole graphs, with N nodes in all.
        laplacian: the Laplacian of the basis.

    Returns:
        `Constraints` with columns `[N, k]`, k the most components of a graph.

    >>> from torch_geometric.data import Data
    >>> path = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=4)    # and an isolated node
    >>> components(Subgraphs.from_batch(path)).columns.square().round(decimals=6).tolist()
    [[1.0, 0.0], [2.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    n, device = subs.num_nodes, subs.ptr.device
    degree = node_degree(subs)
    edges = torch.ones(len(subs.row))
    if subs.weight is not None:  # an edge of weight 0 joins nothing
        edges = (subs.weight.detach() > 0).float().cpu()
    shape = (edges.numpy(), (subs.row.cpu().numpy(), subs.col.cpu().numpy()))
    adjacency = scipy.sparse.csr_array(shape, shape=(n, n))
    adjacency.eliminate_zeros()
    component = torch.from_numpy(connected_components(adjacency, directed=False)[1]).long().to(device)
    # numbered inside each graph, in the order of their first nodes
    first = torch.full((n,), n, device=device).scatter_reduce(0, component, torch.arange(n, device=device), "amin")
    begins = torch.eq(first[component], torch.arange(n, device=device)).long()
    before = begins.cumsum(0) - begins
    number = (before[first[component]] - before[subs.ptr[:-1].clamp(max=max(n - 1, 0))][subs.graph]) if n else component
    width = int(number.max()) + 1 if n else 0
    height = torch.ones_like(degree)
    if laplacian == "normalized":
        # sqrt has no derivative at 0
        height = torch.where(degree > 0, torch.where(degree > 0, degree, 1).sqrt(), 1)
    columns = height[:, None] * torch.eq(number[:, None], torch.arange(width, device=device))
    return custom(subs, columns, names=[f"component_{i}" for i in range(width)])
