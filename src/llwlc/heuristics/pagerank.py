"""Personalised PageRank by push."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc.graph.graph import Graph
from llwlc.support.compiler import exact

Rows = NDArray[np.float64]
# entries of a dense block of rows
BLOCK = 1 << 24


@exact
def page_rank(
    indptr: NDArray[np.int64], indices: NDArray[np.int64], nodes: NDArray[np.int64], teleport: float, precision: float
) -> Rows:
    """Personalised PageRank `[len(nodes), n]` by Andersen's push, in the order of PyG's `get_ppr` (which is HeaRT's)."""
    n = len(indptr) - 1
    rank = np.zeros((len(nodes), n))
    residual = np.zeros(n)
    waiting = np.zeros(n, dtype=np.bool_)
    stack = np.empty(n, dtype=np.int64)
    for i in range(len(nodes)):
        residual[:] = 0
        residual[nodes[i]], stack[0], height = teleport, nodes[i], 1
        while height:
            height -= 1
            u = stack[height]
            waiting[u] = False
            pushed = residual[u]
            rank[i, u] += pushed
            residual[u] = 0
            for v in indices[indptr[u] : indptr[u + 1]]:
                residual[v] += (1 - teleport) * pushed / (indptr[u + 1] - indptr[u])
                if not waiting[v] and residual[v] >= teleport * precision * (indptr[v + 1] - indptr[v]):
                    waiting[v] = True
                    stack[height] = v
                    height += 1
    return rank


def rooted_page_rank(graph: Graph, pairs: Tensor, *, teleport: float = 0.15, precision: float = 1e-7) -> Tensor:
    """π_u(v) + π_v(u), `[m]`, π_u the PageRank that starts anew at u with probability `teleport` (networkx's `pagerank` with `personalization`).

    Any shape `[..., 2]` gives `[...]`. An entry is exact to `precision` times the degree of its node.
    """
    flat = pairs.reshape(-1, 2)
    sources, row = torch.unique(flat, return_inverse=True)
    out = torch.zeros(len(flat), dtype=torch.float64)
    size = max(1, BLOCK // max(graph.num_nodes, 1))
    for begin in range(0, len(sources), size):
        block = sources[begin : begin + size].numpy()
        found = torch.from_numpy(page_rank(graph.indptr.numpy(), graph.indices.numpy(), block, teleport, precision))
        for end in (0, 1):
            mine = ((row[:, end] >= begin) & (row[:, end] < begin + size)).nonzero().view(-1)
            out[mine] += found[row[mine, end] - begin, flat[mine, 1 - end]]
    return out.reshape(pairs.shape[:-1])
