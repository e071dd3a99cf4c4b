"""BREC's reliable paired comparison (Wang and Zhang 2024): does a network tell two graphs apart, and only where they
differ?

q = 32 relabelled copies of both graphs give q differences D of their embeddings, and Hotelling's statistic T² = D̄ᵀ S⁺
D̄ (S the covariance of D) is large where the mean difference stands out of the differences' own spread. A pair counts
as separated if T² exceeds the threshold and differs from the T² of the reliability check, which is the same comparison
of one of the graphs with itself, 2q copies in q pairs; that one must stay below the threshold. A network that separates
a graph from itself has failed, whatever else it separates.

As in BREC's code, which is followed here, T² lacks the factor q of the textbook, while 72.34 is the 95 % point of the
statistic with it (p = 16, q = 32). That makes it harder by 32 to separate a pair, and easier by 32 to pass the check:
with the factor, pure rounding noise would fail one check in twenty by construction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from research.expressivity.columns import Real
from research.expressivity.families import Pair, relabel

COPIES, OUTPUTS, THRESHOLD = 32, 16, 72.34

Embedding = Callable[[Real], Real]


class PairedComparison(NamedTuple):
    """T² between the two graphs (`statistic`), and between copies of one of them (`reliability`).

    >>> PairedComparison(statistic=300.0, reliability=1.0).separated
    True
    >>> PairedComparison(statistic=300.0, reliability=300.0).reliable
    False
    """

    statistic: float
    reliability: float

    @property
    def reliable(self) -> bool:
        """Whether copies of one graph stay below the threshold, as they must."""
        return self.reliability < THRESHOLD

    @property
    def separated(self) -> bool:
        """BREC's rule: above the threshold, and not what the graph's own copies give."""
        same = np.isclose(self.statistic, self.reliability, rtol=1e-5, atol=1e-6)
        return self.statistic > THRESHOLD and not bool(same)


def t_squared(x: Real, y: Real) -> float:
    """D̄ᵀ S⁺ D̄ of the differences of paired embeddings, each `[q, p]`.

    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(2, 32, 16))
    >>> t_squared(noise[0], noise[1]) < THRESHOLD < t_squared(noise[0] + 20, noise[1])
    True
    """
    D = x - y
    mean = D.mean(0)
    return float(mean @ np.linalg.pinv(np.cov(D.T), rcond=D.shape[1] * np.finfo(np.float64).eps) @ mean)


def compare_pair(embed: Embedding, pair: Pair, *, seed: int = 0) -> PairedComparison:
    """BREC's paired comparison of an embedding: 4 × 32 relabelled copies, one of the two graphs (drawn) for the check.

    Args:
        embed: a function from an adjacency matrix `[n, n]` to 16 numbers.
        pair: the two graphs to compare.
        seed: seed of the random copies.

    >>> from research.expressivity.families import paper
    >>> compare_pair(lambda a: np.linalg.eigvalsh(a + np.eye(len(a)))[:16].repeat(2)[:16], paper()[0]).reliable
    True
    """
    rng = np.random.default_rng(seed)

    def copies(graph: Real, count: int) -> Real:
        return np.stack([embed(relabel(graph, int(s))) for s in rng.integers(1 << 40, size=count)])

    statistic = t_squared(copies(pair.a, COPIES), copies(pair.b, COPIES))
    own = copies(pair.a if rng.random() < 0.5 else pair.b, 2 * COPIES)
    return PairedComparison(statistic, t_squared(own[0::2], own[1::2]))
