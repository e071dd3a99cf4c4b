"""DirectionScorer: which way the link of a pair points, by a fitted model, on the links of one graph."""

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
    """A model of directions on a graph; what all pairs share is computed once."""

    model: DirectionModel
    graph: Graph
    features: NodeFeatures

    @cached_property
    def columns(self) -> DirectionColumns:
        require_directions(self.graph)
        return DirectionColumns(self.graph, self.features)

    def __call__(self, pairs: Tensor) -> DirectionProbabilities:
        """The chances of the directions of the links of pairs `[m, 2]`, if they are links."""
        return self.model.probabilities(self.columns.at(pairs))

    def effects(self, pair: Tensor) -> dict[str, float]:
        """What each column adds to the log-odds that a link of the pair `[2]`, if it points one way, points from its
        first node to its second.
        """
        return self.model.effects(self.columns.at(pair.reshape(1, 2)))[0]
