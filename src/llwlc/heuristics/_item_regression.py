"""Linear regression of each item on all others.

With the 0/1 matrix R [users, items], the weights B with a zero diagonal that minimise ‖R − R B‖² + λ ‖B‖² are

    B = I − P diag(P)⁻¹,   P = (RᵀR + λ I)⁻¹

(EASE, Steck 2019), and the score of user u and item i is (R B)_ui. On a graph with fewer users than items, users are
regressed instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from llwlc._support.threads import use_one_blas_thread
from llwlc.graph._graph import Graph
from llwlc.heuristics._adjacency import adjacency
from llwlc.heuristics._implicit_als import require_sides

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
RIDGE, RIDGE_PER_LINK = 100.0, 5.0
"""λ is the first number, or the second times the mean number of links of an item, whichever is larger. Chosen on
generated users and items, a pollination network and MovieLens 100k."""
MAX_REGRESSED = 3_000
"""If the smaller side has more nodes, only factors are used: the time grows with the cube of this number."""
ROWS_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class ItemRegression:
    """`links [r, c]`, 0/1, with one side as rows and the other as columns; `weights [c, c]`; `row [n]`, `column [n]`:
    the index of each node, −1 for those of the other side. `spread`: the standard deviation of all scores.
    """

    links: Any
    weights: Floats
    row: Integers
    column: Integers
    spread: float

    @classmethod
    def fit(cls, graph: Graph, *, ridge: float | None = None) -> ItemRegression | None:
        """The regression of the smaller side; None where that is too large."""
        sides = require_sides(graph)
        users, items = (np.flatnonzero(sides.code == side) for side in (0, 1))
        users, items = (items, users) if len(users) < len(items) else (users, items)
        if len(items) > MAX_REGRESSED:
            return None
        links = csr_array(adjacency(graph)[users][:, items])
        gram = (links.T @ links).toarray()
        if ridge is None:
            ridge = max(RIDGE, RIDGE_PER_LINK * links.nnz / len(items))
        with use_one_blas_thread():
            inverse = np.linalg.inv(gram + ridge * np.eye(len(items)))
            weights = -inverse / np.diag(inverse)
            np.fill_diagonal(weights, 0)
            square = float(np.einsum("ij,ij->", weights, gram @ weights)) / links.shape[0] / links.shape[1]
        mean = float((links.sum(0) @ weights).sum()) / links.shape[0] / links.shape[1]
        row, column = (np.full(graph.num_nodes, -1) for _ in range(2))
        row[users], column[items] = np.arange(len(users)), np.arange(len(items))
        return cls(links, weights, row, column, max(square - mean**2, 0.0) ** 0.5)

    def scores(self, pairs: Integers) -> Floats:
        """(R B)_ui of pairs `[m, 2]` across the sides, 0 of any other pair: `[m]`."""
        turned = self.row[pairs[:, 0]] < 0
        row = np.where(turned, self.row[pairs[:, 1]], self.row[pairs[:, 0]])
        column = np.where(turned, self.column[pairs[:, 0]], self.column[pairs[:, 1]])
        scores = np.zeros(len(pairs))
        across = np.flatnonzero((row >= 0) & (column >= 0))
        order = across[np.argsort(row[across], kind="stable")]
        rows, start = np.unique(row[order], return_index=True)
        start = np.append(start, len(order))
        with use_one_blas_thread():
            for at in range(0, len(rows), ROWS_AT_ONCE):
                own = rows[at : at + ROWS_AT_ONCE]
                some = order[start[at] : start[at + len(own)]]
                scores[some] = (self.links[own] @ self.weights)[np.searchsorted(own, row[some]), column[some]]
        return scores


_known: WeakKeyDictionary[Graph, ItemRegression | None] = WeakKeyDictionary()


def regression_of(graph: Graph) -> ItemRegression | None:
    """The regression of a graph with the default settings, computed once for each graph in memory."""
    if graph not in _known:
        _known[graph] = ItemRegression.fit(graph)
    return _known[graph]
