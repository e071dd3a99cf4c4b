"""The ranking of `recommend`, measured by links that were hidden from it, beside every score that needs no training."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc.bases.config import BasisConfig
from llwlc.candidates.kinds import Kinds
from llwlc.candidates.retrieval import Candidates, candidates
from llwlc.errors import InputError
from llwlc.graph.graph import Graph
from llwlc.heuristics.registry import HEURISTICS
from llwlc.splits.linksplit import LinkSplit
from llwlc.splits.negatives import pair_number
from llwlc.training.list_quality import RankingReport, Reliability, list_quality
from llwlc.training.node_features import NodeFeatures
from llwlc.training.ranking import Ranked, RankingConfig, lister_of, rank
from llwlc.training.scoring import PairScorer

HIDDEN = ("test", "held-out")
BINS, IN_BIN = 10, 100


@dataclass(frozen=True, eq=False)
class Hidden:
    """The graph of known links, the hidden links, each once, and pairs that are excluded from the candidates."""

    name: str
    graph: Graph
    links: Tensor
    left_out: Tensor


def hide(split: LinkSplit, hidden: str = "test") -> Hidden:
    """`hidden`: "test", on the messages of the test stage, validation links that are not among these taken out of the candidates; or "held-out", validation
    and test links together, on the training links alone. (The epoch was chosen on validation links, so the network has an advantage there.)"""
    if hidden not in HIDDEN:
        raise InputError(f"hidden links are {' or '.join(HIDDEN)}, got {hidden!r}")
    if hidden == "test":
        truth, graph, other = split.test_pos, split.test_graph, split.valid_pos
    else:
        truth, graph, other = torch.cat([split.valid_pos, split.test_pos]), split.train_graph, split.valid_pos[:0]
    truth = torch.unique(torch.stack([truth.amin(1), truth.amax(1)], 1), dim=0)
    truth = truth[~graph.has_edges(truth)]  # a dataset may repeat a pair in a later part
    if not len(truth):
        raise InputError("no link is hidden in this run's split: fit with test links (--test above 0)")
    return Hidden(hidden, graph, truth, other)


def measure_ranking(
    task: Hidden,
    features: NodeFeatures,
    scorer: PairScorer,
    basis: BasisConfig,
    config: RankingConfig,
    *,
    kinds: Kinds | None = None,
    size: int | None = None,
    sample: int | None = None,
    own_lists: bool = False,
    device: str = "cpu",
    seed: int = 0,
    title: str = "llwlc",
) -> RankingReport:
    """Candidates as `recommend` generates them on what is known, ranked by the run's network and by each heuristic.

    `size`: candidates that the network ranks, as in `rank`. `sample`: in a graph of more nodes, only pairs with an end among so many, drawn at random;
    `own_lists`: and of these only the pairs on their own lists, so that no other list is made. `title`: the name of the run's own list in the report, where it is the first.
    """
    graph = task.graph
    n, drawn = graph.num_nodes, None
    if sample is not None and sample < n:
        drawn = np.random.default_rng([seed, 7]).choice(n, sample, replace=False)
    lister = lister_of(graph, features, config.candidates, kinds=kinds, device=device)
    found, links, nodes = candidates(lister, sources=drawn if own_lists else None), task.links, n
    if drawn is not None:
        found = _kept(found, _touching(found.pairs, drawn, n))
        links, nodes = links[_touching(links, drawn, n)], len(drawn)
    found = _without(found, task.left_out)
    if not len(links):
        raise InputError("no hidden link has an end among the sampled nodes: hold out more links")
    ranked = rank(graph, found, features, scorer, basis, config, size=size)
    truth = pair_number(links, graph.num_nodes)
    hit = torch.isin(pair_number(ranked.all_pairs, graph.num_nodes), truth)
    place = -np.arange(len(hit), dtype=np.float64)
    methods = {title: list_quality(place, hit.numpy(), ranked.all_pairs.numpy(), links.numpy())}
    among = torch.isin(pair_number(found.pairs, graph.num_nodes), truth).numpy()
    for heuristic in HEURISTICS.records():
        if not heuristic.features or graph.x is not None:
            score = heuristic.load()(graph, found.pairs)
            methods[heuristic.title] = list_quality(score.double().numpy(), among, found.pairs.numpy(), links.numpy())
    rho = len(task.links) / max(graph.num_edges, 1)
    reliable = reliability(ranked, hit[: len(ranked.pairs)], rho)
    return RankingReport(task.name, len(links), int(hit.sum()), len(found), nodes, graph.num_nodes, methods, reliable)


def reliability(ranked: Ranked, hit: Tensor, rho: float) -> Reliability:
    """The best thousand candidates in ten bins: predicted probability and share of hidden links, where `rho` links are hidden for each known one."""
    shown = min(BINS * IN_BIN, len(hit))
    predicted = torch.sigmoid(ranked.log_ratio[:shown] + math.log(rho))
    parts = [slice(at, min(at + IN_BIN, shown)) for at in range(0, shown, IN_BIN)]
    bins = tuple((float(predicted[part].mean()), float(hit[part].double().mean())) for part in parts)
    error = sum(abs(a - b) * (part.stop - part.start) for (a, b), part in zip(bins, parts, strict=True)) / max(shown, 1)
    return Reliability(bins, error)


def expected_share(
    ranked: Ranked, config: RankingConfig, rho: float, top: int, *, seed: int = 0
) -> tuple[float, float, float]:
    """The expected share of missing links among the `top` best, and its 90 % range, which covers the uncertainty of the calibration and chance."""
    top = min(top, len(ranked.pairs))
    if not top:
        return 0.0, 0.0, 0.0
    predicted = torch.sigmoid(ranked.log_ratio[:top] + math.log(rho))
    drawn = torch.sigmoid(config.calibration.draws(ranked.score[:top], ranked.sharing[:top]) + math.log(rho))
    rng = np.random.default_rng(seed)
    many = np.repeat(drawn.numpy(), max(1, 1000 // len(drawn)), axis=0)
    share = (rng.random(many.shape) < many).mean(1)
    low, high = np.quantile(share, [0.05, 0.95])
    return float(predicted.mean()), float(low), float(high)


def _without(found: Candidates, pairs: Tensor) -> Candidates:
    inside, place = found.find(pairs)
    keep = torch.ones(len(found), dtype=torch.bool)
    keep[place[inside]] = False
    return _kept(found, keep)


def _kept(found: Candidates, keep: Tensor) -> Candidates:
    return Candidates(found.pairs[keep], found.score[keep], found.length)


def _touching(pairs: Tensor, nodes: NDArray[np.int64], n: int) -> Tensor:
    """Which pairs have an end among the nodes."""
    chosen = torch.zeros(n, dtype=torch.bool)
    chosen[torch.from_numpy(nodes)] = True
    return chosen[pairs].any(1)
