"""How scores shift as a graph gets denser: the pair at the same rank has another score."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MIN_PAIRS, TOP_PAIRS, TOP_SHARE = 20, 2_000, 0.2
"""No map is fitted to fewer pairs than `MIN_PAIRS`; else to the `TOP_PAIRS` best or the `TOP_SHARE` best, whichever is
more.
"""
NUM_RANKS = 40
"""Number of ranks at which the scores are compared."""
LEAST, MOST = 0.5, 2.0
"""Range of the slope of one stage."""
MIN_PEERS, PEER_SHARE = 20, 0.02
"""Pairs of like scores, to either side, that a hidden link is compared with: at least so many, or this share of all."""
GAIN = 0.1
"""Standard deviation of a prior, around 0, on what links gain in one stage, in units of the score."""
NO_GAIN_RANK, FULL_GAIN_RANK = 20, 500
"""The best hidden links gain nothing over pairs of like scores, the more the lower they stand, up to the second rank:
pairs beside the best are links that are hidden too, and the best of a list owe their place partly to luck.
"""


@dataclass(frozen=True)
class Drift:
    """score ↦ shift + slope · score, from one stage to the next."""

    shift: float = 0.0
    slope: float = 1.0

    @classmethod
    def between(cls, before: Floats, after: Floats) -> Drift:
        """The map that takes the scores `[m]` of pairs on one graph to their scores `[m]` on a denser one, rank by
        rank: least squares over ranks that are evenly spaced in their logarithm.

        >>> drift = Drift.between(np.arange(100.0), 1 + 1.5 * np.arange(100.0))
        >>> round(drift.shift, 6), round(drift.slope, 6)
        (1.0, 1.5)
        """
        if len(before) < MIN_PAIRS:
            return cls()
        count = min(len(before), max(TOP_PAIRS, round(TOP_SHARE * len(before))))
        ranks = np.unique(np.geomspace(5, count - 1, NUM_RANKS).astype(int))
        x, y = (np.sort(scores)[::-1][ranks].astype(np.float64) for scores in (before, after))
        spread = float(((x - x.mean()) ** 2).sum())
        slope = 1.0
        if spread > 1e-12 * float((x**2).sum()):
            slope = min(max(float((x - x.mean()) @ (y - y.mean())) / spread, LEAST), MOST)
        return cls(float(y.mean() - slope * x.mean()), slope)

    def times(self, power: float) -> Drift:
        """The map applied `power` times; `power` need not be an integer.

        >>> Drift(1.0, 2.0).times(2)
        Drift(shift=3.0, slope=4.0)
        """
        slope = self.slope**power
        near_one = abs(self.slope - 1) < 1e-9
        return Drift(self.shift * (power if near_one else (slope - 1) / (self.slope - 1)), slope)

    def __call__(self, score: Floats) -> Floats:
        return self.shift + self.slope * score


def taper_gain(rank: NDArray[np.int64]) -> Floats:
    """The share of the gain that links at these ranks, from 1, have: linear in the logarithm of the rank.

    >>> taper_gain(np.array([1, 20, 100, 500, 9000])).round(2).tolist()
    [0.0, 0.0, 0.5, 1.0, 1.0]
    """
    share = np.log(rank / NO_GAIN_RANK) / math.log(FULL_GAIN_RANK / NO_GAIN_RANK)
    return np.clip(share, 0.0, 1.0)


def measure_gain(before: Floats, after: Floats, hidden: NDArray[np.bool_], unit: float = 1.0) -> float:
    """How much more the scores of `hidden` links `[m]` grow from one stage to the next than those of other pairs with
    like scores: a denser graph shows links that are still hidden more clearly. `before` is mapped by the drift already.

    The gain of a link is γ times its `taper_gain`, by least squares over the links; γ is shrunk to 0 by its standard
    error.

    >>> before = np.linspace(1, 0, 1000)
    >>> hidden = np.arange(1000) % 5 == 0
    >>> after = before + 0.3 * taper_gain(np.arange(1, 1001)) * hidden
    >>> round(measure_gain(before, after, hidden), 2)
    0.3
    """
    links, rest = np.flatnonzero(hidden), np.flatnonzero(~hidden)
    if len(links) < 2 or len(rest) < MIN_PEERS:
        return 0.0
    rest = rest[np.argsort(before[rest], kind="stable")]
    grown = np.append(0.0, np.cumsum((after - before)[rest]))
    place, reach = np.searchsorted(before[rest], before[links]), max(MIN_PEERS, round(PEER_SHARE * len(rest)))
    low, high = np.maximum(place - reach, 0), np.minimum(place + reach, len(rest))
    gain = (after - before)[links] - (grown[high] - grown[low]) / (high - low)
    share = taper_gain(len(before) - np.searchsorted(np.sort(before), before[links]))
    weight = float(share @ share)
    if weight < 1:
        return 0.0
    mean = float(share @ gain) / weight
    error = float(((gain - mean * share) ** 2).sum()) / (len(links) - 1) / weight
    return mean / (1 + error / (GAIN * unit) ** 2)


def count_steps(before: int, between: int, after: int) -> float:
    """How many further steps, each by the factor `between / before`, lead from `between` links to `after`.

    >>> round(count_steps(100, 110, 121), 6)
    1.0
    """
    if between <= before or before < 1:
        return 0.0
    return math.log(max(after, between) / between) / math.log(between / before)
