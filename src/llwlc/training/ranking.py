"""From a graph to its candidates, the likeliest missing link first: lists, shortlist, network, calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc.bases.config import BasisConfig
from llwlc.bases.encoded_links import messages_on
from llwlc.candidates.choice import chosen
from llwlc.candidates.config import CandidateConfig
from llwlc.candidates.kinds import Kinds, kinds_of
from llwlc.candidates.lists import CROWDED_NODES, Lister, lister_for
from llwlc.candidates.nearest import EXACT_NODES
from llwlc.candidates.retrieval import Candidates, candidates, would_be_candidates
from llwlc.graph.graph import Graph
from llwlc.splits.linksplit import LinkSplit
from llwlc.support.progress import bars
from llwlc.training.calibration import Calibration
from llwlc.training.candidate_calibration import CandidateCalibration
from llwlc.training.config import TrainConfig
from llwlc.training.encoded_split import CandidateLinks, training_positives
from llwlc.training.limits import Limits
from llwlc.training.node_features import NodeFeatures
from llwlc.training.scoring import CANDIDATES, PairScorer
from llwlc.training.shortlist import Shortlist, fit_shortlist

SHORTLIST, FOR_EACH_LINK = 10_000, 4
"""How many candidates the network ranks: the first number, or the second one for each link of the graph, whichever is more."""
COMPARED = 2_000_000_000  # limit for the number of tested links times the number of nodes: each link is compared with all nodes
GIST_SHARE = 0.15
"""Of leading directions in the similarity by which lists are made, where crowds are computed too: chosen among 0, 0.15 and 0.3 on Cora and Citeseer, seeds 0, 3, 4. (On
Pubmed, 19,717 nodes, it gained nothing.)"""
DESCRIBED = 1 << 21
"""Candidates whose inputs are computed together."""
VALID_FEWEST, VALID_MOST = 1_000, 4_000  # candidates by which an epoch is judged


@dataclass(frozen=True)
class RankingConfig:
    """How candidates are found, shortlisted and calibrated; stored with the run."""

    candidates: CandidateConfig
    shortlist: Shortlist | None
    calibration: CandidateCalibration
    missing_per_known: float
    """Missing links for each known one, unless the user states another ratio: that of the validation links."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """Candidates that the network has scored: `pairs [m, 2]`, its `score [m]`, whether they share a neighbour, and `log_ratio [m]`, by which they are sorted,
    descending; `rest [k, 2]`: the other candidates, in the order of the shortlist."""

    pairs: Tensor
    score: Tensor
    sharing: Tensor
    log_ratio: Tensor
    rest: Tensor

    @property
    def all_pairs(self) -> Tensor:
        return torch.cat([self.pairs, self.rest])


def shortlist_size(num_links: int, wanted: int | None) -> int:
    """Candidates that the network ranks on a graph of so many links."""
    return max(SHORTLIST, FOR_EACH_LINK * num_links) if wanted is None else wanted


COMPARED_LISTS = 25
"""Candidates that untrained scores rank to measure a fit, for each that the network does."""


class MeasuredNodes(NamedTuple):
    """The nodes whose candidates measure a fit: their number, and whether only pairs on their own lists count, so that no other list is made."""

    nodes: int
    own_lists: bool


def nodes_to_measure(num_nodes: int, num_links: int, limits: Limits, budget: int) -> MeasuredNodes:
    """The nodes whose candidates measure a fit on a graph; all, unless those were too many to rank, or the limits say that not all lists are made."""
    ranked, listed = shortlist_size(num_links, limits.shortlist), num_nodes * budget
    share = min(1.0, limits.measured / max(ranked, 1), COMPARED_LISTS * limits.measured / max(listed, 1))
    count = num_nodes if share == 1 else max(1, round(num_nodes * share))
    sources = num_nodes if limits.sources is None else limits.sources
    return MeasuredNodes(min(count, sources), sources < num_nodes)


def rank(
    graph: Graph,
    found: Candidates,
    features: NodeFeatures,
    scorer: PairScorer,
    basis: BasisConfig,
    config: RankingConfig,
    *,
    size: int | None = None,
) -> Ranked:
    """The candidates of a graph, best first; the network scores the `size` most promising ones."""
    order = torch.argsort(_promise(graph, found, features, config), descending=True, stable=True)
    # in the order of their numbers, so that neighbouring pairs share what is in the cache of the processor
    count = shortlist_size(graph.num_edges, size)
    near, rest = order[:count].sort().values, order[count:]
    pairs = found.pairs[near]
    sharing = features.pair_inputs(graph, pairs)[:, 0] > 0
    score = _scored(graph, pairs, scorer, basis)
    log_ratio = config.calibration.log_ratio(score, sharing)
    best = torch.argsort(log_ratio, descending=True, stable=True)
    return Ranked(pairs[best], score[best], sharing[best], log_ratio[best], found.pairs[rest])


def _promise(graph: Graph, found: Candidates, features: NodeFeatures, config: RankingConfig) -> Tensor:
    """By which the shortlist is made, `[m]`; some at a time, since the statistics of twenty million pairs take several times the memory of the pairs."""
    if config.shortlist is None:
        return found.score
    inputs, promise = features.pair_inputs, torch.empty(len(found))
    for begin in range(0, len(found), DESCRIBED):
        some = slice(begin, begin + DESCRIBED)
        promise[some] = config.shortlist.score(found.score[some], inputs(graph, found.pairs[some]))
    return promise


def _scored(graph: Graph, pairs: Tensor, scorer: PairScorer, basis: BasisConfig) -> Tensor:
    parts = [torch.zeros(0, dtype=torch.float64)]
    with bars() as progress:
        task = progress.add_task("scoring candidates", total=len(pairs))
        for part in scorer.pairs(messages_on(graph, scorer.device), pairs, basis, CANDIDATES):
            parts.append(part)
            progress.advance(task, len(part))
    return torch.cat(parts)


def lister_of(
    graph: Graph, features: NodeFeatures, config: CandidateConfig, *, kinds: Kinds | None = None, device: str = "cpu"
) -> Lister:
    """The lister of a run on a graph; a bipartite one is recognised unless kinds are given."""
    return lister_for(
        graph,
        features.comparable,
        config,
        gist=features.gist if config.gist else None,
        kinds=kinds_of(graph) if kinds is None else kinds,
        device=device,
    )


def first_config(features: NodeFeatures, budget: int) -> CandidateConfig:
    """How candidates are looked for in a new run, before weights are chosen."""
    few = features.unit is not None and features.unit.shape[0] <= CROWDED_NODES
    return CandidateConfig(budget=budget, gist=GIST_SHARE if few and features.gist is not None else 0.0)


def drawn_sources(num_nodes: int, most: int | None, seed: int) -> NDArray[np.int64] | None:
    """The nodes that propose candidates, drawn at random; None for all."""
    if most is None or most >= num_nodes:
        return None
    return np.random.default_rng([seed, 13]).choice(num_nodes, most, replace=False)


def links_to_judge(num_nodes: int, most: int) -> int:
    """How many training links are tested for whether they would be candidates."""
    return most if num_nodes > EXACT_NODES else max(1, min(most, COMPARED // max(num_nodes, 1)))


@dataclass(frozen=True, eq=False)
class Prepared:
    """The candidates as prepared before training: `config` without its calibration, and the links to train on."""

    config: RankingConfig
    links: CandidateLinks
    valid: Candidates


def prepare(
    split: LinkSplit,
    features: NodeFeatures,
    train: TrainConfig,
    *,
    budget: int,
    limits: Limits | None = None,
    kinds: Kinds | None = None,
    device: str = "cpu",
) -> Prepared:
    """Choose the weights of own lists by validation links, find the candidates on the training messages, and fit the shortlist on training links as if each were missing."""
    limits = Limits() if limits is None else limits
    base = lister_of(split.valid_graph, features, first_config(features, budget), kinds=kinds, device=device)
    lister = base.weighed(chosen(base, split.valid_pos, links=limits.weighed))
    n, rng = split.valid_graph.num_nodes, np.random.default_rng([train.seed, 12])
    found = candidates(lister, sources=drawn_sources(n, limits.sources, train.seed))
    positives = training_positives(split, train)
    some = links_to_judge(n, limits.judged)
    looked_at = torch.from_numpy(np.sort(rng.permutation(len(positives))[:some]))
    member, listed = torch.zeros(len(positives), dtype=torch.bool), torch.full((len(positives),), float("-inf"))
    member[looked_at], listed[looked_at] = would_be_candidates(lister, positives[looked_at], found.length)
    count = min(train.candidate_pool * len(positives), len(found))
    drawn = torch.from_numpy(np.sort(rng.choice(len(found), count, replace=False)))
    valid, place = found.find(split.valid_pos)
    links = CandidateLinks(
        member,
        found.pairs[drawn][torch.from_numpy(rng.permutation(count))],
        split.valid_pos[valid],
        _others(found.pairs, place[valid], min(max(len(split.valid_pos), VALID_FEWEST), VALID_MOST), rng),
    )
    shortlist = None
    if bool(member.any()) and count:
        pairs = torch.cat([positives[member], found.pairs[drawn]])
        score = torch.cat([listed[member], found.score[drawn]])
        label = torch.cat([torch.ones(int(member.sum())), torch.zeros(count)])
        shortlist = fit_shortlist(score, features.pair_inputs(split.train_graph, pairs), label)
    known = max(split.valid_graph.num_edges, 1)
    uncalibrated = CandidateCalibration.as_random(Calibration())
    config = RankingConfig(lister.config, shortlist, uncalibrated, max(len(split.valid_pos), 1) / known)
    return Prepared(config, links, found)


def _others(pairs: Tensor, links: Tensor, count: int, rng: np.random.Generator) -> Tensor:
    """A sample of the candidates that are not at the places of the links."""
    other = torch.ones(len(pairs), dtype=torch.bool)
    other[links] = False
    free = other.nonzero().view(-1).numpy()
    return pairs[torch.from_numpy(np.sort(rng.permutation(free)[:count]))]
