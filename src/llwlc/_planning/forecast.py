"""The time and memory that a fit will take, stage by stage: numbers of links times the measured cost of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from llwlc._candidates.node_types import NodeTypes
from llwlc._planning.candidate_rates import CandidateRates, measure_candidate_rates
from llwlc._planning.candidate_work import CandidateWork
from llwlc.bases._encoded_links import estimate_bytes
from llwlc.models._llwlc.encoded_split import pool_draws
from llwlc.models._llwlc.link_rates import LinkRates, compile_kernels, measure_link_rates
from llwlc.models._llwlc.presets import Preset
from llwlc.ranking._ranking import MAX_VALID_CANDIDATES, MIN_VALID_CANDIDATES
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._evaluation_links import MAX_HARD_NEGATIVES
from llwlc.training._node_features import NodeFeatures
from llwlc.training._timing import LoadMeter

USUAL_EPOCHS = 0.7
"""Most trainings run through all epochs, the others mostly stop after the first dozen, as the validation score no
longer improves: what is expected lies between, so that it is far off for neither.
"""
FINISHING = 1.2
"""Seconds to write the run and to print it, however small the graph."""


@dataclass(frozen=True)
class Forecast:
    """Links whose bases are kept, the size of their subgraphs in nodes, the bytes that the bases take, seconds of each
    stage, and of training where it stops at the usual epoch, and at the earliest.

    The last stages, `finishing` and `recommend`, are what the command line does after a fit. `members`: seconds more
    for the other members of a blend.
    """

    links: int
    mean_size: float
    largest: int
    num_bytes: int
    stages: Mapping[str, float]
    usual_training: float
    least_training: float = 0.0
    members: float = 0.0

    @property
    def seconds(self) -> float:
        """Seconds of all stages if training runs through all epochs."""
        return sum(self.stages.values())

    @property
    def at_most(self) -> float:
        """The same with the other members of a blend."""
        return self.seconds + self.members

    @property
    def usual(self) -> float:
        return self.seconds - self.stages["training"] + self.usual_training

    @property
    def at_least(self) -> float:
        """Seconds of all stages if no epoch is better than the first."""
        return self.seconds - self.stages["training"] + self.least_training


@dataclass(frozen=True)
class SplitSizes:
    """The numbers that the cost of a fit depends on."""

    nodes: int
    edges: int
    train: int
    valid: StageSizes
    test: StageSizes

    @classmethod
    def of(cls, split: LinkSplit) -> SplitSizes:
        graph, train = split.train_graph, len(split.train_pos)
        valid = StageSizes.of(split.valid_pos, split.valid_neg, most_own=MAX_HARD_NEGATIVES)
        return cls(graph.num_nodes, graph.num_edges, train, valid, StageSizes.of(split.test_pos, split.test_neg))


class StageSizes(NamedTuple):
    """Links of a stage, non-links in one pool, and non-links that each link has of its own."""

    links: int
    pooled: int
    own: int

    @classmethod
    def of(cls, pos: Tensor, neg: Tensor, most_own: int | None = None) -> StageSizes:
        if neg.ndim == 2:
            return cls(len(pos), len(neg), 0)
        return cls(len(pos), 0, neg.shape[1] if most_own is None else min(neg.shape[1], most_own))

    def scored(self, most: int | None) -> int:
        """Pairs that are scored where at most `most` links and pooled negatives are evaluated."""
        links, pooled = (size if most is None else min(size, most) for size in (self.links, self.pooled))
        return links * (1 + self.own) + pooled


def count_stored_links(sizes: SplitSizes, preset: Preset) -> int:
    """Training links and negatives whose bases are kept, for one copy of the message graph."""
    config, redrawn = preset.train, preset.basis.stochastic
    positives = max(1, round(sizes.train * config.fraction))
    links = positives + (
        positives if redrawn else min(config.negative_pool * positives, sizes.train * pool_draws(config))
    )
    return links + ((positives if redrawn else positives * config.candidate_pool) if preset.net.ranking else 0)


def compute_forecast(
    sizes: SplitSizes,
    preset: Preset,
    links: LinkRates,
    candidates: CandidateRates,
    *,
    ranked: bool = True,
    slowdown: float = 1.0,
) -> Forecast:
    """The forecast of a fit with these settings; `preset` is adapted already. `ranked`: the run is to recommend;
    `slowdown`: how many times longer work takes than on the idle machine that rates are for.
    """
    config, limits = preset.train, preset.limits
    redrawn, stored = preset.basis.stochastic, count_stored_links(sizes, preset)
    copies = 1 if redrawn else 1 + min(config.copies or 0, config.epochs - 1)
    positives = max(1, round(sizes.train * config.fraction))
    valid, test = (stage.scored(limits.num_eval_links) for stage in (sizes.valid, sizes.test))
    work = CandidateWork.of(max(sizes.nodes, 1), sizes.edges, sizes.valid.links, preset.budget, limits, candidates)
    among = (
        min(max(sizes.valid.links, MIN_VALID_CANDIDATES), MAX_VALID_CANDIDATES, work.found) if preset.net.ranking else 0
    )
    epoch = (1 + config.negatives + preset.net.ranking) * positives * links.train + (
        valid + among
    ) * links.score_encoded
    stages = {
        "candidates": work.finding(positives, config.candidate_pool) * (ranked or preset.net.ranking),
        "eigenbases": (stored * (config.epochs if redrawn else copies) + valid + among) * links.encode,
        "training": config.epochs * epoch,
        "measuring": test * links.score,
        "heuristics": 2 * candidates.heuristics,
        "calibration": work.calibration_seconds(links) * ranked,
        "ranking": work.measurement_seconds(links) * ranked,
        "finishing": FINISHING,
        "recommend": work.recommending(links) * ranked,
    }
    to_the_end = config.use_validation or config.epochs <= config.patience
    usual = config.epochs if to_the_end else max(1 + config.patience, USUAL_EPOCHS * config.epochs)
    least = config.epochs if to_the_end else 1 + config.patience
    kept = copies * stored + valid + among
    return Forecast(
        stored,
        links.mean_size,
        links.largest,
        estimate_bytes(kept, links.mean_size, preset.basis.steps, preset.basis.stored_bits),
        {name: slowdown * seconds for name, seconds in stages.items()},
        slowdown * usual * epoch,
        slowdown * least * epoch,
    )


def measure_forecast(
    split: LinkSplit,
    preset: Preset,
    *,
    features: NodeFeatures | None = None,
    node_types: NodeTypes | None = None,
    device: torch.device | str = "cpu",
    ranked: bool = True,
) -> Forecast:
    """Sizes, memory and time expected, from a sample of the links on the device in use."""
    device, preset = torch.device(device), preset.resolve_defaults(len(split.train_pos))
    features = NodeFeatures() if features is None else features
    compile_kernels(split, preset, preset.basis, device)
    load = LoadMeter()
    with load.measuring():
        links = measure_link_rates(split, preset, features, preset.basis, device)
        candidates = measure_candidate_rates(split, features, preset.budget, node_types, device)
    sizes, slowdown = SplitSizes.of(split), load.slowdown
    return compute_forecast(sizes, preset, links, candidates, ranked=ranked, slowdown=slowdown)
