"""The adjacency matrix that heuristics and candidates start from."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from llwlc.graph._graph import Graph


def adjacency(graph: Graph) -> Any:
    """The 0/1 adjacency matrix; edge weights do not enter, as in the published heuristics."""
    n = graph.num_nodes
    return csr_array((np.ones(len(graph.indices)), graph.indices.numpy(), graph.indptr.numpy()), shape=(n, n))
