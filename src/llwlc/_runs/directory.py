"""The run directory: everything that scoring on another machine needs, without a pickle; a damaged or foreign one is
refused with a reason.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from scipy.sparse import csr_array
from torch import Tensor

from llwlc._cold_start.model import ColdStart, fit_cold_start
from llwlc._direction.model import DirectionModel
from llwlc._direction.scorer import DirectionScorer
from llwlc._fitting.fit import FitResult
from llwlc._fitting.fit_metrics import FitMetrics
from llwlc._io.database_url import refuse_url
from llwlc._io.feature_encoding import FeatureEncoding
from llwlc._runs.checks import (
    check_arrays,
    check_config,
    check_features,
    check_links,
    check_node_features,
    check_records,
    check_shortlist,
    check_split,
)
from llwlc._runs.direction_file import read_direction, write_direction
from llwlc._runs.format import (
    CARD,
    CONFIG,
    FILES,
    GRAPH,
    HISTORY,
    MANIFEST,
    METRICS,
    MODEL,
    OPTIONAL,
    PACKED,
    PACKED_NEED,
    PICTURE,
    PLAN,
    SPLIT,
    RunConfig,
    RunInfo,
    is_finished,
    read_config,
    write_manifest,
)
from llwlc._runs.model_card import model_card
from llwlc._runs.plan_file import SavedPlan, read_plan, write_plan
from llwlc._runs.reliability import draw_reliability
from llwlc._runs.stored_attributes import attribute_tensors, read_attribute_tensors
from llwlc._support.files import PARTIAL, remove, replace_file, write_tensors, write_text
from llwlc._support.json_file import read_json
from llwlc._support.lock import LOCK, hold_lock
from llwlc._support.text import describe_error
from llwlc.errors import InputError, LLwLCError, RunFolderError, StorageError
from llwlc.graph._graph import Graph
from llwlc.graph._packed_folder import copy_packed_graph, open_graph
from llwlc.models._registry import MODELS
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._compact_features import Compactor, RawFeatures
from llwlc.training._epoch_record import EpochRecord
from llwlc.training._node_features import NodeFeatures

CHECKPOINT = "checkpoint.safetensors"
PARTIAL_PREFIX = ".partial-"
"""The prefix of the temporary folder in which a run is assembled."""


@dataclass(frozen=True, eq=False)
class Run:
    """The contents of a run directory."""

    fitted: FitResult
    graph: Graph
    split: LinkSplit
    info: RunInfo
    node_types: tuple[str, ...] | None = None
    """The type of each node, if the fit was given types."""
    plan: SavedPlan | None = None
    """The plan that left something out to stay within a time budget, if there was one."""
    direction: DirectionModel | None = None
    """Which way links point, of a directed fit."""
    new: Tensor | None = None
    """Of a run on an updated graph with features: which nodes `[n]` are new and have no links; None for none."""

    @cached_property
    def directions(self) -> DirectionScorer | None:
        """Which way the links of pairs of the graph point; None where the fit was not directed."""
        return None if self.direction is None else DirectionScorer(self.direction, self.graph, self.fitted.features)

    @cached_property
    def cold_start(self) -> ColdStart | None:
        """Scores pairs with a new node that has no links, and is fitted when first asked. None without such nodes."""
        if self.new is None:
            return None
        return fit_cold_start(self.graph, self.fitted.features, seed=self.fitted.seed)


def save(folder: Path, run: Run) -> None:
    """Writes the directory; the manifest is written last, so a directory without it is unfinished."""
    if run.fitted.model.name not in MODELS:
        raise InputError(
            f"a run of {run.fitted.title} could not be read again: register its class, with"
            " @llwlc.models.register(NAME), to store it"
        )
    refuse_url(folder, "name a folder for the run")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=PARTIAL_PREFIX, dir=folder))
    except OSError as error:
        raise StorageError(
            f"the run cannot be written to {folder} ({error.strerror}): choose another folder"
        ) from error
    fitted = run.fitted
    try:
        write_tensors(partial / MODEL, _model_tensors(fitted))
        write_tensors(partial / GRAPH, _graph_tensors(run.graph, fitted.features.compact, run.node_types))
        needs = {need: about for need, about in run.info.needs.items() if need != PACKED_NEED}
        if run.graph.folder is not None:
            copy_packed_graph(run.graph, partial / PACKED)
            needs[PACKED_NEED] = {}
        run.split.save(partial / SPLIT)
        write_text(partial / METRICS, json.dumps(fitted.metrics.as_dict(), indent=2, ensure_ascii=False) + "\n")
        write_text(partial / HISTORY, "".join(json.dumps(record.as_dict()) + "\n" for record in fitted.history))
        write_text(partial / CARD, model_card(fitted, run.graph, run.split))
        if fitted.metrics.ranking is not None:
            write_text(partial / PICTURE, draw_reliability(fitted.metrics.ranking))
        if run.plan is not None:
            write_plan(partial, run.plan)
        if run.direction is not None:
            write_direction(partial, run.direction)
        model = fitted.model
        assert fitted.ranking is not None  # only fits that are compared with each other go without
        config = RunConfig(
            replace(run.info, needs=needs),
            fitted.seed,
            model.name,
            model.config,
            fitted.calibration,
            fitted.ranking,
        )
        write_text(partial / CONFIG, json.dumps(config.as_dict(), indent=2) + "\n")
        write_manifest(partial)
        for name in (MANIFEST, CONFIG):
            (folder / name).unlink(missing_ok=True)  # never leave a mixture of two runs
        remove(folder / PACKED)
        if (partial / PACKED).is_dir():
            replace_file(partial / PACKED, folder / PACKED)
        for name in (*FILES, *OPTIONAL, MANIFEST):
            if (partial / name).exists():
                replace_file(partial / name, folder / name)
            else:
                (folder / name).unlink(missing_ok=True)
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(
            f"the run cannot be written to {folder} ({error.strerror}): choose another folder"
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def find_leftovers(folder: Path) -> list[Path]:
    """The files that an interrupted fit can leave behind: checkpoints, partly written ones, a partly written run, its
    lock.
    """
    whole = (LOCK,) if is_finished(folder) else (LOCK, PLAN)
    starts = (PARTIAL_PREFIX, Path(CHECKPOINT).stem)
    return [p for p in folder.iterdir() if p.name in whole or p.name.endswith(PARTIAL) or p.name.startswith(starts)]


def remove_leftovers(folder: Path) -> None:
    """Removes the files that a finished run no longer needs."""
    for path in find_leftovers(folder):
        if path.name != LOCK:
            remove(path)
            continue
        with contextlib.suppress(StorageError), hold_lock(folder, "another fit"):
            pass  # not held by another process: releasing it removes the file


def load(folder: Path, config: RunConfig | None = None) -> Run:
    """Reads a directory that `save` wrote, here or on another machine; `config`: its configuration, if it was read
    already.
    """
    unfinished = " (it holds an unfinished one: run the same llwlc fit again)" if (folder / CHECKPOINT).exists() else ""
    config = read_config(folder, unfinished=unfinished) if config is None else config
    try:
        return _assemble(folder, config)
    except LLwLCError as error:
        if type(error) is InputError:  # raised by code that does not know that it reads a run
            raise RunFolderError(str(error)) from error
        raise
    except (
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RuntimeError,
        ValueError,
        OSError,
        SafetensorError,
    ) as error:
        raise RunFolderError(
            f"the run {folder} does not fit together ({describe_error(error)}): fit again with this version"
        ) from error


def _assemble(folder: Path, config: RunConfig) -> Run:
    model, stored = load_file(folder / MODEL), load_file(folder / GRAPH)
    check_config(folder, config)
    structure = _links(folder, config, stored)
    check_arrays(folder, config, model, stored, structure.num_nodes)
    compactor = None
    if "compactor.weight" in model:
        weight, shift, components, counts = (
            model[f"compactor.{k}"] for k in ("weight", "shift", "components", "counts")
        )
        compactor = Compactor(weight, shift, components, bool(counts))
    x = _features(stored)
    check_features(folder, x, structure.num_nodes, None if compactor is None else len(compactor.weight))
    graph = replace(structure, x=x)
    if "encoding" in stored:
        graph = replace(graph, encoding=_encoding(folder, stored["encoding"], x))
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        features = NodeFeatures.of(x, compactor, stored.get("features"))
    check_node_features(folder, features)
    check_shortlist(folder, config.ranking, features.pair_inputs.channels)
    metrics = FitMetrics.from_dict(read_json(folder / METRICS))
    history = [EpochRecord(**record) for record in read_json(folder / HISTORY, lines=True)]
    check_records(folder, metrics, history)
    weights = {k[4:]: t for k, t in model.items() if k.startswith("net.")}
    restored = MODELS[config.model].load().from_state(config.options, weights, graph, features)
    restored.history = history
    fitted = FitResult(restored, config.seed, compactor, features, config.calibration, config.ranking, metrics)
    split = LinkSplit.load(folder / SPLIT, graph)
    check_split(folder, split, graph.num_nodes)
    direction = read_direction(folder, graph, features)
    return Run(fitted, graph, split, config.info, _texts(stored, "node_types"), read_plan(folder), direction)


def _links(folder: Path, config: RunConfig, stored: dict[str, Tensor]) -> Graph:
    """The graph without its features: opened where the run was fitted on a packed one, else from the arrays of
    `GRAPH`.
    """
    if PACKED_NEED in config.info.needs:
        return replace(open_graph(folder / PACKED), report=None)
    names = json.loads(bytes(stored["names"].tolist())) if "names" in stored else None
    check_links(folder, stored, names)
    links = (stored["indptr"], stored["indices"], stored.get("weight"), stored.get("time"))
    attributes = read_attribute_tensors(folder, stored)
    return Graph(*links, None, names, forward=stored.get("forward"), attributes=attributes)


def load_split(path: Path, graph: Graph) -> LinkSplit:
    """The split of a graph that a file holds, checked as that of a run is."""
    try:
        split = LinkSplit.load(path, graph)
        check_split(path.parent, split, graph.num_nodes)
    except InputError:
        raise
    except (LookupError, TypeError, AttributeError, RuntimeError, ValueError, ArithmeticError) as error:
        raise InputError(
            f"{path} is not a usable split ({describe_error(error)}): make it again with llwlc.splits.make"
        ) from error
    return split


def _model_tensors(fitted: FitResult) -> dict[str, Tensor]:
    tensors = {f"net.{k}": t.contiguous() for k, t in fitted.model.state().items()}
    if fitted.compactor is not None:
        c = fitted.compactor
        parts = {"weight": c.weight, "shift": c.shift, "components": c.components, "counts": torch.tensor([c.counts])}
        tensors |= {f"compactor.{k}": t.contiguous().clone() for k, t in parts.items()}
    return tensors


def _graph_tensors(graph: Graph, features: Tensor | None, node_types: Sequence[str] | None) -> dict[str, Tensor]:
    """Links, names, raw features as `x` (or `x.indptr` and so on where they are sparse), compact ones as `features`; of
    a packed graph no links and names, which are in its folder. Further arrays may be added: a reader takes what it
    knows."""
    packed = graph.folder is not None
    links = {"indptr": graph.indptr, "indices": graph.indices, "weight": graph.weight, "time": graph.time}
    links["forward"] = graph.forward
    parts = {"features": features} | ({} if packed else links) | attribute_tensors(graph.attributes)
    for name, texts in (("names", None if packed else graph.names), ("node_types", node_types)):
        if texts is not None:
            parts[name] = torch.frombuffer(bytearray(json.dumps(list(texts)).encode()), dtype=torch.uint8)
    if graph.encoding is not None:
        parts["encoding"] = torch.frombuffer(bytearray(graph.encoding.to_json().encode()), dtype=torch.uint8)
    if isinstance(graph.x, Tensor):
        parts["x"] = graph.x
    elif graph.x is not None:
        parts |= {f"x.{k}": torch.as_tensor(getattr(graph.x, k)) for k in ("indptr", "indices", "data")}
        parts["x.shape"] = torch.tensor(graph.x.shape)
    return {k: t for k, t in parts.items() if t is not None}


def _encoding(folder: Path, stored: Tensor, x: RawFeatures | None) -> FeatureEncoding:
    """The encoding by which the features were made from a table; its columns must match theirs."""
    encoding = FeatureEncoding.from_json(bytes(stored.tolist()).decode(), f"{folder}/{GRAPH}")
    if x is None or len(encoding.titles) != x.shape[1]:
        raise RunFolderError(
            f"{folder}/{GRAPH} has features that are not those of its encoding: copy it again, or fit again"
        )
    return encoding


def _texts(stored: dict[str, Tensor], name: str) -> tuple[str, ...] | None:
    return tuple(json.loads(bytes(stored[name].tolist()))) if name in stored else None


def _features(stored: dict[str, Tensor]) -> RawFeatures | None:
    if "x.data" not in stored:
        return stored.get("x")
    data, indices, indptr = (stored[f"x.{k}"].numpy() for k in ("data", "indices", "indptr"))
    rows, columns = stored["x.shape"].tolist()
    return csr_array((data, indices, indptr), shape=(rows, columns))
