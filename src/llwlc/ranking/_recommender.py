"""Recommender: the missing links of a graph, or of one node, best first."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from llwlc._candidates.node_types import NodeTypes
from llwlc._candidates.retrieval import Candidates, find_candidates
from llwlc._candidates.retriever import CandidateRetriever
from llwlc._candidates.scope import CandidateScope
from llwlc._support.stopwatch import stage
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.models._base import LinkModel, score_pairs
from llwlc.ranking._both_ways import OneWay, rank_both_ways
from llwlc.ranking._candidate_calibration import ratio_from_share
from llwlc.ranking._engine import Engine
from llwlc.ranking._evaluation import estimate_precision
from llwlc.ranking._ranking import (
    RankedCandidates,
    RankingConfig,
    draw_sources,
    make_candidate_scorer,
    rank,
    retriever_of,
)
from llwlc.ranking._recommendations import (
    Recommendation,
    Recommendations,
    describe_pairs,
    find_cutoff,
    find_ratio_for_prior,
)
from llwlc.training._calibration import Calibration, log_odds
from llwlc.training._node_features import NodeFeatures


@dataclass(frozen=True)
class RecommendRequest:
    """What is asked of `recommend`: see `LinkPredictor.recommend`."""

    top: int | None = None
    precision: float | None = None
    missing_share: float | None = None
    prior: float | None = None
    between: tuple[str, str] | None = None
    budget: int | None = None
    sources: int | None = None
    scope: CandidateScope | None = None

    def __post_init__(self) -> None:
        for name in ("top", "budget", "sources"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise InputError(f"{name} is a whole number of at least 1, got {value!r}")
        if self.top is not None and self.precision is not None:
            raise InputError("top and precision both set the number of links: give one of them")
        if self.missing_share is not None and self.prior is not None:
            raise InputError("missing_share and prior both say how many links are missing: give one of them")
        if self.sources is not None and self.scope is not None and self.scope.ends is not None:
            raise InputError("sources draws nodes at random, and sets of nodes name them: give one of them")
        # bad ones are refused before the work
        if self.missing_share is not None:
            ratio_from_share(self.missing_share)
        if self.prior is not None:
            log_odds(self.prior)
        if self.precision is not None:
            find_cutoff(torch.zeros(0), self.precision)


@dataclass(eq=False, repr=False)
class Recommender:
    """A fitted model on a graph. `node_types`: the type of each node, where they are known; `seed` of nodes that are
    drawn; candidates are found once and kept.
    """

    graph: Graph
    model: LinkModel
    features: NodeFeatures
    config: RankingConfig
    calibration: Calibration
    """Of the scores among random pairs."""
    node_types: tuple[str, ...] | None = None
    known_neg: Tensor | None = None
    """Known non-links, which are never candidates."""
    seed: int = 0
    device: str = "cpu"
    known: tuple[Any, Candidates] | None = field(default=None)
    """The candidates that were found last, and for which request."""
    ranking: tuple[Candidates, RankedCandidates] | None = field(default=None)
    """The order of `known`, so that another share or length of the list is not scored again."""
    directions: OneWay | None = None
    """Which way links point, of a directed run."""

    def __repr__(self) -> str:
        return f"Recommender({self.model.title} on {self.graph})"

    @stage("listing")
    def recommend(
        self, request: RecommendRequest, *, node: int | None = None, engine: Engine | None = None
    ) -> Recommendations:
        """The missing links; those of one node, by number, where it is given. `engine`: workers that make the lists and
        score the pairs instead of this process.
        """
        if node is not None and request.sources is not None:
            raise InputError(
                "node asks for one node's links and sources for those of nodes drawn at random: give one of them"
            )
        if engine is not None and (request.sources is not None or request.scope is not None):
            raise InputError(
                "an engine makes the lists of all nodes, of all pairs: leave sources and sets of nodes out"
            )
        here, config = self.graph, self.config
        candidates, total, before = self._candidates_for(request, node, engine)
        ranked = self._rank(candidates, engine)
        rho = config.missing_per_known
        if request.missing_share is not None:
            rho = ratio_from_share(request.missing_share)
        if request.prior is not None:
            rho = find_ratio_for_prior(ranked, config, len(candidates), request.prior)
        config = config.calibrate(rho)
        ranked = ranked.sort_by(config.calibration)
        top, way = 20 if request.top is None else request.top, None
        if self.directions is not None:
            most = top if request.precision is None else 2 * len(ranked.pairs)
            ranked, way = rank_both_ways(ranked, rho, most, self.directions, request.scope)
        if request.precision is not None:
            chance = torch.sigmoid(ranked.log_ratio + math.log(rho))
            top = find_cutoff(chance if way is None else chance * way, request.precision)
        if request.scope is not None and way is None:
            ranked = replace(ranked, pairs=request.scope.orient(ranked.pairs))
        links = describe_pairs(here, ranked, config, rho, top, self._random_log_odds, way)
        if node is not None and way is None:
            links = tuple(_first(link, here.name(node)) for link in links)
        expected = estimate_precision(ranked, config, rho, len(links), direction=way)
        some = None if request.sources is None or request.sources >= here.num_nodes else request.sources
        assumed = request.missing_share is None and request.prior is None
        directed = way is not None
        return Recommendations(links, rho, expected, total, some, before, assumed, directed)

    @stage("ranking")
    def _rank(self, candidates: Candidates, engine: Engine | None) -> RankedCandidates:
        """The candidates that the model scored, best first."""
        before = self.ranking  # as a name of this call: another thread may rank others meanwhile
        if before is not None and before[0] is candidates:
            return before[1]
        scores = make_candidate_scorer(self.model) if engine is None else engine.score_candidates
        size = self.model.limits.shortlist
        ranked = rank(self.graph, candidates, self.features, scores, self.config, size=size, keep_rest=False)
        if self.known is not None and self.known[1] is candidates:
            self.ranking = candidates, ranked
        return ranked

    def _random_log_odds(self, graph: Graph, pairs: Tensor) -> Tensor:
        return self.calibration.log_odds(score_pairs(self.model, graph, pairs))

    def make_retriever(
        self,
        between: tuple[str, str] | None = None,
        budget: int | None = None,
        scope: CandidateScope | None = None,
    ) -> CandidateRetriever:
        """The object that makes the nodes' candidate lists.

        Args:
            between: two node types that candidates must join; None for all.
            budget: maximum number of candidates that a node may propose; None for the run's own.
            scope: the pairs that may be candidates; None for all.
        """
        config = self.config.candidates
        config = config if budget is None else replace(config, budget=budget)
        if between is not None and self.node_types is None:
            raise InputError("this run was fitted without node types: fit with a column of them (--node-type COLUMN)")
        allowed = self.linked_node_types
        if between is not None and self.node_types is not None:
            allowed = NodeTypes.between(self.node_types, *between)
        retriever = retriever_of(self.graph, self.features, config, node_types=allowed, device=self.device)
        known = CandidateScope.of(self.graph.num_nodes, excluded=self.known_neg)
        for part in (known, scope):
            retriever = retriever if part is None else retriever.within(part)
        return retriever

    @property
    def linked_node_types(self) -> NodeTypes | None:
        """Which node types known links join; None where types are not known."""
        return None if self.node_types is None else NodeTypes.from_links(self.node_types, self.graph)

    @stage("candidates")
    def _candidates_for(
        self, request: RecommendRequest, node: int | None, engine: Engine | None
    ) -> tuple[Candidates, int, int | None]:
        """The candidates to rank, how many there were to choose from, and how many a node had when probabilities were
        calibrated, if a node's list is longer than those.
        """
        if node is not None and engine is None and self._lists_are_cut(request.budget):
            retriever = self.make_retriever(request.between, request.budget)
            alone = replace(retriever, num_proposing_nodes=1)
            alone = alone if request.scope is None else alone.within(request.scope)
            candidates = find_candidates(alone, sources=np.array([node]), about="")
            usual = self.config.candidates.budget_for(self.graph.num_nodes)
            return candidates, len(candidates), usual if usual < alone.budget else None
        scope = request.scope
        key = (request.between, request.budget, request.sources, None if scope is None else scope.key)
        known = self.known  # as a name of this call: another thread may ask for other candidates meanwhile
        if known is None or known[0] != key:  # the lists of the whole graph and of a node use the same pairs
            sources = draw_sources(self.graph.num_nodes, request.sources, self.seed)
            lists = None if engine is None else engine.lists
            retriever = self.make_retriever(request.between, request.budget, scope)
            known = self.known = (key, find_candidates(retriever, sources=sources, lists=lists))
        candidates, total = known[1], len(known[1])
        if node is not None:
            own = candidates.of(node)
            candidates = replace(candidates, pairs=candidates.pairs[own], score=candidates.score[own])
        return candidates, total, None

    def _lists_are_cut(self, budget: int | None) -> bool:
        """Whether lists of all nodes would be shorter than asked, or were more than the plan of the run allowed: then
        the list of one node is its own, in full, and no other is made.
        """
        config, n, some = self.config.candidates, self.graph.num_nodes, self.model.limits.sources
        adjusted = config if budget is None else replace(config, budget=budget)
        return adjusted.budget_for(n) < adjusted.budget or (some is not None and some < n)


def _first(link: Recommendation, name: str) -> Recommendation:
    """The link with the node of this name as its source."""
    return link if link.source == name else replace(link, source=link.target, target=link.source)
