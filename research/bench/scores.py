"""Times of what users wait for: scoring pairs, and an epoch of training, on one core and on two; baselines are timed on
the same links in the same run.

Networks are untrained: the time does not depend on the weights. An epoch of a baseline reads the graph as its recipe
does, batch by batch; ours has its bases computed before, as `fit` has.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from llwlc import datasets, splits
from llwlc._support.threads import use_one_thread
from llwlc.bases._config import BasisConfig
from llwlc.bases._encoded_links import encode_pairs
from llwlc.graph._graph import Graph
from llwlc.models._baseline import Baseline, compute_logits
from llwlc.models._llwlc.config import TrainConfig
from llwlc.models._llwlc.encoded_split import EncodedTrainingLinks
from llwlc.models._llwlc.presets import Preset, find_preset
from llwlc.models._llwlc.scoring import Scorer
from llwlc.models._llwlc.step import Stepper
from llwlc.models._llwlc.training import make_optimizer, train_epoch
from llwlc.models._messages import Messages
from llwlc.models._registry import make as make_model
from llwlc.nn import LLwLCNet
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._making import fresh_negatives
from llwlc.training._compact_features import fit_compactor
from llwlc.training._node_features import NodeFeatures
from research.bench import baselines
from research.bench.clock import Work, describe_machine, measure_peak_memory, time_in_turns, use_threads
from research.bench.run import sample_pairs

BASES, SCORES, EPOCH = "pairs to bases", "pairs to scores", "epoch, bases at hand"
TIMED_BASELINES = ("seal", "gae", "ncn", "buddy")
AT_MOST = {SCORES: 3, EPOCH: 6}  # times the bases


@dataclass(frozen=True)
class ScoresReport:
    """What `run_scores` measured: `microseconds` a link by number of cores and method.

    `links` of `graph` were scored, with `nodes_per_link` in the mean; an epoch has three links for each of `positives`,
    in batches of `batch`; peak `memory` in GB; the `machine`.

    >>> ScoresReport("cora", 4, 36.0, positives=2, batch=1024, microseconds={"1": {"numba": 12.0}}).microseconds["1"]
    {'numba': 12.0}
    """

    graph: str
    links: int
    nodes_per_link: float
    positives: int
    batch: int
    microseconds: dict[str, dict[str, float]]
    memory: dict[str, float] = field(default_factory=dict)
    machine: dict[str, str | int | float] = field(default_factory=dict)


def run_scores(
    name: str = "cora",
    *,
    links: int = 2048,
    repeats: int = 3,
    seed: int = 0,
    baseline_names: tuple[str, ...] = TIMED_BASELINES,
    with_memory: bool = True,
) -> ScoresReport:
    """Times scores of pairs and epochs of training, ours and baselines'; the best of `repeats` turns counts. Takes
    minutes.

    Args:
        name: name of a dataset.
        links: number of pairs, half of them edges; an epoch is timed on half as many training links of protocol `ncn`.
        repeats: number of turns; the best one counts.
        seed: seed of the random pairs.
        baseline_names: baselines to time beside ours.
        with_memory: measure memory too, in separate processes.

    >>> print(scores_table(run_scores("cora")))    # doctest: +SKIP
    """
    graph = datasets.load(name)
    split = splits.make(graph, protocol="ncn", seed=seed)
    split = replace(split, train_pos=split.train_pos[: links // 2])
    pairs = sample_pairs(graph, links, seed)
    ours, sizes, batch = _ours(graph, split, pairs)
    timed = ours | {
        k: v
        for method in baseline_names
        for k, v in _make_baseline_work(method, name, graph, split, pairs, seed).items()
    }
    found: dict[str, dict[str, float]] = {}
    for cores in (1, 2):
        with use_threads(cores):
            times = time_in_turns({what: work for what, (work, _) in timed.items()}, repeats=repeats, at_least=0)
        found[str(cores)] = {what: 1e6 * spent / timed[what][1] for what, spent in times.items()}
    peaks = measure_score_memory(name) if with_memory else {}
    return ScoresReport(
        name, links, float(sizes.double().mean()), len(split.train_pos), batch, found, peaks, describe_machine()
    )


def measure_score_memory(name: str) -> dict[str, float]:
    """Peak memory of fresh processes that score so many pairs and keep the scores."""
    return {
        f"{pairs:,} pairs scored": measure_peak_memory(score_many, name, pairs) for pairs in (1_000, 10_000, 100_000)
    }


def score_many(name: str, pairs: int) -> int:
    """Scores this many pairs of a graph by a network of its size."""
    graph = datasets.load(name)
    net, features, chosen = default_network(graph, graph.num_edges)
    found = list(Scorer(net, features).pairs(graph, sample_pairs(graph, pairs, 0), chosen.basis))
    return sum(map(len, found))


def default_network(graph: Graph, links: int) -> tuple[LLwLCNet, NodeFeatures, Preset]:
    """The default network for a graph and so many training links."""
    chosen = find_preset("anchored").resolve_defaults(links)
    features = NodeFeatures.of(graph.x, None if graph.x is None else fit_compactor(graph.x, chosen.features))
    width = 0 if features.compact is None else features.compact.shape[1]
    shape = replace(chosen.net, feature_channels=width, pair_channels=features.pair_inputs.channels)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return LLwLCNet(shape), features, chosen


Timed = dict[str, tuple[Work, int]]
"""By name: what is timed, and how many links that are."""


def _ours(graph: Graph, split: LinkSplit, pairs: Tensor) -> tuple[Timed, Tensor, int]:
    links = splits.make(graph, protocol="ncn", seed=0).train_pos
    net, features, chosen = default_network(graph, len(links))
    scorer, by_torch = Scorer(net, features), Scorer(net, features, by_torch=True)
    training = _training(split, features, chosen.basis)
    count = 3 * training.positives

    def step(compiled: bool) -> Work:
        own = copy.deepcopy(net)
        stepper = Stepper(
            own, copy.deepcopy(own), make_optimizer(own, chosen.train), features.compact, by_torch=not compiled
        )
        return lambda: _epoch(stepper, training, chosen.train)

    return (
        {
            BASES: (lambda: encode_pairs(graph, pairs, chosen.basis, about=""), len(pairs)),
            SCORES: (lambda: list(scorer.pairs(graph, pairs, chosen.basis)), len(pairs)),
            f"{SCORES}, torch": (lambda: list(by_torch.pairs(graph, pairs, chosen.basis)), len(pairs)),
            f"{BASES}, of the epoch": (
                lambda: encode_pairs(split.train_graph, split.train_pos, chosen.basis, about=""),
                len(split.train_pos),
            ),
            EPOCH: (step(True), count),
            f"{EPOCH}, torch": (step(False), count),
        },
        encode_pairs(graph, pairs, chosen.basis, about="").sizes,
        chosen.train.batch_size or 64,
    )


def _training(split: LinkSplit, features: NodeFeatures, basis: BasisConfig) -> EncodedTrainingLinks:
    """Positives, as many random negatives, and as many more in the place of candidates."""
    count = len(split.train_pos)
    every = torch.cat([split.train_pos, fresh_negatives(split, epoch=0, count=2 * count)])
    data = encode_pairs(split.train_graph, every, basis, about="")
    return EncodedTrainingLinks(
        data.with_pair(features.pair_inputs(split.train_graph, every)),
        count,
        count,
        torch.ones(count, dtype=torch.bool),
    )


def _epoch(stepper: Stepper, links: EncodedTrainingLinks, config: TrainConfig) -> float:
    with use_one_thread():
        return train_epoch(stepper, links, config, 0)


def _make_baseline_work(method: str, name: str, graph: Graph, split: LinkSplit, pairs: Tensor, seed: int) -> Timed:
    """Pairs to scores with all that a graph never seen before costs, and an epoch. SEAL's subgraphs are found by its
    recipe, scipy slices and labels by shortest paths, link by link; its network then gets ours, which takes no time
    beside that."""
    model = make_model(method, data=name)
    assert isinstance(model, Baseline)
    trainee = model.trainee(split, seed, torch.device("cpu"))
    adjacency = baselines.to_csr(graph)

    def score() -> Tensor:
        if method == "seal":
            baselines.run_slicing_and_drnl(adjacency, pairs)
        return compute_logits(trainee.net, Messages.of(graph, trainee.device), trainee.features, pairs)

    title = model.title
    return {
        f"{title}: {SCORES}": (score, len(pairs)),
        f"{title}: epoch": (
            lambda: trainee.train_epoch(0),
            (1 + trainee.net.recipe.negatives) * len(split.train_pos),
        ),
    }


def scores_table(report: ScoresReport) -> list[tuple[str, str]]:
    """What `run_scores` measured, as rows of (what, figures).

    Args:
        report: what `run_scores` returned.

    >>> scores_table(ScoresReport("cora", 4, 36.0, positives=2, batch=1024, microseconds={"1": {BASES: 12.0}}))[1]
    ('pairs to bases, 1 core', '12.0 µs a link   1.0 × bases')
    """
    rows = [
        (
            "links",
            f"{report.links:,} scored, {report.nodes_per_link:.0f} nodes each; epochs of {3 * report.positives:,},"
            f" batches of {report.batch}",
        )
    ]
    for cores, times in report.microseconds.items():
        for what, spent in times.items():
            base = times[f"{BASES}, of the epoch" if "poch" in what else BASES]
            aim = f", at most {AT_MOST[what]}" if what in AT_MOST else ""
            rows.append(
                (
                    f"{what}, {cores} core{'s' if cores != '1' else ''}",
                    f"{spent:,.1f} µs a link   {spent / base:.1f} × bases{aim}",
                )
            )
    rows += [(f"memory, {what}", f"{size:.2f} GB, peak") for what, size in report.memory.items()]
    return rows + [(name, str(value)) for name, value in report.machine.items()]
