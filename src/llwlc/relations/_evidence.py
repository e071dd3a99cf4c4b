"""What known links say about a possible one: ways to get from its source to its target, and how often nodes that are
joined in such a way have a link of the type.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from llwlc.relations._triples import Triples

Integers = NDArray[np.int64]
SHRINK = 5
"""Pairs without a link of the type that are added to those of a pattern: a pattern of few pairs proves little."""
MAX_PRODUCTS = 2e7
"""A pattern of two steps is left out if counting its pairs takes more products of entries."""
MAX_PATTERNS = 400
"""Patterns of one pair that are looked at."""


class Pattern(NamedTuple):
    """A way from a source to a target: its `steps`, a type followed by ← where the link points back; the nodes `via`
    which it goes here; of how many pairs that are joined so (`pairs`) there is a link of the type (`linked`).

    >>> Pattern(("knows", "pays ←"), ("Ada",), 8, 10).share
    0.8
    """

    steps: tuple[str, ...]
    via: tuple[str, ...]
    linked: int
    pairs: int

    @property
    def share(self) -> float:
        """The share of the pairs that are linked."""
        return self.linked / max(self.pairs, 1)

    @property
    def strength(self) -> float:
        """The share, shrunk where there are few pairs."""
        return self.linked / (self.pairs + SHRINK)


class Evidence:
    """The patterns of pairs in known links; the link that is asked about counts nowhere.

    >>> pairs = [("a", "b"), ("b", "a"), ("c", "d"), ("d", "c"), ("e", "f")]
    >>> known = Triples.of([(u, "knows", v) for u, v in pairs])
    >>> Evidence(known).patterns(*known.find([("f", "knows", "e")])[0].tolist())
    (Pattern(steps=('knows ←',), via=(), linked=4, pairs=4),)
    """

    def __init__(self, triples: Triples) -> None:
        self.triples = triples

    @cached_property
    def steps(self) -> list[Any]:
        """A 0/1 matrix `[n, n]` for each type, then for each type backwards."""
        n, rows = self.triples.num_nodes, self.triples.rows
        both = []
        for kind in range(len(self.triples.types)):
            mine = rows[rows[:, 1] == kind]
            both.append(csr_array((np.ones(len(mine)), (mine[:, 0], mine[:, 2])), shape=(n, n)))
        return both + [csr_array(matrix.T) for matrix in both]

    def patterns(self, source: int, kind: int, target: int) -> tuple[Pattern, ...]:
        """The patterns of one and two steps that join a pair, strongest first."""
        out: dict[int, list[int]] = {}
        into: dict[int, list[int]] = {}
        for number, matrix in enumerate(self.steps):
            for x in matrix.indices[matrix.indptr[source] : matrix.indptr[source + 1]].tolist():
                out.setdefault(x, []).append(number)
        for number, matrix in enumerate(self._backwards):
            for x in matrix.indices[matrix.indptr[target] : matrix.indptr[target + 1]].tolist():
                into.setdefault(x, []).append(number)
        ways: dict[tuple[int, ...], list[int]] = {(step,): [] for step in out.get(target, ()) if step != kind}
        for x in sorted((out.keys() & into.keys()) - {source, target}):
            for first in out[x]:
                for second in into[x]:
                    ways.setdefault((first, second), []).append(x)
        found = (self._count(way, via, source, kind, target) for way, via in list(ways.items())[:MAX_PATTERNS])
        return tuple(sorted((p for p in found if p is not None), key=lambda p: (-p.strength, p.steps)))

    @property
    def _backwards(self) -> list[Any]:
        half = len(self.triples.types)
        return [*self.steps[half:], *self.steps[:half]]

    def _count(self, way: tuple[int, ...], via: list[int], source: int, kind: int, target: int) -> Pattern | None:
        matrix = self.steps[way[0]]
        if len(way) == 2:
            second = self.steps[way[1]]
            if float(np.bincount(matrix.indices, minlength=matrix.shape[1]) @ np.diff(second.indptr)) > MAX_PRODUCTS:
                return None
            matrix = matrix @ second
        row, col = matrix.nonzero()
        linked = np.asarray(self.steps[kind][row, col]).ravel() > 0
        other = (row != col) & ~((row == source) & (col == target))
        names = self.triples.names
        return Pattern(
            tuple(self._name(step) for step in way),
            tuple(names[x] for x in via),
            int((linked & other).sum()),
            int(other.sum()),
        )

    def _name(self, step: int) -> str:
        half = len(self.triples.types)
        return self.triples.types[step] if step < half else f"{self.triples.types[step - half]} ←"
