"""Scores of pairs by a run, on its own graph or on another one."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from llwlc._io.memory_table import TableSource
from llwlc._runs.directory import Run
from llwlc._runs.update import transfer_run
from llwlc._support.progress import print_notice
from llwlc._support.stopwatch import stage
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.graph._pair_file import DIRECTED_COLUMNS, RESERVED_COLUMNS, are_numbers, read_pairs, resolve_pairs
from llwlc.models._base import score_pairs
from llwlc.ranking._scored_table import ScoredTable, Scores, add_scores
from llwlc.subgraphs._link_inputs import check_pairs
from llwlc.training._calibration import Calibration, log_odds


def score(run: Run, pairs: Any, *, prior: float, graph: Graph | None, unknown: str) -> Scores:
    """See `LinkPredictor.score`."""
    if unknown not in ("error", "blank"):
        raise InputError(
            f"unknown is 'error' or 'blank' here, got {unknown!r}: score_table leaves rows out ('skip') and says which"
        )
    odds = log_odds(prior)
    run, at = (run, None) if graph is None else transfer_run(run, graph)
    if unknown == "blank" and not are_numbers(pairs):
        pair_table = read_pairs(pairs, run.graph, unknown="blank")
        result = _scores(run, check_pairs(run.graph, pair_table.pairs), odds)
        scores = torch.full((pair_table.table.num_rows,), math.nan, dtype=torch.float64)
        probability, rows = scores.clone(), torch.from_numpy(pair_table.rows)
        scores[rows], probability[rows] = result.score, result.probability.double()
        if result.direction is None:
            return Scores(scores, probability)
        direction = torch.full_like(scores, math.nan)
        direction[rows] = result.direction
        return Scores(scores, probability, direction)
    if at is not None and are_numbers(pairs) and graph is not None:
        return _scores(run, at[check_pairs(graph, resolve_pairs(pairs, graph))], odds)
    return _scores(run, check_pairs(run.graph, resolve_pairs(pairs, run.graph)), odds)


def score_table(
    run: Run, pairs: TableSource, *, prior: float, graph: Graph | None, unknown: str, **reading: Any
) -> ScoredTable:
    """See `LinkPredictor.score_table`."""
    odds = log_odds(prior)
    run = run if graph is None else transfer_run(run, graph)[0]
    reserved = RESERVED_COLUMNS if run.directions is None else DIRECTED_COLUMNS
    with stage("reading"):
        pair_table = read_pairs(pairs, run.graph, unknown=unknown, reserved=reserved, **reading)
    return add_scores(pair_table, _scores(run, pair_table.pairs, odds), unknown=unknown, source=pairs)


@stage("scoring")
def _scores(run: Run, numbers: Tensor, odds: float) -> Scores:
    scores = score_pairs(run.fitted.model, run.graph, numbers, about="scoring pairs")
    calibration = run.fitted.calibration
    exists = Scores(calibration.log_odds(scores), calibration.at(scores, odds))
    if run.new is not None and bool((cold := run.new[numbers].any(1)).any()) and run.cold_start is not None:
        print_notice(run.cold_start.sentence)
        score = exists.score.double()
        score[cold] = run.cold_start.log_odds(numbers[cold], run.new)[:, 0]
        exists = Scores(score, Calibration().at(score, odds))
    if run.directions is None:
        return exists
    forward = run.directions(numbers).forward
    directed = torch.logit(torch.special.expit(exists.score.double()) * forward)
    return Scores(directed, exists.probability.double() * forward, forward)
