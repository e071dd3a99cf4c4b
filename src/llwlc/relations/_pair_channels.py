"""What a possible typed link is scored by, beside the factors: the other types that already join its ends, attributes
of links, and our network's score of the pair. A linear combination, fitted on validation links, tells how much each
counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import log_softmax, logsumexp
from torch import Tensor

from llwlc.relations._factors import ComplexFactors
from llwlc.relations._triples import Triples

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
TYPE_CHANNELS = ("log-probability by the factors", "best joining type", "worst joining type", "joining types")
SHRINK = 5.0
"""Pairs of the average share of links that are added to those that a type joins: few pairs prove little."""
PENALTY = 1e-3
"""Of the squared weights, which keeps them finite where all links are told apart."""
FEWEST = 50
"""Validation links below which factors are used alone."""
ENTRIES_AT_ONCE = 1 << 20
MOST = 2000
"""Validation links that the weights are fitted on, drawn at random where there are more."""
OTHERS = 500
"""Nodes, drawn at random, among which a validation link's end is told from others."""


@dataclass(frozen=True, eq=False)
class TypedScorer:
    """Scores of all nodes as targets of a source and a type, and as sources, from known links.

    A type s joins u and v; of the pairs that it joins, a share has a link of type r, against the share of all pairs:
    the logarithm of the ratio is what s says about r. Its largest and smallest value over the types that join a pair
    (in either direction, but for the link itself), and their number, are channels beside the log-probability by the
    factors; of each attribute, the difference of its means over the ends' links, and its mean over links that join
    them. `network [n, n]`: a network's score of each pair, the last channel; None without. `weights [C]`: of the
    channels; None for the factors alone.
    """

    factors: ComplexFactors
    known: Triples
    weights: Floats | None = None
    network: Tensor | None = None

    @property
    def nodes(self) -> Tensor:
        return self.factors.nodes

    @property
    def num_types(self) -> int:
        return self.factors.num_types

    def double(self) -> TypedScorer:
        """The same in double precision."""
        if self.factors.nodes.dtype == torch.float64:
            return self
        return replace(self, factors=self.factors.double())

    def targets(self, source: Integers, relation: Integers) -> Tensor:
        """The scores `[m, n]` of all nodes as targets."""
        return self._combined(source, relation, self.factors.targets(source, relation), forward=True)

    def sources(self, relation: Integers, target: Integers) -> Tensor:
        """The scores `[m, n]` of all nodes as sources."""
        return self._combined(target, relation, self.factors.sources(relation, target), forward=False)

    def _combined(self, node: Integers, relation: Integers, scores: Tensor, *, forward: bool) -> Tensor:
        if self.weights is None:
            return scores
        given, out = scores.double().numpy(), np.empty(scores.shape)
        size = max(1, ENTRIES_AT_ONCE // max(given.shape[1], 1))
        for begin in range(0, len(node), size):
            part = slice(begin, begin + size)
            out[part] = self.channels(node[part], relation[part], given[part], forward=forward) @ self.weights
        return torch.from_numpy(out)

    def channels(self, node: Integers, relation: Integers, scores: Floats, *, forward: bool) -> Floats:
        """The channels `[m, n, C]` of all nodes at the other end, for questions of a node and a type."""
        out = np.zeros((*scores.shape, self.num_channels))
        out[..., 0] = log_softmax(scores, 1)
        for row, (u, kind) in enumerate(zip(node.tolist(), relation.tolist(), strict=True)):
            other, step, value = self._joined(u, forward=forward)
            kept = step != kind
            other, step, value = other[kept], step[kept], value[kept]
            says, joined = self._ratios[step, kind], np.unique(other)
            best, worst = np.full(scores.shape[1], -np.inf), np.full(scores.shape[1], np.inf)
            np.maximum.at(best, other, says)
            np.minimum.at(worst, other, says)
            count = np.bincount(other, minlength=scores.shape[1])
            out[row, joined, 1], out[row, joined, 2] = best[joined], worst[joined]
            out[row, :, 3] = np.log1p(count)
            for at in range(value.shape[1]):
                means = self._means[:, at]
                out[row, :, 4 + 2 * at] = np.abs(means[u] - means)
                total = np.bincount(other, weights=value[:, at], minlength=scores.shape[1])
                out[row, :, 5 + 2 * at] = total / np.maximum(count, 1)
        if self.network is not None:
            out[..., -1] = self.network[torch.from_numpy(node)].numpy()
        return out

    @property
    def num_channels(self) -> int:
        return self._num_without_network + (self.network is not None)

    @property
    def _num_without_network(self) -> int:
        return len(TYPE_CHANNELS) + 2 * len(self.known.attribute_names)

    @property
    def choices(self) -> list[Integers]:
        """The channels that may be combined, fewest first, those with the network last."""
        plain = [np.arange(count) for count in sorted({len(TYPE_CHANNELS), self._num_without_network})]
        return plain if self.network is None else [*plain, *(np.append(c, self.num_channels - 1) for c in plain)]

    def _joined(self, node: int, *, forward: bool) -> tuple[Integers, Integers, Floats]:
        """The nodes that known links join to a node, the step that leads there from the source to the target of the
        question, and the attributes of the link.
        """
        rows, half = self.known.rows, self.num_types
        begin, end = self._starts[node], self._starts[node + 1]
        at = self._order[begin:end]
        link, backwards = at % len(rows), at >= len(rows)
        other = np.where(backwards, rows[link, 0], rows[link, 2])
        step = rows[link, 1] + np.where(backwards == forward, half, 0)
        return other, step, self._values[link]

    @cached_property
    def _order(self) -> Integers:
        """The places of links by their source, then those by their target, sorted by node."""
        return np.argsort(np.concatenate([self.known.rows[:, 0], self.known.rows[:, 2]]), kind="stable")

    @cached_property
    def _starts(self) -> Integers:
        ends = np.concatenate([self.known.rows[:, 0], self.known.rows[:, 2]])
        return np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=len(self.nodes)))])

    @cached_property
    def _values(self) -> Floats:
        """The attributes of the known links in units of their spread, `[t, A]`."""
        given = self.known.attributes
        if given is None:
            return np.zeros((len(self.known), 0))
        spread = given.std(0)
        return np.asarray((given - given.mean(0)) / np.where(spread > 0, spread, 1))

    @cached_property
    def _means(self) -> Floats:
        """The mean of each attribute over the links of each node, `[n, A]`."""
        rows, n = self.known.rows, len(self.nodes)
        ends, twice = np.concatenate([rows[:, 0], rows[:, 2]]), np.concatenate([self._values, self._values])
        sums = [np.bincount(ends, weights=column, minlength=n) for column in twice.T]
        count = np.maximum(np.bincount(ends, minlength=n), 1)
        return np.stack(sums, 1) / count[:, None] if sums else np.zeros((n, 0))

    @cached_property
    def _ratios(self) -> Floats:
        """What each type, then each type backwards, says about each type, `[2 R, R]`."""
        n, kinds, rows = len(self.nodes), self.num_types, self.known.rows
        pair = rows[:, 0] * n + rows[:, 2]
        back = rows[:, 2] * n + rows[:, 0]
        place = np.unique(np.concatenate([pair, back]), return_inverse=True)[1]
        ones, size = np.ones(len(rows)), int(place.max()) + 1
        ahead = csr_array((ones, (rows[:, 1], place[: len(rows)])), shape=(kinds, size))
        behind = csr_array((ones, (rows[:, 1], place[len(rows) :])), shape=(kinds, size))
        steps: Any = np.concatenate([(ahead @ ahead.T).toarray(), (behind @ ahead.T).toarray()])
        share = np.bincount(rows[:, 1], minlength=kinds) / n**2
        count = np.tile(np.bincount(rows[:, 1], minlength=kinds), 2)
        share = np.maximum(share, 1e-12)
        return np.asarray(np.log((steps + SHRINK * share) / ((count + SHRINK)[:, None] * share)))


def fit_weights(scorer: TypedScorer, asked: Integers, known: Integers, *, seed: int) -> Floats | None:
    """The weights `[C]` by which the ends of validation links `asked [m, 3]`, which the scorer does not know, are told
    from `OTHERS` nodes that complete no triple of `known [t, 3]`. Factors alone (None), joining types, attributes and
    the network are compared by mean reciprocal rank, each half of the links ranked by the weights of the other half;
    the network must gain more than two standard errors over the best without it, or its weight is 0.
    """
    if len(asked) < FEWEST:
        return None
    rng = np.random.default_rng([seed, 43])
    asked = rng.permutation(asked)[:MOST]
    ahead, back = (_questions(scorer, asked, known, forward, rng) for forward in (True, False))
    halves = tuple([*ahead[at::2], *back[at::2]] for at in (0, 1))  # both questions of a link are in the same half
    alone, chosen = np.eye(scorer.num_channels)[0], None
    best = np.concatenate([_reciprocal_ranks(alone, half) for half in halves])
    for channels in scorer.choices:
        ranked = [_reciprocal_ranks(_minimise(halves[1 - at], channels), halves[at]) for at in (0, 1)]
        gain = np.concatenate(ranked) - best
        costs = scorer.network is not None and channels[-1] == scorer.num_channels - 1
        if gain.mean() > (2 * gain.std() / np.sqrt(len(gain)) if costs else 0):
            best, chosen = best + gain, channels
    return None if chosen is None else _minimise([*ahead, *back], chosen)


def _reciprocal_ranks(weights: Floats, questions: Sequence[Floats]) -> Floats:
    """The mean reciprocal rank of both ends of each link, whose questions are first those for targets, then those for
    sources; ties count half.
    """
    found = []
    for rows in questions:
        logit = rows @ weights
        found.append(1 / (1 + (logit[1:] > logit[0]).sum() + (logit[1:] == logit[0]).sum() / 2))
    return np.asarray(np.reshape(found, (2, -1)).mean(0))


def _questions(
    scorer: TypedScorer, asked: Integers, known: Integers, forward: bool, rng: np.random.Generator
) -> list[Floats]:
    """The channels of each question's answer, first, and of other nodes, `[1 + others, C]`."""
    near, far = (0, 2) if forward else (2, 0)
    taken: dict[tuple[int, int], list[int]] = {}
    for row in known.tolist():
        taken.setdefault((row[near], row[1]), []).append(row[far])
    found, n = [], len(scorer.nodes)
    for row in asked:
        node, kind = row[near : near + 1], row[1:2]
        ask = scorer.factors.targets(node, kind) if forward else scorer.factors.sources(kind, node)
        channels = scorer.channels(node, kind, ask.double().numpy(), forward=forward)[0]
        free = np.ones(n, dtype=np.bool_)
        free[taken.get((int(node[0]), int(kind[0])), [])] = False
        free[row[far]] = False
        others = np.flatnonzero(free)
        others = others if len(others) <= OTHERS else rng.choice(others, OTHERS, replace=False)
        found.append(channels[np.concatenate([row[far : far + 1], others])])
    return found


def _minimise(questions: Sequence[Floats], channels: Integers) -> Floats:
    """The weights `[C]` with the least cross entropy of the answers: 0 but for some channels."""
    start, found = np.eye(len(channels))[0], np.zeros(questions[0].shape[1])
    questions = [rows[:, channels] for rows in questions]

    def penalised(weights: Floats) -> tuple[float, Floats]:
        far = weights - start
        total = PENALTY * len(questions) * float(far @ far)
        slope = 2 * PENALTY * len(questions) * far
        for rows in questions:
            logit = rows @ weights
            log_all = logsumexp(logit)
            total += log_all - logit[0]
            slope += np.exp(logit - log_all) @ rows - rows[0]
        return total, slope

    found[channels] = minimize(penalised, start, jac=True, method="L-BFGS-B").x
    return found
