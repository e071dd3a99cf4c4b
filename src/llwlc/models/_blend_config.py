"""The configuration of a blend, read from a file and checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from llwlc.errors import RunFolderError
from llwlc.models._base import CANDIDATES, RANDOM
from llwlc.models._registry import MODELS

MAX_MEMBERS, MAX_TRAININGS = 64, 16


def read_names(config: Mapping[str, Any], where: str) -> list[str]:
    """The names of the members; `where` names the file in messages."""
    members = config.get("members")
    names = [m.get("name") if isinstance(m, dict) else None for m in members] if isinstance(members, list) else []
    if not 0 < len(names) <= MAX_MEMBERS or any(not isinstance(n, str) or n not in MODELS for n in names):
        raise RunFolderError(f"{where} names members that this version does not know: copy the run again, or fit again")
    return [str(name) for name in names]


def read_parts(config: Mapping[str, Any], where: str) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """The members that have a weight, each with the configuration of every training."""
    names, parts, read = read_names(config, where), config.get("parts"), list[tuple[str, list[Mapping[str, Any]]]]()
    for part in parts if isinstance(parts, list) and 0 < len(parts) <= len(names) else []:
        name, trainings = part.get("name"), part.get("trainings")
        fits = isinstance(trainings, list) and 0 < len(trainings) <= MAX_TRAININGS
        if name not in names or not fits or not all(isinstance(own, dict) for own in trainings):
            raise RunFolderError(f"{where} has a part that is not among its members: copy the run again, or fit again")
        read.append((str(name), trainings))
    if not read:
        raise RunFolderError(f"{where} has no parts: copy the run again, or fit again")
    return read


def own_shapes(config: Mapping[str, Any], where: str) -> dict[str, Tensor]:
    """The shapes of the tensors that belong to the blend itself, as tensors on the meta device."""
    count, inputs = len(read_parts(config, where)), config.get("adjusted_inputs")
    if type(inputs) is not int or not 0 <= inputs <= 1 << 16:
        raise RunFolderError(f"{where} has adjusted_inputs {str(inputs)[:40]!r}: copy the run again, or fit again")
    sizes: dict[str, tuple[int, ...]] = {f"{which}.parts": (3, count) for which in (RANDOM, CANDIDATES)}
    sizes |= {f"{which}.offset": (1,) for which in (RANDOM, CANDIDATES)}
    sizes |= {"adjustment": (2, 1 + inputs)} if inputs else {}
    return {name: torch.empty(size, dtype=torch.float64, device="meta") for name, size in sizes.items()}
