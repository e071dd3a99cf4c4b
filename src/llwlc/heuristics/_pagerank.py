"""Personalised PageRank by push."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from llwlc._support.compiler import exact

Rows = NDArray[np.float64]


@exact
def page_rank(
    indptr: NDArray[np.int64], indices: NDArray[np.int64], nodes: NDArray[np.int64], teleport: float, precision: float
) -> Rows:
    """Personalised PageRank by Andersen's push, in the order of PyG's `get_ppr` (which is HeaRT's); compiled.

    Args:
        indptr: `[n + 1]`, of the graph's CSR.
        indices: `[2m]`.
        nodes: where walks start, `[k]`.
        teleport: the restart probability of a walk.
        precision: pushing ends where no residual is above `teleport` · `precision` · degree.

    Returns:
        Rows `[k, n]`.

    >>> page_rank(np.array([0, 1, 2]), np.array([1, 0]), np.array([0]), 0.5, 1e-9).round(4).tolist()
    [[0.6667, 0.3333]]
    """
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
