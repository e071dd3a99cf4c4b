"""All graphs with at most 7 nodes, compared with each other: which pairs does a policy not separate?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from research.expressivity.columns import Real
from research.expressivity.separate import SEPARATED, distance, fingerprint

UnseparatedPairs = set[tuple[int, int]]


def find_unseparated_by_fingerprint(graphs: Sequence[Real], policy: str) -> UnseparatedPairs:
    """The pairs (i, j), i < j, that a policy does not separate.

    >>> from research.expressivity.families import paper
    >>> (_, *cycles), (_, *squares) = paper()
    >>> find_unseparated_by_fingerprint([*cycles, *squares], "none")
    {(2, 3)}
    """
    prints = [fingerprint(a, policy) for a in graphs]
    # graphs whose means differ by more than the tolerance are separated: only runs of close means are compared
    means = np.array([x.mean() if len(x) else 0.0 for x in prints])
    order = np.argsort(means)
    found: UnseparatedPairs = set()
    for at, i in enumerate(order):
        for j in order[at + 1 :]:
            if means[j] - means[i] > SEPARATED:
                break
            if len(graphs[i]) == len(graphs[j]) and distance(prints[i], prints[j]) <= SEPARATED:
                found.add((int(min(i, j)), int(max(i, j))))
    return found


def find_unseparated_by_classes(
    graphs: Sequence[Real], classes: Callable[[Sequence[Real]], list[int]]
) -> UnseparatedPairs:
    """The pairs that a Weisfeiler–Leman test (`wl1_classes` or `wl3_classes`) does not separate."""
    by_size: dict[int, list[int]] = defaultdict(list)
    for i, a in enumerate(graphs):
        by_size[len(a)].append(i)
    found: UnseparatedPairs = set()
    for members in by_size.values():
        of = dict(zip(members, classes([graphs[i] for i in members]), strict=True))
        found |= {(i, j) for i, j in combinations(members, 2) if of[i] == of[j]}
    return found
