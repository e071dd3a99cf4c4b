"""METHODS: what can be fitted on a split and asked for scores, by name. So far those that need no training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from llwlc.heuristics.registry import HEURISTICS
from llwlc.support.registry import Record, Registry

if TYPE_CHECKING:
    from torch import Tensor

    from llwlc.graph.graph import Graph
    from llwlc.splits.linksplit import LinkSplit


class Scorer(Protocol):
    """A fitted method."""

    def score(self, pairs: Tensor) -> Tensor:
        """Scores `[m]` of pairs `[m, 2]`, larger is likelier."""


@dataclass(frozen=True)
class Method(Record):
    """`target(method, graph, split, seed=...)` gives a fitted `Scorer`."""

    def fit(self, graph: Graph, split: LinkSplit, *, seed: int = 0) -> Scorer:
        """Trained on the split's training links; it sees no other."""
        fitted: Scorer = self.load()(self, graph, split, seed=seed)
        return fitted


METHODS: Registry[Method] = Registry("method")
for _heuristic in HEURISTICS.records():
    METHODS.add(Method(_heuristic.name, _heuristic.about, "llwlc.baselines.untrained:fit"))


def get(name: str) -> Method:
    """The method of this name."""
    return METHODS[name]


def names() -> tuple[str, ...]:
    return tuple(METHODS)
