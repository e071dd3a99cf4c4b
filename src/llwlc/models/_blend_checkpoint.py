"""What an interrupted fit of a blend resumes from: the checkpoint of the training in progress, and the weights of each
finished one.
"""

from __future__ import annotations

import json
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor

from llwlc._support.files import write_tensors
from llwlc._support.text import describe_error
from llwlc.errors import RunFolderError
from llwlc.graph._graph import Graph
from llwlc.models._base import LinkModel
from llwlc.training._checkpoint import Checkpoint, checkpoint_checksum
from llwlc.training._epoch_record import EpochRecord
from llwlc.training._node_features import NodeFeatures

STATE, VALID = "state.", ("valid.pos", "valid.neg")


def checkpoint_of(checkpoint: Checkpoint | None, number: int) -> Checkpoint | None:
    """The checkpoint of one training; the first one uses that of the run."""
    if checkpoint is None or number == 0:
        return checkpoint
    return checkpoint._replace(path=checkpoint.path.with_name(f"{checkpoint.path.stem}-{number}.safetensors"))


def save_training(checkpoint: Checkpoint | None, number: int, model: LinkModel) -> None:
    """Writes the state of a finished training; nothing for a model without state."""
    state = {} if checkpoint is None else model.state()
    if checkpoint is None or not state:
        return
    tensors = {STATE + name: tensor.contiguous().clone() for name, tensor in state.items()}
    if model.validation is not None:
        tensors |= {name: part.contiguous().clone() for name, part in zip(VALID, model.validation, strict=True)}
    history = json.dumps([record.as_dict() for record in model.history])
    about = {"history": history, "mark": checkpoint.fingerprint, "config": json.dumps(dict(model.config))}
    write_tensors(_training_path(checkpoint, number), tensors, about | {"digest": _checksum(tensors, about)})


def load_training(
    checkpoint: Checkpoint | None, number: int, model: LinkModel, graph: Graph, features: NodeFeatures
) -> LinkModel | None:
    """The model of a finished training, None if there is no file; `model`: the same model, not fitted."""
    if checkpoint is None or not (path := _training_path(checkpoint, number)).exists():
        return None
    try:
        tensors = load_file(path)
        with safe_open(path, "pt") as file:
            about = file.metadata() or {}
        if about.get("mark") != checkpoint.fingerprint:
            raise RunFolderError(
                f"{path} belongs to another run (other graph, split or options): choose another folder, or delete it to"
                " start over"
            )
        if about.get("digest") != _checksum(tensors, about):
            raise ValueError("its content differs from its digest")
        valid = tuple(tensors.pop(name) for name in VALID if name in tensors)
        state = {name.removeprefix(STATE): tensor for name, tensor in tensors.items()}
        found = type(model).from_state(json.loads(about["config"]), state, graph, features)
        found.history = [EpochRecord(**record) for record in json.loads(about["history"])]
    except (OSError, SafetensorError, ValueError, LookupError, TypeError, RecursionError) as error:
        if isinstance(error, RunFolderError):
            raise
        raise RunFolderError(f"{path} is damaged ({describe_error(error)}): delete it to start over") from error
    found.validation = (valid[0], valid[1]) if len(valid) == 2 else None
    return found


def _training_path(checkpoint: Checkpoint, number: int) -> Path:
    return checkpoint.path.with_name(f"{checkpoint.path.stem}-{number}-ended.safetensors")


def _checksum(tensors: dict[str, Tensor], about: dict[str, str]) -> str:
    return checkpoint_checksum(tensors, {"mark": about["mark"], "history": about["history"] + about["config"]})
