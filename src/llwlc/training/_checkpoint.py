"""Checkpoints: written after each epoch, atomically, and read back to the last bit.

Each has a digest over every tensor with its name, type and shape, over the history and the fingerprint: a damaged or
altered checkpoint is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor

from llwlc._support.files import write_tensors
from llwlc._support.text import describe_error
from llwlc.errors import RunFolderError
from llwlc.training._epoch_record import EpochRecord


class Checkpoint(NamedTuple):
    """Where a run keeps its state after each epoch.

    >>> Checkpoint(Path("checkpoint.safetensors"), fingerprint="graph, split and options").path.name
    'checkpoint.safetensors'
    """

    path: Path
    """The file."""
    fingerprint: str
    """A digest of all that determines the run: a checkpoint of another run is refused."""

    @contextmanager
    def reject_mismatch(self) -> Iterator[None]:
        """A block that loads tensors of the checkpoint: where they are not those of the network, it is damaged."""
        try:
            yield
        except (RuntimeError, KeyError) as error:
            raise _damaged(self.path, describe_error(error)) from error


def write_checkpoint(
    checkpoint: Checkpoint,
    states: Mapping[str, Mapping[str, Tensor]],
    optimizer: torch.optim.Optimizer,
    history: list[EpochRecord],
) -> None:
    """Writes named states, the moments of Adam and the history, with a digest of them all."""
    tensors = {f"{name}.{k}": t for name, state in states.items() for k, t in state.items()}
    for i, state in optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{i}.{k}": torch.as_tensor(t) for k, t in state.items()}
    copies = {k: t.detach().cpu().contiguous().clone() for k, t in tensors.items()}
    about = {"history": json.dumps([record.as_dict() for record in history]), "mark": checkpoint.fingerprint}
    write_tensors(checkpoint.path, copies, about | {"digest": checkpoint_checksum(copies, about)})


def checkpoint_checksum(tensors: Mapping[str, Tensor], about: Mapping[str, str]) -> str:
    """A hash of everything in a checkpoint."""
    digest = hashlib.sha256(json.dumps([about["mark"], about["history"]]).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def read_checkpoint(checkpoint: Checkpoint) -> tuple[dict[str, Tensor], list[EpochRecord]]:
    """The tensors and the history of a checkpoint; a damaged one, or another run's, is refused."""
    path = checkpoint.path
    try:
        tensors = load_file(path)
        with safe_open(path, "pt") as file:
            about = file.metadata() or {}
    except (OSError, SafetensorError, ValueError) as error:
        raise _damaged(path, error) from error
    if about.get("mark") != checkpoint.fingerprint:
        raise RunFolderError(
            f"{path} belongs to another run (other graph, split or options): choose another folder, or delete it to"
            " start over"
        )
    if "digest" not in about:
        raise _damaged(path, "it has no digest")
    if "history" not in about or about["digest"] != checkpoint_checksum(tensors, about):
        raise _damaged(path, "its content differs from its digest")
    return tensors, _history(path, about["history"])


def count_epochs(path: Path) -> int:
    """The number of epochs that a checkpoint has completed, where a progress bar begins; 0 if there is none, or if
    reading it will be refused.
    """
    try:
        with safe_open(path, "pt") as file:
            return len(json.loads((file.metadata() or {}).get("history", "[]")))
    except (OSError, SafetensorError, ValueError, TypeError, RecursionError):
        return 0


def _history(path: Path, text: str) -> list[EpochRecord]:
    try:
        history = [EpochRecord(**record) for record in json.loads(text)]
        in_order = [record.epoch for record in history] == list(range(len(history)))
    except (TypeError, ValueError, RecursionError) as error:
        raise _damaged(path, f"history: {describe_error(error)}") from error
    if not history or not in_order:
        raise _damaged(path, "its history is empty or has a gap")
    return history


def _damaged(path: Path, why: object) -> RunFolderError:
    return RunFolderError(f"the checkpoint {path} is damaged ({why}): delete it to start over")


def group_states(tensors: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """The named states of a checkpoint, that of the optimizer as "adam"."""
    groups: dict[str, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        state, _, key = name.partition(".")
        groups.setdefault(state, {})[key] = tensor
    return groups


def restore_optimizer(checkpoint: Checkpoint, optimizer: torch.optim.Optimizer, moments: Mapping[str, Tensor]) -> None:
    """Gives an optimizer the moments of a checkpoint; moments whose shapes are not those of their parameters are
    refused: training would go wrong silently.
    """
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in moments.items():
        number, _, field = name.partition(".")
        state.setdefault(int(number) if number.isdigit() else -1, {})[field] = tensor
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    fits = all(
        0 <= i < len(parameters)
        and set(fields) == {"step", "exp_avg", "exp_avg_sq"}
        and all(fields[name].shape == parameters[i].shape for name in ("exp_avg", "exp_avg_sq"))
        for i, fields in state.items()
    )
    if not state or not fits:
        raise _damaged(checkpoint.path, "it lacks the optimizer's state, or has another network's")
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
