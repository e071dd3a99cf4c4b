"""Runs of an opponent instead of our network: its options, and graphs in the order of its nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from llwlc.baselines.loop import OnEpoch
from llwlc.baselines.opponent import FittedOpponent, fit_opponent
from llwlc.baselines.recipes import recipe
from llwlc.baselines.registry import METHODS
from llwlc.candidates.kinds import Kinds
from llwlc.errors import InputError
from llwlc.graph.graph import Graph
from llwlc.graph.names import find_nodes
from llwlc.splits.linksplit import LinkSplit
from llwlc.support.records import read_record
from llwlc.training.checkpoint import Checkpoint
from llwlc.training.presets import Preset
from llwlc.training.rivals import Rival

INSTEAD = "instead"
"""The entry of a run's configuration that says why it ranks by an untrained score."""


@dataclass(frozen=True)
class Opponent:
    """A method by name, changes of its recipe, and the seed: the counterpart of a preset."""

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    @classmethod
    def of(cls, fitted: FittedOpponent, seed: int) -> Opponent:
        """The opponent as it was fitted, for another split: with its whole recipe, since the run does not store the dataset that the recipe was chosen for."""
        return cls(fitted.config["method"], fitted.config.get("recipe", {}), seed)

    @property
    def code(self) -> dict[str, str]:
        return {}

    def check(self) -> None:
        """Refuses an unknown method, or options that it does not take, before any work."""
        method = METHODS[self.method]
        if method.trained:
            recipe(self.method, "", num_links=0).changed(**self.options)
        elif self.options:
            raise InputError(f"{self.method} needs no training and takes no option, got {next(iter(self.options))!r}")

    def fit(
        self,
        graph: Graph,
        split: LinkSplit,
        device: str,
        checkpoint: Checkpoint | None,
        *,
        kinds: Kinds | None = None,
        on_epoch: OnEpoch | None = None,
        rank_candidates: bool = True,
    ) -> FittedOpponent:
        return fit_opponent(
            graph,
            split,
            self.method,
            seed=self.seed,
            device=device,
            checkpoint=checkpoint,
            kinds=kinds,
            on_epoch=on_epoch,
            options=self.options,
            rank_candidates=rank_candidates,
        )


def in_its_place(
    rival: Rival, graph: Graph, split: LinkSplit, kinds: Kinds | None, preset: Preset, device: str
) -> FittedOpponent:
    """An untrained score that did better on validation, as a run that ranks by it; its configuration states why."""
    fitted = fit_opponent(
        graph,
        split,
        rival.name,
        seed=preset.train.seed,
        device=device,
        kinds=kinds,
        budget=preset.budget,
        limits=preset.limits,
    )
    return replace(fitted, config={**fitted.config, INSTEAD: asdict(rival)})


def reason(config: Mapping[str, Any]) -> str:
    """Why a run ranks by an untrained score instead of the network; "" if the user chose it."""
    return read_record(Rival, config[INSTEAD], "the run's config").sentence if INSTEAD in config else ""


def in_order_of(known: Graph, graph: Graph, title: str) -> tuple[Graph, Tensor]:
    """Another graph with its nodes numbered as in the known one, matched by name, and the new number of each of its nodes: an opponent has learned nodes by number."""
    names = pa.array([graph.name(i) for i in range(graph.num_nodes)], pa.string())
    at = torch.from_numpy(np.asarray(find_nodes(names, known.names, known.num_nodes)))
    if bool((at < 0).any()):
        new = graph.name(int((at < 0).nonzero()[0, 0]))
        raise InputError(f"{title} knows only the nodes it was fitted on, and {new!r} is none of them: fit again")
    row = torch.repeat_interleave(torch.arange(graph.num_nodes), graph.indptr.diff())
    once = row < graph.indices
    pairs = torch.stack([at[row[once]], at[graph.indices[once]]], 1)
    weight = None if graph.weight is None else graph.weight[once]
    moved = Graph.from_edges(pairs, num_nodes=known.num_nodes, weight=weight)
    return replace(moved, names=known.names, x=known.x), at
