"""PairInputs: exact statistics of a pair for the network, beside its subgraph: common neighbours, degrees, the cosine
of the raw features.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from llwlc._kernels import cuda
from llwlc.graph._graph import Graph
from llwlc.heuristics._pair_statistics import STATISTICS, compute_pair_statistics, row_cosines

if TYPE_CHECKING:
    from llwlc._kernels.cuda.driver import KernelEngine

PAIR_CHUNK = 65_536
"""Pairs whose dense rows are multiplied at once."""


@dataclass(frozen=True, eq=False)
class PairInputs:
    """`unit`: rows of length one `[n, F]`, the weighted raw features of the nodes, or None. Counts and degrees enter by
    their logarithms.
    """

    unit: csr_array | NDArray[np.float32] | None = None

    @property
    def channels(self) -> int:
        return len(STATISTICS) + (self.unit is not None)

    def __call__(self, graph: Graph, pairs: Tensor) -> Tensor:
        """`[m, channels]`, float32, of the pairs `[m, 2]` on a graph, as if they had no link; column 0 is above 0 where
        they share a neighbour.
        """
        if graph.indptr.is_cuda and cuda.available():
            from llwlc._kernels.cuda.driver import engine_of

            return self.on_gpu(engine_of(graph.indptr), graph, pairs)
        array = pairs.cpu().numpy()
        columns = compute_pair_statistics(graph, array)
        columns[:, [0, 1, 3, 4]] = np.log1p(columns[:, [0, 1, 3, 4]])
        if self.unit is not None:
            columns = np.column_stack([columns, self._cosine(array)])
        return torch.from_numpy(columns.astype(np.float32)).to(pairs.device)

    def on_gpu(self, engine: KernelEngine, graph: Graph, pairs: Tensor) -> Tensor:
        """The same by the CUDA kernel, for a graph on its device."""
        from llwlc._kernels.cuda.pair_inputs import pair_inputs

        device = graph.indptr.device
        pairs = pairs.to(device)
        rows = () if self.unit is None else self._on_device(device)
        dense = isinstance(self.unit, np.ndarray)
        sparse = None if dense or not rows else (rows[0], rows[1], rows[2])
        columns = pair_inputs(engine, graph.indptr.contiguous(), graph.indices.contiguous(), pairs, sparse)
        if not dense:
            return columns
        table = rows[0]
        low, high = torch.split(pairs.amin(1), PAIR_CHUNK), torch.split(pairs.amax(1), PAIR_CHUNK)
        parts = [(table[a] * table[b]).sum(1, dtype=torch.float64) for a, b in zip(low, high, strict=True)]
        return torch.cat([columns, torch.cat(parts).float()[:, None]], 1)

    def _on_device(self, device: torch.device) -> tuple[Tensor, ...]:
        """The rows in the memory of a device, copied once."""
        if device not in self._copies:
            rows = (self.unit,) if isinstance(self.unit, np.ndarray) else self._rows
            self._copies[device] = tuple(torch.from_numpy(x).to(device) for x in rows)
        return self._copies[device]

    @cached_property
    def _copies(self) -> dict[torch.device, tuple[Tensor, ...]]:
        return {}

    def _cosine(self, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        if isinstance(self.unit, np.ndarray):
            # the smaller number first, so that the order of the ends does not change the last bit
            low, high = pairs.min(1), pairs.max(1)
            parts = [np.zeros(0)]
            for at in range(0, len(pairs), PAIR_CHUNK):
                a, b = self.unit[low[at : at + PAIR_CHUNK]], self.unit[high[at : at + PAIR_CHUNK]]
                parts.append(np.einsum("ij,ij->i", a, b, dtype=np.float64))
            return np.concatenate(parts)
        return row_cosines(*self._rows, pairs)

    @cached_property
    def _rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The sparse rows in the kernel's types, converted once."""
        assert isinstance(self.unit, csr_array)
        return self.unit.indptr.astype(np.int64), self.unit.indices.astype(np.int64), self.unit.data


def unit_rows(weighted: csr_array | NDArray[np.float64]) -> csr_array | NDArray[np.float32]:
    """The rows scaled to length one; a zero row stays zero."""
    if isinstance(weighted, np.ndarray):
        length = np.linalg.norm(weighted, axis=1, keepdims=True)
        return (weighted / np.where(length > 0, length, 1)).astype(np.float32)
    rows = csr_array(weighted, copy=True)
    rows.sort_indices()
    length = np.sqrt(np.asarray(rows.multiply(rows).sum(1)).ravel())
    rows.data = rows.data / np.repeat(np.where(length > 0, length, 1), np.diff(rows.indptr))
    return rows
