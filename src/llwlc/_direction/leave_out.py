"""DirectionColumns: the columns of any pairs of a graph; a link never sees itself."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from llwlc._direction.arcs import Floats, arc_matrix
from llwlc._direction.columns import ArcColumns, PairColumns
from llwlc.graph._graph import Graph
from llwlc.models._stack.folds import fold_numbers
from llwlc.training._node_features import NodeFeatures

FOLDS = 5
"""The columns of a link are those of the graph without its fold."""


@dataclass(frozen=True, eq=False)
class DirectionColumns:
    """The columns of pairs of a directed graph. Those of a linked pair are computed without its fold, a hash of the
    pair, so that columns depend only on the pair and the graph.
    """

    graph: Graph
    features: NodeFeatures
    _parts: dict[int, ArcColumns] = field(default_factory=dict)

    def at(self, pairs: Tensor) -> PairColumns:
        """The columns of pairs `[m, 2]`."""
        fold = torch.full((len(pairs),), -1)
        linked = self.graph.has_edges(pairs)
        fold[linked] = fold_numbers(self.graph, pairs[linked], FOLDS)
        columns: list[Floats] | None = None
        for number in sorted({*fold.tolist()}) or [-1]:
            mine = (fold == number).numpy()
            some = self._without(number).at(pairs.numpy()[mine])
            if columns is None:
                columns = [np.empty((len(pairs), part.shape[1])) for part in some]
            for whole, part in zip(columns, some, strict=True):
                whole[mine] = part
        assert columns is not None
        return PairColumns(*columns)

    def _without(self, number: int) -> ArcColumns:
        """The columns on the graph without a fold; −1: on the whole graph."""
        if number not in self._parts:
            graph = self.graph
            if number >= 0:
                graph = graph.with_edges(graph.edges[fold_numbers(graph, graph.edges, FOLDS) != number])
            compact = self.features.compact
            self._parts[number] = ArcColumns(arc_matrix(graph), None if compact is None else compact.numpy())
        return self._parts[number]
