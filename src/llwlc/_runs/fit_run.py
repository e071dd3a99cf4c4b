"""A fit with its folder: the plan is made or read, an interrupted fit continues, a finished one is read."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from llwlc._candidates.node_types import NodeTypes
from llwlc._direction.fit import DirectionFit, fit_directions
from llwlc._fitting.fingerprint import content_digest, fingerprint
from llwlc._fitting.fit import fit_model, prepare_features
from llwlc._planning.forecast import Forecast, measure_forecast
from llwlc._runs import directory
from llwlc._runs.directory import CHECKPOINT, Run
from llwlc._runs.fit_folder import find_finished_run, make_run_folder
from llwlc._runs.format import RunInfo, list_needs
from llwlc._runs.plan_file import SavedPlan, write_plan
from llwlc._runs.plan_source import OnPlan, bound_candidates, describe_kept_plan, find_plan, make_new_plan, repeat_plan
from llwlc._support.progress import print_notice
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.models._base import Distributable, LinkModel, Plannable, Reducible
from llwlc.models._blend_members import HEURISTIC_MEMBERS
from llwlc.models._registry import make
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._checkpoint import Checkpoint
from llwlc.training._loop import OnEpoch
from llwlc.training._node_features import NodeFeatures
from llwlc.training._ranks import Ranks
from llwlc.training._resources import Resources

OnForecast = Callable[[Forecast], None]


def fit_run(
    graph: Graph,
    model: LinkModel,
    split: LinkSplit,
    *,
    seed: int,
    device: str,
    cache: Path | None,
    out: Path | None,
    graph_name: str,
    parameters: dict[str, Any],
    node_types: Sequence[str] | None,
    minutes: float | None,
    plan: Path | None,
    begin: float,
    on_epoch: OnEpoch | None = None,
    on_forecast: OnForecast | None = None,
    on_plan: OnPlan | None = None,
    ranks: Ranks | None = None,
) -> Run | None:
    """The run of a model on a split; None in a process that only takes part in its training. `begin`: when the budget
    of `minutes` began; `plan`: a run whose plan is repeated.
    """
    resources = Resources(torch.device(device), cache, owner=out, ranks=ranks)
    if ranks is not None and not isinstance(model, Distributable):
        raise InputError(f"{model.title} is trained by one process: start it without torchrun")
    if ranks is not None and isinstance(model, Distributable) and not ranks.first:
        model.join_training(split, resources=resources)
        return None
    labels = None if node_types is None else tuple(map(str, node_types))
    allowed = None if labels is None else NodeTypes.from_links(labels, split.train_graph)
    with resources.watch("fingerprint"):
        content = content_digest(graph, split, labels)
    written, prepared, directions = None, None, None
    if isinstance(model, Plannable):
        base = fingerprint(content, model, seed)
        written = _written(out, base, model, minutes, plan)
        if written is None and minutes is not None and not (out is not None and find_finished_run(out, base)):
            with resources.watch("features"):
                prepared = prepare_features(graph, model)
            directions = _fit_directions(graph, split, prepared[1], seed, resources)  # the plan is for the time left
            with resources.watch("planning"):
                written = make_new_plan(
                    split, prepared[1], model, minutes, base,
                    node_types=allowed, device=device, begin=begin, on_plan=on_plan,
                )  # fmt: skip
        if written is not None:
            model = _by_plan(model, written)
    elif plan is not None:
        raise InputError(f"{model.title} takes no plan: leave it out; a time budget bounds its training")
    mark = fingerprint(content, model, seed)
    finished = None if out is None else find_finished_run(out, mark)
    if out is not None and finished is not None:
        run = directory.load(out, finished)
        directory.remove_leftovers(out)
        if ranks is not None:
            ranks.announce(None)  # the other processes have nothing to do
        return run
    if minutes is not None and written is None:
        prepared = prepare_features(graph, model)
        directions = _fit_directions(graph, split, prepared[1], seed, resources)
        expected = model.cost(split, prepared[1], resources=resources)
        resources = replace(resources, seconds=60 * minutes - (time.perf_counter() - begin))
        if expected > 1:
            print_notice(
                f"{model.title}: all of training is expected to take {expected:,.0f} s; no epoch begins after"
                f" {minutes:g} minutes"
            )
        with resources.watch("planning"):
            model = bound_candidates(
                model, split, prepared[1], minutes, expected, node_types=allowed, device=device, begin=begin
            )
    with nullcontext() if out is None else make_run_folder(out):
        if out is not None and written is not None:
            write_plan(out, written)
        fitted = fit_model(
            model,
            graph,
            split,
            seed=seed,
            resources=resources,
            checkpoint=None if out is None else Checkpoint(out / CHECKPOINT, mark),
            known=prepared,
            node_types=allowed,
            on_epoch=on_epoch,
            on_features=None if written is not None else _forecaster(model, split, allowed, device, on_forecast),
        )
        directions = directions or _fit_directions(graph, split, fitted.features, seed, resources)
        if directions is not None:
            fitted = replace(fitted, metrics=replace(fitted.metrics, direction=directions.report))
        # a plan names constraints and the like too, also where a heuristic took the place of the model that it was made
        # for
        planned = {} if written is None else written.preset.code
        info = RunInfo(graph_name, mark, parameters, list_needs({**fitted.model.code, **planned}))
        run = Run(
            fitted,
            replace(graph, report=None),
            split,
            info,
            labels,
            written,
            None if directions is None else directions.model,
        )
        if out is not None:
            with resources.watch("saving"):
                directory.save(out, run)
                directory.remove_leftovers(out)
    return run


def _fit_directions(
    graph: Graph, split: LinkSplit, features: NodeFeatures, seed: int, resources: Resources
) -> DirectionFit | None:
    """The model of directions, whose fit is part of a time budget; None for an undirected graph, at no cost."""
    if graph.forward is None:
        return None
    with resources.watch("directions"):
        return fit_directions(graph, split, features, seed=seed)


def _by_plan(model: LinkModel, plan: SavedPlan) -> LinkModel:
    """The model that a plan allows: where that is not our network, the other members of the blend, or a blend of
    heuristics.
    """
    assert isinstance(model, Plannable)
    planned: LinkModel = model.with_preset(plan.preset)
    if plan.network_left_out and not isinstance(planned, Reducible):
        planned = make("blend", members=(planned, HEURISTIC_MEMBERS))
    if not isinstance(planned, Reducible):
        return planned
    left_out = (*plan.left_out, planned.planned_member) if plan.network_left_out else plan.left_out
    return planned.without(left_out) if left_out else planned


def _written(
    out: Path | None, base: str, model: Plannable, minutes: float | None, plan: Path | None
) -> SavedPlan | None:
    """The plan that is known before anything is measured: that of the folder, or that of another run."""
    if minutes is None and plan is None:
        return None
    saved = find_plan(out, base)
    if saved is not None:
        print_notice(describe_kept_plan(saved, str(out), minutes))
    elif plan is not None:
        saved = repeat_plan(plan, base, model.preset, model.explicit)
        print_notice(f"as in {plan}: {saved.sentence}")
    return saved


def _forecaster(
    model: LinkModel, split: LinkSplit, node_types: NodeTypes | None, device: str, on_forecast: OnForecast | None
) -> Callable[[NodeFeatures], None] | None:
    """Called before the long work: tells what a fit without a plan will take."""
    if on_forecast is None or not isinstance(model, Plannable):
        return None
    preset = model.preset
    return lambda features: on_forecast(
        measure_forecast(split, preset, features=features, node_types=node_types, device=device)
    )
