"""The run directory: everything that scoring on another machine needs, without a pickle; a damaged or foreign one is refused with a reason."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from scipy.sparse import csr_array
from torch import Tensor

from llwlc.baselines.opponent import FittedOpponent, restored
from llwlc.errors import InputError
from llwlc.graph.feature_encoding import FeatureEncoding
from llwlc.graph.graph import Graph
from llwlc.graph.packed_folder import open_graph, write_again
from llwlc.nn.net import LLwLCNet
from llwlc.predict.model_card import Model, model_card
from llwlc.predict.plan_file import WrittenPlan, read_plan, write_plan
from llwlc.predict.reliability import reliability_picture
from llwlc.predict.run_checks import (
    check_arrays,
    check_config,
    check_features,
    check_links,
    check_records,
    check_shortlist,
    check_split,
)
from llwlc.predict.run_format import (
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
from llwlc.splits.linksplit import LinkSplit
from llwlc.support.files import PARTIAL, remove, write_tensors, write_text
from llwlc.support.json_file import read_json
from llwlc.support.lock import LOCK, locked
from llwlc.support.text import reason
from llwlc.training.features import Compactor, Features
from llwlc.training.fit import Fitted
from llwlc.training.node_features import NodeFeatures
from llwlc.training.records import EpochRecord, FitMetrics

CHECKPOINT = "checkpoint.safetensors"
LEFT = ".partial-"
"""The prefix of the temporary folder in which a run is assembled."""


@dataclass(frozen=True, eq=False)
class Run:
    """The contents of a run directory. The graph has its raw features, except in a run of format 1."""

    fitted: Model
    graph: Graph
    split: LinkSplit
    info: RunInfo
    kinds: tuple[str, ...] | None = None
    """The kind of each node, if the fit was given kinds."""
    plan: WrittenPlan | None = None
    """The plan that left something out to stay within a time budget, if there was one."""


def save(folder: Path, run: Run) -> None:
    """Writes the directory; the manifest is written last, so a directory without it is unfinished."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=LEFT, dir=folder))
    except OSError as error:
        raise InputError(f"the run cannot be written to {folder} ({error.strerror}): choose another folder") from error
    fitted = run.fitted
    try:
        write_tensors(partial / MODEL, _model_tensors(fitted))
        write_tensors(partial / GRAPH, _graph_tensors(run.graph, fitted.features.compact, run.kinds))
        needs = {need: about for need, about in run.info.needs.items() if need != PACKED_NEED}
        if run.graph.folder is not None:
            write_again(run.graph, partial / PACKED)
            needs[PACKED_NEED] = {}
        run.split.save(partial / SPLIT)
        write_text(partial / METRICS, json.dumps(fitted.metrics.as_dict(), indent=2, ensure_ascii=False) + "\n")
        write_text(partial / HISTORY, "".join(json.dumps(record.as_dict()) + "\n" for record in fitted.history))
        write_text(partial / CARD, model_card(fitted, run.graph, run.split))
        if fitted.metrics.ranking is not None:
            write_text(partial / PICTURE, reliability_picture(fitted.metrics.ranking))
        preset, method = (None, fitted.config) if isinstance(fitted, FittedOpponent) else (fitted.preset, None)
        if run.plan is not None:
            write_plan(partial, run.plan)
        config = RunConfig(replace(run.info, needs=needs), preset, fitted.calibration, fitted.ranking, method)
        write_text(partial / CONFIG, json.dumps(config.as_dict(), indent=2) + "\n")
        write_manifest(partial)
        for name in (MANIFEST, CONFIG):
            (folder / name).unlink(missing_ok=True)  # never leave a mixture of two runs
        remove(folder / PACKED)
        if (partial / PACKED).is_dir():
            os.replace(partial / PACKED, folder / PACKED)
        for name in (*FILES, *OPTIONAL, MANIFEST):
            if (partial / name).exists():
                os.replace(partial / name, folder / name)
            else:
                (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"the run cannot be written to {folder} ({error.strerror}): choose another folder") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def leftovers(folder: Path) -> list[Path]:
    """The files that an interrupted fit can leave behind: a checkpoint, a partly written one, a partly written run, its lock."""
    whole = (CHECKPOINT, LOCK) if is_finished(folder) else (CHECKPOINT, LOCK, PLAN)
    return [p for p in folder.iterdir() if p.name in whole or p.name.endswith(PARTIAL) or p.name.startswith(LEFT)]


def sweep(folder: Path) -> None:
    """Removes the files that a finished run no longer needs."""
    for path in leftovers(folder):
        if path.name != LOCK:
            remove(path)
            continue
        with contextlib.suppress(InputError), locked(folder, "another fit"):
            pass  # not held by another process: releasing it removes the file


def load(folder: Path, config: RunConfig | None = None) -> Run:
    """Reads a directory that `save` wrote, here or on another machine, by this version or an earlier one; `config`: its configuration, if it was read already."""
    begun = " (it holds an unfinished one: run the same llwlc fit again)" if (folder / CHECKPOINT).exists() else ""
    config = read_config(folder, unfinished=begun) if config is None else config
    try:
        return _assemble(folder, config)
    except InputError:
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
        raise InputError(
            f"the run {folder} does not fit together ({reason(error)}): fit again with this version"
        ) from error


def _assemble(folder: Path, config: RunConfig) -> Run:
    model, stored = load_file(folder / MODEL), load_file(folder / GRAPH)
    check_config(folder, config)
    known = _links(folder, config, stored)
    check_arrays(folder, config, model, stored, known.num_nodes)
    compactor = None
    if "compactor.weight" in model:
        weight, shift, components, counts = (
            model[f"compactor.{k}"] for k in ("weight", "shift", "components", "counts")
        )
        compactor = Compactor(weight, shift, components, bool(counts))
    x = _features(stored)
    check_features(folder, x, known.num_nodes, None if compactor is None else len(compactor.weight))
    graph = replace(known, x=x)
    if "encoding" in stored:
        graph = replace(graph, encoding=_encoding(folder, stored["encoding"], x))
    features = NodeFeatures.of(x, compactor, stored.get("features"))
    check_shortlist(folder, config.ranking, features.pair_inputs.channels)
    rest = (
        compactor,
        features,
        config.calibration,
        config.ranking,
        FitMetrics.from_dict(read_json(folder / METRICS)),
        [EpochRecord(**record) for record in read_json(folder / HISTORY, lines=True)],
    )
    weights = {k[4:]: t for k, t in model.items() if k.startswith("net.")}
    fitted: Model
    if config.preset is None:
        assert config.method is not None
        fitted = FittedOpponent(restored(graph, config.method, weights), config.method, *rest)
    else:
        net = LLwLCNet(config.preset.net)
        net.load_state_dict(weights)
        fitted = Fitted(net.eval(), config.preset, *rest)
    check_records(folder, fitted.metrics, fitted.history)
    split = LinkSplit.load(folder / SPLIT, graph)
    check_split(folder, split, graph.num_nodes)
    return Run(fitted, graph, split, config.info, _texts(stored, "kinds"), read_plan(folder))


def _links(folder: Path, config: RunConfig, stored: dict[str, Tensor]) -> Graph:
    """The graph without its features: opened where the run was fitted on a packed one, else from the arrays of `GRAPH`."""
    if PACKED_NEED in config.info.needs:
        return replace(open_graph(folder / PACKED), report=None)
    names = json.loads(bytes(stored["names"].tolist())) if "names" in stored else None
    check_links(folder, stored, names)
    return Graph(stored["indptr"], stored["indices"], stored.get("weight"), stored.get("time"), None, names)


def load_split(path: Path, graph: Graph) -> LinkSplit:
    """The split of a graph that a file holds, checked as that of a run is."""
    try:
        split = LinkSplit.load(path, graph)
        check_split(path.parent, split, graph.num_nodes)
    except InputError:
        raise
    except (LookupError, TypeError, AttributeError, RuntimeError, ValueError, ArithmeticError) as error:
        raise InputError(
            f"{path} is no usable split ({reason(error)}): make it again with llwlc.splits.make"
        ) from error
    return split


def _model_tensors(fitted: Model) -> dict[str, Tensor]:
    weights = fitted.state() if isinstance(fitted, FittedOpponent) else fitted.net.state_dict()
    tensors = {f"net.{k}": t.contiguous() for k, t in weights.items()}
    if fitted.compactor is not None:
        c = fitted.compactor
        parts = {"weight": c.weight, "shift": c.shift, "components": c.components, "counts": torch.tensor([c.counts])}
        tensors |= {f"compactor.{k}": t.contiguous().clone() for k, t in parts.items()}
    return tensors


def _graph_tensors(graph: Graph, features: Tensor | None, kinds: Sequence[str] | None) -> dict[str, Tensor]:
    """Links, names, raw features as `x` (or `x.indptr` and so on where they are sparse), compact ones as `features`; of a packed graph no links and names, which are in its folder.
    Further arrays may be added: a reader takes what it knows."""
    packed = graph.folder is not None
    links = {"indptr": graph.indptr, "indices": graph.indices, "weight": graph.weight, "time": graph.time}
    parts = {"features": features} | ({} if packed else links)
    for name, texts in (("names", None if packed else graph.names), ("kinds", kinds)):
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


def _encoding(folder: Path, stored: Tensor, x: Features | None) -> FeatureEncoding:
    """The encoding by which the features were made from a table; its columns must match theirs."""
    encoding = FeatureEncoding.from_json(bytes(stored.tolist()).decode(), f"{folder}/{GRAPH}")
    if x is None or len(encoding.titles) != x.shape[1]:
        raise InputError(
            f"{folder}/{GRAPH} has features that are not those of its encoding: copy it again, or fit again"
        )
    return encoding


def _texts(stored: dict[str, Tensor], name: str) -> tuple[str, ...] | None:
    return tuple(json.loads(bytes(stored[name].tolist()))) if name in stored else None


def _features(stored: dict[str, Tensor]) -> Features | None:
    if "x.data" not in stored:
        return stored.get("x")
    data, indices, indptr = (stored[f"x.{k}"].numpy() for k in ("data", "indices", "indptr"))
    rows, columns = stored["x.shape"].tolist()
    return csr_array((data, indices, indptr), shape=(rows, columns))
