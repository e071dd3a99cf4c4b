"""Shells: the nodes at one distance from the root."""

from __future__ import annotations

import torch

from llwlc.constraints._columns import Constraints, custom
from llwlc.constraints._degrees import node_degree
from llwlc.subgraphs._batch import Subgraphs


def shells(subs: Subgraphs) -> Constraints:
    """Mean zero, by degree, on the nodes of each distance from the root: Σ d_x f(x) = 0 over hop(x) = h, h = 1 … hops.

    The root is a node, or the nearer end of a pair; its own distance, 0, has no column.

    Args:
        subs: B subgraphs around nodes or pairs, with N nodes in all.

    Returns:
        `Constraints` with columns `[N, hops]`.

    >>> from torch_geometric.data import Data
    >>> path = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=4)
    >>> subs = Subgraphs.from_batch(path, roots=torch.tensor([0]))
    >>> subs.node.tolist(), shells(subs).columns.tolist()
    ([0, 1, 2], [[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    """
    far = torch.arange(1, subs.hops + 1, device=subs.ptr.device)
    columns = node_degree(subs)[:, None] * torch.eq(subs.hop[:, None], far)
    return custom(subs, columns, names=[f"shell_{h}" for h in far.tolist()])
