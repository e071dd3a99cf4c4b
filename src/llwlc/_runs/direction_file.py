"""`direction.json`: the model of a directed run that says which way links point."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor

from llwlc._direction.arcs import arcs_of
from llwlc._direction.model import DirectionModel
from llwlc._runs.format import DIRECTION, GRAPH
from llwlc._support.files import write_text
from llwlc._support.json_file import read_json
from llwlc._support.text import describe_error
from llwlc.errors import InputError, RunFolderError
from llwlc.graph._graph import Graph
from llwlc.training._node_features import NodeFeatures


def write_direction(folder: Path, model: DirectionModel) -> None:
    write_text(folder / DIRECTION, json.dumps(model.as_dict(), indent=2) + "\n")


def read_direction(folder: Path, graph: Graph, features: NodeFeatures) -> DirectionModel | None:
    """The model of directions of a run; None where it was fitted without."""
    path = folder / DIRECTION
    if path.is_file() != (graph.forward is not None):
        raise RunFolderError(
            f"{folder}: {DIRECTION} and the directions in {GRAPH} belong together, and one is missing: copy the run"
            " again, or fit again"
        )
    if not path.is_file() or graph.forward is None:
        return None
    _check_forward(folder, graph, graph.forward)
    data = read_json(path)
    try:
        return DirectionModel.from_dict(data, 0 if features.compact is None else features.compact.shape[1])
    except (InputError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise RunFolderError(f"{path} cannot be used ({describe_error(error)}): copy it again, or fit again") from error


def _check_forward(folder: Path, graph: Graph, forward: Tensor) -> None:
    """Checks that every link points at least one way."""
    whole = forward.dtype == torch.bool and forward.shape == graph.indices.shape
    if not whole or not torch.stack(arcs_of(graph, graph.edges)).any(0).all():
        raise RunFolderError(f"{folder}/{GRAPH} has links that point nowhere: copy it again, or fit again")
