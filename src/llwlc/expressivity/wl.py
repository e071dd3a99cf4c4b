"""Weisfeiler–Leman tests, exact: 1-WL and 2-FWL, which separates what 3-WL separates (the paper's "2-WL").

Both graphs are refined together and colours are consecutive integers that both share: the ranks of sorted signatures. Nothing is hashed,
so two signatures get the same colour if and only if they are equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from llwlc.expressivity.columns import Real

Colours = NDArray[np.int64]


def wl1(a: Real, b: Real) -> bool:
    """Whether colour refinement (1-WL) tells two graphs apart.

    A node's new colour is its old one with the number of neighbours of every colour.

    >>> import networkx as nx
    >>> cycle, two = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    >>> wl1(nx.to_numpy_array(cycle), nx.to_numpy_array(two))
    False
    >>> wl1(nx.to_numpy_array(cycle), nx.to_numpy_array(nx.path_graph(6)))
    True
    """
    if len(a) != len(b):
        return True
    x = y = np.zeros(len(a), dtype=np.int64)
    while True:
        count = int(max(x.max(initial=0), y.max(initial=0))) + 1
        x_next, y_next, found = _ranks(_neighbours(a, x, count), _neighbours(b, y, count))
        if _differ(x_next, y_next, found):
            return True
        if found == count:
            return False
        x, y = x_next, y_next


def wl3(a: Real, b: Real) -> bool:
    """Whether 2-FWL, and so 3-WL, tells two graphs apart.

    The new colour of a pair (u, v) is its old one with the multiset over all w of the colours of ((u, w), (w, v)). O(n³ log n) a round.

    >>> from llwlc.expressivity.families import paper
    >>> [wl3(a, b) for _, a, b in paper()]
    [True, False]
    """
    if len(a) != len(b):
        return True
    n = len(a)
    # the atomic type of a pair: equal, adjacent, neither
    x, y = (np.asarray(m, dtype=np.int64) + 2 * np.eye(n, dtype=np.int64) for m in (a, b))
    count = 0
    while True:
        colours = int(max(x.max(initial=0), y.max(initial=0))) + 1
        x_next, y_next, found = _ranks(_triangles(x, colours), _triangles(y, colours))
        if _differ(x_next, y_next, found):
            return True
        if found == count:
            return False
        x, y, count = x_next.reshape(n, n), y_next.reshape(n, n), found


def _neighbours(a: Real, colour: Colours, count: int) -> Colours:
    """The signature of every node, `[n, 1 + colours]`: its colour, and how many neighbours have which."""
    seen = a.astype(np.int64) @ (colour[:, None] == np.arange(count)).astype(np.int64)
    return np.concatenate([colour[:, None], seen], axis=1)


def _triangles(colour: Colours, count: int) -> Colours:
    """The signature of every pair, `[n², 1 + n]`: its colour, and the sorted codes of ((u, w), (w, v))."""
    n = len(colour)
    both = colour[:, None, :] * count + colour.T[None, :, :]
    both.sort(axis=2)
    return np.concatenate([colour.reshape(-1, 1), both.reshape(n * n, n)], axis=1)


def _ranks(x: Colours, y: Colours) -> tuple[Colours, Colours, int]:
    """The ranks of all rows among the different ones of both, and how many different ones there are."""
    rows = np.ascontiguousarray(np.concatenate([x, y]))
    # whole rows as one item each: any total order will do, and comparing bytes is a fast one
    items = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    different, rank = np.unique(items, return_inverse=True)
    return rank[: len(x)], rank[len(x) :], len(different)


def _differ(x: Colours, y: Colours, count: int) -> bool:
    return not np.array_equal(np.bincount(x, minlength=count), np.bincount(y, minlength=count))
