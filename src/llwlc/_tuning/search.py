"""The search: fits one setting after another on every fold, until time or settings run out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from llwlc._candidates.node_types import NodeTypes
from llwlc._fitting.fit import fit_model
from llwlc._fitting.fit_metrics import FitMetrics
from llwlc._planning.plan import FitPlan
from llwlc._runs.fit_run import fit_run
from llwlc._support.progress import print_notice, show_progress
from llwlc._tuning.report import Trial, Tuning
from llwlc._tuning.space import Setting, draw_setting, first_settings
from llwlc.errors import InputError, LLwLCError
from llwlc.graph._graph import Graph
from llwlc.models._base import Plannable, Reducible
from llwlc.splits._folds import make_folds
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._resources import Resources

METRICS = ("auc", "ap", "mrr", "hits@10", "hits@20", "hits@50", "hits@100")
MIN_SETTINGS = 4
"""The time budget is divided by this number of settings and by the folds: a fit takes at most one such part."""
MARGIN = 1.3
"""If the smallest plan of a fit takes longer than its share of the time, the fit gets this multiple of that plan."""
MAX_REPEATS = 50
"""The search ends when this many drawn settings in a row have been tried before."""


class TimeTooShortError(InputError):
    """No plan of our network fits in its share of the time; the smallest one takes these `minutes`."""

    def __init__(self, message: str, minutes: float) -> None:
        super().__init__(message)
        self.minutes = minutes


@dataclass(frozen=True)
class SearchOptions:
    """How a search is done: see `LinkPredictor.tune`."""

    models: tuple[str, ...]
    metric: str | None
    folds: int
    minutes: float | None
    trials: int | None
    minutes_per_fit: float | None
    seed: int
    device: str
    cache: Path | None


def search_settings(
    graph: Graph, split: LinkSplit, own: Setting, options: SearchOptions, node_types: Sequence[str] | None
) -> Tuning:
    """The settings that were tried, best first."""
    begin = time.perf_counter()
    known, folds = make_folds(split, graph, options.folds)
    metric = choose_metric(options.metric, folds[0])
    per_fit = options.minutes_per_fit
    if options.minutes is not None:
        share = options.minutes / (MIN_SETTINGS * len(folds))
        per_fit = share if per_fit is None else min(share, per_fit)

    def remaining() -> float:
        return float("inf") if options.minutes is None else 60 * options.minutes - (time.perf_counter() - begin)

    trials: list[Trial] = []
    taken: dict[str, float] = {}
    waiting, rng = first_settings(own, options.models), np.random.default_rng([options.seed, 21])
    while remaining() > 0 and (options.trials is None or len(trials) < options.trials):
        affordable = [name for name in options.models if taken.get(name, 0.0) <= remaining()]
        setting = waiting.pop(0) if waiting else _draw_new(own, affordable, trials, rng)
        if setting is None:
            break
        trial = _try(setting, known, folds, metric, options, node_types, per_fit, remaining)
        trials.append(trial)
        taken[setting.model] = max(taken.get(setting.model, 0), trial.seconds)
        print_notice(f"{len(trials)}. {setting}: {_outcome(trial, metric)}")
    complete = [trial for trial in trials if len(trial.scores) == len(folds)]
    others = [trial for trial in trials if len(trial.scores) < len(folds)]
    complete.sort(key=lambda trial: -trial.mean)
    return Tuning((*complete, *others), metric, len(folds), len(folds[0].test_pos))


def choose_metric(wanted: str | None, fold: LinkSplit) -> str:
    """The metric by which settings are compared: that of the protocol, or AUC if K of hits@K is a tenth of the
    non-links or more.
    """
    if wanted is not None and wanted not in METRICS:
        raise InputError(f"metric must be one of {', '.join(METRICS)}, got {wanted!r}")
    if wanted is not None:
        return wanted
    few = fold.metric.startswith("hits@") and 10 * int(fold.metric[5:]) > len(fold.test_neg)
    return fold.metric if fold.metric in METRICS and not few else "auc"


def _draw_new(own: Setting, models: Sequence[str], trials: list[Trial], rng: np.random.Generator) -> Setting | None:
    tried = {str(trial.setting) for trial in trials}
    for _ in range(MAX_REPEATS):
        setting = draw_setting(own, models, rng)
        if setting is None or str(setting) not in tried:
            return setting
    return None


def _try(
    setting: Setting,
    known: Graph,
    folds: Sequence[LinkSplit],
    metric: str,
    options: SearchOptions,
    node_types: Sequence[str] | None,
    per_fit: float | None,
    remaining: Callable[[], float],
) -> Trial:
    """The scores of a setting on one fold after another, until the time runs out."""
    scores: list[float] = []
    begin, problem = time.perf_counter(), ""
    share = math.inf if per_fit is None else per_fit
    try:
        while len(scores) < len(folds):
            left = remaining() / 60
            if left <= 0:
                problem = "the time budget ran out"
                break
            try:
                with show_progress(False):
                    found = _fit(setting, known, folds[len(scores)], options, node_types, min(left, share))
            except TimeTooShortError as error:  # our network needs more than its share of the time
                most = min(left / (len(folds) - len(scores)), options.minutes_per_fit or math.inf)
                if not share < error.minutes <= most:
                    problem = f"a fit takes {max(error.minutes, 0.1):.1f} minutes at least: increase the time budget"
                    break
                share = min(MARGIN * error.minutes, most)
                continue
            scores.append(found.test[metric])
    except LLwLCError as error:
        problem = str(error)
    return Trial(setting, tuple(scores), time.perf_counter() - begin, problem)


def _fit(
    setting: Setting,
    known: Graph,
    fold: LinkSplit,
    options: SearchOptions,
    node_types: Sequence[str] | None,
    minutes: float,
) -> FitMetrics:
    """What `fit` would measure on a fold; lists of candidates are made only for a model that is trained on them."""
    model, limited = setting.make_model(), math.isfinite(minutes)
    if not isinstance(model, Plannable):
        labels = None if node_types is None else NodeTypes.from_links(tuple(map(str, node_types)), fold.train_graph)
        resources = Resources(torch.device(options.device), options.cache, seconds=60 * minutes if limited else None)
        return fit_model(
            model, known, fold, seed=options.seed, resources=resources, rank_candidates=False, node_types=labels
        ).metrics
    run = fit_run(
        known,
        model,
        fold,
        seed=options.seed,
        device=options.device,
        cache=options.cache,
        out=None,
        graph_name="graph",
        parameters={},
        node_types=node_types,
        minutes=minutes if limited else None,
        plan=None,
        begin=time.perf_counter(),
        on_plan=None if isinstance(model, Reducible) else _require_network,
    )
    assert run is not None  # there is one process
    return run.fitted.metrics


def _require_network(plan: FitPlan) -> None:
    """Refuses a plan without the network: other models' scores say nothing about the network's setting."""
    if plan.network_left_out:
        raise TimeTooShortError(plan.sentence, plan.network_minutes)


def _outcome(trial: Trial, metric: str) -> str:
    found = f"{metric} {100 * trial.mean:.2f} %, {trial.seconds:.0f} s" if trial.scores else "no score"
    return f"{found} ({trial.problem})" if trial.problem else found
