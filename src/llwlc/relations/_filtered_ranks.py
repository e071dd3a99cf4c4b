"""Filtered ranks: the rank of a hidden link among all triples with one other end that are not known, for both ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
ROWS_AT_ONCE = 1024


class EndScorer(Protocol):
    """What scores all nodes at the other end of a node and a type."""

    @property
    def nodes(self) -> Tensor: ...

    def targets(self, source: Integers, relation: Integers) -> Tensor: ...

    def sources(self, relation: Integers, target: Integers) -> Tensor: ...


def filtered_ranks(factors: EndScorer, asked: Integers, known: Integers) -> Floats:
    """The ranks `[2 m]` of the targets, then of the sources, of triples `[m, 3]` among all nodes but those that
    complete another triple of `known [t, 3]` (Bordes et al. 2013); ties count half, as in PyKEEN's realistic rank.
    """
    ranks = [_ranks_of(factors, asked, known, ask_target) for ask_target in (True, False)]
    return np.concatenate(ranks)


def _ranks_of(factors: EndScorer, asked: Integers, known: Integers, ask_target: bool) -> Floats:
    wanted, given = (2, (0, 1)) if ask_target else (0, (1, 2))
    n = len(factors.nodes)
    keys, order = _question(known, given, n), np.argsort(_question(known, given, n), kind="stable")
    keys, answers = keys[order], known[order, wanted]
    ranks = np.empty(len(asked))
    for begin in range(0, len(asked), ROWS_AT_ONCE):
        part = asked[begin : begin + ROWS_AT_ONCE]
        one, other = part[:, given[0]], part[:, given[1]]
        scores = (factors.targets(one, other) if ask_target else factors.sources(one, other)).numpy()
        own = scores[np.arange(len(part)), part[:, wanted]].copy()
        left, right = (np.searchsorted(keys, _question(part, given, n), side=side) for side in ("left", "right"))
        for row, (first, last) in enumerate(zip(left, right, strict=True)):
            scores[row, answers[first:last]] = -np.inf
        scores[np.arange(len(part)), part[:, wanted]] = -np.inf
        better, equal = (scores > own[:, None]).sum(1), (scores == own[:, None]).sum(1)
        ranks[begin : begin + len(part)] = 1 + better + equal / 2
    return ranks


def _question(rows: Integers, given: tuple[int, int], num_nodes: int) -> Integers:
    """A number for the type and the given end of each triple."""
    kind, node = (rows[:, 1], rows[:, 0] if given[0] == 0 else rows[:, 2])
    return kind * num_nodes + node


def summarise(ranks: Floats) -> Mapping[str, float]:
    """Mean reciprocal rank, and the shares of ranks up to 1, 3 and 10.

    >>> summarise(np.array([1.0, 2.0, 20.0]))["mrr"].__round__(4), summarise(np.array([1.0, 20.0]))["hits@10"]
    (0.5167, 0.5)
    """
    hits = {f"hits@{k}": float((ranks <= k).mean()) for k in (1, 3, 10)}
    return {"mrr": float((1 / ranks).mean())} | hits
