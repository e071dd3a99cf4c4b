"""Lists of missing links by a run."""

from __future__ import annotations

from dataclasses import replace

from llwlc._runs.directory import Run
from llwlc._runs.update import transfer_pairs, transfer_run
from llwlc._support.stopwatch import stage
from llwlc.graph._graph import Graph
from llwlc.ranking._evaluation import hide_links, rank_hidden, report_ranking
from llwlc.ranking._list_quality import RankingReport
from llwlc.ranking._ranking import make_candidate_scorer
from llwlc.ranking._recommender import Recommender


def make_recommender(run: Run, device: str) -> Recommender:
    """The recommender of a run, on its graph."""
    fitted = run.fitted
    assert fitted.ranking is not None  # only fits that are compared with each other go without
    return Recommender(
        run.graph,
        fitted.model,
        fitted.features,
        fitted.ranking,
        fitted.calibration,
        node_types=run.node_types,
        known_neg=run.split.known_neg,
        seed=run.split.seed,
        device=device,
        directions=run.directions,
    )


def transfer_recommender(here: Recommender, run: Run, graph: Graph) -> Recommender:
    """The same on another graph with nodes of the same kind."""
    other = transfer_run(run, graph)[0]
    return replace(
        here,
        graph=other.graph,
        model=other.fitted.model,
        features=other.fitted.features,
        node_types=other.node_types,
        known_neg=transfer_pairs(run.graph, other.graph, run.split.known_neg),
        known=None,
        directions=other.directions,
    )


@stage("ranking")
def measure_recommendations(here: Recommender, run: Run, hidden: str) -> RankingReport:
    """How well the recommender finds the links that the run's split hides."""
    task = hide_links(run.split, hidden)
    found = rank_hidden(
        task,
        here.features,
        make_candidate_scorer(here.model),
        here.config,
        node_types=replace(here, graph=task.graph, known=None).linked_node_types,
        device=here.device,
        size=here.model.limits.shortlist,
    )
    return report_ranking(found, title=here.model.title)
