"""Heuristics as methods: nothing is fitted; scores are computed on the messages of the test stage."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from llwlc import metrics
from llwlc.graph.graph import Graph
from llwlc.heuristics.registry import HEURISTICS, WALKS, Heuristic
from llwlc.splits.linksplit import LinkSplit
from llwlc.support.registry import Record


@dataclass(frozen=True)
class Untrained:
    """A heuristic on a graph, the messages of the test stage of a split. It has no `history`, and nothing to store."""

    heuristic: Heuristic
    graph: Graph
    split: LinkSplit | None = None

    @cached_property
    def metrics(self) -> metrics.Evaluation | None:
        """All metrics of the split's test links; None where there is no split, as in a run that was read."""
        return (
            None
            if self.split is None
            else metrics.evaluate(self.score(self.split.test_pos), self.score(self.split.test_neg))
        )

    def score(self, pairs: Tensor, graph: Graph | None = None) -> Tensor:
        found: Tensor = self.heuristic.load()(self.graph if graph is None else graph, pairs)
        return found


def fit(method: Record, graph: Graph, split: LinkSplit, *, seed: int = 0) -> Untrained:
    """The heuristic on `split.test_graph`, the links that may be used when test links are predicted."""
    return Untrained(heuristic(method.name), split.test_graph, split)


def heuristic(name: str) -> Heuristic:
    return (HEURISTICS if name in HEURISTICS else WALKS)[name]
