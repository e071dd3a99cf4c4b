"""Implicit matrix factorisation across the two sides of a bipartite graph, by alternating least squares.

With p = 1 for a link and 0 for any other pair of user u and item i, and confidence c = 1 + α for a link and 1 for any
other pair, the factors x_u and y_i minimise (Hu, Koren & Volinsky 2008)

    Σ_ui c_ui (p_ui − x_uᵀ y_i)² + λ (Σ_u |x_u|² + Σ_i |y_i|²).

For fixed y, every x_u solves (YᵀY + α Σ_{i ∈ N(u)} y_i y_iᵀ + λ I) x_u = (1 + α) Σ_{i ∈ N(u)} y_i, and the same with
the sides exchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from llwlc._support.threads import use_one_blas_thread
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.graph._sides import Sides, find_sides
from llwlc.heuristics._adjacency import adjacency
from llwlc.heuristics._pair_statistics import check_inside

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
RANK, CONFIDENCE, RIDGE, SWEEPS = 64, 1.0, 10.0, 10
"""The number of factors, α, λ, and the number of sweeps over both sides. Chosen among ranks 8 to 64, α of 1, 10 and 40
and λ of 1 and 10, on generated users and items and a pollination network."""
SMALL, LARGE_RANK = 5_000, 32
"""On a graph of more than `SMALL` nodes, the number of factors: the time grows with the square of the rank."""
ROWS_AT_ONCE = 1024
"""Number of normal matrices that are in memory at once."""


@dataclass(frozen=True, eq=False)
class ImplicitFactors:
    """The factors of all nodes, `vectors [n, rank]`: the inner product of a user and an item is their score. Nodes
    without links have zeros. `sides`: which nodes are users (0), which items (1).

    >>> square = Graph.from_edges(torch.tensor([[0, 2], [0, 3], [1, 2], [1, 3]]))
    >>> ImplicitFactors.fit(square, rank=1, ridge=0.1).scores(np.array([[0, 2], [0, 1]])).round(1).tolist()
    [1.0, 0.0]
    """

    sides: Sides
    vectors: Floats
    confidence: float
    ridge: float

    @cached_property
    def spread(self) -> float:
        """The standard deviation of the scores of all pairs across the sides."""
        x, y = (self.vectors[self.sides.code == side] for side in (0, 1))
        pairs = len(x) * len(y)
        square = float(((x.T @ x) * (y.T @ y)).sum()) / pairs
        return float(max(square - (float(x.sum(0) @ y.sum(0)) / pairs) ** 2, 0.0) ** 0.5)

    @classmethod
    def fit(
        cls,
        graph: Graph,
        *,
        rank: int | None = None,
        confidence: float = CONFIDENCE,
        ridge: float = RIDGE,
        sweeps: int = SWEEPS,
        seed: int = 0,
    ) -> ImplicitFactors:
        """The factors of a bipartite graph; any other graph is refused."""
        sides = require_sides(graph)
        rank = choose_rank(graph.num_nodes) if rank is None else rank
        users, items = (np.flatnonzero(sides.code == side) for side in (0, 1))
        matrix = adjacency(graph)
        links = csr_array(matrix[users][:, items])
        back = csr_array(links.T)
        y = np.random.default_rng(seed).normal(size=(len(items), rank)) / np.sqrt(rank)
        with use_one_blas_thread():
            for _ in range(sweeps):
                x = solve_side(links, y, confidence, ridge)
                y = solve_side(back, x, confidence, ridge)
        vectors = np.zeros((graph.num_nodes, rank))
        vectors[users], vectors[items] = x, y
        return cls(sides, vectors, confidence, ridge)

    def scores(self, pairs: Integers) -> Floats:
        """x_uᵀ y_i of pairs `[m, 2]` across the sides, 0 of any other pair: `[m]`."""
        code = self.sides.code[pairs]
        across = (code.sum(1) == 1) & (code.max(1, initial=0) == 1)
        low, high = pairs.min(1), pairs.max(1)
        return np.asarray(across * np.einsum("ik,ik->i", self.vectors[low], self.vectors[high]))


_known: WeakKeyDictionary[Graph, ImplicitFactors] = WeakKeyDictionary()


def factors_of(graph: Graph) -> ImplicitFactors:
    """The factors of a graph with the default settings, computed once for each graph in memory."""
    factors = _known.get(graph)
    if factors is None:
        factors = _known[graph] = ImplicitFactors.fit(graph)
    return factors


def choose_rank(num_nodes: int) -> int:
    """The number of factors on a graph of this many nodes."""
    return RANK if num_nodes <= SMALL else LARGE_RANK


def require_sides(graph: Graph) -> Sides:
    """The sides of a bipartite graph; any other is refused."""
    sides = find_sides(graph)
    if sides is None:
        raise InputError(
            "scores of users and items need a bipartite graph, and this one has an odd cycle or no link: if both"
            " columns count from 1, read it with --bipartite (bipartite=True)"
        )
    return sides


def solve_side(links: Any, other: Floats, confidence: float, ridge: float) -> Floats:
    """The factors `[r, rank]` of one side, for the links `[r, c]` and the factors `[c, rank]` of the other."""
    rank = other.shape[1]
    out, gram = np.zeros((links.shape[0], rank)), other.T @ other + ridge * np.eye(rank)
    total = (1 + confidence) * (links @ other)
    for begin in range(0, len(out), ROWS_AT_ONCE):
        rows = range(begin, min(begin + ROWS_AT_ONCE, len(out)))
        normal = np.empty((len(rows), rank, rank))
        for k, row in enumerate(rows):
            linked = other[links.indices[links.indptr[row] : links.indptr[row + 1]]]
            normal[k] = gram + confidence * (linked.T @ linked)
        out[begin : begin + len(rows)] = np.linalg.solve(normal, total[begin : begin + len(rows), :, None])[..., 0]
    return out


def implicit_als(graph: Graph, pairs: Tensor, *, rank: int | None = None) -> Tensor:
    """x_uᵀ y_i of the factors of both sides of a bipartite graph, by alternating least squares for implicit feedback; 0
    for two nodes of one side.

    The pair's own link stays in the matrix, as in `spectral_dot_product`.

    Args:
        graph: the links that are known, bipartite.
        pairs: `[m, 2]`, or any shape `[..., 2]`.
        rank: the number of factors; by default 64, on large graphs 32.

    Returns:
        Scores `[m]`, or `[...]`.

    >>> likes = [(user, item) for user in range(6) for item in range(6, 12) if (user < 3) == (item < 9)]
    >>> graph = Graph.from_edges(torch.tensor([pair for pair in likes if pair != (0, 6)]))
    >>> liked, other, same_side = implicit_als(graph, torch.tensor([[0, 6], [0, 9], [0, 1]])).tolist()
    >>> liked > other, same_side
    (True, 0.0)
    """
    flat = check_inside(pairs.reshape(-1, 2).cpu().numpy(), graph.num_nodes)
    factors = factors_of(graph) if rank is None else ImplicitFactors.fit(graph, rank=rank)
    scores = factors.scores(flat)
    return torch.from_numpy(scores).reshape(pairs.shape[:-1])
