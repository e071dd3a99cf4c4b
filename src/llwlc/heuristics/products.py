"""Products of sparse rows, pair by pair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from llwlc.graph.graph import Graph


def adjacency(graph: Graph) -> Any:
    """The 0/1 adjacency matrix; edge weights do not enter, as in the published heuristics."""
    n = graph.num_nodes
    return csr_array((np.ones(len(graph.indices)), graph.indices.numpy(), graph.indptr.numpy()), shape=(n, n))


def row_products(left: Any, right: Any, pairs: Tensor, *, chunk: int) -> Tensor:
    """⟨row u of left, row v of right⟩ for each pair; any shape `[..., 2]` gives `[...]`."""
    flat = pairs.reshape(-1, 2)
    parts = [torch.empty(0, dtype=torch.float64)]
    for u, v in _chunks(flat, chunk):
        parts.append(torch.from_numpy((left[u] * right[v]).sum(1)))
    return torch.cat(parts).reshape(pairs.shape[:-1])


def _chunks(pairs: Tensor, size: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    for start in range(0, len(pairs), size):
        part = pairs[start : start + size].numpy()
        yield part[:, 0], part[:, 1]
