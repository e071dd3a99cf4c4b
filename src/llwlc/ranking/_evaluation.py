"""The ranking of `recommend`, measured by links that were hidden from it, beside every score that needs no training."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc._candidates.node_types import NodeTypes, detect_node_types
from llwlc._candidates.retrieval import Candidates, find_candidates
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.heuristics._registry import list_applicable
from llwlc.ranking._calibration_counts import StageScores
from llwlc.ranking._list_quality import RankingReport, Reliability, compute_list_quality
from llwlc.ranking._ranking import RankedCandidates, RankingConfig, ScoreCandidates, rank, retriever_of
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._negatives import among, pair_number
from llwlc.training._limits import shortlist_size
from llwlc.training._node_features import NodeFeatures

HIDDEN_PARTS = ("test", "held-out")
BINS, CANDIDATES_PER_BIN = 10, 100


@dataclass(frozen=True, eq=False)
class HiddenLinks:
    """The graph of known links, the hidden links, each once, and pairs that are excluded from the candidates."""

    name: str
    graph: Graph
    links: Tensor
    excluded: Tensor


def hide_links(split: LinkSplit, hidden: str = "test") -> HiddenLinks:
    """`hidden`: "test", on the messages of the test stage, validation links that are not among these taken out of the
    candidates; or "held-out", validation and test links together, on the training links alone. (The epoch was chosen on
    validation links, so the network has an advantage there.)"""
    if hidden not in HIDDEN_PARTS:
        raise InputError(f"hidden links are {' or '.join(HIDDEN_PARTS)}, got {hidden!r}")
    if hidden == "test":
        truth, graph, other = split.test_pos, split.test_graph, split.valid_pos
    else:
        truth, graph, other = torch.cat([split.valid_pos, split.test_pos]), split.train_graph, split.valid_pos[:0]
    truth = torch.unique(torch.stack([truth.amin(1), truth.amax(1)], 1), dim=0)
    truth = truth[~graph.has_edges(truth)]  # a dataset may repeat a pair in a later part
    if not len(truth):
        raise InputError("no link is hidden in this run's split: fit with test links (--test above 0)")
    if split.known_neg is not None:  # as in use, where they are never candidates
        other = torch.cat([other, split.known_neg])
    return HiddenLinks(hidden, graph, truth, other)


@dataclass(frozen=True, eq=False)
class HiddenRanking:
    """The candidates of a task, ranked by the run's network; the hidden `links` that could be among them, and the
    number of `nodes` whose pairs were looked at.
    """

    task: HiddenLinks
    candidates: Candidates
    ranked: RankedCandidates
    links: Tensor
    nodes: int

    @cached_property
    def hit(self) -> Tensor:
        """Which of all candidates, in the order of the ranking, are hidden links `[m]`."""
        return among(self.ranked.all_pairs, self.links, self.task.graph.num_nodes)

    @property
    def scores(self) -> StageScores:
        """The candidates that the network scored."""
        ranked = self.ranked
        numbers = pair_number(ranked.pairs, self.task.graph.num_nodes)
        return StageScores(numbers, ranked.score, ranked.sharing, self.hit[: len(numbers)])


def rank_hidden(
    task: HiddenLinks,
    features: NodeFeatures,
    score_candidates: ScoreCandidates,
    config: RankingConfig,
    *,
    node_types: NodeTypes | None = None,
    size: int | None = None,
    sample: int | None = None,
    sampled_lists_only: bool = False,
    device: str = "cpu",
    seed: int = 0,
) -> HiddenRanking:
    """Candidates as `recommend` generates them on what is known, ranked by the run's network.

    `size`: candidates that the network ranks, as in `rank`. `sample`: in a graph of more nodes, only pairs with an end
    among a sample of nodes, of which the network ranks the share that it ranks of all; `sampled_lists_only`: and of
    these only the pairs on their own candidate lists, so that no other list is made; the network ranks `size` of them.
    """
    graph = task.graph
    n, sample_nodes = graph.num_nodes, None
    if sample is not None and sample < n:
        sample_nodes = np.random.default_rng([seed, 7]).choice(n, sample, replace=False)
    retriever = retriever_of(graph, features, config.candidates, node_types=node_types, device=device)
    candidates = find_candidates(retriever, sources=sample_nodes if sampled_lists_only else None)
    links, nodes = task.links, n
    if sample_nodes is not None:
        inside = _touching(candidates.pairs, sample_nodes, n)
        candidates = _kept(candidates, inside)
        links, nodes = links[_touching(links, sample_nodes, n)], len(sample_nodes)
        if not sampled_lists_only:  # as many of them as the model ranks among those of the whole graph
            share = float(inside.double().mean()) if len(inside) else 1.0
            size = max(1, round(share * shortlist_size(graph.num_edges, size)))
    candidates = _without(candidates, task.excluded)
    if not len(links):
        raise InputError("no hidden link has an end among the sampled nodes: hold out more links")
    ranked = rank(graph, candidates, features, score_candidates, config, size=size)
    return HiddenRanking(task, candidates, ranked, links, nodes)


def report_ranking(found: HiddenRanking, *, title: str = "llwlc") -> RankingReport:
    """How well the run's list, called `title`, and that of each heuristic find the hidden links."""
    task, candidates, ranked, links = found.task, found.candidates, found.ranked, found.links
    graph, hit = task.graph, found.hit
    place = -np.arange(len(hit), dtype=np.float64)
    methods = {title: compute_list_quality(place, hit.numpy(), ranked.all_pairs.numpy(), links.numpy())}
    hidden = among(candidates.pairs, links, graph.num_nodes).numpy()
    for heuristic in list_applicable(graph, bipartite=detect_node_types(graph).is_bipartite):
        score = heuristic.load()(graph, candidates.pairs)
        methods[heuristic.title] = compute_list_quality(
            score.double().numpy(), hidden, candidates.pairs.numpy(), links.numpy()
        )
    rho = len(task.links) / max(graph.num_edges, 1)
    reliable = compute_reliability(ranked, hit[: len(ranked.pairs)], rho)
    return RankingReport(
        task.name, len(links), int(hit.sum()), len(candidates), found.nodes, graph.num_nodes, methods, reliable
    )


def compute_reliability(ranked: RankedCandidates, hit: Tensor, rho: float) -> Reliability:
    """The best thousand candidates in ten bins: predicted probability and share of hidden links, where `rho` links are
    hidden for each known one.
    """
    shown = min(BINS * CANDIDATES_PER_BIN, len(hit))
    predicted = torch.sigmoid(ranked.log_ratio[:shown] + math.log(rho))
    parts = [slice(at, min(at + CANDIDATES_PER_BIN, shown)) for at in range(0, shown, CANDIDATES_PER_BIN)]
    bins = tuple((float(predicted[part].mean()), float(hit[part].double().mean())) for part in parts)
    error = sum(abs(a - b) * (part.stop - part.start) for (a, b), part in zip(bins, parts, strict=True)) / max(shown, 1)
    return Reliability(bins, error)


def estimate_precision(
    ranked: RankedCandidates,
    config: RankingConfig,
    rho: float,
    top: int,
    *,
    direction: Tensor | None = None,
    seed: int = 0,
) -> tuple[float, float, float]:
    """The expected share of missing links among the `top` best, and its 90 % range, which covers the uncertainty of the
    calibration and chance; `direction [m]`: the chance of the direction of each, which counts too.
    """
    top = min(top, len(ranked.pairs))
    if not top:
        return 0.0, 0.0, 0.0
    predicted = torch.sigmoid(ranked.log_ratio[:top] + math.log(rho))
    probabilities = torch.sigmoid(config.calibration.draws(ranked.score[:top], ranked.sharing[:top]) + math.log(rho))
    if direction is not None:
        predicted, probabilities = predicted * direction[:top], probabilities * direction[:top]
    rng = np.random.default_rng(seed)
    many = np.repeat(probabilities.numpy(), max(1, 1000 // len(probabilities)), axis=0)
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
    mask = torch.zeros(n, dtype=torch.bool)
    mask[torch.from_numpy(nodes)] = True
    return mask[pairs].any(1)
