"""Plans: what a fit leaves out to end within a time budget, at the least measured cost in accuracy.

Of all combinations of omissions that end in time and fit in memory, the one of least cost is taken. A plan is a preset:
once it is saved, timing no longer affects the run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from llwlc._candidates.node_types import NodeTypes
from llwlc._planning.candidate_rates import CandidateRates, measure_candidate_rates
from llwlc._planning.forecast import Forecast, SplitSizes, compute_forecast
from llwlc._planning.omissions import (
    EVALUATION,
    FEWEST_LINKS,
    HALF_PRECISION,
    REACH,
    apply_effective_options,
    asks_less,
    describe_plan,
    list_combinations,
)
from llwlc._support.free_space import free_memory
from llwlc.models._llwlc.link_rates import (
    MAX_SAMPLE_SECONDS,
    LinkRates,
    compile_kernels,
    measure_link_rates,
    probe_links,
)
from llwlc.models._llwlc.presets import Preset
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import require_minutes
from llwlc.training._timing import LoadMeter

SAFETY = 1.3
"""Safety factor: a fit may take this many times the forecast, through other work or hubs that the sample missed."""
PLANNING_SHARE = 0.1
"""After this share of the budget, planning measures only the cheapest subgraphs."""
SAMPLE_SHARE, LEAST_SAMPLE_SECONDS = 0.08, 0.05
"""The share of the time left for planning in which a sample of links may be encoded, as it is scored and trained on
several times too; and the seconds that it may always take.
"""
COMPILING = 5.0
"""Seconds; where kernels are compiled already, it takes less to see that."""
PROBED_SHARE = 0.7
"""Of a few links each takes longer than of many: at least this share of a probe's seconds are a link's."""
MEMBER_COST = 0.8
"""Points of AUC that a blend loses with a trained member beside the network: on 19 small networks the stack and the
global model together are worth 1.7 (`research/notes/2026-11-19-budgets-under-load.md`).
"""
MOST_BYTES = 2 << 30
"""Bytes that stored bases may take, in memory or mapped from the cache, so that a fit stays below 4 GB beside its
graph; half of the free memory if that is less.
"""


@dataclass(frozen=True)
class FitPlan:
    """`preset`: the preset to fit with; `cost`: measured cost of the omissions, in points of AUC; `minutes`: the
    budget, None for none; `left_out`: members of a blend that have no room beside the network; `slowdown`: how many
    times longer work took than on an idle machine; `network_left_out`: why the network is not trained, "" where it is;
    `network_minutes`: what its smallest plan takes then.
    """

    preset: Preset
    forecast: Forecast
    cost: float
    minutes: float | None
    left_out: tuple[str, ...] = ()
    slowdown: float = 1.0
    network_left_out: str = ""
    network_minutes: float = math.inf

    @property
    def sentence(self) -> str:
        """The plan in plain words."""
        return describe_plan(self.preset, self.cost, self.network_left_out)


def make_plan(
    split: LinkSplit,
    preset: Preset,
    minutes: float,
    *,
    features: NodeFeatures,
    kept: Collection[str] = (),
    node_types: NodeTypes | None = None,
    device: torch.device | str = "cpu",
    spent: float = 0.0,
    members: Mapping[str, float] | None = None,
    load: LoadMeter | None = None,
) -> FitPlan:
    """The plan that leaves out least and ends within `minutes`, of which `spent` seconds have passed; options in `kept`
    are not changed. `members`: the seconds of a blend's other members on an idle machine; `load`: what showed how busy
    the machine is, measuring them.

    Measuring takes about a tenth of the budget. If no plan ends in time or fits in memory, the network is left out.
    """
    require_minutes(minutes)
    begin, device = time.perf_counter(), torch.device(device)
    compile_kernels(split, preset, preset.basis, device)
    compiling = time.perf_counter() - begin  # which a second run does not repeat
    load = LoadMeter() if load is None else load
    planning_ends = time.perf_counter() + PLANNING_SHARE * 60 * minutes - load.wall
    sizes, rates = SplitSizes.of(split), RateCache(split, features, node_types, device, load, planning_ends)
    choices = [
        (cost, options)
        for cost, options in sorted(list_combinations(preset, sizes.train, kept), key=lambda choice: choice[0])
        if round(options.get("fraction", 1.0) * sizes.train) >= min(FEWEST_LINKS, sizes.train)
    ]
    shortest = {_all_but_training(options): options for _, options in choices}  # the last one trains least
    too_slow = dict[tuple[Any, ...], bool]()
    omissions, max_bytes = list_member_omissions({} if members is None else members), choose_max_bytes()
    best: tuple[float, FitPlan] | None = None
    least: tuple[float, FitPlan] | None = None

    def seconds_with(ahead: Forecast) -> float:
        return spent + time.perf_counter() - begin + add_margin(ahead)

    for cost, options in choices:
        if best is not None and cost >= best[0]:
            break
        group = _all_but_training(options)
        if group not in too_slow:
            some = apply_effective_options(preset, shortest[group]).resolve_defaults(sizes.train)
            if not rates.has_links(some) and not _is_cheapest(options, kept):
                # where there is no time to measure it, it is not tried
                too_slow[group] = rates.ended or seconds_with(rates.least_forecast(sizes, some)) > 60 * minutes
            if not too_slow.get(group):
                too_slow[group] = seconds_with(rates.forecast(sizes, some)) > 60 * minutes
        if too_slow[group] and not (options is shortest[group] and _is_cheapest(options, kept)):
            continue
        planned = apply_effective_options(preset, options)
        forecast = rates.forecast(sizes, planned.resolve_defaults(sizes.train))
        if forecast.num_bytes > max_bytes and "stored_bits" not in kept:
            cost, planned = cost + HALF_PRECISION[0], planned.changed(**HALF_PRECISION[1])
            forecast = rates.forecast(sizes, planned.resolve_defaults(sizes.train))
        if forecast.num_bytes > max_bytes:
            continue
        for member_cost, names, seconds in omissions:
            found = FitPlan(planned, replace(forecast, members=load.slowdown * seconds), cost, minutes, names)
            needed = seconds_with(found.forecast)
            if least is None or needed < least[0]:
                least = needed, found
            if needed <= 60 * minutes:
                if best is None or cost + member_cost < best[0]:
                    best = cost + member_cost, found
                break
    if best is not None:
        return best[1]
    if least is None:
        why = (
            f"its bases do not fit in {max_bytes / 2**30:.1f} GB in any plan that keeps the options you set: free"
            " memory, or set fewer steps, hops=1 and max_nodes_per_hop=100"
        )
    else:
        why = _too_slow(*least, minutes=minutes, compiling=compiling)
    found = plan_without_network(sizes, preset, rates, kept, minutes, spent + time.perf_counter() - begin)
    return replace(found, network_left_out=why, network_minutes=math.inf if least is None else least[0] / 60)


def _all_but_training(options: Mapping[str, Any]) -> tuple[Any, ...]:
    """What combinations have in common that differ in how many links they train on, and how often."""
    return tuple(sorted((name, value) for name, value in options.items() if name not in ("fraction", "epochs")))


def choose_max_bytes() -> int:
    """Bytes that stored bases may take."""
    free = free_memory()
    return MOST_BYTES if free is None else min(MOST_BYTES, free // 2)


def list_member_omissions(members: Mapping[str, float]) -> list[tuple[float, tuple[str, ...], float]]:
    """What may be left out of a blend beside its network, from nothing to all that takes time, the slowest member
    first: the cost in points of AUC, the names, and the seconds of those that stay.
    """
    slowest = sorted((name for name in members if members[name]), key=lambda name: -members[name])
    return [
        (MEMBER_COST * count, tuple(slowest[:count]), sum(members[name] for name in slowest[count:]))
        for count in range(len(slowest) + 1)
    ]


def _is_cheapest(options: Mapping[str, Any], kept: Collection[str]) -> bool:
    """Whether subgraphs have the smallest reach that is allowed."""
    return all(options.get(name) == value for name, value in REACH[-1][1].items() if name not in kept)


def _too_slow(needed: float, smallest: FitPlan, *, minutes: float, compiling: float) -> str:
    """Why no plan with the network ends in time, and which command would train it."""
    takes = f"{needed:.0f} seconds" if needed < 90 else f"{needed / 60:.0f} minutes"
    again = "run the same command in a new folder, as kernels had to be compiled, once for this machine; or "
    compiled = compiling > COMPILING and needed - compiling <= 60 * minutes
    return (
        f"its smallest plan for this graph takes about {takes} ({smallest.sentence}): to train it,"
        f" {again if compiled else ''}give --minutes {needed / 60 + 1:.0f}, or --plan full to take all the time it"
        " needs"
    )


def plan_without_network(
    sizes: SplitSizes, preset: Preset, rates: RateCache, kept: Collection[str], minutes: float, elapsed: float
) -> FitPlan:
    """The plan that scores the most links and candidates and still ends in time, else the smallest one: a score
    without a network costs about what the statistics of a pair and all heuristics do.
    """
    candidates = rates.candidates(preset)
    each = candidates.describe_pair + candidates.heuristic_pair
    links = LinkRates(encode=0.0, train=0.0, score=each, score_encoded=0.0, mean_size=0.0, largest=0)
    for cost, options in EVALUATION:
        free = {name: value for name, value in options.items() if name not in kept and asks_less(preset, name, value)}
        planned = apply_effective_options(preset, free)
        resolved = planned.resolve_defaults(sizes.train)
        forecast = compute_forecast(sizes, resolved, links, candidates, slowdown=rates.load.slowdown)
        forecast = replace(forecast, links=0, num_bytes=0)
        found = FitPlan(planned, forecast, cost if free else 0.0, minutes)
        if elapsed + add_margin(forecast) <= 60 * minutes:
            break
    return found


def add_margin(forecast: Forecast) -> float:
    """The seconds to reserve for a fit: those of the forecast times the safety factor."""
    return SAFETY * forecast.at_most


class RateCache:
    """A cache of measured rates; a rate is measured on first use. `ends`: when measuring should be over; samples shrink
    with the time that is left.
    """

    def __init__(
        self,
        split: LinkSplit,
        features: NodeFeatures,
        node_types: NodeTypes | None,
        device: torch.device,
        load: LoadMeter,
        ends: float,
    ) -> None:
        self.split, self.features, self.node_types, self.device = split, features, node_types, device
        self.load, self.ends = load, ends
        self._links: dict[tuple[int | None, ...], LinkRates] = {}
        self._probed: dict[tuple[int, int | None], float] = {}
        self._candidates: CandidateRates | None = None

    @property
    def ended(self) -> bool:
        """Whether the time for measuring is over."""
        return time.perf_counter() > self.ends

    def forecast(self, sizes: SplitSizes, preset: Preset) -> Forecast:
        """The forecast of a fit with these settings, which are adapted to the graph already."""
        links, candidates = self.links(preset), self.candidates(preset)
        return compute_forecast(sizes, preset, links, candidates, slowdown=self.load.slowdown)

    def least_forecast(self, sizes: SplitSizes, preset: Preset) -> Forecast:
        """What a fit with these settings takes at least, before its links are measured."""
        reach = preset.basis.hops, preset.basis.max_nodes_per_hop
        if reach not in self._probed:
            compile_kernels(self.split, preset, preset.basis, self.device)
            with self.load.measuring():
                self._probed[reach] = PROBED_SHARE * probe_links(self.split, preset.basis, self.device)
        each = self._probed[reach]
        links = LinkRates(encode=each, train=0.0, score=each, score_encoded=0.0, mean_size=0.0, largest=0)
        candidates, slowdown = self.candidates(preset), self.load.slowdown
        return compute_forecast(sizes, preset, links, candidates, slowdown=slowdown)

    def _key(self, preset: Preset) -> tuple[int | None, ...]:
        # on a CPU a link takes as long in small batches as in large ones
        batch = preset.train.batch_size if self.device.type == "cuda" else None
        return preset.basis.hops, preset.basis.max_nodes_per_hop, preset.basis.stored_bits, batch

    def links(self, preset: Preset) -> LinkRates:
        by = self._key(preset)
        if by not in self._links:
            compile_kernels(self.split, preset, preset.basis, self.device)
            left = (self.ends - time.perf_counter()) / self.load.slowdown
            sample = min(max(SAMPLE_SHARE * left, LEAST_SAMPLE_SECONDS), MAX_SAMPLE_SECONDS)
            with self.load.measuring():
                self._links[by] = measure_link_rates(
                    self.split, preset, self.features, preset.basis, self.device, sample
                )
        return self._links[by]

    def has_links(self, preset: Preset) -> bool:
        """Whether links of this reach were measured already."""
        return self._key(preset) in self._links

    def candidates(self, preset: Preset) -> CandidateRates:
        if self._candidates is None:  # the length of a list hardly matters: the search is over all nodes
            with self.load.measuring():
                self._candidates = measure_candidate_rates(
                    self.split, self.features, preset.budget, self.node_types, self.device
                )
        return self._candidates
