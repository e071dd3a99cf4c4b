"""How a fitted model is evaluated: on its test links, next to the heuristics, and by its list of candidates."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from llwlc import metrics
from llwlc._candidates.node_types import NodeTypes, detect_node_types
from llwlc._support.threads import use_one_thread
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.heuristics._registry import list_applicable
from llwlc.models._base import Adjustable, LinkModel, score_pairs
from llwlc.ranking._adjustment import fit_adjustment
from llwlc.ranking._calibration_counts import CalibrationCounts, LinkNumbers, StageScores
from llwlc.ranking._curve_fitting import fit_candidate_calibration
from llwlc.ranking._evaluation import hide_links, rank_hidden, report_ranking
from llwlc.ranking._list_quality import RankingReport
from llwlc.ranking._ranking import PreparedCandidates, RankingConfig, choose_eval_nodes, make_candidate_scorer, rank
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._negatives import among, pair_number
from llwlc.training._calibration import Calibration
from llwlc.training._node_features import NodeFeatures


def require_held_out(split: LinkSplit) -> None:
    """Refuses a split without validation or test links: no epoch could be chosen, nothing measured."""
    for part, why in (
        ("valid", "the epoch is chosen and probabilities are calibrated on"),
        ("test", "a fit is measured on"),
    ):
        if not all(len(getattr(split, f"{part}_{side}")) for side in ("pos", "neg")):
            raise InputError(
                f"{why} {'validation' if part == 'valid' else part} links, at least one link and one non-link: hold out"
                " some"
            )


def score_links(model: LinkModel, graph: Graph, pos: Tensor, neg: Tensor, *, about: str = "") -> tuple[Tensor, Tensor]:
    """Scores of links `[m]` and of non-links, of the shape `[k]` or `[m, k]` that they have; in one call, as some
    models compute on the whole graph first.
    """
    with use_one_thread():
        scores = score_pairs(model, graph, torch.cat([pos, neg.reshape(-1, 2)]), about=about)
    return scores[: len(pos)], scores[len(pos) :].reshape(neg.shape[:-1])


def measure(model: LinkModel, split: LinkSplit, calibration: Calibration) -> tuple[metrics.Evaluation, float, float]:
    """All metrics of the test links, the calibration error, and the share of links (the prior) that probabilities are
    computed for.
    """
    pos, neg = score_links(model, split.test_graph, split.test_pos, split.test_neg, about="measuring")
    label = torch.cat([torch.ones_like(pos), torch.zeros_like(neg).flatten()])
    share = len(pos) / len(label)
    probability = calibration.probability(torch.cat([pos, neg.flatten()]), prior=share)
    return metrics.evaluate(pos, neg), metrics.calibration_error(probability, label), share


def measure_heuristics(split: LinkSplit) -> dict[str, metrics.Evaluation]:
    """The heuristics on the same test links, by title."""
    evaluation, graph = {}, split.test_graph
    for heuristic in list_applicable(graph, bipartite=detect_node_types(graph).is_bipartite):
        # one call for all pairs: some compute on the whole graph first, which takes longer than any number of pairs
        both = torch.cat([split.test_pos, split.test_neg.reshape(-1, 2)])
        score = heuristic.load()(graph, both)
        pos, neg = score[: len(split.test_pos)], score[len(split.test_pos) :]
        evaluation[heuristic.title] = metrics.evaluate(pos, neg.reshape(split.test_neg.shape[:-1]))
    return evaluation


class CalibratedRanking(NamedTuple):
    """The ranking, calibrated for the links of its own split; the validation stage, and the unit of its scores."""

    config: RankingConfig
    valid: StageScores
    unit: float


def calibrate_candidates(
    model: LinkModel, split: LinkSplit, prepared: PreparedCandidates, features: NodeFeatures
) -> CalibratedRanking:
    """The ranking with the scores of its candidates calibrated on the validation links among them; an `Adjustable`
    model's output for candidates is adjusted before.
    """
    graph, n = split.valid_graph, split.valid_graph.num_nodes
    ranked = rank(
        graph, prepared.valid, features, make_candidate_scorer(model), prepared.config, size=model.limits.shortlist
    )
    numbers = pair_number(ranked.pairs, n)
    hidden = among(ranked.pairs, split.valid_pos, n)
    num_known, score = max(graph.num_edges, 1), ranked.score
    # test links are among the candidates too; only their number is used, not which candidates they are
    rho, other = max(len(split.valid_pos), 1) / num_known, len(split.test_pos) / num_known
    if isinstance(model, Adjustable) and model.adjustable:
        inputs = features.pair_inputs(graph, ranked.pairs)
        adjustment = fit_adjustment(score, inputs, ranked.sharing, hidden, rho=rho, other=other)
        model.adjust(adjustment)
        score = adjustment.score(score, inputs, ranked.sharing)
    own = model.unit == "own" and len(score)
    unit = (float(score.double().std(correction=0)) or 1.0) if own else 1.0
    curves = fit_candidate_calibration(score, ranked.sharing, hidden, rho=rho, other=other, unit=unit)
    stage = StageScores(numbers, score, ranked.sharing, hidden)
    return CalibratedRanking(replace(prepared.config, calibration=curves), stage, unit)


def measure_list(
    model: LinkModel,
    split: LinkSplit,
    features: NodeFeatures,
    calibrated: CalibratedRanking,
    *,
    node_types: NodeTypes | None,
    device: str,
    seed: int,
) -> tuple[RankingReport, RankingConfig]:
    """How well the test links are found, measured on a sample of nodes where all nodes would take long; and the ranking
    with the counts of both stages, by which `recommend` is calibrated for the share of missing links that is stated.
    """
    task, graph, limits, config = hide_links(split), split.test_graph, model.limits, calibrated.config
    n = graph.num_nodes
    sample, sampled_lists_only = choose_eval_nodes(n, graph.num_edges, limits, config.candidates.budget_for(n))
    found = rank_hidden(
        task,
        features,
        make_candidate_scorer(model),
        config,
        node_types=node_types,
        size=limits.shortlist,
        sample=sample,
        sampled_lists_only=sampled_lists_only,
        device=device,
        seed=seed,
    )
    sizes = LinkNumbers(max(split.valid_graph.num_edges, 1), graph.num_edges, len(split.valid_pos), len(split.test_pos))
    counts = CalibrationCounts.of(calibrated.valid, found.scores, sizes, calibrated.unit)
    return report_ranking(found, title=model.title), replace(config, counts=counts)
