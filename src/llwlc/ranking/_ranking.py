"""From a graph to its candidates, the likeliest missing link first: lists, shortlist, network, calibration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc._candidates.config import CandidateConfig
from llwlc._candidates.inner_product_index import EXACT_NODES
from llwlc._candidates.node_types import NodeTypes, detect_node_types
from llwlc._candidates.retrieval import Candidates, check_membership, find_candidates
from llwlc._candidates.retriever import MAX_HUBNESS_NODES, CandidateRetriever, make_retriever
from llwlc._candidates.scope import CandidateScope
from llwlc._candidates.weight_search import search_weights
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.models._base import CANDIDATES, LinkModel, score_pairs
from llwlc.ranking._calibration_counts import CalibrationCounts
from llwlc.ranking._candidate_calibration import CandidateCalibration
from llwlc.ranking._shortlist import Shortlist, fit_shortlist
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._calibration import Calibration
from llwlc.training._candidate_links import CandidateLinks
from llwlc.training._limits import Limits, shortlist_size
from llwlc.training._node_features import NodeFeatures

ScoreCandidates = Callable[[Graph, Tensor], Tensor]
"""Scores `[m]` of candidates `[m, 2]` on a graph, larger is likelier."""
# limit for the number of tested links times the number of nodes: each link is compared with all nodes
MAX_COMPARISONS = 2_000_000_000
SVD_SHARE = 0.15
"""Of leading directions in the similarity by which lists are made, where hubness is computed too: chosen among 0, 0.15
and 0.3 on Cora and Citeseer, seeds 0, 3, 4. (On Pubmed, 19,717 nodes, it gained nothing.)"""
PAIRS_PER_BLOCK = 1 << 21
"""Candidates whose inputs are computed together."""
MIN_VALID_CANDIDATES, MAX_VALID_CANDIDATES = 1_000, 4_000  # candidates that an epoch is validated on


@dataclass(frozen=True)
class RankingConfig:
    """How candidates are found, shortlisted and calibrated; stored with the run."""

    candidates: CandidateConfig
    shortlist: Shortlist | None
    calibration: CandidateCalibration
    missing_per_known: float
    """Missing links for each known one, unless the user states another ratio: that of the validation links."""
    counts: CalibrationCounts | None = None
    """What `calibration` is fitted again on for the share of missing links that is stated; `calibration` itself is that
    of the fit's own split. None until the fit has measured its list."""

    def calibrate(self, missing_per_known: float) -> RankingConfig:
        """The same, calibrated for a graph that lacks `missing_per_known` links for each known one."""
        if self.counts is None:
            return self
        return replace(self, calibration=self.counts.refit(missing_per_known))


@dataclass(frozen=True, eq=False)
class RankedCandidates:
    """Candidates that the network has scored: `pairs [m, 2]`, its `score [m]`, whether they share a neighbour, and
    `log_ratio [m]`, by which they are sorted, descending; `rest [k, 2]`: the other candidates, in the order of the
    shortlist."""

    pairs: Tensor
    score: Tensor
    sharing: Tensor
    log_ratio: Tensor
    rest: Tensor

    def sort_by(self, calibration: CandidateCalibration) -> RankedCandidates:
        """The same candidates in the order of another calibration."""
        log_ratio = calibration.log_ratio(self.score, self.sharing)
        best = torch.argsort(log_ratio, descending=True, stable=True)
        return RankedCandidates(self.pairs[best], self.score[best], self.sharing[best], log_ratio[best], self.rest)

    @property
    def all_pairs(self) -> Tensor:
        return torch.cat([self.pairs, self.rest])


HEURISTIC_CANDIDATES_FACTOR = 25
"""Candidates that heuristics rank to measure a fit, for each that the network does."""


class EvalNodes(NamedTuple):
    """The nodes whose candidates measure a fit: their number, and whether only pairs on their own candidate lists
    count, so that no other list is made.
    """

    nodes: int
    sampled_lists_only: bool


def choose_eval_nodes(num_nodes: int, num_links: int, limits: Limits, budget: int) -> EvalNodes:
    """The nodes whose candidates measure a fit on a graph; all, unless those were too many to rank, or the limits say
    that not all lists are made.
    """
    ranked, listed = shortlist_size(num_links, limits.shortlist), num_nodes * budget
    share = min(
        1.0,
        limits.num_eval_candidates / max(ranked, 1),
        HEURISTIC_CANDIDATES_FACTOR * limits.num_eval_candidates / max(listed, 1),
    )
    count = num_nodes if share == 1 else max(1, round(num_nodes * share))
    sources = num_nodes if limits.sources is None else limits.sources
    return EvalNodes(min(count, sources), sources < num_nodes)


def rank(
    graph: Graph,
    candidates: Candidates,
    features: NodeFeatures,
    score_candidates: ScoreCandidates,
    config: RankingConfig,
    *,
    size: int | None = None,
    keep_rest: bool = True,
) -> RankedCandidates:
    """The candidates of a graph, best first; the model scores the `size` most promising ones. `keep_rest`: whether the
    others are needed too.
    """
    promise = _promise(graph, candidates, features, config)
    if promise.isnan().any():
        raise InputError(
            "the shortlist gives NaN: it is damaged, or features are too large; copy the run again, or fit again"
        )
    count = shortlist_size(graph.num_edges, size)
    if keep_rest:
        order = torch.argsort(promise, descending=True, stable=True)
        near, rest = order[:count], order[count:]
    else:
        near, rest = _find_largest(promise, count), torch.zeros(0, dtype=torch.long)
    near = near.sort().values  # neighbouring pairs share what is in the cache of the processor
    pairs = candidates.pairs[near]
    sharing = features.pair_inputs(graph, pairs)[:, 0] > 0
    score = score_candidates(graph, pairs)
    log_ratio = config.calibration.log_ratio(score, sharing)
    best = torch.argsort(log_ratio, descending=True, stable=True)
    return RankedCandidates(pairs[best], score[best], sharing[best], log_ratio[best], candidates.pairs[rest])


def _find_largest(values: Tensor, count: int) -> Tensor:
    """The positions of the `count` largest, of equals the first: those of a stable sort, without sorting the others."""
    if count >= len(values):
        return torch.arange(len(values))
    least = values.numpy()[np.argpartition(-values.numpy(), count - 1)[count - 1]]
    above, equal = (values > least).nonzero().view(-1), (values == least).nonzero().view(-1)
    return torch.cat([above, equal[: count - len(above)]])


def _promise(graph: Graph, candidates: Candidates, features: NodeFeatures, config: RankingConfig) -> Tensor:
    """By which the shortlist is made, `[m]`; some at a time, since the statistics of twenty million pairs take several
    times the memory of the pairs.
    """
    if config.shortlist is None:
        return candidates.score
    inputs, promise = features.pair_inputs, torch.empty(len(candidates))
    for begin in range(0, len(candidates), PAIRS_PER_BLOCK):
        some = slice(begin, begin + PAIRS_PER_BLOCK)
        promise[some] = config.shortlist.score(candidates.score[some], inputs(graph, candidates.pairs[some]))
    return promise


def make_candidate_scorer(model: LinkModel) -> ScoreCandidates:
    """The scores of a model for candidates, under a progress bar."""
    return lambda graph, pairs: score_pairs(model, graph, pairs, CANDIDATES, about="scoring candidates")


def retriever_of(
    graph: Graph,
    features: NodeFeatures,
    config: CandidateConfig,
    *,
    node_types: NodeTypes | None = None,
    device: str = "cpu",
) -> CandidateRetriever:
    """The retriever of a run on a graph; a bipartite one is recognised unless node types are given."""
    return make_retriever(
        graph,
        features.comparable,
        config,
        svd_vectors=features.svd_vectors if config.svd_similarity else None,
        node_types=detect_node_types(graph) if node_types is None else node_types,
        device=device,
    )


def make_initial_config(features: NodeFeatures, budget: int) -> CandidateConfig:
    """How candidates are looked for in a new run, before weights are chosen."""
    few = features.unit is not None and features.unit.shape[0] <= MAX_HUBNESS_NODES
    return CandidateConfig(budget=budget, svd_similarity=SVD_SHARE if few and features.svd_vectors is not None else 0.0)


def draw_sources(num_nodes: int, most: int | None, seed: int) -> NDArray[np.int64] | None:
    """The nodes that propose candidates, drawn at random; None for all."""
    if most is None or most >= num_nodes:
        return None
    return np.random.default_rng([seed, 13]).choice(num_nodes, most, replace=False)


def cap_membership_links(num_nodes: int, most: int) -> int:
    """How many training links are tested for whether they would be candidates."""
    return most if num_nodes > EXACT_NODES else max(1, min(most, MAX_COMPARISONS // max(num_nodes, 1)))


@dataclass(frozen=True, eq=False)
class PreparedCandidates:
    """The candidates as prepared before training: `config` without its calibration, and the links to train on."""

    config: RankingConfig
    links: CandidateLinks
    valid: Candidates


def prepare_candidates(
    split: LinkSplit,
    features: NodeFeatures,
    model: LinkModel,
    *,
    seed: int = 0,
    node_types: NodeTypes | None = None,
    device: str = "cpu",
) -> PreparedCandidates:
    """Choose the weights of candidate lists by validation links, find the candidates on the training messages, and fit
    the shortlist on training links as if each were missing.
    """
    limits = model.limits
    base = retriever_of(
        split.valid_graph,
        features,
        make_initial_config(features, model.list_length),
        node_types=node_types,
        device=device,
    )
    retriever = base.with_weights(search_weights(base, split.valid_pos, links=limits.num_tuning_links))
    known = CandidateScope.of(split.valid_graph.num_nodes, excluded=split.known_neg)
    retriever = retriever if known is None else retriever.within(known)
    n, rng = split.valid_graph.num_nodes, np.random.default_rng([seed, 12])
    candidates = find_candidates(retriever, sources=draw_sources(n, limits.sources, seed))
    positives = model.training_links(split, seed)
    some = cap_membership_links(n, limits.num_membership_links)
    looked_at = torch.from_numpy(np.sort(rng.permutation(len(positives))[:some]))
    member, listed = torch.zeros(len(positives), dtype=torch.bool), torch.full((len(positives),), float("-inf"))
    member[looked_at], listed[looked_at] = check_membership(retriever, positives[looked_at], candidates.length)
    count = min(model.candidate_pool * len(positives), len(candidates))
    drawn = torch.from_numpy(np.sort(rng.choice(len(candidates), count, replace=False)))
    valid, place = candidates.find(split.valid_pos)
    links = CandidateLinks(
        member,
        candidates.pairs[drawn][torch.from_numpy(rng.permutation(count))],
        split.valid_pos[valid],
        _others(
            candidates.pairs,
            place[valid],
            min(max(len(split.valid_pos), MIN_VALID_CANDIDATES), MAX_VALID_CANDIDATES),
            rng,
        ),
    )
    shortlist = None
    if bool(member.any()) and count:
        pairs = torch.cat([positives[member], candidates.pairs[drawn]])
        score = torch.cat([listed[member], candidates.score[drawn]])
        label = torch.cat([torch.ones(int(member.sum())), torch.zeros(count)])
        shortlist = fit_shortlist(score, features.pair_inputs(split.train_graph, pairs), label)
    num_known = max(split.valid_graph.num_edges, 1)
    uncalibrated = CandidateCalibration.as_random(Calibration())
    config = RankingConfig(retriever.config, shortlist, uncalibrated, max(len(split.valid_pos), 1) / num_known)
    return PreparedCandidates(config, links, candidates)


def _others(pairs: Tensor, links: Tensor, count: int, rng: np.random.Generator) -> Tensor:
    """A sample of the candidates that are not at the places of the links."""
    other = torch.ones(len(pairs), dtype=torch.bool)
    other[links] = False
    free = other.nonzero().view(-1).numpy()
    return pairs[torch.from_numpy(np.sort(rng.permutation(free)[:count]))]
