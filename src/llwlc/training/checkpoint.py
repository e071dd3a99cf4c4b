"""Checkpoints: written whole after each epoch, read back to the last bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor

from llwlc.errors import InputError
from llwlc.nn.net import LLwLCNet
from llwlc.support.files import write_tensors
from llwlc.training.records import EpochRecord


class Checkpoint(NamedTuple):
    """Where a run keeps its state, and the run's fingerprint: a checkpoint of another one is refused."""

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
    """One file, replaced whole: a kill at any moment leaves the last checkpoint or this one."""
    states = {"net": net.state_dict(), "mean": mean.state_dict(), "best": best}
    tensors = {f"{name}.{k}": t for name, state in states.items() for k, t in state.items()}
    for i, state in optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{i}.{k}": torch.as_tensor(t) for k, t in state.items()}
    about = {"history": json.dumps([record.as_dict() for record in history]), "mark": checkpoint.fingerprint}
    write_tensors(checkpoint.path, {k: t.detach().cpu().clone() for k, t in tensors.items()}, about)


def read_checkpoint(checkpoint: Checkpoint) -> tuple[dict[str, Tensor], list[EpochRecord]]:
    """The tensors and the history of a checkpoint; a damaged one, or another run's, is refused."""
    path = checkpoint.path
    try:
        tensors = load_file(path)
        with safe_open(path, "pt") as file:
            about = file.metadata() or {}
    except (OSError, SafetensorError) as error:
        raise InputError(f"the checkpoint {path} is damaged ({error}): delete it to begin anew") from error
    if about.get("mark") != checkpoint.fingerprint:
        raise InputError(
            f"{path} belongs to another run (other graph, split or options): choose another folder, or delete it to begin anew"
        )
    try:
        return tensors, [EpochRecord(**record) for record in json.loads(about["history"])]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"the checkpoint {path} is damaged ({error!r}): delete it to begin anew") from error


def resume(
    checkpoint: Checkpoint, net: LLwLCNet, mean: LLwLCNet, optimizer: torch.optim.Optimizer
) -> tuple[list[EpochRecord], dict[str, Tensor]]:
    """Puts the state of a checkpoint back; returns the history and the best weights so far."""
    tensors, history = read_checkpoint(checkpoint)
    net.load_state_dict({k[4:]: t for k, t in tensors.items() if k.startswith("net.")})
    mean.load_state_dict({k[5:]: t for k, t in tensors.items() if k.startswith("mean.")})
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith("adam."):
            _, i, field = name.split(".")
            state.setdefault(int(i), {})[field] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    return history, {k[5:]: t for k, t in tensors.items() if k.startswith("best.")}
