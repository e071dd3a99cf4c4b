"""Exact answers: do two graphs have the same fingerprint?

A fingerprint is the ascending vector of one number for each constraint set. The distance of two graphs is the largest
difference of their fingerprints, the ∞-Wasserstein distance of the two multisets: if every number is computed to within
ε, isomorphic graphs are at most 2ε apart, whatever their labels. Nothing is rounded and nothing is hashed to integers,
so there is no rounding boundary to fall on either side of.

The answer is "separated" above `SEPARATED`, "equal" below `EQUAL`, and neither between the two: a distance there is
reported as undecided and counts as not separated. With a check, the first graph is compared with a relabelled copy of
itself as well: a policy that tells these two apart, as one with a random start does, is not reliable, and separates
nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from llwlc.errors import InputError
from research.expressivity.columns import Real
from research.expressivity.families import Pair, relabel
from research.expressivity.resolvent import NARROW, filter_fingerprint
from research.expressivity.spectra import deleted_spectra, edge_spectra

SEPARATED, EQUAL = 1e-8, 1e-9

Fingerprint = Callable[[Real], Real]

POLICIES: dict[str, Fingerprint] = {
    "none": partial(deleted_spectra, k=0),
    "enclosing": partial(edge_spectra, neumann=False),
    "neumann": edge_spectra,
    **{f"deleted-{k}": partial(deleted_spectra, k=k) for k in range(1, 6)},
    "stacked": partial(edge_spectra, deleted=True),
    **{f"filter-{k}": partial(filter_fingerprint, k=k) for k in range(5)},
    "narrow-3": partial(filter_fingerprint, k=3, bands=NARROW),
}
"""Fingerprints by policy.

Spectra: of L (`none`); of PLP over all k-subsets of deleted vertices (`deleted-k`); over the enclosing subgraphs of all
edges, under the Neumann constraints of the edge (`neumann`), under these and one deleted vertex, for each in turn
(`stacked`), and, to see what the constraints add, under none (`enclosing`). Entries of V f(R) Vᵀ over all k-subsets of
deleted vertices: `filter-k`, and `narrow-3` with two narrower bands, which reach farther in large graphs and cost a
digit of precision.
"""

LADDER = ("filter-0", "filter-1", "filter-2", "filter-3", "narrow-3", "filter-4")
"""The cheapest first; a pair climbs until it is separated."""


class Verdict(NamedTuple):
    """What a `policy` says of a pair of graphs, and how many `seconds` that took.

    `distance` is that of the two fingerprints, ∞ where they have different lengths; `noise` that of the first graph
    from a relabelled copy of itself, None where that was not looked at; `sets` is the number of constraint sets.

    >>> Verdict("none", distance=0.5, sets=1, seconds=0.0, noise=0.0).separated
    True
    """

    policy: str
    distance: float
    sets: int
    seconds: float
    noise: float | None = None

    @property
    def reliable(self) -> bool:
        """Whether the first graph and its relabelled copy have the same fingerprint; true without a check."""
        return self.noise is None or self.noise <= EQUAL

    @property
    def separated(self) -> bool:
        """Whether the policy is reliable on the pair and the distance is above `SEPARATED`."""
        return self.reliable and self.distance > SEPARATED

    @property
    def undecided(self) -> bool:
        """Whether the policy is not reliable on the pair, or the distance lies between `EQUAL` and `SEPARATED`."""
        return not self.reliable or EQUAL < self.distance <= SEPARATED


def distance(x: Real, y: Real) -> float:
    """The largest difference of two ascending vectors; ∞ if one is longer.

    >>> distance(np.array([0.0, 1.0]), np.array([0.5, 1.0]))
    0.5
    """
    if len(x) != len(y):
        return float("inf")
    return float(np.abs(x - y).max(initial=0.0))


def fingerprint(adjacency: Real, policy: str) -> Real:
    """The fingerprint of a graph under a policy: one number for each constraint set, ascending.

    Args:
        adjacency: `[n, n]`.
        policy: a key of `POLICIES`.

    >>> triangle = np.ones((3, 3)) - np.eye(3)
    >>> fingerprint(triangle, "deleted-1").shape
    (3,)
    """
    if policy not in POLICIES:
        raise InputError(f"policy {policy!r} is not known; choose from {', '.join(POLICIES)}")
    return POLICIES[policy](adjacency)


def separate(pair: Pair, policy: str | Fingerprint, *, check: int | None = None) -> Verdict:
    """Compare the two graphs of a pair under one policy.

    Args:
        pair: two graphs.
        policy: a key of `POLICIES`, or a function of one's own from an adjacency matrix `[n, n]` to an ascending
            vector.
        check: the seed of a relabelled copy of the first graph, which must have that graph's fingerprint; None for no
            check.

    >>> from research.expressivity.families import paper
    >>> cycles, squares = paper()
    >>> separate(cycles, "none").separated, separate(squares, "none").separated
    (True, False)
    >>> separate(squares, "filter-2", check=0).separated
    True
    """
    of = policy if callable(policy) else partial(fingerprint, policy=policy)
    name = policy if isinstance(policy, str) else getattr(policy, "__name__", "custom")
    if len(pair.a) != len(pair.b):
        return Verdict(name, float("inf"), 0, 0.0)
    started = time.process_time()
    x, y = of(pair.a), of(pair.b)
    seconds = time.process_time() - started
    noise = None if check is None else distance(x, of(relabel(pair.a, check)))
    return Verdict(name, distance(x, y), len(x), seconds, noise)


def climb(pair: Pair, ladder: Sequence[str] = LADDER, *, check: int | None = None) -> list[Verdict]:
    """The verdicts of a ladder of policies, up to the first that separates the pair.

    Args:
        pair: two graphs.
        ladder: keys of `POLICIES`, the cheapest first.
        check: the seed of a relabelled copy, as in `separate`.

    >>> from research.expressivity.families import paper
    >>> [(verdict.policy, verdict.separated) for verdict in climb(paper()[1])]
    [('filter-0', False), ('filter-1', False), ('filter-2', True)]
    """
    verdicts: list[Verdict] = []
    for policy in ladder:
        verdicts.append(separate(pair, policy, check=check))
        if verdicts[-1].separated:
            break
    return verdicts
