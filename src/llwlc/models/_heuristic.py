"""Heuristics as models: nothing is learned but the calibration of their scores."""

from __future__ import annotations

from typing import Any, Literal, Self

import torch
from torch import Tensor

from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.graph._sides import is_two_sided
from llwlc.heuristics._registry import HEURISTICS, WALK_HEURISTICS, Heuristic
from llwlc.models._base import RANDOM, LinkModel, Population
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources
from llwlc.training._timing import measure_rate

PROBE = 128
"""Links whose scores are timed."""
TIMES_SCORED = 5
"""Validation and test links, the candidates of both, and those that are recommended."""


class HeuristicModel(LinkModel):
    """A heuristic on whatever links are known.

    Args:
        name: a name of `heuristics.HEURISTICS` or `heuristics.WALK_HEURISTICS`.

    >>> HeuristicModel("katz").title
    'Katz'
    """

    unit = "own"
    inductive: Literal[True] = True

    def __init__(self, name: str) -> None:
        if type(self) is HeuristicModel:  # a model of one's own that builds on it has a name of its own
            self.name = name
        self.heuristic: Heuristic = (WALK_HEURISTICS if name in WALK_HEURISTICS else HEURISTICS)[name]

    @property
    def title(self) -> str:
        return self.heuristic.title

    @property
    def about(self) -> str:
        return f"{self.title} ({self.heuristic.about}), a heuristic, calibrated by `llwlc`."

    def check(self, graph: Graph) -> None:
        if self.heuristic.features and graph.x is None:
            raise InputError(
                f"{self.title} compares features and this graph has none: give them (--features), or choose another"
                " model"
            )
        if self.heuristic.sides and not is_two_sided(graph):
            raise InputError(
                f"{self.title} is for users and items, and this graph is not bipartite: if both columns count from 1,"
                " read it with --bipartite (bipartite=True), or choose another model"
            )

    def fit(self, split: LinkSplit, features: NodeFeatures, **how: Any) -> Self:
        self.check(split.train_graph)
        return self

    def cost(self, split: LinkSplit, features: NodeFeatures, *, resources: Resources) -> float:
        """Where walks start from every node, the seconds of all scores of a fit, from those of some links: others take
        next to nothing.

        Args:
            split: the split.
            features: not read.
            resources: not read.
        """
        if self.heuristic.name not in WALK_HEURISTICS:
            return 0.0
        graph, pairs = split.train_graph, split.train_pos[:PROBE]
        each = measure_rate(lambda some: self.score(graph, pairs[:some]), len(pairs))
        starts = max(len(torch.unique(pairs)), 1)
        return TIMES_SCORED * graph.num_nodes * each * len(pairs) / starts

    def score(self, graph: Graph, pairs: Tensor, population: Population = RANDOM) -> Tensor:
        scores: Tensor = self.heuristic.load()(graph, pairs)
        return scores.double()

    @property
    def config(self) -> dict[str, Any]:
        return {"name": self.heuristic.name}

    @property
    def chunk(self) -> int:  # type: ignore[override]
        return 1 << 20  # large: some compute on the whole graph first, which takes longer than many pairs
