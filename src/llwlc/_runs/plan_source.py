"""The plan of a fit: the one in its folder, that of another run, or a new one."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path

import torch

from llwlc._candidates.node_types import NodeTypes
from llwlc._planning.plan import FitPlan, apply_plan, make_plan
from llwlc._runs import directory as run_directory
from llwlc._runs.plan_file import SavedPlan, read_plan
from llwlc._support.progress import print_notice
from llwlc.errors import InputError, RunFolderError
from llwlc.models._base import LinkModel, MemberCost, Plannable, Reducible
from llwlc.models._llwlc.presets import Preset
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources

OnPlan = Callable[[FitPlan], None]


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
    resources = Resources(torch.device(device))
    own = model if isinstance(model, Reducible) else None
    costs = {} if own is None else own.member_costs(split, features, resources=resources)
    left_out = [] if own is None else choose_omitted(costs, own.most_time * 60 * minutes)
    members = sum(cost.idle for name, cost in costs.items() if name not in left_out)

    def plan_for(members: float) -> FitPlan:
        return make_plan(
            split,
            model.preset,
            minutes,
            features=features,
            kept=model.explicit,
            node_types=node_types,
            device=device,
            spent=time.perf_counter() - begin,
            trainings=model.trainings(split),
            members=members,
        )

    new_plan = plan_for(members)
    if members and new_plan.network_left_out:
        alone = plan_for(0.0)
        if alone.network_left_out:  # all that is left of the budget is the other members'
            rest = 60 * minutes - (time.perf_counter() - begin) - alone.forecast.seconds
            left_out = choose_omitted({name: MemberCost(cost.now, cost.now) for name, cost in costs.items()}, rest)
        else:
            left_out = [name for name, cost in costs.items() if cost.idle]
        members, new_plan = sum(cost.idle for name, cost in costs.items() if name not in left_out), alone
    new_plan = replace(new_plan, forecast=replace(new_plan.forecast, members=members))
    if left_out:
        print_notice(f"left out of the blend, as time does not allow them: {', '.join(left_out)}")
    if on_plan is not None:
        on_plan(new_plan)
    return SavedPlan.of(base, new_plan, tuple(left_out))


def choose_omitted(costs: Mapping[str, MemberCost], room: float) -> list[str]:
    """The members that do not fit in `room` seconds after those before them. What counts is their time on an idle
    machine, so that other work on it does not change the blend.
    """
    left_out, taken = list[str](), 0.0
    for name, cost in costs.items():
        if taken + cost.idle > room:
            left_out.append(name)
        else:
            taken += cost.idle
    return left_out
