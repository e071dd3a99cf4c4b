"""MEASURES: what a cell measures, by the name of its kind; each takes a cell and gives the rest of its line."""

from __future__ import annotations

import math
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

from llwlc import metrics
from llwlc._fitting.fit import FitResult, fit_model
from llwlc._fitting.measure import score_links
from llwlc._support.devices import pick_device
from llwlc._support.ragged import pad
from llwlc._support.roots import cache_root
from llwlc._support.version import VERSION
from llwlc.bases._encoded_links import encode_pairs
from llwlc.datasets._catalog import load
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.models._base import LinkModel
from llwlc.models._llwlc.config import TrainConfig
from llwlc.models._llwlc.encoded_split import training_positives
from llwlc.models._llwlc.presets import PRESETS, find_preset
from llwlc.models._registry import MODELS as KNOWN
from llwlc.nn._node_input import NodeInput
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._making import make
from llwlc.training._checkpoint import Checkpoint
from llwlc.training._epoch_record import EpochRecord
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources
from research.counting.trial import measure_counting
from research.experiments.cell import IDENTITY, Cell
from research.experiments.graphs import load_graph
from research.experiments.leaks import make_leaked_split
from research.experiments.names import EXTRACTION, LARGEST_TERM, MARKING
from research.experiments.study_baselines import STUDY_BASELINES, make_study_baseline
from research.experiments.study_model import cell_model
from research.experiments.study_split import SPLIT_OPTIONS, make_study_split
from research.expressivity.transfer import measure_transfer

NUM_ENERGY_LINKS = 1000
"""Number of training links, and of negatives, whose input is measured."""
TIMED_EPOCHS = 2
"""Epochs of a cell that measures time; the second counts, as the first may compile or record."""


class EpochClock:
    """A callback for `on_epoch` that records the seconds of each epoch."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.begun = math.nan
        """When the first epoch ended."""
        self._last = math.nan

    def __call__(self, record: EpochRecord) -> None:
        now = time.perf_counter()
        if not math.isnan(self._last):
            self.seconds.append(now - self._last)
        else:
            self.begun = now
        self._last = now


def measure(cell: Cell, *, device: str = "cpu", seconds: float | None = None) -> dict[str, Any]:
    """The line of a cell, measured in this process; `seconds`: the fit of a baseline begins no epoch after so many."""
    if cell.kind not in MEASURES:
        raise InputError(f"no kind of cell is called {cell.kind!r}; there are {', '.join(MEASURES)}")
    begin = time.perf_counter()
    found = MEASURES[cell.kind](cell, device, seconds)
    own = {name: getattr(cell, name) for name in IDENTITY}
    own = {name: value for name, value in own.items() if value not in ("", {})}
    if resource and "peak_mb" not in found:
        found["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    if device.startswith("cuda"):
        found["gpu_peak_mb"] = round(torch.cuda.max_memory_allocated() / 2**20)
    return own | found | {"wall": round(time.perf_counter() - begin, 2)} | describe_environment(device)


def accuracy(cell: Cell, device: str, seconds: float | None) -> dict[str, Any]:
    """A fit on a split, measured once on its test links."""
    graph, split = _task(cell)
    clock = EpochClock()
    begin = time.perf_counter()
    if cell.method in PRESETS:
        found = _ours(cell, graph, split, device, clock)
    else:
        found = _measure_baseline(cell, graph, split, device, clock, seconds)
    spent = time.perf_counter() - begin
    epoch = {"epoch_seconds": round(statistics.median(clock.seconds), 4)} if clock.seconds else {}
    limit = {} if seconds is None or spent < seconds or cell.method in PRESETS else {"stopped_after": seconds}
    found = {"metric": split.metric, "train_links": len(split.train_pos)} | found | epoch | limit
    return found | {"seconds": round(spent, 2)}


def walltime(cell: Cell, device: str, seconds: float | None) -> dict[str, Any]:
    """Seconds of an epoch and of the preparation before the first one; accuracy is not measured."""
    graph, split = _task(cell)
    clock, begin = EpochClock(), time.perf_counter()
    timed = replace(cell, options={**cell.options, "epochs": TIMED_EPOCHS})
    run = _ours if cell.method in PRESETS else _measure_baseline
    found = (
        run(timed, graph, split, device, clock)
        if run is _ours
        else _measure_baseline(timed, graph, split, device, clock, seconds)
    )
    if not clock.seconds:
        raise InputError(f"{cell}: fewer than two epochs in {seconds} seconds, so none was timed")
    links = _links_used(cell, split)
    return {
        "epoch_seconds": round(clock.seconds[-1], 4),
        "links": links,
        "microseconds_a_link": round(1e6 * clock.seconds[-1] / (2 * links), 2),
        "before_seconds": round(clock.begun - begin, 2),
        "inference_microseconds": round(1e6 * found["stages"]["measuring"] / (2 * len(split.test_pos)), 2),
        "parameters": found["parameters"],
        "stages": found.get("stages", {}),
    }


def sizes(cell: Cell, device: str, seconds: float | None) -> dict[str, Any]:
    """The statistics of a dataset that the appendix lists."""
    from llwlc.datasets._statistics import statistics as measured

    return _plain(measured(load(cell.data)))


def growth(cell: Cell, device: str, seconds: float | None) -> dict[str, Any]:
    """How the time for a basis grows, around the sizes of training or where one term is the largest; or that of
    extraction.
    """
    from research.bench.extraction_growth import measure_extraction
    from research.bench.growth import AS_TRAINED, DOMINANT, measure_growth

    if cell.data == EXTRACTION:
        return {"exponents": measure_extraction()}
    found = measure_growth(DOMINANT if cell.data == LARGEST_TERM else AS_TRAINED)
    return {
        "exponents": found.exponents,
        "model_error": found.model_error,
        "points": [list(point) for point in found.points],
    }


def energy(cell: Cell, device: str, seconds: float | None) -> dict[str, Any]:
    """How much of the network's input lies inside the basis: ‖VᵀX‖² / ‖X‖², mean over training links and negatives.
    Without a skip the rest is lost.
    """
    _, split = _task(cell)
    chosen = find_preset(cell.method, seed=cell.seed, **_model_options(cell))
    pairs = torch.cat([split.train_pos[:NUM_ENERGY_LINKS], split.train_neg[:NUM_ENERGY_LINKS]])
    data = encode_pairs(split.train_graph, pairs, chosen.basis, about="")
    shares = []
    for part in torch.split(torch.arange(len(pairs)), 256):
        batch = data.batch(part)
        rows = pad(NodeInput(chosen.net)(batch, None), batch.basis.slots)
        spectrum = batch.basis.padded.transpose(1, 2) @ rows
        shares.append(spectrum.square().sum((1, 2)) / rows.square().sum((1, 2)))
    return {"links": len(pairs), "share": float(torch.cat(shares).mean())}


def separation(cell: Cell, device: str, seconds: float | None) -> dict[str, Any]:
    """Which methods tell the graphs of the paper's figures apart, or how many pairs marking and deletion do."""
    from research.experiments.figures import make_rows
    from research.expressivity.marking import make_rows as make_marking_rows

    return {"verdicts": make_marking_rows() if cell.data == MARKING else make_rows()}


def corpus(cell: Cell, device: str, seconds: float | None) -> dict[str, Any]:
    """A model on a network of the corpus."""
    from research.corpus.measure import corpus_line

    return corpus_line(cell)


Measure = Callable[[Cell, str, float | None], dict[str, Any]]
MEASURES: dict[str, Measure] = {
    "accuracy": accuracy,
    "cost": accuracy,  # the same fit, run alone on the machine, so that its time and memory count
    "time": walltime,
    "sizes": sizes,
    "growth": growth,
    "separation": separation,
    "energy": energy,
    "corpus": corpus,
    "counting": measure_counting,
    "transfer": measure_transfer,
    "worth": accuracy,  # runs of their own, so that those of a pair are of one commit
}


def _task(cell: Cell) -> tuple[Graph, LinkSplit]:
    graph = load_graph(cell.data)
    split = make_study_split(graph, make(graph, protocol=cell.protocol, seed=cell.seed), cell.options)
    return graph, make_leaked_split(graph, split, cell.leak) if cell.leak else split


def _model_options(cell: Cell) -> dict[str, Any]:
    """The options of a cell that are its method's own."""
    return {name: value for name, value in cell.options.items() if name not in SPLIT_OPTIONS}


def _links_used(cell: Cell, split: LinkSplit) -> int:
    return max(1, round(float(cell.options.get("fraction", 1.0)) * len(split.train_pos)))


def _ours(cell: Cell, graph: Graph, split: LinkSplit, device: str, clock: EpochClock) -> dict[str, Any]:
    model = cell_model(cell.method, _model_options(cell), cell.leak)
    fitted = _fitted(cell, model, graph, split, Resources(pick_device(device)), clock)
    best = max(fitted.history, key=lambda record: record.valid)
    flat = {k: v for k, v in fitted.metrics.as_dict().items() if not isinstance(v, Mapping)}
    stages = {stage: round(spent, 3) for stage, spent in fitted.metrics.stages.items()}
    known = {} if fitted.validation is None else fitted.validation.as_dict()
    valid = {f"valid_{name}": known[name] for name in ("hits@100", "mrr") if name in known}
    return flat | {"valid_auc": best.valid_auc, **valid, "best_epoch": best.epoch, "stages": stages}


def _measure_baseline(
    cell: Cell, graph: Graph, split: LinkSplit, device: str, clock: EpochClock, seconds: float | None
) -> dict[str, Any]:
    options = _model_options(cell)
    fraction = options.pop("fraction", 1.0)
    # the same share of links, by the same draw, as our method would use; messages keep all links
    split = replace(split, train_pos=training_positives(split, TrainConfig(fraction=fraction, seed=cell.seed)))
    own = cell.method in STUDY_BASELINES
    model = make_study_baseline(cell.method, **options) if own else KNOWN[cell.method].make(**options)
    if not own and not KNOWN[cell.method].trained:
        scores = score_links(model, split.test_graph, split.test_pos, split.test_neg)
        return metrics.evaluate(*scores).as_dict() | {"parameters": 0}
    resources = Resources(pick_device(device), seconds=seconds)
    # the baselines here read raw features: no time is spent on compact ones
    known = (None, NodeFeatures()) if own or KNOWN[cell.method].builtin else None
    fitted = _fitted(cell, model, graph, split, resources, clock, known=known)
    about: dict[str, Any] = {"epochs": len(fitted.history), "most_epochs": fitted.model.epochs}
    about["stages"] = {stage: round(spent, 3) for stage, spent in fitted.metrics.stages.items()}
    if fitted.history:
        best = max(fitted.history, key=lambda record: record.valid)
        about |= {"best_epoch": best.epoch, "valid_auc": best.valid_auc}
    calibration: dict[str, Any] = {
        "calibration_error": fitted.metrics.calibration_error,
        "parameters": fitted.metrics.parameters,
    }
    return fitted.metrics.test.as_dict() | about | calibration


def _fitted(
    cell: Cell,
    model: LinkModel,
    graph: Graph,
    split: LinkSplit,
    resources: Resources,
    clock: EpochClock,
    *,
    known: tuple[None, NodeFeatures] | None = None,
) -> FitResult:
    """The model fitted for a cell, from where an interrupted fit of it ended."""
    checkpoint = Checkpoint(get_checkpoint_path(cell, str(resources.device)), cell.digest)
    checkpoint.path.parent.mkdir(parents=True, exist_ok=True)
    fitted = fit_model(
        model,
        graph,
        split,
        seed=cell.seed,
        resources=resources,
        checkpoint=checkpoint,
        known=known,
        rank_candidates=False,
        on_epoch=clock,
    )
    checkpoint.path.unlink(missing_ok=True)
    return fitted


def get_checkpoint_path(cell: Cell, device: str) -> Path:
    """The file of an interrupted cell's state; on another device or version the cell starts over."""
    return (
        cache_root()
        / "experiments"
        / f"{cell.digest}-{device.replace(':', '-')}-{VERSION}-{torch.__version__}.safetensors"
    )


def describe_environment(device: str) -> dict[str, Any]:
    """The machine and the versions that a line was made with."""
    import numpy

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    on_gpu = device.startswith("cuda")
    machine = torch.cuda.get_device_name() if on_gpu else f"CPU, {torch.get_num_threads()} thread of {cores} cores"
    versions = {
        "llwlc": VERSION,
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "python": platform.python_version(),
    }
    return {"machine": machine, "versions": versions, "commit": commit()}


def commit() -> str:
    """The commit of this checkout, or LLWLC_COMMIT for a copy without git; "" if neither is known."""
    if os.environ.get("LLWLC_COMMIT"):
        return os.environ["LLWLC_COMMIT"]
    here = Path(__file__).resolve().parent
    try:
        done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=here)
    except OSError:
        return ""
    return done.stdout.strip()


def _plain(record: Any) -> dict[str, Any]:
    return dict(record._asdict()) if hasattr(record, "_asdict") else dict(vars(record))
