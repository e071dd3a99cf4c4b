"""An opponent in a run: a method fitted on a split, with candidates calibrated and recommendations measured like those of our network."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from llwlc.baselines.fitting import FittedMethod, fit, measure, new_network, restore
from llwlc.baselines.loop import OnEpoch
from llwlc.baselines.network import Shape
from llwlc.baselines.recipes import Recipe
from llwlc.baselines.registry import METHODS, Scorer
from llwlc.baselines.untrained import Untrained, heuristic
from llwlc.bases.config import BasisConfig
from llwlc.candidates.kinds import Kinds
from llwlc.errors import InputError
from llwlc.graph.graph import Graph
from llwlc.splits.linksplit import LinkSplit
from llwlc.support.devices import pick_device
from llwlc.support.records import read_record
from llwlc.training.calibration import Calibration, fit_calibration
from llwlc.training.checkpoint import Checkpoint
from llwlc.training.config import TrainConfig
from llwlc.training.features import Compactor, fit_compactor
from llwlc.training.fit import calibrated, heuristics, measured_ranking, require_held_out
from llwlc.training.limits import Limits
from llwlc.training.node_features import NodeFeatures
from llwlc.training.ranking import RankingConfig, prepare
from llwlc.training.records import EpochRecord, FitMetrics

CHUNK = 1 << 14
"""Pairs that are scored at a time."""
USUAL = Limits()
BUDGET = 100
"""Most candidates that a node may propose, as in our presets."""


class OpponentScorer:
    """A method with the interface of our network's scorer: pairs on a graph, chunk by chunk."""

    device = torch.device("cpu")  # where it needs the graphs; the method itself may use another device

    def __init__(self, model: Scorer) -> None:
        self.model = model

    def pairs(self, graph: Graph, pairs: Tensor, config: BasisConfig, output: int = 0) -> Iterator[Tensor]:
        """Scores `[m]`; a method has one output, and no basis."""
        for chunk in torch.split(pairs, CHUNK):
            yield self.model.score(chunk, graph).double().cpu()


@dataclass(frozen=True, eq=False)
class FittedOpponent:
    """A fitted method with everything that is needed to use and evaluate it: the counterpart of `training.fit.Fitted` for an opponent."""

    model: Scorer
    config: Mapping[str, Any]
    compactor: Compactor | None
    features: NodeFeatures
    calibration: Calibration
    ranking: RankingConfig | None
    metrics: FitMetrics
    history: list[EpochRecord]
    limits: Limits = USUAL
    """Limits for its recommendations; a run that was loaded has the default ones, since an opponent is fast."""

    @property
    def title(self) -> str:
        return METHODS[self.config["method"]].title

    @property
    def basis(self) -> BasisConfig:
        return BasisConfig()  # not used

    def scorer(self, device: str, features: NodeFeatures | None = None) -> OpponentScorer:
        return OpponentScorer(
            self.model.to(pick_device(device)) if isinstance(self.model, FittedMethod) else self.model
        )

    def state(self) -> dict[str, Tensor]:
        """The weights; none for a method without training."""
        return self.model.state() if isinstance(self.model, FittedMethod) else {}


def fit_opponent(
    graph: Graph,
    split: LinkSplit,
    name: str,
    *,
    seed: int = 0,
    device: str = "auto",
    checkpoint: Checkpoint | None = None,
    rank_candidates: bool = True,
    kinds: Kinds | None = None,
    on_epoch: OnEpoch | None = None,
    options: Mapping[str, Any] | None = None,
    budget: int = BUDGET,
    limits: Limits | None = None,
) -> FittedOpponent:
    """Train on the split's training links, choose the epoch and calibrate on validation, measure once on test; recommendations as those of our network."""
    begin, method, target = time.perf_counter(), METHODS[name], str(pick_device(device))
    require_held_out(split)
    bounds = Limits() if limits is None else limits
    if not method.trained and options:
        raise InputError(f"{name} needs no training and takes no option, got {next(iter(options))!r}")
    if not method.trained and heuristic(name).features and graph.x is None:
        raise InputError(
            f"{name} compares features and this graph has none: give them (--features), or choose another method"
        )
    if method.trained:
        trained = fit(
            method, graph, split, seed=seed, device=device, checkpoint=checkpoint, on_epoch=on_epoch, options=options
        )
        assert trained.calibration is not None
        assert trained.metrics is not None
        model: Scorer = trained
        config, calibration, found, history = trained.config, trained.calibration, trained.metrics, trained.history
    else:
        model, config, history = method.fit(graph, split, seed=seed), {"method": name, "seed": seed}, []
        scores = [model.score(pairs.reshape(-1, 2), split.valid_graph) for pairs in (split.valid_pos, split.valid_neg)]
        calibration = fit_calibration(*(score.double() for score in scores))
        found = FitMetrics(*measure(model, split, calibration), 0, 0, 0.0, heuristics(split))
    compactor = None if graph.x is None else fit_compactor(graph.x, 64)
    features = NodeFeatures.of(graph.x, compactor)
    ranking = None
    if rank_candidates:
        prepared = prepare(
            split,
            features,
            TrainConfig(seed=seed),
            budget=budget,
            limits=bounds,
            kinds=kinds,
            device=target,
        )
        scorer = OpponentScorer(model)
        ranking = calibrated(
            split, prepared, features, scorer, BasisConfig(), size=bounds.shortlist, log_odds=method.trained
        )
        report = measured_ranking(
            split,
            features,
            scorer,
            BasisConfig(),
            ranking,
            limits=bounds,
            kinds=kinds,
            device=target,
            seed=seed,
            title=method.title,
        )
        found = replace(found, ranking=report)
    found = replace(found, seconds=time.perf_counter() - begin)
    return FittedOpponent(model, config, compactor, features, calibration, ranking, found, history, bounds)


def blank(config: Mapping[str, Any]) -> torch.nn.Module:
    """The network of a method as its configuration describes it, its weights not set; an empty module if nothing is trained."""
    method = METHODS[str(config["method"])]
    if not method.trained:
        return torch.nn.Module()
    return new_network(
        method,
        read_record(Recipe, config["recipe"], "the method's config"),
        read_record(Shape, config["shape"], "the method's config"),
        int(config["seed"]),
    )


def restored(graph: Graph, config: Mapping[str, Any], tensors: Mapping[str, Tensor], device: str = "cpu") -> Scorer:
    """The method that a run directory holds, on the run's graph."""
    method = METHODS[str(config["method"])]
    if method.trained:
        return restore(graph, None, config, tensors, device=device)
    return Untrained(heuristic(method.name), graph)
