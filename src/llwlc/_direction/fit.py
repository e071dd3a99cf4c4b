"""From the links of a split to a fitted and measured model of their directions."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from llwlc._direction.arcs import arcs_of
from llwlc._direction.leave_out import DirectionColumns
from llwlc._direction.model import DescribedLinks, DirectionModel, fit_degrees, fit_direction
from llwlc._direction.report import DirectionReport, report_direction
from llwlc.graph._graph import Graph
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._node_features import NodeFeatures

MAX_LINKS = 50_000
"""Maximum number of links that the weights are fitted on."""


class DirectionFit(NamedTuple):
    """A model of directions, and its accuracy on test links."""

    model: DirectionModel
    report: DirectionReport


def fit_directions(graph: Graph, split: LinkSplit, features: NodeFeatures, *, seed: int) -> DirectionFit:
    """Fits on training and validation links, and measures on test links, which are hidden from the model."""
    links = torch.cat([split.train_pos, split.valid_pos])
    known = graph.with_edges(links)
    columns = DirectionColumns(known, features)
    drawn = torch.randperm(len(links), generator=torch.Generator().manual_seed(seed))[:MAX_LINKS].sort().values
    training = _described(columns, known, links[drawn])
    model = fit_direction(training)
    test = _described(columns, graph, split.test_pos)
    forward, backward = arcs_of(graph, graph.edges)
    both = float((forward & backward).double().mean()) if len(forward) else 0.0
    return DirectionFit(model, report_direction(model, fit_degrees(training), test, both))


def _described(columns: DirectionColumns, graph: Graph, links: Tensor) -> DescribedLinks:
    forward, backward = arcs_of(graph, links)
    return DescribedLinks(columns.at(links), forward.numpy(), backward.numpy())
