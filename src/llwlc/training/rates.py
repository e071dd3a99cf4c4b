"""Rates: what one link, candidate or node costs on this machine, measured on a sample in some seconds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from llwlc.bases.cache import seconds_to_store
from llwlc.bases.config import BasisConfig
from llwlc.bases.encoded_links import EncodedLinks, encode, messages_on
from llwlc.bases.warmup import warm_up
from llwlc.candidates import choice
from llwlc.candidates.kinds import Kinds
from llwlc.candidates.lists import Lister
from llwlc.candidates.retrieval import seconds_to_merge, would_be_candidates
from llwlc.heuristics.registry import HEURISTICS
from llwlc.nn import warmup as network_warmup
from llwlc.nn.net import LLwLCNet
from llwlc.splits.linksplit import LinkSplit
from llwlc.support.threads import one_thread
from llwlc.training.encoded_split import TrainingLinks
from llwlc.training.loop import adam, train_epoch
from llwlc.training.node_features import NodeFeatures
from llwlc.training.presets import Preset
from llwlc.training.ranking import first_config, lister_of
from llwlc.training.scoring import CANDIDATES, Scorer
from llwlc.training.step import Stepper

T = TypeVar("T")
SAMPLE, SAMPLE_ON_GPU = 192, 2048
"""Links of each population in the sample; a GPU takes whole batches in the time of a few links, and beside one batch alone what is done once an epoch would count too much."""
PATIENCE, ROWS, ROWS_ON_GPU = 1.0, 250_000, 2_000_000
"""Limits for encoding the sample, in seconds and in rows; the rest would not be faster."""
FIRST = 16
MERGED = 10_000
"""Nodes whose lists are merged in a trial; those of many more take somewhat longer for each candidate."""
TURNS = 2
"""How often what a link costs is timed; the fastest counts, as the first one still asks for memory."""
QUICK_ENOUGH = 2.0
"""Seconds up to which what is done once is timed a second time."""
QUICK, MOST_TIMES = 0.4, 8
"""Seconds that a sample of pairs is asked about again in, and how often at most."""


@dataclass(frozen=True)
class LinkRates:
    """The cost of a link for one `hops`, cap and precision, in seconds: to encode and store it, to train on it once, to score it from its pair and from its encoded basis; and its size in nodes,
    mean and largest."""

    encode: float
    train: float
    score: float
    score_encoded: float
    mean_size: float
    largest: int


@dataclass(frozen=True)
class CandidateRates:
    """The cost of candidates, in seconds: to prepare the search; to list those of a node; to choose weights, for a link; to test a training link; to compute the exact
    statistics of a pair; and to compute all untrained scores once, however few the pairs. `partners`: how many a node proposes where the budget allows for more;
    `merge_pair`: seconds to make a candidate of what all nodes propose."""

    prepare: float
    list_node: float
    choose_link: float
    judge_link: float
    describe_pair: float
    heuristics: float = 0.0
    partners: float = math.inf
    merge_pair: float = 0.0


def sample_pairs(split: LinkSplit, seed: int = 0, *, size: int = SAMPLE) -> Tensor:
    """Training links, non-links and pairs two steps apart, as candidates mostly are, as many of each."""
    graph, rng = split.train_graph, np.random.default_rng([seed, 3])
    links = split.train_pos[torch.from_numpy(rng.permutation(len(split.train_pos))[:size])]
    others = split.train_neg[torch.from_numpy(rng.permutation(len(split.train_neg))[:size])]
    # two steps: from one end of a link to the other end, and on to a neighbour of that
    start, via = links[:, 0], links[:, 1]
    degree = graph.degree[via].clamp(min=1)
    step = torch.from_numpy(rng.random(len(links))) * degree
    end = graph.indices[(graph.indptr[via] + step.long()).clamp(max=max(len(graph.indices) - 1, 0))]
    apart = torch.stack([start, end], 1)[start != end]
    return torch.cat([links, others, apart])


def link_rates(
    split: LinkSplit, preset: Preset, features: NodeFeatures, reach: BasisConfig, device: torch.device
) -> LinkRates:
    """Measures the cost of links with subgraphs of this reach."""
    graph, config = messages_on(split.train_graph, device), preset.train
    compile_kernels(split, preset, reach, device)
    gpu = graph.indptr.is_cuda
    pairs = sample_pairs(split, size=SAMPLE_ON_GPU if gpu else SAMPLE)
    pairs = pairs[torch.from_numpy(np.random.default_rng(3).permutation(len(pairs)))]
    encode(graph, pairs[:2], reach, about="")  # a first call may compile
    with timed() as first:
        size = float(encode(graph, pairs[:FIRST], reach, about="").sizes.double().mean())
    rows = ROWS_ON_GPU if gpu else ROWS
    pairs = pairs[: max(2 * FIRST, min(int(PATIENCE * FIRST / max(first(), 1e-9)), int(rows / size)))]

    def encoded() -> EncodedLinks:
        found = encode(graph, pairs, reach, about="").to(device)
        found.sizes.cpu()  # waits for a GPU
        return found

    data, encoding = _best(encoded)
    sizes, storing = data.sizes.cpu(), min(seconds_to_store(data) for _ in range(TURNS))
    if preset.net.pair_inputs:
        data = data.with_pair(features.pair_inputs(split.train_graph, pairs))
    shape = replace(
        preset.net,
        feature_channels=0 if features.compact is None else features.compact.shape[1],
        pair_channels=features.pair_inputs.channels if preset.net.pair_inputs else 0,
        sort_rows=max(int(sizes.double().mean()), 10),
    )
    with torch.random.fork_rng(devices=[]):
        net = LLwLCNet(shape).to(device)
    table = None if features.compact is None else features.compact.to(device)
    stepper = Stepper(net, net, adam(net, config), table)
    third, half = max(1, len(pairs) // 3), (config.batch_size or 64) // 2
    # whole batches: a GPU takes several times as long for the last one of an epoch, which has fewer links
    third -= third % half if third > half else 0
    links = TrainingLinks(data, third, third, torch.ones(third, dtype=torch.bool))
    trained = (3 if links.candidates else 2) * third
    with one_thread():
        train_epoch(stepper, links, config, 0)  # compiles, or records CUDA graphs
        training = _best(lambda: train_epoch(stepper, links, config, 0))[1]
        scorer = Scorer(net, features)
        scorer(data, CANDIDATES)
        scored = _best(lambda: scorer(data, CANDIDATES))[1]
    scoring = _pair_rate(lambda some: list(scorer.pairs(graph, some, reach, CANDIDATES)), pairs)
    count = len(pairs)
    mean = float(sizes.double().mean())
    store = (encoding + storing) / count
    return LinkRates(store, training / trained, scoring, scored / count, mean, int(sizes.max()))


def compile_kernels(split: LinkSplit, preset: Preset, reach: BasisConfig, device: torch.device) -> None:
    """Compiles those that are not cached yet, beside each other, and elsewhere: see `bases.warmup`."""
    if device.type == "cpu":
        network_warmup.begin(preset.net, network_warmup.TRAINING, network_warmup.SCORING)
    warm_up(split.train_graph, reach)
    if device.type == "cpu":
        network_warmup.warm_up(preset.net, network_warmup.TRAINING, network_warmup.SCORING)


def candidate_rates(
    split: LinkSplit, features: NodeFeatures, budget: int, kinds: Kinds | None, device: torch.device
) -> CandidateRates:
    """Measures the cost of the search for candidates."""
    graph, rng = split.valid_graph, np.random.default_rng(4)

    def prepared() -> Lister:
        lister = lister_of(graph, features, first_config(features, budget), kinds=kinds, device=str(device))
        lister.prepare()
        return lister

    lister, preparing = _fixed_cost(prepared)
    longest = min(2 * lister.budget, max(graph.num_nodes - 1, 1))
    # every call first allocates scratch memory in proportion to the number of nodes
    nodes = rng.permutation(graph.num_nodes)[: 256 if lister.exact else 4096]
    partners: list[float] = []

    def lists(some: int) -> None:
        found = lister(np.sort(nodes[:some]), longest)
        partners.append(float((found.partner >= 0).sum(1).mean()))

    listing = _rate(lists, len(nodes))
    hidden = split.valid_pos if len(split.valid_pos) else split.train_pos
    few = min(max(8, 2_000_000 // max(graph.num_nodes, 1)), 256) if lister.exact else lister.sources_at_once
    choosing = _rate(lambda some: choice.chosen(lister, hidden[:some]), min(few, len(hidden)))
    length = np.full(graph.num_nodes, longest)
    judging = _rate(
        lambda some: would_be_candidates(lister, split.train_pos[:some], length), min(few, len(split.train_pos))
    )
    pairs = sample_pairs(split)
    describing = _pair_rate(lambda some: features.pair_inputs(graph, some), pairs)
    asking = 0.0
    for heuristic in HEURISTICS.records():
        if not heuristic.features or graph.x is not None:
            asking += _fixed_cost(partial(heuristic.load(), graph, pairs[:FIRST]))[1]
    proposed = partners[-1] if partners else math.inf
    merging = seconds_to_merge(min(max(graph.num_nodes, 1), MERGED), lister.budget)
    return CandidateRates(preparing, listing, choosing, judging, describing, asking, proposed, merging)


def _fixed_cost(work: Callable[[], T]) -> tuple[T, float]:
    """What a call returns, and its seconds; of a second call where they are few, as the first one loads what is compiled."""
    with timed() as first:
        found = work()
    if first() > QUICK_ENOUGH:
        return found, first()
    with timed() as second:
        found = work()
    return found, second()


def _best(work: Callable[[], T]) -> tuple[T, float]:
    """What calls return, and the seconds of the fastest."""
    seconds = math.inf
    for _ in range(TURNS):
        with timed() as taken:
            found = work()
        seconds = min(seconds, taken())
    return found, seconds


def _rate(work: Callable[[int], object], count: int) -> float:
    """Seconds for each of `count`, after a first call that may compile."""
    if not count:
        return 0.0
    work(1)
    with timed() as seconds:
        work(count)
    return seconds() / count


def _pair_rate(work: Callable[[Tensor], object], pairs: Tensor) -> float:
    """Seconds for a pair where there are many: a call has a fixed cost, so a quick sample is asked about several times over in one call."""
    if not len(pairs):
        return 0.0
    work(pairs[:2])
    with timed() as once:
        work(pairs)
    times = min(int(QUICK / max(once(), 1e-9)), MOST_TIMES)
    if times < 2:
        return once() / len(pairs)
    with timed() as seconds:
        work(pairs.repeat(times, 1))
    return seconds() / (times * len(pairs))


@contextmanager
def timed() -> Iterator[Callable[[], float]]:
    """Yields a function that, after the block, returns the seconds that the block took."""
    ends: list[float] = []
    begin = time.perf_counter()
    yield lambda: ends[0]
    ends.append(time.perf_counter() - begin)
