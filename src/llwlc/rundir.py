"""The run directory: all that scoring elsewhere needs, without a pickle; refused with a reason where it is damaged or foreign."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from llwlc.calibration import Calibration
from llwlc.errors import InputError
from llwlc.features import Compactor
from llwlc.fitting import Fitted
from llwlc.graph import Graph
from llwlc.linkdata import BasisConfig
from llwlc.linksplit import LinkSplit
from llwlc.modelcard import model_card
from llwlc.nn import LLwLCNet, NetConfig
from llwlc.presets import Preset
from llwlc.training import TrainConfig

FORMAT = 1
FILES = ("model.safetensors", "graph.safetensors", "split.safetensors")
TEXTS = ("metrics.json", "history.jsonl")
CHECKPOINT = "checkpoint.safetensors"
CHECKPOINTS = (CHECKPOINT, "checkpoint.partial")
PARTIAL = ".partial-"


@dataclass(frozen=True, eq=False)
class Run:
    """What a run directory holds."""

    fitted: Fitted
    graph: Graph
    split: LinkSplit
    about: dict[str, Any]


def save(folder: Path, run: Run) -> None:
    """Write the directory; `config.json` comes last, so one without it is no run yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=folder))
    except OSError as error:
        raise InputError(f"the run cannot be written to {folder} ({error.strerror}): choose another folder") from error
    fitted = run.fitted
    try:
        save_file(_model_tensors(fitted), partial / FILES[0])
        save_file(_graph_tensors(run.graph, fitted.features), partial / FILES[1])
        run.split.save(partial / FILES[2])
        _write(partial / TEXTS[0], json.dumps(fitted.metrics, indent=2, ensure_ascii=False) + "\n")
        _write(partial / TEXTS[1], "".join(json.dumps(record) + "\n" for record in fitted.history))
        _write(partial / "MODEL_CARD.md", model_card(fitted, run.graph, run.split))
        config = {
            "format": FORMAT,
            "llwlc": version("llwlc"),
            **run.about,
            "preset": asdict(fitted.preset),
            "calibration": asdict(fitted.calibration),
            "sha256": {name: _digest(partial / name) for name in FILES},
        }
        _write(partial / "config.json", json.dumps(config, indent=2) + "\n")
        (folder / "config.json").unlink(missing_ok=True)  # a mixture of two runs is no run
        for name in (*FILES, *TEXTS, "MODEL_CARD.md", "config.json"):
            os.replace(partial / name, folder / name)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def leftovers(folder: Path) -> list[Path]:
    """What an interrupted fit can leave behind: a checkpoint, half of one, half a run."""
    return [p for p in folder.iterdir() if p.name in CHECKPOINTS or p.name.startswith(PARTIAL)]


def sweep(folder: Path) -> None:
    """Remove what the finished run needs no more."""
    for path in leftovers(folder):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def load(folder: Path) -> Run:
    """Read a directory that `save` wrote, here or on another machine."""
    config = read_config(folder)
    for name in (*FILES, *TEXTS):
        path = folder / name
        if not path.is_file():
            raise InputError(f"the run {folder} lacks {name}: copy the whole folder, or fit again")
        if name in FILES and _digest(path) != config["sha256"].get(name):
            raise InputError(
                f"{path} is damaged (its checksum differs from config.json's): copy it again, or fit again"
            )
    try:
        return _assemble(folder, config)
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, RuntimeError, ValueError, SafetensorError) as error:
        raise InputError(f"the run {folder} does not fit together ({error}): fit again with this version") from error


def read_config(folder: Path) -> dict[str, Any]:
    """`config.json`, checked."""
    if not folder.is_dir():
        raise InputError(f"there is no run folder {folder}: make one with llwlc fit GRAPH --out {folder}")
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        unfinished = (
            " (it holds an unfinished one: run the same llwlc fit again)" if (folder / CHECKPOINT).exists() else ""
        )
        raise InputError(f"{folder} holds no finished run of llwlc, as it has no config.json{unfinished}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{folder}/config.json cannot be read ({error}): copy it again, or fit again") from None
    if not isinstance(config, dict) or not isinstance(config.get("sha256"), dict) or "preset" not in config:
        raise InputError(f"{folder}/config.json is no configuration of llwlc: is this a run folder?")
    if config.get("format") != FORMAT:
        raise InputError(f"{folder} has format {config.get('format')}, this version reads {FORMAT}: fit again")
    return config


def _assemble(folder: Path, config: dict[str, Any]) -> Run:
    parts = config["preset"]
    preset = Preset(
        BasisConfig(**parts["basis"]), NetConfig(**parts["net"]), TrainConfig(**parts["train"]), parts["features"]
    )
    model, stored = load_file(folder / FILES[0]), load_file(folder / FILES[1])
    net = LLwLCNet(preset.net)
    net.load_state_dict({k[4:]: t for k, t in model.items() if k.startswith("net.")})
    net.eval()
    compactor = None
    if "compactor.weight" in model:
        weight, shift, components, counts = (
            model[f"compactor.{k}"] for k in ("weight", "shift", "components", "counts")
        )
        compactor = Compactor(weight, shift, components, bool(counts))
    names = json.loads(bytes(stored["names"].tolist())) if "names" in stored else None
    graph = Graph(stored["indptr"], stored["indices"], stored.get("weight"), stored.get("time"), None, names)
    metrics, history = _json(folder / TEXTS[0]), _json(folder / TEXTS[1], lines=True)
    fitted = Fitted(
        net, preset, compactor, stored.get("features"), Calibration(**config["calibration"]), metrics, history
    )
    about = {k: config[k] for k in ("data", "preset_name", "fingerprint", "candidate_prior")}
    return Run(fitted, graph, LinkSplit.load(folder / FILES[2], graph), about)


def _model_tensors(fitted: Fitted) -> dict[str, Tensor]:
    tensors = {f"net.{k}": t.contiguous() for k, t in fitted.net.state_dict().items()}
    if fitted.compactor is not None:
        c = fitted.compactor
        parts = {"weight": c.weight, "shift": c.shift, "components": c.components, "counts": torch.tensor([c.counts])}
        tensors |= {f"compactor.{k}": t.contiguous().clone() for k, t in parts.items()}
    return tensors


def _graph_tensors(graph: Graph, features: Tensor | None) -> dict[str, Tensor]:
    parts = {"indptr": graph.indptr, "indices": graph.indices, "weight": graph.weight, "time": graph.time}
    parts["features"] = features
    if graph.names is not None:
        parts["names"] = torch.frombuffer(bytearray(json.dumps(list(graph.names)).encode()), dtype=torch.uint8)
    return {k: t.contiguous().clone() for k, t in parts.items() if t is not None}


def _json(path: Path, *, lines: bool = False) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()] if lines else json.loads(text)
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}): copy it again, or fit again") from error


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")  # whatever this machine's own encoding is: another one has to read it


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
