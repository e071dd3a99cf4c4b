"""From a split graph to a fitted, calibrated, measured model: what every model goes through."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from llwlc import metrics
from llwlc._candidates.node_types import NodeTypes
from llwlc._fitting.fit_metrics import FitMetrics
from llwlc._fitting.measure import (
    calibrate_candidates,
    measure,
    measure_heuristics,
    measure_list,
    require_held_out,
    score_links,
)
from llwlc.graph._graph import Graph
from llwlc.metrics import Evaluation
from llwlc.models._base import LinkModel
from llwlc.ranking._ranking import PreparedCandidates, RankingConfig, prepare_candidates
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._calibration import Calibration, fit_calibration
from llwlc.training._checkpoint import Checkpoint
from llwlc.training._compact_features import Compactor, fit_compactor
from llwlc.training._epoch_record import EpochRecord
from llwlc.training._evaluation_links import subsample_evaluation
from llwlc.training._loop import OnEpoch
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources

OnFeatures = Callable[[NodeFeatures], None]


@dataclass(frozen=True, eq=False, repr=False)
class FitResult:
    """A fitted model with everything that is needed to use and evaluate it."""

    model: LinkModel
    seed: int
    compactor: Compactor | None
    features: NodeFeatures
    calibration: Calibration
    ranking: RankingConfig | None
    metrics: FitMetrics
    validation: Evaluation | None = field(default=None, repr=False)
    """The validation links among their negatives at the chosen epoch, by which experiments are decided; it is not
    stored.
    """

    def __repr__(self) -> str:
        return f"Fitted({self.title}, seed={self.seed}, AUC {self.metrics['auc']:.4f})"

    @property
    def title(self) -> str:
        return self.model.title

    @property
    def history(self) -> list[EpochRecord]:
        return list(self.model.history)


def prepare_features(graph: Graph, model: LinkModel) -> tuple[Compactor | None, NodeFeatures]:
    """The features of a graph as a model reads them, and the map that makes them compact."""
    compactor = None
    if graph.x is not None and model.compact_features:
        compactor = fit_compactor(graph.x, model.compact_features)
    return compactor, NodeFeatures.of(graph.x, compactor)


def fit_model(
    model: LinkModel,
    graph: Graph,
    split: LinkSplit,
    *,
    seed: int = 0,
    resources: Resources | None = None,
    checkpoint: Checkpoint | None = None,
    known: tuple[Compactor | None, NodeFeatures] | None = None,
    prepared: PreparedCandidates | None = None,
    rank_candidates: bool = True,
    node_types: NodeTypes | None = None,
    on_epoch: OnEpoch | None = None,
    on_features: OnFeatures | None = None,
) -> FitResult:
    """Fits a copy of the model on the split's training links, calibrates on validation, measures once on test.

    `known`, `prepared`: compact features and candidates, if they were computed already; `rank_candidates`: whether
    the run will be used to `recommend`, so that candidates are calibrated; `node_types`: which nodes a link may join;
    `on_features` is called before the long work begins.
    """
    begin, resources = time.perf_counter(), Resources() if resources is None else resources
    watch, device = resources.watch, str(resources.device)
    with watch("features"):
        model = copy.deepcopy(model)
        require_held_out(split)
        model.check(graph)
        compactor, features = prepare_features(graph, model) if known is None else known
    if on_features is not None:
        with watch("planning"):
            on_features(features)
    if prepared is None and (rank_candidates or model.trains_on_candidates):
        with watch("candidates"):
            prepared = prepare_candidates(split, features, model, seed=seed, node_types=node_types, device=device)
    with watch("preparing"):  # what the model does beside its own stages
        model = model.fit(
            split,
            features,
            seed=seed,
            resources=resources,
            candidates=None if prepared is None else prepared.links,
            checkpoint=checkpoint,
            on_epoch=on_epoch,
        )
    with watch("measuring"):
        sample = subsample_evaluation(split, model.limits.num_eval_links, seed)
        valid = model.validation or score_links(model, sample.valid_graph, sample.valid_pos, sample.valid_neg)
        calibration = fit_calibration(valid[0], valid[1].flatten())
    calibrated = ranking = report = None
    if rank_candidates and prepared is not None:
        with watch("calibration"):
            calibrated = calibrate_candidates(model, split, prepared, features)
    with watch("measuring"):
        test, error, share = measure(model, sample, calibration)
    if calibrated is not None:
        with watch("ranking"):
            report, ranking = measure_list(
                model, split, features, calibrated, node_types=node_types, device=device, seed=seed
            )
    with watch("heuristics"):
        beside = measure_heuristics(sample)
    seconds = time.perf_counter() - begin
    results = FitMetrics(
        test, error, share, model.num_parameters, len(model.history), seconds, beside, report, watch.seconds
    )
    return FitResult(model, seed, compactor, features, calibration, ranking, results, metrics.evaluate(*valid))
