"""Heuristics as methods: nothing is fitted; scores are computed on the messages of the test stage."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from llwlc.graph.graph import Graph
from llwlc.heuristics.registry import HEURISTICS, WALKS, Heuristic
from llwlc.splits.linksplit import LinkSplit
from llwlc.support.registry import Record


@dataclass(frozen=True)
class Untrained:
    """A heuristic on a graph."""

    heuristic: Heuristic
    graph: Graph

    def score(self, pairs: Tensor, graph: Graph | None = None) -> Tensor:
        found: Tensor = self.heuristic.load()(self.graph if graph is None else graph, pairs)
        return found


def fit(method: Record, graph: Graph, split: LinkSplit, *, seed: int = 0) -> Untrained:
    """The heuristic on `split.test_graph`, the links that may be used when test links are predicted."""
    return Untrained(heuristic(method.name), split.test_graph)


def heuristic(name: str) -> Heuristic:
    return (HEURISTICS if name in HEURISTICS else WALKS)[name]
