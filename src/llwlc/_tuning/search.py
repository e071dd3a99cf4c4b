"""The search: settings one after the other, each fitted on every fold, until the time or the settings end."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from llwlc._runs.fit_run import fit_run
from llwlc._support.progress import print_notice, show_progress
from llwlc._tuning.report import Trial, Tuning
from llwlc._tuning.space import Setting, draw_setting, first_settings
from llwlc.errors import InputError, LLwLCError
from llwlc.graph._graph import Graph
from llwlc.splits._folds import make_folds
from llwlc.splits._linksplit import LinkSplit

METRICS = ("auc", "ap", "mrr", "hits@10", "hits@20", "hits@50", "hits@100")
SETTINGS_AT_LEAST = 4
"""Settings that the time is enough for: a fit takes at most its part of the time, divided by these and by folds."""
MOST_REPEATS = 50
"""Settings drawn one after the other that were tried already; then the search ends."""


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
        share = options.minutes / (SETTINGS_AT_LEAST * len(folds))
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
    """What settings are judged by: the metric of the protocol, or AUC where hits@K would allow a tenth of the non-links
    or more above a link.
    """
    if wanted is not None and wanted not in METRICS:
        raise InputError(f"metric is one of {', '.join(METRICS)}, got {wanted!r}")
    if wanted is not None:
        return wanted
    few = fold.metric.startswith("hits@") and 10 * int(fold.metric[5:]) > len(fold.test_neg)
    return fold.metric if fold.metric in METRICS and not few else "auc"


def _draw_new(own: Setting, models: Sequence[str], trials: list[Trial], rng: np.random.Generator) -> Setting | None:
    tried = {str(trial.setting) for trial in trials}
    for _ in range(MOST_REPEATS):
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
    """The scores of a setting on the folds, one after the other, as far as the time goes."""
    scores: list[float] = []
    begin, problem = time.perf_counter(), ""
    try:
        for fold in folds:
            left = remaining() / 60
            if left <= 0:
                problem = "the time ended"
                break
            minutes = min(left, math.inf if per_fit is None else per_fit)
            with show_progress(False):
                run = fit_run(
                    known,
                    setting.make_model(),
                    fold,
                    seed=options.seed,
                    device=options.device,
                    cache=options.cache,
                    out=None,
                    graph_name="graph",
                    parameters={},
                    node_types=node_types,
                    minutes=minutes if math.isfinite(minutes) else None,
                    plan=None,
                    begin=time.perf_counter(),
                )
            assert run is not None  # there is one process
            scores.append(run.fitted.metrics.test[metric])
    except LLwLCError as error:
        problem = str(error)
    return Trial(setting, tuple(scores), time.perf_counter() - begin, problem)


def _outcome(trial: Trial, metric: str) -> str:
    found = f"{metric} {100 * trial.mean:.2f} %, {trial.seconds:.0f} s" if trial.scores else "no score"
    return f"{found} ({trial.problem})" if trial.problem else found
