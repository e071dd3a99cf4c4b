"""Omissions: what a plan may leave out, and what each costs in points of AUC, from trials on dense graphs (the note on
time budgets in `research/notes`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from itertools import product
from typing import Any

from llwlc.bases._config import DEFAULT_CAP
from llwlc.models._llwlc.config import TrainConfig
from llwlc.models._llwlc.presets import Preset

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
    (
        2.0,
        _evaluation_limits(
            1_000, shortlist=1_000, num_membership_links=100, num_tuning_links=10, sources=2_000, budget=10
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


def describe_plan(preset: Preset, cost: float, network_left_out: str = "") -> str:
    """What a plan leaves out, and its measured cost."""
    words = list(_words(preset))
    if network_left_out:
        also = f"; also {', '.join(words)}" if words else ""
        return f"our network is left out, as {network_left_out}. The other models rank instead{also}"
    if not cost:
        return "nothing has to be left out"
    points = f"about {cost:.1f}" if cost >= 0.05 else "less than 0.1"
    return f"{', '.join(words)}; known to cost {points} points of AUC on graphs where both were tried"


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
        yield f"at most {limits.num_eval_links:,} validation and {limits.num_eval_links:,} test links scored"
    if limits.shortlist is not None:
        yield f"the {limits.shortlist:,} most promising candidates ranked by the model"
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
            free = {
                name: value for name, value in options.items() if name not in kept and asks_less(preset, name, value)
            }
            omissions.setdefault(tuple(sorted(free.items())), (cost if free else 0.0, free))
        return list(omissions.values())

    shares = [(share_cost(links, share), {"fraction": share} if share < 1 else {}) for share in SHARES]
    groups = (REACH, tuple(shares), EPOCHS, POOLS, EVALUATION)
    for parts in product(*map(allowed, groups)):
        options: dict[str, Any] = {}
        for _, some in parts:
            options |= some
        yield sum(cost for cost, _ in parts), options


def share_cost(links: int, share: float) -> float:
    """What training on a share of the links costs, in points of AUC."""
    return SHARE_COST_FACTOR * (1 / math.sqrt(max(share * links, 1)) - 1 / math.sqrt(max(links, 1)))


def asks_less(preset: Preset, name: str, value: Any) -> bool:
    """Whether an option asks for less than the preset does."""
    now = next(
        (getattr(part, name) for part in (preset.basis, preset.train, preset.limits, preset) if hasattr(part, name)),
        None,
    )
    return now is None or value < now


def apply_effective_options(preset: Preset, options: Mapping[str, Any]) -> Preset:
    """The preset changed by these options, except those without effect on it."""
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
