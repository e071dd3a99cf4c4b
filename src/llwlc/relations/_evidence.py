"""What known links say about a possible one: ways to get from its source to its target, and how often nodes that are
joined in such a way have a link of the type.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from llwlc.relations._triples import Triples

Integers = NDArray[np.int64]
SHRINK = 5
"""Pairs without a link of the type that are added to those of a pattern: a pattern of few pairs proves little."""
MAX_PRODUCTS = 2e7
"""A pattern is left out if counting its pairs takes more products of entries."""
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


class PatternCounts:
    """The patterns of pairs in known links; the link that is asked about counts nowhere.

    >>> pairs = [("a", "b"), ("b", "a"), ("c", "d"), ("d", "c"), ("e", "f")]
    >>> known = Triples.of([(u, "knows", v) for u, v in pairs])
    >>> PatternCounts(known).patterns(*known.find([("f", "knows", "e")])[0].tolist())
    (Pattern(steps=('knows ←',), via=(), linked=4, pairs=4),)
    """

    def __init__(self, triples: Triples) -> None:
        self.triples = triples
        self._analogies: dict[tuple[int, ...], Any] = {}

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
        """The patterns of one and two steps that join a pair, and those by analogy: the source shares a neighbour with
        a node that has such a link to the target, or the target with one that the source has such a link to. Strongest
        first.
        """
        out, into = self._neighbours(source, self.steps), self._neighbours(target, self._backwards)
        ways: dict[tuple[int, ...], list[int]] = {(step,): [] for step in out.get(target, ()) if step != kind}
        for x in sorted((out.keys() & into.keys()) - {source, target}):
            for first in out[x]:
                for second in into[x]:
                    ways.setdefault((first, second), []).append(x)
        pair = source, target
        found = [
            self._count(self._product(way), way, via, kind, pair) for way, via in list(ways.items())[:MAX_PATTERNS]
        ]
        analogies: dict[tuple[int, ...], Any] = {}  # kind, kind ←, kind is one of both sorts
        for step in range(len(self.steps)):
            # either end must have a neighbour by this step
            ways_by_analogy = ((source, (step, self._back(step), kind)), (target, (kind, step, self._back(step))))
            for end, way in ways_by_analogy:
                matrix = self._analogy(way, kind) if _has_entry(self.steps[step], end) else None
                if matrix is not None and matrix[source, target] > 0:
                    analogies[way] = matrix
        found += [self._count(matrix, way, [], kind, pair) for way, matrix in analogies.items()]
        known = [pattern for pattern in found if pattern is not None]
        return tuple(sorted(known, key=lambda p: (-p.strength, len(p.steps), p.steps)))

    @staticmethod
    def _neighbours(node: int, steps: list[Any]) -> dict[int, list[int]]:
        """The steps by which each neighbour is reached."""
        found: dict[int, list[int]] = {}
        for number, matrix in enumerate(steps):
            for x in matrix.indices[matrix.indptr[node] : matrix.indptr[node + 1]].tolist():
                found.setdefault(x, []).append(number)
        return found

    @property
    def _backwards(self) -> list[Any]:
        half = len(self.triples.types)
        return [*self.steps[half:], *self.steps[:half]]

    def _back(self, step: int) -> int:
        return (step + len(self.triples.types)) % len(self.steps)

    def _product(self, way: tuple[int, ...]) -> Any:
        """The number of paths `[n, n]` of one or two steps; None where counting takes too long."""
        first = self.steps[way[0]]
        return first if len(way) == 1 else _times(first, self.steps[way[1]])

    def _analogy(self, way: tuple[int, ...], kind: int) -> Any:
        """The number of paths `[n, n]` of an analogy, without those that use the link of the pair itself."""
        if way not in self._analogies:
            links, behind = self.steps[kind], way[2] == kind
            shared = _times(self.steps[way[0 if behind else 1]], self.steps[way[1 if behind else 2]])
            found = None
            if shared is not None:
                shared = csr_array(shared - diags_array(shared.diagonal()))
                found = _times(shared, links) if behind else _times(links, shared)
            if found is not None and (way[0] == kind if behind else way[2] == kind):
                degree = links.sum(0) if behind else links.sum(1)
                own = links.multiply(degree[None] - 1 if behind else degree[:, None] - 1)
                found = csr_array(found - own)
            self._analogies[way] = found
        return self._analogies[way]

    def _count(
        self, paths: Any, way: tuple[int, ...], via: list[int], kind: int, pair: tuple[int, int]
    ) -> Pattern | None:
        if paths is None:
            return None
        row, col = (paths > 0).nonzero()
        other = (row != col) & ~((row == pair[0]) & (col == pair[1]))
        row, col = row[other], col[other]
        # scipy answers an empty selection by a sparse array
        linked = int((np.asarray(self.steps[kind][row, col]) > 0).sum()) if len(row) else 0
        names = self.triples.names
        steps = tuple(self._name(step) for step in way)
        return Pattern(steps, tuple(names[x] for x in via), linked, len(row))

    def _name(self, step: int) -> str:
        half = len(self.triples.types)
        return self.triples.types[step] if step < half else f"{self.triples.types[step - half]} ←"


def _has_entry(matrix: Any, row: int) -> bool:
    return bool(matrix.indptr[row] < matrix.indptr[row + 1])


def _times(first: Any, second: Any) -> Any:
    """The product of two sparse matrices, None if it takes more than `MAX_PRODUCTS`."""
    products = float(np.bincount(first.indices, minlength=first.shape[1]) @ np.diff(second.indptr))
    return None if products > MAX_PRODUCTS else csr_array(first @ second)
