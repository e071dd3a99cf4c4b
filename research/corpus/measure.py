"""Measures a model on a network: one fit, or one for each fold, evaluated on test links."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from llwlc import metrics
from llwlc._fitting.measure import score_links
from llwlc._predictor import LinkPredictor
from llwlc.graph._graph import Graph
from llwlc.metrics import Evaluation
from llwlc.models._base import RANDOM, LinkModel, score_pairs
from llwlc.models._blend import Blend
from llwlc.models._registry import MODELS
from llwlc.ranking._list_quality import RankingReport
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources
from research.corpus.folds import corpus_splits
from research.corpus.networks import load_network
from research.experiments.cell import Cell

QUICK = ("stack",)
"""Trained models that need neither validation nor a plan, and are fitted as heuristics are: without calibration and
candidates, which AUC and AP do not depend on.
"""


def has_budget(model: str) -> bool:
    """Whether a model is fitted as a user fits it, within minutes."""
    return MODELS[model].trained and model not in QUICK


class OpenBlend(Blend):
    """A blend that keeps every trained member, whether or not it has a weight, so that one fit tells what each of them
    would score alone.
    """

    def _choose(self, trained: list[LinkModel], *rest: Any) -> None:
        super()._choose(trained, *rest)
        self.trained = {model.name: model for model in trained if MODELS[model.name].trained}


def corpus_line(cell: Cell) -> dict[str, Any]:
    """AUC and AP, the mean over folds with the value of each, seconds of fit and scores, and peak memory; of a blend
    also those of its trained members and of their plain sums, and their weights; of a fit within minutes also its list.
    """
    reset = reset_peak_memory()
    graph = load_network(cell.data)
    splits = corpus_splits(graph, cell.seed, int(cell.options.get("folds", 1)))
    begin = time.perf_counter()
    found = [_evaluate(cell, graph, split) for split in splits]
    seconds = time.perf_counter() - begin
    auc, ap = [one["auc"] for one in found], [one["ap"] for one in found]
    line: dict[str, Any] = {"auc": float(np.mean(auc)), "ap": float(np.mean(ap))}
    if len(splits) > 1:
        line["folds"] = {"auc": auc, "ap": ap}
    for name in ("members", "weights", "list", "fit"):
        if name in found[0]:
            line[name] = [one[name] for one in found]
    line |= {"num_test_links": sum(len(split.test_pos) for split in splits), "seconds": round(seconds, 3)}
    peak = read_peak_memory() if reset else None
    return line if peak is None else line | {"peak_mb": peak}


def _evaluate(cell: Cell, graph: Graph, split: LinkSplit) -> dict[str, Any]:
    if not has_budget(cell.method):
        model = MODELS[cell.method].make()
        model = model.fit(split, NodeFeatures(), seed=cell.seed, resources=Resources())
        return _numbers(metrics.evaluate(*score_links(model, split.test_graph, split.test_pos, split.test_neg)))
    blended: str | LinkModel = OpenBlend() if cell.method == Blend.name else cell.method
    minutes = cell.options.get("minutes")
    predictor = LinkPredictor(model=blended, seed=cell.seed, minutes=minutes, device="cpu", cache=None)
    measured = predictor.fit(graph, split=split).metrics_
    found: dict[str, Any] = _numbers(measured.test)
    found["fit"] = {"seconds": round(measured.seconds, 2), "parameters": measured.parameters}
    if measured.ranking is not None:
        found["list"] = _list_numbers(measured.ranking)
    if isinstance(predictor.model_, OpenBlend):
        found |= _member_numbers(predictor.model_, split)
    return found


def _numbers(evaluation: Evaluation) -> dict[str, float]:
    return {"auc": evaluation.auc, "ap": evaluation.average_precision}


def _list_numbers(ranking: RankingReport) -> dict[str, Any]:
    """How many hidden links there are and are candidates, and the precision at 10, 50, ... of each method's list."""
    precision = {
        (Blend.name if title == OpenBlend.__name__ else title): {
            str(k): round(one.value, 4) for k, one in quality.precision.items()
        }
        for title, quality in ranking.methods.items()
    }
    return {"hidden": ranking.hidden, "found": ranking.found, "candidates": ranking.candidates, "precision": precision}


def _member_numbers(blend: OpenBlend, split: LinkSplit) -> dict[str, Any]:
    """AUC and AP of each trained member and of the plain sum of their standardised scores, with ("sum") and without
    each ("sum without ..."); and the weights by name.
    """
    pairs, links = torch.cat([split.test_pos, split.test_neg.reshape(-1, 2)]), len(split.test_pos)
    scores = {name: score_pairs(model, split.test_graph, pairs, RANDOM) for name, model in blend.trained.items()}
    standard = {name: (score - score.mean()) / score.std().clamp_min(1e-12) for name, score in scores.items()}
    if len(standard) > 1:
        total = torch.stack(list(standard.values())).sum(0)
        scores["sum"] = total
        if len(standard) > 2:
            scores |= {f"sum without {name}": total - own for name, own in standard.items()}
    members = {name: _numbers(metrics.evaluate(score[:links], score[links:])) for name, score in scores.items()}
    shares = blend.mixtures[RANDOM].share.tolist()
    weights = {part.name: round(share, 4) for part, share in zip(blend.parts, shares, strict=True)}
    return {"members": members, "weights": weights}


def reset_peak_memory() -> bool:
    """Resets the peak memory if the system can, since one process measures many models; returns whether it could."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def read_peak_memory() -> int | None:
    """Peak resident memory in MB since the last reset."""
    text = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    found = [line.split()[1] for line in text.splitlines() if line.startswith("VmHWM:")]
    return round(int(found[0]) / 1024) if found else None
