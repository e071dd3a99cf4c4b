"""The weighted sum of implicit factors and the regression of items; the weight is chosen on hidden links.

With f(u, i) of `implicit_als` and r(u, i) of the regression of items, each divided by its standard deviation over all
pairs of a user and an item, the score is w f + (1 − w) r. Which of the two ranks better depends on the graph: a tenth
of the links is hidden `REPEATS` times, and w is the weight with the lowest mean logarithm of the rank of a hidden link
among all unlinked pairs across the sides; w = 1, unless another weight is clearly better.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc.graph._graph import Graph
from llwlc.heuristics._implicit_als import ImplicitFactors, factors_of
from llwlc.heuristics._item_regression import ItemRegression, regression_of
from llwlc.heuristics._pair_statistics import check_inside

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
WEIGHTS = (0.5, 0.6, 0.75, 0.9, 1.0)
"""The weights of the factors that are compared. The factors always count for at least one half: the logarithm of the
rank says little of the first places of a list, which few hidden links reach."""
EQUAL, MIN_LINKS = 0.5, 100
"""The weight on a graph of fewer than `MIN_LINKS` links."""
HIDDEN, REPEATS, MANY_LINKS = 0.1, 3, 10_000
"""The share of hidden links, and how often links are hidden; on a graph of more than `MANY_LINKS` links once."""
MAX_PAIRS = 200_000
"""Maximum number of unlinked pairs that hidden links are ranked among, drawn at random if there are more."""


@dataclass(frozen=True, eq=False)
class UsersItems:
    """`weight`: w, that of the factors; 1 where there is no regression."""

    factors: ImplicitFactors
    regression: ItemRegression | None
    weight: float

    @classmethod
    def fit(cls, graph: Graph) -> UsersItems:
        """Factors, regression and weight of a bipartite graph; any other graph is refused."""
        factors, regression = factors_of(graph), regression_of(graph)
        return cls(factors, regression, 1.0 if regression is None else choose_weight(graph))

    def scores(self, pairs: Integers) -> Floats:
        """w f + (1 − w) r of pairs `[m, 2]` across the sides, 0 of any other pair: `[m]`."""
        factors, regressed = standardised_scores(self.factors, self.regression, pairs)
        return self.weight * factors + (1 - self.weight) * regressed


def standardised_scores(
    factors: ImplicitFactors, regression: ItemRegression | None, pairs: Integers
) -> tuple[Floats, Floats]:
    """f and r of pairs `[m, 2]`, each over its standard deviation: `[m]` each."""
    regressed = np.zeros(len(pairs))
    if regression is not None:
        regressed = regression.scores(pairs) / max(regression.spread, 1e-12)
    return factors.scores(pairs) / max(factors.spread, 1e-12), regressed


def choose_weight(graph: Graph) -> float:
    """The weight of the factors with which hidden links of a bipartite graph rank best: 1, unless the mean logarithm of
    the rank is lower with another weight by more than its standard error.
    """
    if graph.num_edges < MIN_LINKS:
        return EQUAL
    many = graph.num_edges > MANY_LINKS
    logarithms = np.concatenate([_log_ranks(graph, seed) for seed in range(1 if many else REPEATS)], 1)
    gain = logarithms[-1] - logarithms
    clear = gain.mean(1) > gain.std(1) / np.sqrt(gain.shape[1])
    return WEIGHTS[int(np.argmax(np.where(clear, gain.mean(1), 0.0)))] if clear.any() else WEIGHTS[-1]


def _log_ranks(graph: Graph, seed: int) -> Floats:
    """The logarithm `[weights, m]` of the rank of each hidden link among unlinked pairs."""
    rng = np.random.default_rng(seed)
    hidden = torch.from_numpy(rng.random(graph.num_edges) < HIDDEN)
    known = graph.with_edges(graph.edges[~hidden])
    factors, regression = ImplicitFactors.fit(known), ItemRegression.fit(known)
    others, total = unlinked_pairs(graph, rng)
    of_hidden = standardised_scores(factors, regression, graph.edges[hidden].numpy())
    of_others = standardised_scores(factors, regression, others)
    rows = []
    for weight in WEIGHTS:
        score, other = (weight * f + (1 - weight) * r for f, r in (of_hidden, of_others))
        above = len(other) - np.searchsorted(np.sort(other), score, side="right")
        rows.append(np.log2(2 + above * (total / max(len(other), 1))))
    return np.array(rows)


def unlinked_pairs(graph: Graph, rng: np.random.Generator) -> tuple[Integers, int]:
    """Unlinked pairs `[m, 2]` of a user and an item, all or `MAX_PAIRS` at random, and how many pairs there are."""
    code = factors_of(graph).sides.code
    users, items = (np.flatnonzero(code == side) for side in (0, 1))
    total = len(users) * len(items)
    place = np.arange(total) if total <= MAX_PAIRS else rng.integers(total, size=MAX_PAIRS)
    pairs = np.stack([users[place // len(items)], items[place % len(items)]], 1)
    pairs = pairs[~graph.has_edges(torch.from_numpy(pairs)).numpy()]
    return pairs, total - graph.num_edges


_known: WeakKeyDictionary[Graph, UsersItems] = WeakKeyDictionary()


def users_items(graph: Graph, pairs: Tensor) -> Tensor:
    """The weighted sum of `implicit_als` and of the linear regression of items on each other, each divided by the
    standard deviation that it has over all pairs of a user and an item; 0 for two nodes of one side. The weight is the
    one with which links that are hidden for this purpose rank best.

    The pair's own link stays in the matrix, as in `implicit_als`.

    Args:
        graph: the links that are known, bipartite.
        pairs: `[m, 2]`, or any shape `[..., 2]`.

    Returns:
        Scores `[m]`, or `[...]`.

    >>> likes = [(user, item) for user in range(6) for item in range(6, 12) if (user < 3) == (item < 9)]
    >>> graph = Graph.from_edges(torch.tensor([pair for pair in likes if pair != (0, 6)]))
    >>> liked, other, same_side = users_items(graph, torch.tensor([[0, 6], [0, 9], [0, 1]])).tolist()
    >>> liked > other, same_side
    (True, 0.0)
    """
    flat = check_inside(pairs.reshape(-1, 2).cpu().numpy(), graph.num_nodes)
    if graph not in _known:
        _known[graph] = UsersItems.fit(graph)
    return torch.from_numpy(_known[graph].scores(flat)).reshape(pairs.shape[:-1])
