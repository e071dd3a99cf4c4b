"""LLwLC on the pairs that links join, whatever their type; the types of each node's links are its features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc.graph._graph import Graph
from llwlc.models._llwlc.model import LLwLC
from llwlc.relations._triples import Triples
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._making import with_training_negatives
from llwlc.splits._negatives import NonEdges
from llwlc.training._compact_features import Compactor, fit_compactor
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources

Integers = NDArray[np.int64]
MOST_NODES = 500
"""Nodes up to which there is a network: it scores all pairs."""
FEWEST_PAIRS = 200
"""Linked pairs below which there is nothing to train it on."""
DENSEST = 0.5
"""Share of linked pairs above which a link without its type says little."""
SHARE, MOST_PAIRS = 0.4, 1500
"""Linked pairs that it is trained to predict: a share, up to a number; the others are the graph that it reads."""
EPOCHS = 12


@dataclass(frozen=True, eq=False)
class PairNetwork:
    """A network that was fitted to some links, which scores pairs in these or others between as many nodes."""

    model: LLwLC
    compactor: Compactor

    def scores(self, known: Triples) -> Tensor:
        """The score of each pair on the known links, in standard deviations from the mean of all pairs, `[n, n]`;
        symmetric, 0 on the diagonal. The links of a pair itself are left out of the graph that its score is read from.
        """
        found = self.raw_scores(known, type_shares(known))
        others = ~torch.eye(len(found), dtype=torch.bool)
        mean, spread = found[others].mean(), found[others].std().clamp(min=1e-9)
        return torch.where(others, (found - mean) / spread, 0).float()

    def raw_scores(self, known: Triples, x: Tensor) -> Tensor:
        """The log-odds of all pairs `[n, n]` on the known links and features `x [n, 2 R]`."""
        n, graph = known.num_nodes, _untyped(known)
        model = self.model.on(graph, graph, NodeFeatures.of(x, self.compactor))
        one, other = torch.triu_indices(n, n, 1)
        matrix = torch.zeros(n, n, dtype=torch.float64)
        matrix[one, other] = model.score(graph, torch.stack([one, other], 1))
        return matrix + matrix.T


def why_no_network(known: Triples) -> str:
    """Why no network is fitted to these links; "" if one is."""
    n, pairs = known.num_nodes, len(_linked_pairs(known))
    if n > MOST_NODES:
        return f"it scores all pairs, and {n:,} nodes are more than {MOST_NODES:,}"
    if pairs < FEWEST_PAIRS:
        return f"{pairs:,} linked pairs are fewer than {FEWEST_PAIRS:,}"
    if pairs > DENSEST * n * (n - 1) / 2:
        return f"{200 * pairs / (n * (n - 1)):.0f} % of all pairs are linked"
    return ""


def fit_pair_network(known: Triples, *, seed: int) -> PairNetwork:
    """LLwLC, fitted to predict some of the linked pairs from the links of all others."""
    seen, hidden = hide_pairs(known, seed=seed)
    n, graph = known.num_nodes, _untyped(seen)
    count = -(-len(hidden) // 5)
    valid, train = hidden[:count], hidden[count:]
    free = NonEdges(n, [hidden, graph.edges])
    negatives = free.sample(min(count, len(free) // 5), np.random.default_rng([seed, 45]))
    none = hidden[:0]
    split = LinkSplit("random", seed, train, none, valid, negatives, none, none, graph, graph, graph)
    x = type_shares(seen)
    compactor = fit_compactor(x)
    model = LLwLC(epochs=EPOCHS, ranking=False, copies=0)
    features = NodeFeatures.of(x, compactor)
    model.fit(with_training_negatives(split), features, seed=seed, resources=Resources())
    return PairNetwork(model, compactor)


def hide_pairs(known: Triples, *, seed: int) -> tuple[Triples, Tensor]:
    """The known links without those of some pairs, and these pairs `[k, 2]`, in random order: neither the graph nor the
    features from which a network learns to predict a pair know its links.
    """
    n, linked = known.num_nodes, _linked_pairs(known)
    count = min(MOST_PAIRS, round(SHARE * len(linked)))
    hidden = np.random.default_rng([seed, 44]).permutation(linked)[:count]
    pairs = torch.from_numpy(np.stack(np.divmod(hidden, n), 1))
    return known.select(~np.isin(_pair_numbers(known), hidden)), pairs


def type_shares(known: Triples) -> Tensor:
    """The square roots of the shares of types among the links of each node, from it, then to it, `[n, 2 R]`: rows of
    length one, or zero, so that they do not depend on how many links are known.
    """
    n, kinds, (source, kind, target) = known.num_nodes, len(known.types), known.rows.T
    place = np.concatenate([source * 2 * kinds + kind, target * 2 * kinds + kinds + kind])
    count = np.bincount(place, minlength=2 * n * kinds).reshape(n, 2 * kinds)
    return torch.from_numpy(np.sqrt(count / np.maximum(count.sum(1, keepdims=True), 1)).astype(np.float32))


def _untyped(known: Triples) -> Graph:
    return Graph.from_edges(known.rows[:, [0, 2]], num_nodes=known.num_nodes)


def _pair_numbers(known: Triples) -> Integers:
    """A number for the two ends of each link, whichever way it points, `[t]`."""
    ends = np.sort(known.rows[:, [0, 2]], 1)
    return np.asarray(ends[:, 0] * known.num_nodes + ends[:, 1])


def _linked_pairs(known: Triples) -> Integers:
    """The numbers of pairs of two nodes that are linked, each once."""
    return np.setdiff1d(_pair_numbers(known), np.arange(known.num_nodes) * (known.num_nodes + 1))
