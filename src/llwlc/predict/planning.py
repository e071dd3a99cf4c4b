"""The plan of a fit: the one in its folder, that of another run, or a new one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from pathlib import Path

from torch import Tensor

from llwlc.baselines.opponent import FittedOpponent
from llwlc.candidates.kinds import Kinds
from llwlc.errors import InputError
from llwlc.graph.graph import Graph
from llwlc.predict import run_directory
from llwlc.predict.plan_file import WrittenPlan, read_plan
from llwlc.splits.linksplit import LinkSplit
from llwlc.training.features import Compactor, fit_compactor
from llwlc.training.node_features import NodeFeatures
from llwlc.training.plan import Plan, in_words, make_plan, with_plan
from llwlc.training.presets import Preset

OnPlan = Callable[[Plan], None]


def plan_before(folder: Path | None, base: str) -> WrittenPlan | None:
    """The plan in the folder of a fit, begun or finished; None if there is none. `base`: the fingerprint of the fit before anything is left out; the plan of another fit is refused."""
    found = None if folder is None or not folder.is_dir() else read_plan(folder)
    if found is not None and found.base != base:
        raise InputError(
            f"{folder} holds another run (other graph, split or options): choose another --out or delete it"
        )
    return found


def kept_plan(plan: WrittenPlan, folder: str, minutes: float | None) -> str:
    """What is said where a folder has a plan already, which is kept."""
    said = f"by the plan in {folder}: {in_words(plan.preset, plan.cost)}"
    if minutes is not None and plan.minutes and plan.minutes != minutes:
        said += f". It was made for {plan.minutes:g} minutes: for {minutes:g}, choose another --out"
    return said


def plan_of(run: Path, base: str, preset: Preset, kept: Collection[str]) -> WrittenPlan:
    """The plan of another run, to be repeated; options in `kept` are not changed. If that run has no plan, its settings are the plan."""
    found = read_plan(run)
    if found is not None:
        return WrittenPlan(base, with_plan(preset, found.preset, kept), found.minutes, found.cost, {})
    other = run_directory.load(run).fitted
    if isinstance(other, FittedOpponent):
        raise InputError(f"{run} is a run of {other.title} and has no plan: name another run")
    return WrittenPlan(base, with_plan(preset, other.preset, kept), 0.0, 0.0, {})


def new_plan(
    graph: Graph,
    split: LinkSplit,
    preset: Preset,
    minutes: float,
    base: str,
    *,
    kept: Collection[str],
    kinds: Kinds | None,
    device: str,
    begin: float,
    on_plan: OnPlan | None,
) -> tuple[WrittenPlan, tuple[Compactor | None, Tensor] | None]:
    """A plan from a short measurement, and the compact features that were computed for it; `begin`: when the budget began."""
    if not 0 < minutes < math.inf:
        raise InputError(f"minutes is above 0, got {minutes}")
    compactor = None
    if graph.x is not None and preset.features:
        compactor = fit_compactor(graph.x, preset.features)
    features = NodeFeatures.of(graph.x, compactor)
    spent = time.perf_counter() - begin
    found = make_plan(split, preset, minutes, features=features, kept=kept, kinds=kinds, device=device, spent=spent)
    if on_plan is not None:
        on_plan(found)
    return WrittenPlan.of(base, found), None if features.compact is None else (compactor, features.compact)
