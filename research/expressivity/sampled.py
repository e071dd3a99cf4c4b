"""A sample of constraint sets where all are too many, with both probabilities of error stated.

Draw m subsets of each graph independently. If the graphs are isomorphic, the two samples of numbers come from one
distribution, and by Wei and Dudley's two-sample form of the Dvoretzky–Kiefer–Wolfowitz inequality their empirical
distribution functions differ by more than ε = √(ln(2/α) / m) with probability at most α (m ≥ 458): that is the
probability of a false positive, and α is chosen. If the true distribution functions differ by Δ > ε somewhere, this is
missed with probability at most 4 exp(−m (Δ − ε)² / 2).

Numbers that agree but for rounding must not be told apart by it, so the functions are compared only inside gaps wider
than the tolerance of exact comparison.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np

from llwlc.errors import InputError
from research.expressivity.columns import Real
from research.expressivity.families import Pair
from research.expressivity.resolvent import filter_hashes
from research.expressivity.separate import EQUAL
from research.expressivity.subsets import Subsets, sample_subsets

Hashes = Callable[[Real, Subsets], Real]


class SampledVerdict(NamedTuple):
    """`statistic` is the largest difference of the two empirical distribution functions, `threshold` is ε."""

    statistic: float
    threshold: float
    drawn: int

    @property
    def separated(self) -> bool:
        return self.statistic > self.threshold

    def miss(self, difference: float) -> float:
        """At most this is the probability to miss two graphs whose distribution functions differ by `difference`
        somewhere.
        """
        excess = difference - self.threshold
        return 1.0 if excess <= 0 else min(1.0, 4 * exp(-self.drawn * excess**2 / 2))


def separate_sampled(
    pair: Pair, k: int, *, count: int = 20_000, alpha: float = 1e-9, seed: int = 0, hashes: Hashes = filter_hashes
) -> SampledVerdict:
    """Compare two graphs by random k-subsets of deleted vertices of each.

    Args:
        pair: the two graphs to compare.
        k: number of vertices deleted at once.
        count: number of subsets drawn from each graph.
        alpha: the chance of telling two copies of one graph apart.
        seed: seed of the random draw.
        hashes: the function that maps a graph and its subsets to numbers.

    >>> from research.expressivity.families import paper
    >>> squares = paper()[1]
    >>> verdict = separate_sampled(squares, 2, count=2000)
    >>> verdict.separated, verdict.miss(0.4) < 1e-9
    (True, True)
    """
    if count < 458:
        raise InputError(f"count: the bound holds from 458 sampled subsets on, got {count}; draw more")
    n = len(pair.a)
    x = hashes(pair.a, sample_subsets(n, k, count, seed=2 * seed))
    y = hashes(pair.b, sample_subsets(n, k, count, seed=2 * seed + 1))
    return SampledVerdict(largest_gap_difference(x, y), sqrt(log(2 / alpha) / count), count)


def largest_gap_difference(x: Real, y: Real) -> float:
    """The largest difference of two empirical distribution functions inside gaps of the pooled numbers wider than
    `EQUAL`.

    >>> largest_gap_difference(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1e-13, 1e-13, 1.0]))
    0.25
    """
    pooled = np.sort(np.concatenate([x, y]))
    gaps = np.flatnonzero(np.diff(pooled) > EQUAL)
    inside = (pooled[gaps] + pooled[gaps + 1]) / 2
    below = [np.searchsorted(np.sort(v), inside) / len(v) for v in (x, y)]
    return float(np.abs(below[0] - below[1]).max(initial=0.0))
