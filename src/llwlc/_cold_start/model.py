"""ColdStart: the log-odds of links of nodes without links, learned from nodes whose links are hidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array, diags_array
from torch import Tensor

from llwlc._cold_start.columns import NUM_STATISTICS, ColdStartColumns, Floats, Integers
from llwlc._direction.logistic import fit_logistic
from llwlc._support.threads import use_one_blas_thread
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.heuristics._adjacency import adjacency
from llwlc.metrics import auc
from llwlc.models._stack.folds import fold_numbers
from llwlc.training._node_features import NodeFeatures

FOLDS = 5
MAX_LINKS = 20_000
"""Maximum number of links of hidden nodes that the weights are fitted on."""
PENALTY, PENALTY_OF_PRODUCTS = 1.0, 30.0
"""Ridge penalties, for columns of variance one: of statistics, and of the many products of single features; chosen on
Cora and Citeseer, seeds 0 to 2.
"""
NEGLIGIBLE = 1e-5
"""A product column is ignored whose standard deviation is below this share of the largest."""
AT_ONCE = 1 << 14
"""Maximum number of pairs whose columns are in memory at once."""


class Weights(NamedTuple):
    """Log-odds = columns · weights + constant."""

    weights: Floats
    constant: float


@dataclass(frozen=True, eq=False)
class ColdStart:
    """A logistic regression on statistics of the features of a node without links, and of the links and features around
    another node. `spread`: fits without one fold each, whose differences show its uncertainty; `auc`: on the links of
    hidden nodes, by the fit without their fold; `auc_of_cosine`: by the cosine of features alone.
    """

    columns: ColdStartColumns
    fitted: Weights
    spread: tuple[Weights, ...]
    auc: float
    auc_of_cosine: float

    @property
    def sentence(self) -> str:
        """What was measured, in words."""
        return (
            "Nodes without links are scored by a model of features, fitted on nodes whose links were hidden: AUC"
            f" {100 * self.auc:.1f} on such nodes (cosine of features {100 * self.auc_of_cosine:.1f})"
        )

    def log_odds(self, pairs: Tensor, cold: Tensor) -> Tensor:
        """The log-odds `[m, 1 + folds]` of links of pairs `[m, 2]`, half of which are links, by all fits; `cold [n]`:
        which nodes have no links. One end of each pair has none; where neither has, it is the mean over the two orders.
        """
        parts = [torch.zeros(0, 1 + len(self.spread), dtype=torch.float64)]
        for some in torch.split(pairs, AT_ONCE):
            total = torch.zeros(len(some), parts[0].shape[1], dtype=torch.float64)
            for end in (0, 1):
                mine = cold[some[:, end]]
                total[mine] += self._one_order(some[mine, end].numpy(), some[mine, 1 - end].numpy())
            parts.append(total / cold[some].sum(1, keepdim=True))
        return torch.cat(parts)

    def _one_order(self, cold: Integers, other: Integers) -> Tensor:
        columns = self.columns.at(cold, other)
        return torch.from_numpy(np.stack([_log_odds(columns, fit) for fit in (self.fitted, *self.spread)], 1))


def fit_cold_start(graph: Graph, features: NodeFeatures, *, seed: int = 0) -> ColdStart:
    """The model for new nodes of a graph. The links of one fifth of the nodes after another, by a hash of their names,
    are hidden; the regression distinguishes them from pairs with random nodes, given the remaining links.
    """
    links = adjacency(graph)
    n = graph.num_nodes
    everyone = torch.arange(n)
    fold = fold_numbers(graph, torch.stack([everyone, everyone], 1), FOLDS).numpy()
    rng = np.random.default_rng(seed)
    with use_one_blas_thread():
        parts = [_hidden_pairs(links, features, fold == number, rng) for number in range(FOLDS)]
        columns, hit = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        part_of = np.repeat(np.arange(FOLDS), [len(part[1]) for part in parts])
        if not hit.any():
            raise InputError("the graph has no links from which to learn how features go with links")
        fitted = _fit(columns, hit)
        spread = tuple(_fit(columns[part_of != number], hit[part_of != number]) for number in range(FOLDS))
        held = np.zeros(len(hit))
        for number, weights in enumerate(spread):
            held[part_of == number] = _log_odds(columns[part_of == number], weights)
        measured = (_auc(scores, hit) for scores in (held, columns[:, 0]))
        return ColdStart(ColdStartColumns.of(links, features), fitted, spread, *measured)


def _hidden_pairs(
    links: csr_array, features: NodeFeatures, hidden: np.ndarray, rng: np.random.Generator
) -> tuple[Floats, np.ndarray]:
    """The columns of links of hidden nodes and of as many pairs with random nodes, and which of them are links."""
    kept = diags_array((~hidden).astype(np.float64))
    rest = (kept @ links @ kept).tocsr()
    rest.eliminate_zeros()
    nodes = np.flatnonzero(hidden)
    place, other = links[nodes].nonzero()
    drawn = np.sort(rng.permutation(len(place))[: MAX_LINKS // FOLDS])
    random = rng.integers(links.shape[0], size=len(drawn))
    cold, other = np.tile(nodes[place[drawn]], 2), np.append(other[drawn], random)
    hit = np.arange(len(cold)) < len(drawn)
    proper = cold != other
    return ColdStartColumns.of(rest, features).at(cold[proper], other[proper]), hit[proper]


def _fit(columns: Floats, hit: np.ndarray) -> Weights:
    middle, scale = columns.mean(0), columns.std(0)
    products = np.arange(columns.shape[1]) >= NUM_STATISTICS
    # a product that is zero up to rounding in all pairs of the fit says nothing, and may be large in another pair
    scale[(scale < 1e-12) | (products & (scale < NEGLIGIBLE * scale[products].max(initial=0.0)))] = np.inf
    design = np.column_stack([(columns - middle) / scale, np.ones(len(columns))])
    penalty = np.append(np.where(products, PENALTY_OF_PRODUCTS, PENALTY), 0.0)
    found = fit_logistic(design, hit.astype(np.float64), penalty)
    weights = found[:-1] / scale
    return Weights(weights, float(found[-1] - (weights * middle).sum()))


def _log_odds(columns: Floats, fitted: Weights) -> Floats:
    """Row by row, so that no pair depends on the others."""
    return np.asarray((columns * fitted.weights).sum(1)) + fitted.constant


def _auc(scores: Floats, hit: np.ndarray) -> float:
    pos, neg = (torch.from_numpy(scores[part]) for part in (hit, ~hit))
    return auc(pos, neg)
