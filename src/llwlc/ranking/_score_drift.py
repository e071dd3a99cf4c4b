"""How scores grow when a graph gets denser: a pair of the same place in the list has another score."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MIN_PAIRS, TOP_PAIRS, TOP_SHARE = 20, 2_000, 0.2
"""Fewer pairs say nothing; of more, so many of the best or this share of them fit the map, whichever is more."""
PLACES = 40
LEAST, MOST = 0.5, 2.0
"""Range of the slope of one stage."""


@dataclass(frozen=True)
class Drift:
    """score ↦ shift + slope · score, from one stage to the next."""

    shift: float = 0.0
    slope: float = 1.0

    @classmethod
    def between(cls, before: Floats, after: Floats) -> Drift:
        """The map that takes the scores `[m]` of pairs on one graph to their scores `[m]` on a denser one, place by
        place of either order: least squares over places that are evenly spaced in their logarithm.

        >>> drift = Drift.between(np.arange(100.0), 1 + 1.5 * np.arange(100.0))
        >>> round(drift.shift, 6), round(drift.slope, 6)
        (1.0, 1.5)
        """
        if len(before) < MIN_PAIRS:
            return cls()
        count = min(len(before), max(TOP_PAIRS, round(TOP_SHARE * len(before))))
        places = np.unique(np.geomspace(5, count - 1, PLACES).astype(int))
        x, y = (np.sort(scores)[::-1][places].astype(np.float64) for scores in (before, after))
        spread = float(((x - x.mean()) ** 2).sum())
        slope = 1.0
        if spread > 1e-12 * float((x**2).sum()):
            slope = min(max(float((x - x.mean()) @ (y - y.mean())) / spread, LEAST), MOST)
        return cls(float(y.mean() - slope * x.mean()), slope)

    def times(self, power: float) -> Drift:
        """The map that is applied so many times, which need not be a whole number.

        >>> Drift(1.0, 2.0).times(2)
        Drift(shift=3.0, slope=4.0)
        """
        slope = self.slope**power
        near_one = abs(self.slope - 1) < 1e-9
        return Drift(self.shift * (power if near_one else (slope - 1) / (self.slope - 1)), slope)

    def __call__(self, score: Floats) -> Floats:
        return self.shift + self.slope * score


def count_steps(before: int, between: int, after: int) -> float:
    """How many steps like that from `before` to `between` links lead on to `after`, each by the same factor.

    >>> round(count_steps(100, 110, 121), 6)
    1.0
    """
    if between <= before or before < 1:
        return 0.0
    return math.log(max(after, between) / between) / math.log(between / before)
