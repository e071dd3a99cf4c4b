"""DirectionScorer: a fitted model of directions, applied to one graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from llwlc._direction.arcs import require_directions
from llwlc._direction.leave_out import DirectionColumns
from llwlc._direction.model import DirectionModel, DirectionProbabilities
from llwlc.graph._graph import Graph
from llwlc.training._node_features import NodeFeatures


@dataclass(frozen=True, eq=False)
class DirectionScorer:
    """A model of directions on a graph; statistics that all pairs share are computed once."""

    model: DirectionModel
    graph: Graph
    features: NodeFeatures

    @cached_property
    def columns(self) -> DirectionColumns:
        require_directions(self.graph)
        return DirectionColumns(self.graph, self.features)

    def __call__(self, pairs: Tensor) -> DirectionProbabilities:
        """The probabilities of the directions of pairs `[m, 2]`, given that they are linked."""
        return self.model.probabilities(self.columns.at(pairs))

    def effects(self, pair: Tensor) -> dict[str, float]:
        """The term of each column in the log-odds that a link of the pair `[2]`, if it points one way, points from the
        first node to the second.
        """
        return self.model.effects(self.columns.at(pair.reshape(1, 2)))[0]
