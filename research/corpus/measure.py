"""Measures a model on a network: one fit, or one for each fold, evaluated on test links."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from llwlc import metrics
from llwlc._fitting.measure import score_links
from llwlc._predictor import LinkPredictor
from llwlc.graph._graph import Graph
from llwlc.metrics import Evaluation
from llwlc.models._registry import MODELS
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


def corpus_line(cell: Cell) -> dict[str, Any]:
    """AUC and AP, the mean over folds with the value of each, seconds of fit and scores, and peak memory."""
    reset = reset_peak_memory()
    graph = load_network(cell.data)
    splits = corpus_splits(graph, cell.seed, int(cell.options.get("folds", 1)))
    begin = time.perf_counter()
    found = [_evaluate(cell, graph, split) for split in splits]
    seconds = time.perf_counter() - begin
    auc, ap = [one.auc for one in found], [one.average_precision for one in found]
    line: dict[str, Any] = {"auc": float(np.mean(auc)), "ap": float(np.mean(ap))}
    if len(splits) > 1:
        line["folds"] = {"auc": auc, "ap": ap}
    line |= {"num_test_links": sum(len(split.test_pos) for split in splits), "seconds": round(seconds, 3)}
    peak = read_peak_memory() if reset else None
    return line if peak is None else line | {"peak_mb": peak}


def _evaluate(cell: Cell, graph: Graph, split: LinkSplit) -> Evaluation:
    if has_budget(cell.method):
        minutes = cell.options.get("minutes")
        predictor = LinkPredictor(model=cell.method, seed=cell.seed, minutes=minutes, device="cpu", cache=None)
        return predictor.fit(graph, split=split).metrics_.test
    model = MODELS[cell.method].make()
    model = model.fit(split, NodeFeatures(), seed=cell.seed, resources=Resources())
    return metrics.evaluate(*score_links(model, split.test_graph, split.test_pos, split.test_neg))


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
