"""The plan of a fit: the one in its folder, that of another run, or a new one."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path

import torch

from llwlc._candidates.node_types import NodeTypes
from llwlc._planning.forecast import SplitSizes
from llwlc._planning.omissions import apply_plan, describe_plan
from llwlc._planning.plan import (
    PLANNING_SHARE,
    SAFETY,
    FitPlan,
    RateCache,
    add_margin,
    make_plan,
    plan_without_network,
)
from llwlc._runs import directory as run_directory
from llwlc._runs.plan_file import SavedPlan, read_plan
from llwlc._support.progress import print_notice
from llwlc.errors import InputError, RunFolderError
from llwlc.models._base import LinkModel, Plannable, Reducible
from llwlc.models._llwlc.presets import PRESETS, Preset, find_preset
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources
from llwlc.training._timing import LoadMeter

OnPlan = Callable[[FitPlan], None]
MEMBERS_SHARE = 0.04
"""The share of a budget after which no member of a blend is measured any more."""
FEW_EDGES = 10_000
"""On a graph with at most this many links, all candidates are looked at in some seconds."""


def find_plan(folder: Path | None, base: str) -> SavedPlan | None:
    """The plan in the folder of a fit, begun or finished; None if there is none. `base`: the fingerprint of the fit
    before anything is left out; the plan of another fit is refused.
    """
    saved = None if folder is None or not folder.is_dir() else read_plan(folder)
    if saved is not None and saved.base != base:
        raise RunFolderError(
            f"{folder} holds another run (other graph, split or options): choose another --out or delete it"
        )
    return saved


def describe_kept_plan(plan: SavedPlan, folder: str, minutes: float | None) -> str:
    """The notice about the plan that a folder has already, which is kept."""
    sentence = f"by the plan in {folder}: {plan.sentence}"
    if minutes is not None and plan.minutes and plan.minutes != minutes:
        sentence += f". It was made for {plan.minutes:g} minutes: for {minutes:g}, choose another --out"
    return sentence


def repeat_plan(run: Path, base: str, preset: Preset, kept: Collection[str]) -> SavedPlan:
    """The plan of another run, to be repeated; options in `kept` are not changed. If that run has no plan, its settings
    are the plan.
    """
    saved = read_plan(run)
    if saved is not None:
        planned = apply_plan(preset, saved.preset, kept)
        return SavedPlan(base, planned, saved.minutes, saved.cost, {}, saved.left_out, saved.network_left_out)
    other = run_directory.load(run).fitted.model
    if not isinstance(other, Plannable):
        raise InputError(f"{run} is a run of {other.title} and has no plan: name another run")
    return SavedPlan(base, apply_plan(preset, other.preset, kept), 0.0, 0.0, {})


def make_new_plan(
    split: LinkSplit,
    features: NodeFeatures,
    model: LinkModel,
    minutes: float,
    base: str,
    *,
    node_types: NodeTypes | None,
    device: str,
    begin: float,
    on_plan: OnPlan | None,
) -> SavedPlan:
    """A plan from a short measurement; `begin`: when the budget began."""
    assert isinstance(model, Plannable)
    load, costs = LoadMeter(), dict[str, float]()
    room, most_time, left_out = 60 * minutes, 1.0, list[str]()
    if isinstance(model, Reducible):
        measuring = Resources(torch.device(device), seconds=MEMBERS_SHARE * room)
        with load.measuring():
            costs = model.member_costs(split, features, resources=measuring)
        most_time = model.most_time
        left_out = choose_omitted(costs, most_time * room)
    new_plan = make_plan(
        split,
        model.preset,
        minutes,
        features=features,
        kept=model.explicit,
        node_types=node_types,
        device=device,
        spent=time.perf_counter() - begin,
        members={name: cost for name, cost in costs.items() if name not in left_out},
        load=load,
    )
    left_out += new_plan.left_out
    if new_plan.network_left_out:  # all that is left of the budget is the other members'
        rest = room - (time.perf_counter() - begin) - add_margin(new_plan.forecast)
        left_out = choose_omitted(costs, rest / (SAFETY * load.slowdown))
    members = load.slowdown * sum(cost for name, cost in costs.items() if name not in left_out)
    new_plan = replace(new_plan, forecast=replace(new_plan.forecast, members=members), slowdown=load.slowdown)
    if left_out:
        spent, seconds = time.perf_counter() - begin, sum(costs.values())
        ahead = SAFETY * (new_plan.forecast.seconds + load.slowdown * seconds)
        print_notice(describe_omitted(left_out, max(spent + ahead, seconds / most_time)))
    if on_plan is not None:
        on_plan(new_plan)
    return SavedPlan.of(base, new_plan, tuple(left_out))


def bound_candidates(
    model: LinkModel,
    split: LinkSplit,
    features: NodeFeatures,
    minutes: float,
    training: float,
    *,
    node_types: NodeTypes | None,
    device: str,
    begin: float,
) -> LinkModel:
    """The model, not fitted, that looks at so many candidates that a fit ends in time; `training`: seconds on an idle
    machine, `begin`: when the budget began. Validation and test links stay, as epochs are chosen by them.
    """
    sizes, load = SplitSizes.of(split), LoadMeter()
    if sizes.edges <= FEW_EDGES:
        return model
    ends = time.perf_counter() + PLANNING_SHARE * 60 * minutes
    rates = RateCache(split, features, node_types, torch.device(device), load, ends)
    preset = replace(find_preset(next(iter(PRESETS))), budget=model.list_length, limits=model.limits)
    rates.candidates(preset)
    spent = time.perf_counter() - begin + SAFETY * load.slowdown * training
    kept = ("num_eval_links",)
    found = plan_without_network(sizes, preset, rates, kept, minutes, spent)
    if found.cost:
        print_notice(f"to end within {minutes:g} min: {describe_plan(found.preset, 0.1).split(';')[0]}")
        model = copy.deepcopy(model)
        model.limits, model.list_length = found.preset.limits, found.preset.budget
    return model


def choose_omitted(costs: Mapping[str, float], room: float) -> list[str]:
    """The members that do not fit in `room` seconds after those before them; both are times of an idle machine, so that
    other work on it changes the blend only where nothing else ends in time.
    """
    left_out, taken = list[str](), 0.0
    for name, cost in costs.items():
        if cost and taken + cost > room:
            left_out.append(name)
        else:
            taken += cost
    return left_out


def describe_omitted(left_out: Collection[str], enough: float) -> str:
    """The notice about members that are left out; `enough`: seconds of a budget that has room for them."""
    words = f"left out of the blend, as time does not allow them: {', '.join(left_out)}"
    return words + (f"; --minutes {math.ceil(enough / 60)} would train them" if math.isfinite(enough) else "")
