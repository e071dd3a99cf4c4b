"""Columns: statistics of the links around a pair that predict its direction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, hstack

from llwlc._direction.arcs import Floats, Integers
from llwlc._direction.node_order import degrees, leading_patterns, node_levels
from llwlc._support.threads import use_one_blas_thread

ANTISYMMETRIC = {
    "out-degree": "logarithm of the number of links from it",
    "in-degree": "logarithm of the number of links to it",
    "balance": "share of its links from it minus the share to it",
    "level": "position in an order in which most links point downwards",
    "patterns": "leading patterns of who points to whom",
    "two-step paths": "directed paths of two links",
    "similar sources": "where nodes with similar targets point",
    "similar nodes": "directions of links of nodes with similar neighbours",
}
"""The columns that predict which way a link points: each changes its sign when the ends are exchanged."""
DEGREES = ("out-degree", "in-degree")
"""The columns of the baseline: degrees alone."""
SYMMETRIC = {
    "both ways, sum": "sum, over both ends, of the share of links that point both ways",
    "both ways, product": "product of the same shares",
    "smaller degree": "of the two ends, as a logarithm",
    "larger degree": "of the two ends, as a logarithm",
    "level difference": "absolute value, of the two ends",
    "weaker pattern": "the smaller of the two directions in the leading patterns",
    "weaker path": "share of the rarer direction among similar sources",
}
"""The columns that predict whether a link points both ways: none changes when the ends are exchanged."""
WORK = 20_000_000
"""Maximum number of entries of products of sparse rows that are in memory at once."""


class PairColumns(NamedTuple):
    """The columns of pairs: `antisymmetric [m, 8 + d]`, d being the width of node features, and `symmetric [m, 7]`."""

    antisymmetric: Floats
    symmetric: Floats


@dataclass(frozen=True, eq=False)
class ArcColumns:
    """The columns of pairs, computed from the links `arcs [n, n]`, which must not contain those of the pairs;
    `features [n, d]`: compact features of the nodes, or None.
    """

    arcs: csr_array
    features: NDArray[np.float32] | None = None

    @cached_property
    def _known(self) -> _NodeColumns:
        with use_one_blas_thread():
            return _NodeColumns.of(self.arcs)

    def at(self, pairs: Integers) -> PairColumns:
        """The columns of pairs `[m, 2]`."""
        known = self._known
        parts = [self._columns(known, *part.T) for part in known.chunks(pairs)]
        if not parts:
            parts = [self._columns(known, *np.zeros((2, 0), dtype=np.int64))]
        return PairColumns(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _columns(self, known: _NodeColumns, u: Integers, v: Integers) -> tuple[Floats, Floats]:
        ahead, back = ((known.left[a] * known.right[b]).sum(1) for a, b in ((u, v), (v, u)))
        two_ahead, two_back = (_overlap(known.arcs[a], known.reverse[b]) for a, b in ((u, v), (v, u)))
        near_u, near_v = (known.scaled[a] @ known.scaled_reverse for a in (u, v))
        three_ahead, three_back = _overlap(near_u, known.scaled_reverse[v]), _overlap(near_v, known.scaled_reverse[u])
        like_u, like_v = (known.neighbours[a] @ known.neighbours.T for a in (u, v))
        # directions of links between v and nodes similar to u, and between u and nodes similar to v
        voted = _overlap(like_v, known.signed[u]) - _overlap(like_u, known.signed[v])
        voters = _overlap(like_v, known.linked[u]) + _overlap(like_u, known.linked[v])
        three = three_ahead + three_back + 1e-3
        antisymmetric = [
            *(values[u] - values[v] for values in (known.log_out, known.log_in, known.balance, known.level)),
            (ahead - back) / (np.abs(ahead) + np.abs(back) + 0.05),
            np.log1p(two_ahead) - np.log1p(two_back),
            (three_ahead - three_back) / three,
            voted / (voters + 0.5),
        ]
        if self.features is not None:
            antisymmetric += list((self.features[u].astype(np.float64) - self.features[v]).T)
        degree = known.log_degree
        symmetric = [
            known.reciprocity[u] + known.reciprocity[v],
            known.reciprocity[u] * known.reciprocity[v],
            np.minimum(degree[u], degree[v]),
            np.maximum(degree[u], degree[v]),
            np.abs(known.level[u] - known.level[v]),
            np.minimum(ahead, back),
            np.minimum(three_ahead, three_back) / three,
        ]
        return np.stack(antisymmetric, 1), np.stack(symmetric, 1)


@dataclass(frozen=True, eq=False)
class _NodeColumns:
    """Statistics of each node and of its links, computed once for all pairs."""

    arcs: csr_array
    reverse: csr_array
    scaled: csr_array
    scaled_reverse: csr_array
    neighbours: csr_array
    signed: csr_array
    linked: csr_array
    left: Floats
    right: Floats
    log_out: Floats
    log_in: Floats
    log_degree: Floats
    balance: Floats
    level: Floats
    reciprocity: Floats
    work: Floats

    @classmethod
    def of(cls, arcs: csr_array) -> _NodeColumns:
        arcs = arcs.tocsr()
        reverse = arcs.T.tocsr()
        out, into = degrees(arcs)
        scaled = (diags_array((out + 1) ** -0.5) @ arcs @ diags_array((into + 1) ** -0.5)).tocsr()
        linked = (arcs + reverse).sign().tocsr()
        degree = np.asarray(linked.sum(1)).ravel()
        both_ways = out + into - degree
        # rows of length just below one, so that their products are cosines that are smaller for nodes of few links
        rows = hstack([arcs, reverse]).tocsr()
        rows = (diags_array((out + into + 1) ** -0.5) @ rows).tocsr()
        share = both_ways.sum() / max(degree.sum(), 1)
        return cls(
            arcs,
            reverse,
            scaled,
            scaled.T.tocsr(),
            rows,
            (arcs - reverse).tocsr(),
            linked,
            *leading_patterns(arcs),
            np.log1p(out),
            np.log1p(into),
            np.log1p(degree),
            (out - into) / (out + into + 1),
            node_levels(arcs),
            (both_ways + 2 * share) / (degree + 2),
            np.asarray(linked @ degree).ravel(),
        )

    def chunks(self, pairs: Integers) -> Iterator[Integers]:
        """The pairs in chunks that take about `WORK` entries, of at least one pair."""
        work = 2 * (self.work[pairs].sum(1) + 1)
        part = (np.cumsum(work) // WORK).astype(np.int64)
        for begin, end in pairwise([*np.flatnonzero(np.diff(part, prepend=-1)), len(pairs)]):
            yield pairs[begin:end]


def _overlap(one: csr_array, other: csr_array) -> Floats:
    """The product of each row of one with the same row of the other, `[m]`."""
    return np.asarray(one.multiply(other).sum(1), dtype=np.float64).ravel()
