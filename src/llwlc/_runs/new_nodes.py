"""Recommended links of nodes that a run does not know and that have no links yet, by their features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from llwlc._candidates.scope import CandidateScope
from llwlc._runs.directory import Run
from llwlc._runs.update import find_new_nodes, transfer_pairs, transfer_run
from llwlc._support.progress import print_notice
from llwlc._support.stopwatch import stage
from llwlc._support.text import quote_text
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.graph._names import find_nodes
from llwlc.heuristics._neighbors import common_neighbors
from llwlc.ranking._both_ways import rank_both_ways
from llwlc.ranking._ranking import RankedCandidates
from llwlc.ranking._recommendations import Recommendation, Recommendations, compute_distances, find_cutoff
from llwlc.ranking._recommender import RecommendRequest
from llwlc.training._calibration import log_odds

MOST_KEPT = 10_000
"""Maximum number of links of a list by `precision`."""
MOST_NAMED = 5
"""Maximum number of names in a notice."""


def are_new(run: Run, graph: Graph | None, node: int | None, sources: np.ndarray | None) -> bool:
    """Whether a list is requested only for new nodes without links, in a graph that has their features."""
    asked = sources if node is None else np.array([node])
    if graph is None or graph.x is None or asked is None or not len(asked):
        return False
    return bool(find_new_nodes(run.graph, graph)[torch.from_numpy(asked)].all())


def choose_new_nodes(known: Graph, graph: Graph, names: Sequence[str]) -> list[str]:
    """The names that the known graph does not have and that have no links, or all names if there are none; prints which
    are left out.

    Args:
        known: the graph of the run.
        graph: the updated one, which has all names.
        names: those of a table of new nodes.
    """
    new = find_new_nodes(known, graph)[torch.from_numpy(find_nodes(pa.array(names), graph.names, graph.num_nodes))]
    others = [name for name, is_new in zip(names, new.tolist(), strict=True) if not is_new]
    if not others or not bool(new.any()):
        return list(names)
    listed = ", ".join(map(quote_text, others[:MOST_NAMED])) + (", …" if len(others) > MOST_NAMED else "")
    print_notice(
        f"{len(others):,} of the {len(names):,} new nodes are known to the run or have links ({listed}): the list is"
        " that of the others; --node NAME lists the links of one"
    )
    return [name for name, is_new in zip(names, new.tolist(), strict=True) if is_new]


@stage("listing")
def recommend_for_new_nodes(run: Run, graph: Graph, sources: np.ndarray, request: RecommendRequest) -> Recommendations:
    """The likeliest links of new nodes, by number, best first. Every node is a candidate. If no share of links is
    stated (`prior`), a new node is taken to have as many links as the nodes that have some.
    """
    if request.missing_share is not None or request.between is not None or request.budget is not None:
        raise InputError(
            "all links of a node without links are missing, and all nodes are candidates: leave missing_share, between"
            " and budget out (prior states the share of pairs that are links)"
        )
    other = transfer_run(run, graph)[0]
    scope = request.scope
    known_neg = transfer_pairs(run.graph, graph, run.split.known_neg)
    never = CandidateScope.of(graph.num_nodes, excluded=known_neg)
    per_node = float(graph.degree[graph.degree > 0].double().mean())
    usual = min(per_node / max(graph.num_nodes - 1, 1), 0.5)
    rho = math.exp(log_odds(usual if request.prior is None else request.prior))
    size = MOST_KEPT if request.precision is not None else 20 if request.top is None else request.top
    assert other.cold_start is not None
    assert other.new is not None
    print_notice(other.cold_start.sentence)
    pairs, odds = torch.zeros(0, 2, dtype=torch.long), torch.zeros(0, 1 + len(other.cold_start.spread))
    candidates = 0
    for node in sources.tolist():
        targets = torch.arange(graph.num_nodes)
        some = torch.stack([torch.full_like(targets, node), targets], 1)
        keep = targets != node
        for part in (scope, never):
            keep &= torch.ones(len(keep), dtype=torch.bool) if part is None else _allowed(part, some)
        # a pair of two new nodes is one pair
        keep &= ~(torch.isin(targets, torch.from_numpy(sources)) & (targets < node))
        some = some[keep]
        candidates += len(some)
        pairs, odds = torch.cat([pairs, some]), torch.cat([odds.double(), other.cold_start.log_odds(some, other.new)])
        best = torch.argsort(odds[:, 0], descending=True, stable=True)[:size]
        pairs, odds = pairs[best], odds[best]
    way = None
    if other.directions is not None and len(pairs):
        none = torch.zeros(len(pairs), dtype=torch.bool)
        ranked = RankedCandidates(pairs, torch.arange(len(pairs)), none, odds[:, 0], pairs[:0])
        both_ways, way = rank_both_ways(ranked, rho, size, other.directions, None)
        pairs, odds = both_ways.pairs, odds[both_ways.score]
    chances = torch.sigmoid(odds + math.log(rho)) * (1.0 if way is None else way[:, None])
    if request.precision is not None:
        top = find_cutoff(chances[:, 0], request.precision)
        pairs, odds, chances, way = pairs[:top], odds[:top], chances[:top], None if way is None else way[:top]
    links = _describe(graph, pairs, odds, chances, way)
    return Recommendations(
        links, rho, _expected(chances), candidates, directed=way is not None, links_per_new_node=per_node
    )


def _allowed(scope: CandidateScope, pairs: Tensor) -> Tensor:
    """Which pairs of a new node and another node a scope allows."""
    allowed = scope.allows(pairs)
    return allowed if scope.excluded is None else allowed & ~scope.excluded.has_edges(pairs)


def _describe(
    graph: Graph, pairs: Tensor, odds: Tensor, chances: Tensor, way: Tensor | None
) -> tuple[Recommendation, ...]:
    score = odds[:, 0] if way is None else torch.logit(torch.sigmoid(odds[:, 0]) * way)
    columns: list[Any] = [
        score.tolist(),
        chances[:, 0].tolist(),
        chances.amin(1).tolist(),
        chances.amax(1).tolist(),
        odds[:, 0].tolist(),
        common_neighbors(graph, pairs).tolist() if len(pairs) else [],
        compute_distances(graph, pairs) if len(pairs) else [],
        [None] * len(pairs) if way is None else way.tolist(),
    ]
    return tuple(
        Recommendation(graph.name(u), graph.name(v), *rest)
        for (u, v), *rest in zip(pairs.tolist(), *columns, strict=True)
    )


def _expected(chances: Tensor) -> tuple[float, float, float]:
    """The expected share of links by the first fit of `chances [k, 1 + folds]`, and its 90 % range: sampling noise
    around the lowest and the highest share that one of the fits expects.
    """
    if not len(chances):
        return 0.0, 0.0, 0.0
    mean = chances.mean(0)
    error = 1.645 * (chances * (1 - chances)).sum(0).sqrt() / len(chances)
    return float(mean[0]), max(float((mean - error).min()), 0.0), min(float((mean + error).max()), 1.0)
