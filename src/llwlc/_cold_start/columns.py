"""Columns of pairs of a node without links and any other node: statistics of the features of the one, and of the links
and features around the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from llwlc.errors import InputError
from llwlc.training._compact_features import project_rows
from llwlc.training._node_features import NodeFeatures

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
NUM_STATISTICS = 13
"""Number of columns before the products of single features."""
MAX_PRODUCTS = 64
"""Maximum number of features whose products are columns."""


@dataclass(frozen=True, eq=False)
class ColdStartColumns:
    """Of the nodes: their degree `[n]`; unit rows of features and their means over the neighbours, `[n, F]`; compact
    features, and their means over the neighbours and over the neighbours' neighbours, `[n, d]`.
    """

    degree: Floats
    rows: NDArray[np.float32]
    around: NDArray[np.float32]
    compact: tuple[Floats, Floats, Floats]

    @classmethod
    def of(cls, links: csr_array, features: NodeFeatures) -> ColdStartColumns:
        """The columns for the adjacency matrix `links [n, n]`."""
        rows = features.comparable
        if rows is None:
            raise InputError(
                "the run was fitted without features: a new node needs links (--add), or fit again with features"
            )
        degree = np.asarray(links.sum(1), dtype=np.float64).ravel()
        mean = (diags_array(1 / np.maximum(degree, 1)) @ links).tocsr()
        compact = rows if features.compact is None else features.compact.numpy()
        if compact.shape[1] > MAX_PRODUCTS and features.unit is not None:
            compact = project_rows(features.unit, MAX_PRODUCTS)
        one = np.asarray(mean @ compact, dtype=np.float64)
        return cls(
            degree,
            rows,
            np.asarray(mean @ rows, dtype=np.float32),
            (compact.astype(np.float64), one, np.asarray(mean @ one)),
        )

    def at(self, cold: Integers, other: Integers) -> Floats:
        """The columns of pairs of a node without links `[m]` and another node `[m]`."""
        near, one, two = self.compact
        degree = np.log1p(self.degree[other])
        cosine = _products(self.rows[cold], self.rows[other])
        mean = _products(self.rows[cold], self.around[other])
        length = np.sqrt(_products(self.around[other], self.around[other]))
        around = mean / (length + 1e-9)
        alike = [_cosines(near[cold], part[other]) for part in (near, one, two)]
        return np.column_stack(
            [
                cosine,
                mean,
                around,
                np.log1p(np.maximum(mean * self.degree[other], 0)),
                *alike,
                degree,
                degree * cosine,
                degree * around,
                cosine**2,
                around**2,
                self.degree[other] == 0,
                near[cold] * near[other],
                near[cold] * one[other],
            ]
        )


def _products(one: NDArray[np.floating], other: NDArray[np.floating]) -> Floats:
    """The inner products of rows, each computed separately, so that none depends on the others."""
    return np.asarray((one.astype(np.float64) * other).sum(1))


def _cosines(one: Floats, other: Floats) -> Floats:
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return np.asarray(_products(one, other) / (lengths + 1e-9))
