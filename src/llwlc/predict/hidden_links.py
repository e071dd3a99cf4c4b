"""The ranking of `recommend`, measured by links that were hidden from it, beside every score that needs no training."""

from __future__ import annotations

import torch
from torch import Tensor

from llwlc.bases.encoded_links import messages_on
from llwlc.candidates.retrieval import candidates
from llwlc.errors import InputError
from llwlc.graph.graph import Graph
from llwlc.heuristics.registry import HEURISTICS
from llwlc.predict.list_quality import RankingReport, list_quality
from llwlc.predict.run_directory import Run
from llwlc.splits.linksplit import LinkSplit
from llwlc.splits.negatives import pair_number
from llwlc.support.progress import bars
from llwlc.training.scoring import Scorer

HIDDEN = ("test", "held-out")


def measure_ranking(run: Run, scorer: Scorer, *, hidden: str = "test") -> RankingReport:
    """Candidates as `recommend` generates them on what the run may know, ranked by its network and by each heuristic.

    `hidden`: "test", on the messages of the test stage, validation links that are not among these taken out of the candidates; or "held-out", validation
    and test links together, on the training links alone. (The epoch was chosen on validation links, so the network has an advantage there.)
    """
    graph, truth, left_out = _hide(run.split, hidden)
    n = graph.num_nodes
    pairs = torch.cat([torch.zeros(0, 2, dtype=torch.long), *candidates(graph, run.fitted.features)])
    number = pair_number(pairs, n)
    known = torch.isin(number, pair_number(left_out, n))
    pairs, number = pairs[~known], number[~known]
    hit = torch.isin(number, pair_number(truth, n))
    scores = {"llwlc": _scored(scorer, graph, pairs, run)}
    for heuristic in HEURISTICS.records():
        if not heuristic.features or graph.x is not None:
            scores[heuristic.title] = heuristic.load()(graph, pairs)
    methods = {
        name: list_quality(score.double().numpy(), hit.numpy(), pairs.numpy(), truth.numpy())
        for name, score in scores.items()
    }
    return RankingReport(len(truth), int(hit.sum()), len(pairs), methods)


def _hide(split: LinkSplit, hidden: str) -> tuple[Graph, Tensor, Tensor]:
    """The graph that is left, the hidden links, each once, and pairs that are neither."""
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
    return graph, truth, other


def _scored(scorer: Scorer, graph: Graph, pairs: Tensor, run: Run) -> Tensor:
    parts = [torch.zeros(0, dtype=torch.float64)]
    with bars() as progress:
        task = progress.add_task("scoring candidates", total=len(pairs))
        for found in scorer.pairs(messages_on(graph, scorer.device), pairs, run.fitted.preset.basis):
            parts.append(found)
            progress.advance(task, len(found))
    return torch.cat(parts)
