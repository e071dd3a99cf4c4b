"""NodeFeatures: the features of all nodes, in the forms that network and retrieval read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from llwlc.bases._pair_inputs import PairInputs, unit_rows
from llwlc.training._compact_features import Compactor, RawFeatures, fit_compactor, project_rows

WIDE = 1 << 24
"""Entries up to which nodes are compared by all of their features; beyond, by `DIRECTIONS` leading ones."""
DIRECTIONS = 256
SVD_DIRECTIONS = 64
"""Leading directions that say what the features of a node are about, beside single ones."""


@dataclass(frozen=True, eq=False, repr=False)
class NodeFeatures:
    """The features of all nodes, as a model's `fit` gets them.

    >>> import torch
    >>> NodeFeatures(torch.eye(3)).of_nodes(np.array([0, 2])).compact.shape
    torch.Size([2, 3])
    """

    compact: Tensor | None = None
    """Compact features `[n, d]` for a network, None where it reads none."""
    unit: csr_array | NDArray[np.float32] | None = None
    """The weighted raw features `[n, F]`, rows of length one, for cosines."""

    @classmethod
    def of(cls, x: RawFeatures | None, compactor: Compactor | None, compact: Tensor | None = None) -> NodeFeatures:
        """The features of nodes from raw ones.

        Args:
            x: raw features `[n, F]`, None for a graph without.
            compactor: the map from raw to compact features, None for a network that reads none.
            compact: the compact features `[n, d]`, if they were computed already, or if raw features are not stored.
        """
        if x is None:
            return cls(compact)
        weighing = fit_compactor(x, 1) if compactor is None else compactor
        if compact is None and compactor is not None:
            compact = compactor(x)
        return cls(compact, unit_rows(weighing.weighted(x)))

    def of_nodes(self, at: NDArray[np.int64]) -> NodeFeatures:
        """The features of some nodes.

        Args:
            at: their numbers `[m]`.
        """
        compact = None if self.compact is None else self.compact[torch.from_numpy(at)]
        return NodeFeatures(compact, None if self.unit is None else self.unit[at])

    @property
    def pair_inputs(self) -> PairInputs:
        """What is known of a pair beside its subgraph, from these features."""
        return PairInputs(self.unit)

    @cached_property
    def comparable(self) -> NDArray[np.float32] | None:
        """Dense rows `[n, d]` for finding similar nodes; None without features."""
        if self.unit is None:
            return None if self.compact is None else self.compact.numpy().astype(np.float32)
        n, width = self.unit.shape
        if n * width <= WIDE:
            dense = self.unit if isinstance(self.unit, np.ndarray) else self.unit.toarray()
            return np.ascontiguousarray(dense, dtype=np.float32)
        return project_rows(self.unit, DIRECTIONS)

    @cached_property
    def svd_vectors(self) -> NDArray[np.float32] | None:
        """Rows `[n, SVD_DIRECTIONS]` of the leading directions, where nodes are compared by many more features than
        these; else None.
        """
        if (
            self.unit is None
            or self.unit.shape[0] * self.unit.shape[1] > WIDE
            or self.unit.shape[1] < 4 * SVD_DIRECTIONS
        ):
            return None
        return project_rows(self.unit, SVD_DIRECTIONS)
