"""Weisfeiler–Leman tests, exact: 1-WL and 2-FWL, which separates what 3-WL separates (the paper's "2-WL").

Both graphs are refined together and colours are consecutive integers that both share: the ranks of sorted signatures.
Nothing is hashed, so two signatures get the same colour if and only if they are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from research.expressivity.columns import Real

Colours = NDArray[np.int64]
Signature = Callable[[int, Colours, int], Colours]


def wl1(a: Real, b: Real) -> bool:
    """Whether colour refinement (1-WL) tells two graphs apart.

    Args:
        a: adjacency matrix `[n, n]`.
        b: adjacency matrix `[n, n]`.

    >>> import networkx as nx
    >>> cycle, two = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    >>> wl1(nx.to_numpy_array(cycle), nx.to_numpy_array(two))
    False
    >>> wl1(nx.to_numpy_array(cycle), nx.to_numpy_array(nx.path_graph(6)))
    True
    """
    return len(a) != len(b) or len(set(wl1_classes([a, b]))) > 1


def wl3(a: Real, b: Real) -> bool:
    """Whether 2-FWL, and so 3-WL, tells two graphs apart.

    Args:
        a: adjacency matrix `[n, n]`.
        b: adjacency matrix `[n, n]`.

    >>> from research.expressivity.families import paper
    >>> [wl3(a, b) for _, a, b in paper()]
    [True, False]
    """
    return len(a) != len(b) or len(set(wl3_classes([a, b]))) > 1


def wl1_classes(graphs: Sequence[Real], colours: Sequence[Colours] | None = None) -> list[int]:
    """The class of every graph under 1-WL; all have the same number of nodes.

    A node's new colour is its old one with the multiset of its neighbours' colours; `colours` are the first ones, all
    equal by default.
    """
    colours = [np.zeros(len(a), dtype=np.int64) for a in graphs] if colours is None else list(colours)
    return _refine(colours, lambda i, colour, _: _neighbours(graphs[i], colour))


def wl3_classes(graphs: Sequence[Real]) -> list[int]:
    """The class of every graph under 2-FWL; all have the same number of nodes.

    The new colour of a pair (u, v) is its old one with the multiset over all w of the colours of ((u, w), (w, v)): O(n³
    log n) a round.
    """
    # the atomic type of a pair: equal, adjacent, neither
    colours = [(a + 2 * np.eye(len(a))).astype(np.int64).ravel() for a in graphs]
    return _refine(colours, lambda i, colour, count: _triangles(colour.reshape(graphs[i].shape), count))


def _refine(colours: list[Colours], signature: Signature) -> list[int]:
    """Refine until no colour splits any more, or until all graphs differ; the classes are the multisets of colours."""
    found = max(int(colour.max(initial=0)) for colour in colours) + 1
    while True:
        rows = [signature(i, colour, found) for i, colour in enumerate(colours)]
        before = found
        rank, found = _ranks(np.concatenate(rows))
        colours = np.split(rank, len(rows))
        counts = np.stack([np.bincount(colour, minlength=found) for colour in colours])
        classes, different = _ranks(counts)
        if found == before or different == len(colours):
            return [int(c) for c in classes]


def _neighbours(a: Real, colour: Colours) -> Colours:
    """The signature of every node, `[n, 1 + n]`: its colour, and the sorted colours of its neighbours behind a run of
    −1.
    """
    seen = np.sort(np.where(a > 0, colour, -1), axis=1)
    return np.concatenate([colour[:, None], seen], axis=1)


def _triangles(colour: Colours, count: int) -> Colours:
    """The signature of every pair, `[n², 1 + n]`: its colour, and the sorted codes of ((u, w), (w, v))."""
    n = len(colour)
    both = colour[:, None, :] * count + colour.T[None, :, :]
    both.sort(axis=2)
    return np.concatenate([colour.reshape(-1, 1), both.reshape(n * n, n)], axis=1)


def _ranks(rows: Colours) -> tuple[Colours, int]:
    """The rank of every row among the different ones, and how many different ones there are."""
    rows = np.ascontiguousarray(rows)
    # whole rows as one item each: any total order will do, and comparing bytes is a fast one
    items = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    different, rank = np.unique(items, return_inverse=True)
    return rank, len(different)
