"""Checkpoints: written after each epoch, complete or not at all, and read back to the last bit.

Each has a digest over every tensor with its name, type and shape, over the history and the fingerprint: a damaged or altered checkpoint is
refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor

from llwlc.errors import InputError
from llwlc.nn.net import LLwLCNet
from llwlc.support.files import write_tensors
from llwlc.support.text import reason
from llwlc.training.records import EpochRecord

BY_LINK = "by_link"
"""How dropout is drawn; checkpoints of older versions, which drew it in another way, lack this entry."""


class Checkpoint(NamedTuple):
    """The file of a run's state, and the run's fingerprint: a checkpoint of another run is refused."""

    path: Path
    fingerprint: str


def save(
    checkpoint: Checkpoint,
    net: LLwLCNet,
    mean: LLwLCNet,
    best: dict[str, Tensor],
    optimizer: torch.optim.Optimizer,
    history: list[EpochRecord],
) -> None:
    """Writes one file and replaces the old one atomically: a process killed at any moment leaves the previous checkpoint or this one."""
    states = {"net": net.state_dict(), "mean": mean.state_dict(), "best": best, "draws": {BY_LINK: torch.ones(1)}}
    write_checkpoint(checkpoint, states, optimizer, history)


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
    kept = {k: t.detach().cpu().contiguous().clone() for k, t in tensors.items()}
    about = {"history": json.dumps([record.as_dict() for record in history]), "mark": checkpoint.fingerprint}
    write_tensors(checkpoint.path, kept, about | {"digest": content_digest(kept, about)})


def content_digest(tensors: Mapping[str, Tensor], about: Mapping[str, str]) -> str:
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
        raise InputError(
            f"{path} belongs to another run (other graph, split or options): choose another folder, or delete it to begin anew"
        )
    if "digest" not in about:
        raise _damaged(path, "it has no digest: another tool or an older version wrote it")
    if "history" not in about or about["digest"] != content_digest(tensors, about):
        raise _damaged(path, "its content differs from its digest")
    return tensors, _history(path, about["history"])


def epochs_done(path: Path) -> int:
    """The number of epochs that a checkpoint has completed, where a progress bar begins; 0 if there is none, or if reading it will be refused."""
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
        raise _damaged(path, f"history: {reason(error)}") from error
    if not history or not in_order:
        raise _damaged(path, "its history is empty or has a gap")
    return history


def _damaged(path: Path, why: object) -> InputError:
    return InputError(f"the checkpoint {path} is damaged ({why}): delete it to begin anew")


def resume(
    checkpoint: Checkpoint, net: LLwLCNet, mean: LLwLCNet, optimizer: torch.optim.Optimizer
) -> tuple[list[EpochRecord], dict[str, Tensor]]:
    """Restores the state of a checkpoint; returns the history and the best weights so far."""
    tensors, history = read_checkpoint(checkpoint)
    if f"draws.{BY_LINK}" not in tensors:
        raise InputError(
            f"the checkpoint {checkpoint.path} is of an older version, which drew dropout in another way, and cannot be continued exactly: delete it to begin anew"
        )
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith("adam."):
            _, i, field = name.split(".")
            state.setdefault(int(i), {})[field] = tensor
    _require_moments(checkpoint.path, net, state)
    best = _under("best.", tensors)
    try:
        for weights in (
            best,
            _under("net.", tensors),
        ):  # the best weights are loaded first, to check that they fit: they are restored only at the end of training
            net.load_state_dict(weights)
        mean.load_state_dict(_under("mean.", tensors))
    except RuntimeError as error:
        raise _damaged(checkpoint.path, reason(error)) from error
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    return history, best


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _require_moments(path: Path, net: LLwLCNet, state: Mapping[int, Mapping[str, Tensor]]) -> None:
    """Refuses moments of Adam whose shapes are not those of their parameters: training would go wrong silently."""
    parameters = list(net.parameters())
    fits = all(
        0 <= i < len(parameters)
        and set(fields) == {"step", "exp_avg", "exp_avg_sq"}
        and all(fields[name].shape == parameters[i].shape for name in ("exp_avg", "exp_avg_sq"))
        for i, fields in state.items()
    )
    if not state or not fits:
        raise _damaged(path, "it lacks the optimiser's state, or has another network's")
