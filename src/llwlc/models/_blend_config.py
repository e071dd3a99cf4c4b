"""The configuration and the tensors of a blend, read from a file and checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from llwlc.errors import RunFolderError
from llwlc.graph._graph import Graph
from llwlc.heuristics._registry import HEURISTICS, WALK_HEURISTICS
from llwlc.models._base import CANDIDATES, RANDOM, LinkModel, Population
from llwlc.models._mixture import Mixture
from llwlc.models._registry import MODELS
from llwlc.training._adjustment import Adjustment
from llwlc.training._node_features import NodeFeatures

MAX_MEMBERS = 64


def read_names(config: Mapping[str, Any], where: str) -> list[str]:
    """The names of the members; `where` names the file in messages."""
    members = config.get("members")
    names = [m.get("name") if isinstance(m, dict) else None for m in members] if isinstance(members, list) else []
    if not 0 < len(names) <= MAX_MEMBERS or any(not isinstance(n, str) or n not in MODELS for n in names):
        raise RunFolderError(f"{where} names members that this version does not know: copy the run again, or fit again")
    return [str(name) for name in names]


def read_parts(config: Mapping[str, Any], where: str) -> list[tuple[str, Mapping[str, Any]]]:
    """The members that have a weight, each with its configuration."""
    names, parts, read = read_names(config, where), config.get("parts"), list[tuple[str, Mapping[str, Any]]]()
    for part in parts if isinstance(parts, list) and 0 < len(parts) <= len(names) else []:
        name, own = (part.get("name"), part.get("config")) if isinstance(part, dict) else (None, None)
        if name not in names or not isinstance(own, dict):
            raise RunFolderError(f"{where} has a part that is not among its members: copy the run again, or fit again")
        read.append((str(name), own))
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


def read_shapes(config: Mapping[str, Any], where: str) -> dict[str, Tensor] | None:
    """The shapes of all tensors, with those of the parts; None where a part does not tell its own."""
    shapes = own_shapes(config, where)
    for p, (name, own) in enumerate(read_parts(config, where)):
        tensors = MODELS[name].load().shapes(own, where)
        if tensors is None and name not in HEURISTICS and name not in WALK_HEURISTICS:  # those have no state
            return None
        shapes |= {f"{p}.{key}": tensor for key, tensor in (tensors or {}).items()}
    return shapes


def read_models(
    config: Mapping[str, Any], state: Mapping[str, Tensor], graph: Graph, features: NodeFeatures
) -> list[LinkModel]:
    """The fitted parts, after the tensors of the blend itself are checked."""
    where = "the model's configuration"
    for name, expected in own_shapes(config, where).items():
        found = state.get(name)
        if found is None or found.shape != expected.shape or not found.isfinite().all():
            raise RunFolderError(f"the blend's {name} is damaged: copy the run again, or fit again")
    return [
        MODELS[name].load().from_state(own, _with_prefix(state, f"{p}."), graph, features)
        for p, (name, own) in enumerate(read_parts(config, where))
    ]


def read_mixtures(state: Mapping[str, Tensor]) -> tuple[dict[Population, Mixture], Adjustment | None]:
    """The weights for random pairs and for candidates, and the adjustment of the latter."""
    mixtures, adjustment = dict[Population, Mixture](), None
    for which in (RANDOM, CANDIDATES):
        unit, slope, share = state[f"{which}.parts"]
        if (unit < 0).any() or (slope < 0).any():
            raise RunFolderError(f"the blend's weights for {which} are below 0: copy the run again, or fit again")
        mixtures[which] = Mixture(unit, slope, share, state[f"{which}.offset"])
    if "adjustment" in state:
        (slope_0, *weight_0), (slope_1, *weight_1) = state["adjustment"].tolist()
        adjustment = Adjustment((slope_0, slope_1), (tuple(weight_0), tuple(weight_1)))
    return mixtures, adjustment


def _with_prefix(state: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}
