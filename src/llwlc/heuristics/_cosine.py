"""The cosine of smoothed features."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, eye_array
from torch import Tensor

from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.heuristics._adjacency import adjacency
from llwlc.heuristics._pair_statistics import row_cosines


def feature_cosine(graph: Graph, pairs: Tensor, *, hops: int = 2) -> Tensor:
    """The cosine of rows u and v of Âʰ X, with Â = D^−½ (A + I) D^−½ and D the degrees of A + I.

    Args:
        graph: the links that are known, with features `x [n, F]`.
        pairs: `[m, 2]`.
        hops: h, how often features are smoothed.

    Returns:
        Scores `[m]`; 0 where a row is zero.

    >>> import torch
    >>> path = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]), x=torch.eye(3))
    >>> feature_cosine(path, torch.tensor([[0, 2]]), hops=1).round(decimals=4).tolist()
    [0.4]
    """
    if graph.x is None:
        raise InputError("feature_cosine needs node features: load the graph with them, or use common_neighbors")
    n = graph.num_nodes
    inverse = 1 / np.sqrt(graph.degree.double().numpy() + 1)
    looped: Any = adjacency(graph) + eye_array(n, format="csr")
    smooth: Any = csr_array(looped * inverse[:, None] * inverse[None])
    x: Any = graph.x.double().numpy() if isinstance(graph.x, Tensor) else graph.x
    for _ in range(hops):
        x = smooth @ x
    x = csr_array(x)
    norm = np.sqrt((x * x).sum(1))
    unit = csr_array(x / np.where(norm > 0, norm, 1)[:, None])
    unit.sort_indices()
    indptr, indices = unit.indptr.astype(np.int64), unit.indices.astype(np.int64)
    cosines = row_cosines(indptr, indices, unit.data, pairs.reshape(-1, 2).cpu().numpy())
    return torch.from_numpy(cosines).reshape(pairs.shape[:-1])
