"""Plans: what a fit leaves out so that it ends within a time budget, chosen by what each omission is known to cost.

Every choice below has a cost in points of AUC, from trials on dense graphs (`docs/budget.md`). Of all combinations that
end in time and fit in memory, the one of least cost is taken. A plan is a preset: once it is written, nothing depends
on the clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch

from llwlc._candidates.node_types import NodeTypes
from llwlc._planning.candidate_rates import CandidateRates, measure_candidate_rates
from llwlc._planning.forecast import Forecast, SplitSizes, compute_forecast
from llwlc._support.free_space import free_memory
from llwlc.bases._config import DEFAULT_CAP
from llwlc.errors import InputError
from llwlc.models._llwlc.config import TrainConfig
from llwlc.models._llwlc.link_rates import LinkRates, compile_kernels, measure_link_rates
from llwlc.models._llwlc.presets import Preset
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import require_minutes

Omission = tuple[float, dict[str, Any]]
"""A choice: its cost in points of AUC, and the options of a preset that it sets."""
REACH: tuple[Omission, ...] = (
    (0.0, {}),
    (0.15, {"max_nodes_per_hop": 100}),
    (0.65, {"hops": 1, "max_nodes_per_hop": 1000}),
    (0.7, {"hops": 1, "max_nodes_per_hop": 100}),
)
SHARES = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
SHARE_COST_FACTOR = 30.0
"""Training on m links instead of M costs some `SHARE_COST_FACTOR` · (m^-½ − M^-½) points of AUC: a fifth of 2,000 links
more than half a point, a twentieth of a million a tenth.
"""
FEWEST_LINKS = 1000
"""A share leaves at least this many training links, or all if there are fewer."""
EPOCHS: tuple[Omission, ...] = ((0.0, {}), (0.1, {"epochs": 20}), (0.4, {"epochs": 10}), (1.0, {"epochs": 5}))
POOLS: tuple[Omission, ...] = (
    (0.0, {}),
    (0.05, {"copies": 0}),
    (0.07, {"copies": 0, "negative_pool": 2, "candidate_pool": 1}),
    (0.1, {"copies": 0, "negative_pool": 1, "candidate_pool": 1}),
)


HALF_PRECISION: Omission = (0.03, {"stored_bits": 16})
"""Half precision of what is stored: tried where a combination does not fit otherwise, and only there, as it saves no
time.
"""


def _evaluation_limits(num_eval_links: int, *, shortlist: int, **rest: int) -> dict[str, int]:
    """The limits of a choice: as many candidates are measured as validation or test links."""
    return {
        "num_eval_links": num_eval_links,
        "shortlist": shortlist,
        "num_eval_candidates": min(num_eval_links, shortlist),
        **rest,
    }


EVALUATION: tuple[Omission, ...] = (
    (0.0, {}),
    (0.05, _evaluation_limits(20_000, shortlist=30_000, num_membership_links=4_000, num_tuning_links=500)),
    (0.2, _evaluation_limits(10_000, shortlist=10_000, num_membership_links=2_000, num_tuning_links=200)),
    (
        0.3,
        _evaluation_limits(10_000, shortlist=10_000, num_membership_links=2_000, num_tuning_links=200, sources=200_000),
    ),
    (
        0.5,
        _evaluation_limits(
            5_000, shortlist=5_000, num_membership_links=1_000, num_tuning_links=100, sources=100_000, budget=50
        ),
    ),
    (
        0.8,
        _evaluation_limits(
            5_000, shortlist=3_000, num_membership_links=500, num_tuning_links=50, sources=50_000, budget=30
        ),
    ),
    (
        1.2,
        _evaluation_limits(
            2_000, shortlist=2_000, num_membership_links=200, num_tuning_links=20, sources=20_000, budget=10
        ),
    ),
)
PLANNED_OPTIONS = (
    *(
        "hops",
        "max_nodes_per_hop",
        "stored_bits",
        "fraction",
        "epochs",
        "negative_pool",
        "candidate_pool",
        "copies",
        "budget",
    ),
    *("num_eval_links", "shortlist", "num_eval_candidates", "sources", "num_membership_links", "num_tuning_links"),
)
"""The options of a preset that a plan may change."""
SAFETY = 1.3
"""Safety factor: a fit may take this many times the forecast, through other work or hubs that the sample missed."""
MOST_BYTES = 2 << 30
"""Bytes that stored bases may take, in memory or mapped from the cache, so that a fit stays below 4 GB beside its
graph; half of the free memory if that is less.
"""


@dataclass(frozen=True)
class FitPlan:
    """`preset`: the settings to keep to; `cost`: points of AUC that what is left out is known to cost; `minutes`: the
    budget, None for none.
    """

    preset: Preset
    forecast: Forecast
    cost: float
    minutes: float | None

    @property
    def sentence(self) -> str:
        """What will be done, in plain words."""
        return describe_plan(self.preset, self.cost)


def describe_plan(preset: Preset, cost: float) -> str:
    """What a plan leaves out, and what that is known to cost."""
    if not cost:
        return "nothing has to be left out"
    points = f"about {cost:.1f}" if cost >= 0.05 else "less than 0.1"
    return f"{', '.join(_words(preset))}; known to cost {points} points of AUC on graphs where both were tried"


def _words(preset: Preset) -> Iterator[str]:
    basis, train, limits = preset.basis, preset.train, preset.limits
    cap = basis.max_nodes_per_hop
    if basis.hops == 1 or (cap is not None and cap < DEFAULT_CAP):
        reach = "one-hop" if basis.hops == 1 else f"{basis.hops}-hop"
        yield f"{reach} subgraphs" + ("" if cap is None else f" of at most {cap:,} nodes a hop")
    if basis.stored_bits == 16:
        yield "bases stored in half precision, as they do not fit otherwise"
    if train.fraction < 1:
        yield f"{100 * train.fraction:g} % of the training links"
    if train.epochs < TrainConfig.epochs:
        yield f"{train.epochs} epochs"
    if train.copies == 0:
        yield "no thinned copies of the graph"
    if train.negative_pool < TrainConfig.negative_pool:
        yield "fewer negatives to choose from"
    if limits.num_eval_links is not None:
        yield f"at most {limits.num_eval_links:,} validation and {limits.num_eval_links:,} test links looked at"
    if limits.shortlist is not None:
        yield f"the {limits.shortlist:,} most promising candidates ranked by the network"
    if limits.sources is not None:
        yield f"candidates of {limits.sources:,} nodes, drawn at random where there are more"
    if preset.budget < Preset.budget:
        yield f"{preset.budget} candidates per node"


def list_combinations(preset: Preset, links: int, kept: Collection[str] = ()) -> Iterator[Omission]:
    """All combinations of omissions for a graph of this many training links, each with its cost; options in `kept` are
    not changed.
    """

    def allowed(choices: tuple[Omission, ...]) -> list[Omission]:
        omissions: dict[tuple[Any, ...], Omission] = {}
        for cost, options in choices:
            free = {name: value for name, value in options.items() if name not in kept and _less(preset, name, value)}
            omissions.setdefault(tuple(sorted(free.items())), (cost if free else 0.0, free))
        return list(omissions.values())

    shares = [(share_cost(links, share), {"fraction": share} if share < 1 else {}) for share in SHARES]
    rooms = (REACH, tuple(shares), EPOCHS, POOLS, EVALUATION)
    for parts in product(*map(allowed, rooms)):
        options: dict[str, Any] = {}
        for _, some in parts:
            options |= some
        yield sum(cost for cost, _ in parts), options


def share_cost(links: int, share: float) -> float:
    """What training on a share of the links costs, in points of AUC."""
    return SHARE_COST_FACTOR * (1 / math.sqrt(max(share * links, 1)) - 1 / math.sqrt(max(links, 1)))


def _less(preset: Preset, name: str, value: Any) -> bool:
    """Whether an option asks for less than the preset does."""
    now = next(
        (getattr(part, name) for part in (preset.basis, preset.train, preset.limits, preset) if hasattr(part, name)),
        None,
    )
    return now is None or value < now


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
    trainings: int = 1,
    members: float = 0.0,
) -> FitPlan:
    """The plan that leaves out least and ends within `minutes`, of which `spent` seconds have passed; options in `kept`
    stay as they are. `trainings`, `members`: see `compute_forecast`.

    If no plan does, the error states what the smallest one takes.
    """
    require_minutes(minutes)
    begin, device = time.perf_counter(), torch.device(device)
    compile_kernels(split, preset, preset.basis, device)
    compiling = time.perf_counter() - begin  # which the same command need not do again
    sizes, rates = SplitSizes.of(split), RateCache(split, features, node_types, device)
    choices = sorted(list_combinations(preset, sizes.train, kept), key=lambda choice: choice[0])
    blended: dict[str, Any] = {"trainings": trainings, "members": members}
    free = free_memory()
    room = MOST_BYTES if free is None else min(MOST_BYTES, free // 2)
    least: tuple[float, FitPlan] | None = None
    for cost, options in choices:
        if round(options.get("fraction", 1.0) * sizes.train) < min(FEWEST_LINKS, sizes.train):
            continue
        planned = apply_effective_options(preset, options)
        resolved = planned.resolve_defaults(sizes.train)
        ahead = compute_forecast(sizes, resolved, rates.links(resolved), rates.candidates(resolved), **blended)
        if ahead.num_bytes > room and "stored_bits" not in kept:
            cost, planned = cost + HALF_PRECISION[0], planned.changed(**HALF_PRECISION[1])
            links, resolved = rates.links(resolved), planned.resolve_defaults(sizes.train)
            ahead = compute_forecast(sizes, resolved, links, rates.candidates(resolved), **blended)
            if ahead.num_bytes <= room:  # only what fits is timed
                ahead = compute_forecast(sizes, resolved, rates.links(resolved), rates.candidates(resolved), **blended)
        if ahead.num_bytes > room:
            continue
        elapsed = spent + time.perf_counter() - begin
        needed = elapsed + add_margin(ahead)
        if needed <= 60 * minutes:
            return FitPlan(planned, ahead, cost, minutes)
        if least is None or needed < least[0]:
            least = needed, FitPlan(planned, ahead, cost, minutes)
    if least is None:
        raise InputError(
            f"the bases of this graph do not fit in {room / 2**30:.1f} GB, whatever is left out beside what was set:"
            " make memory free, or set fewer steps, hops=1 and max_nodes_per_hop=100"
        )
    needed, smallest = least
    takes = f"{needed:.0f} seconds" if needed < 90 else f"{needed / 60:.0f} minutes"
    again = "run the same command again, as kernels had to be compiled, once for this machine; or "
    raise InputError(
        f"the smallest plan for this graph takes about {takes} ({smallest.sentence}):"
        f" {again if needed - compiling <= 60 * minutes else ''}give --minutes {needed / 60 + 1:.0f}, or --plan full to"
        " take all the time it needs"
    )


def add_margin(ahead: Forecast) -> float:
    """The seconds that a fit is given: those of the forecast with a margin for all that may go wrong."""
    return SAFETY * ahead.at_most


def apply_effective_options(preset: Preset, options: Mapping[str, Any]) -> Preset:
    """The preset with these options, except those that have no effect on it."""
    useful = {name: value for name, value in options.items() if not preset.without_effect(name)}
    return preset.changed(**useful)


def apply_plan(preset: Preset, other: Preset, kept: Collection[str] = ()) -> Preset:
    """The preset with the plan of another run; options in `kept` are not changed."""
    options = {}
    for name in PLANNED_OPTIONS:
        part = next(part for part in (other.basis, other.train, other.limits, other) if hasattr(part, name))
        if name not in kept:
            options[name] = getattr(part, name)
    return apply_effective_options(preset, options)


class RateCache:
    """Rates by what they depend on, each measured when it is first asked for."""

    def __init__(
        self, split: LinkSplit, features: NodeFeatures, node_types: NodeTypes | None, device: torch.device
    ) -> None:
        self.split, self.features, self.node_types, self.device = split, features, node_types, device
        self._links: dict[tuple[int | None, ...], LinkRates] = {}
        self._candidates: CandidateRates | None = None

    def links(self, preset: Preset) -> LinkRates:
        # on a CPU a link takes as long in small batches as in large ones
        batch = preset.train.batch_size if self.device.type == "cuda" else None
        by = preset.basis.hops, preset.basis.max_nodes_per_hop, preset.basis.stored_bits, batch
        if by not in self._links:
            self._links[by] = measure_link_rates(self.split, preset, self.features, preset.basis, self.device)
        return self._links[by]

    def candidates(self, preset: Preset) -> CandidateRates:
        if self._candidates is None:  # the length of a list hardly matters: it is found among all nodes
            self._candidates = measure_candidate_rates(
                self.split, self.features, preset.budget, self.node_types, self.device
            )
        return self._candidates
