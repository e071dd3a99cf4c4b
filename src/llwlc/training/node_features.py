"""NodeFeatures: the features of all nodes, in the forms that network and retrieval read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from llwlc.bases.pair_inputs import PairInputs, unit_rows
from llwlc.training.features import Compactor, Features, fit_compactor, leading

WIDE = 1 << 24
"""Entries up to which nodes are compared by all of their features; beyond, by `DIRECTIONS` leading ones."""
DIRECTIONS = 256
GIST = 64
"""Leading directions that say what the features of a node are about, beside single ones."""


@dataclass(frozen=True, eq=False)
class NodeFeatures:
    """`compact [n, d]`: what the network reads, None where it reads none; `unit [n, F]`: the weighted raw features, rows of length one, for cosines."""

    compact: Tensor | None = None
    unit: csr_array | NDArray[np.float32] | None = None

    @classmethod
    def of(cls, x: Features | None, compactor: Compactor | None, compact: Tensor | None = None) -> NodeFeatures:
        """The features of nodes from raw ones `x`; `compact`: the compact ones, if they were computed already, or if raw features are not stored."""
        if x is None:
            return cls(compact)
        weighing = fit_compactor(x, 1) if compactor is None else compactor
        if compact is None and compactor is not None:
            compact = compactor(x)
        return cls(compact, unit_rows(weighing.weighted(x)))

    def of_nodes(self, at: NDArray[np.int64]) -> NodeFeatures:
        """The features of the nodes at these positions."""
        compact = None if self.compact is None else self.compact[torch.from_numpy(at)]
        return NodeFeatures(compact, None if self.unit is None else self.unit[at])

    @property
    def pair_inputs(self) -> PairInputs:
        return PairInputs(self.unit)

    @cached_property
    def comparable(self) -> NDArray[np.float32] | None:
        """Dense rows for finding similar nodes; None without features."""
        if self.unit is None:
            return None if self.compact is None else self.compact.numpy().astype(np.float32)
        n, width = self.unit.shape
        if n * width <= WIDE:
            dense = self.unit if isinstance(self.unit, np.ndarray) else self.unit.toarray()
            return np.ascontiguousarray(dense, dtype=np.float32)
        return leading(self.unit, DIRECTIONS)

    @cached_property
    def gist(self) -> NDArray[np.float32] | None:
        """Rows of the `GIST` leading directions, where nodes are compared by many more features than these; else None."""
        if self.unit is None or self.unit.shape[0] * self.unit.shape[1] > WIDE or self.unit.shape[1] < 4 * GIST:
            return None
        return leading(self.unit, GIST)
