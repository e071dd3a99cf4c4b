"""Marking beside deletion (Papp and Wattenhofer, ICML 2022): 1-WL on all copies of a graph in which k vertices have a
colour of their own, and on all in which they are deleted.
"""

from __future__ import annotations

from itertools import combinations
from typing import Literal

import numpy as np

from research.expressivity.columns import Real
from research.expressivity.families import load_suite
from research.expressivity.wl import wl1_classes

How = Literal["marked", "deleted"]
SUITES = {"paper": (1, 2), "sr16622": (1, 2), "brec-basic": (1, 2), "brec-regular": (1, 2), "brec-str": (1,)}
"""Numbers of perturbed vertices by suite; all pairs of vertices of the strongly regular graphs would take minutes."""


def separates(a: Real, b: Real, k: int, how: How) -> bool:
    """Whether the multisets of 1-WL classes of all copies with k perturbed vertices differ.

    >>> from research.expressivity.families import paper
    >>> cycles, squares = paper()
    >>> [separates(*cycles[1:], k, how) for how in ("marked", "deleted") for k in (0, 1)]
    [False, True, False, True]
    """
    if len(a) != len(b):
        return True
    copies, colours = [], []
    for graph in (a, b):
        for chosen in combinations(range(len(graph)), k):
            mark = np.zeros(len(graph), dtype=np.int64)
            mark[list(chosen)] = 1
            kept = np.flatnonzero(mark == 0) if how == "deleted" else np.arange(len(graph))
            copies.append(graph[np.ix_(kept, kept)])
            colours.append(mark[kept])
    classes = wl1_classes(copies, colours)
    half = len(classes) // 2
    return sorted(classes[:half]) != sorted(classes[half:])


def make_rows() -> list[tuple[str, str, str]]:
    """Rows of the table: the suite, the perturbation, and how many of its pairs are told apart."""
    rows = []
    for suite, numbers in SUITES.items():
        pairs = load_suite(suite)
        for how in ("marked", "deleted"):
            for k in numbers:
                apart = sum(separates(pair.a, pair.b, k, how) for pair in pairs)
                rows.append((suite, f"1-WL, {k} {how}", f"{apart} of {len(pairs)}"))
    return rows
