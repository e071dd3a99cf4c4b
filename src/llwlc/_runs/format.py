"""The format of a run directory: its files and its manifest.

`manifest.json` names every other file with its size and SHA-256 and is written last, so a folder without it is not a
finished run. (The files of a packed graph stand in a manifest of their own, which it names.) A run of another format is
refused; what a reader must have stands in `needs`, and a run whose needs are not met is refused.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llwlc._candidates.config import CandidateConfig
from llwlc._io.database_url import refuse_url
from llwlc._support.files import file_digest, write_text
from llwlc._support.json_file import read_json
from llwlc._support.records import read_record, to_mapping
from llwlc._support.registry import Registry, source_file
from llwlc._support.text import describe_error
from llwlc._support.version import VERSION
from llwlc.bases._starts import STARTS
from llwlc.constraints._registry import FAMILIES
from llwlc.errors import InputError, RunFolderError
from llwlc.models._registry import MODELS
from llwlc.nn._registry import READOUTS
from llwlc.ranking._calibration_counts import CalibrationCounts
from llwlc.ranking._candidate_calibration import CalibrationCurve, CandidateCalibration
from llwlc.ranking._curve_fitting import StageCounts
from llwlc.ranking._ranking import RankingConfig
from llwlc.ranking._shortlist import Shortlist
from llwlc.relations._run_folder import is_relation_run
from llwlc.training._calibration import Calibration

FORMAT = 1
CONFIG, MANIFEST = "config.json", "manifest.json"
MODEL, GRAPH, SPLIT = "model.safetensors", "graph.safetensors", "split.safetensors"
METRICS, HISTORY, CARD, PICTURE = "metrics.json", "history.jsonl", "MODEL_CARD.md", "reliability.svg"
PLAN, DIRECTION = "plan.json", "direction.json"
FILES = (MODEL, GRAPH, SPLIT, METRICS, HISTORY, CARD, CONFIG)
"""All files that every run has but the manifest."""
OPTIONAL = (PICTURE, PLAN, DIRECTION)
"""Files that a run may have."""
PACKED, PACKED_MANIFEST, PACKED_NEED = "graph", f"graph/{MANIFEST}", "graph packed"
"""The folder with the graph of a run that was fitted on a packed one, the file of it whose digest is the run's, and the
need that such a run states.
"""
REGISTRIES: dict[str, Registry[Any]] = {"constraint": FAMILIES, "start": STARTS, "readout": READOUTS, "model": MODELS}


@dataclass(frozen=True)
class RunInfo:
    """Facts about a run apart from its options and arrays.

    `needs`: code that is not part of this package, as in "constraint common", with the digest it had and the file it
    came from.
    """

    graph_name: str
    fingerprint: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The parameters of the predictor that was fitted, as JSON."""
    needs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class RunConfig:
    """The contents of `config.json`."""

    info: RunInfo
    seed: int
    model: str
    """The name of the model in `models.MODELS`."""
    options: Mapping[str, Any]
    """The configuration of the fitted model (`LinkModel.config`)."""
    calibration: Calibration
    ranking: RankingConfig

    def as_dict(self) -> dict[str, Any]:
        about = {name: getattr(self.info, name) for name in ("graph_name", "fingerprint", "parameters", "needs")}
        parts = {"seed": self.seed, "model": self.model, "options": dict(self.options)}
        parts |= {"calibration": to_mapping(self.calibration), "ranking": to_mapping(self.ranking)}
        return {"format": FORMAT, "llwlc": VERSION, **about, **parts}


def write_manifest(folder: Path) -> None:
    """Writes the manifest: the digests of all files of a run."""
    there = [name for name in (*FILES, *OPTIONAL, PACKED_MANIFEST) if (folder / name).exists()]
    files = {name: {"bytes": (folder / name).stat().st_size, "sha256": file_digest(folder / name)} for name in there}
    about = {"format": FORMAT, "llwlc": VERSION, "files": files}
    write_text(folder / MANIFEST, json.dumps(about, indent=2) + "\n")


def is_finished(folder: Path) -> bool:
    """Whether the folder holds a finished run."""
    return (folder / MANIFEST).exists()


def read_config(folder: Path, *, unfinished: str = "") -> RunConfig:
    """`config.json` of a finished run, after every file was compared with its digest."""
    if not folder.is_dir():
        refuse_url(folder, "name the folder of a run")
        raise RunFolderError(f"there is no run folder {folder}: make one with llwlc fit GRAPH --out {folder}")
    if is_relation_run(folder):
        raise RunFolderError(
            f"{folder} is a run of typed links (fit --relation), which llwlc recommend, score, explain, report"
            " and serve take (RelationPredictor in Python): for the rest, fit without --relation"
        )
    if not (folder / CONFIG).exists() or not is_finished(folder):
        raise RunFolderError(
            f"{folder} holds no finished run of llwlc, as it has no {CONFIG} or {MANIFEST}{unfinished}"
        )
    _verify(folder, _manifest(folder))
    config = _json_object(folder / CONFIG)
    if config.get("format") != FORMAT:
        raise _other_format(folder, config.get("format"))
    try:
        return _parsed(folder, config)
    except (LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
        if isinstance(error, RunFolderError):
            raise
        if isinstance(error, InputError):  # raised by code that does not know that it reads a run
            raise RunFolderError(str(error)) from error
        raise RunFolderError(
            f"{folder}/{CONFIG} does not fit together ({type(error).__name__}: {describe_error(error)}): fit again with"
            " this version"
        ) from error


def _parsed(folder: Path, config: Mapping[str, Any]) -> RunConfig:
    where = f"{folder}/{CONFIG}"
    _require_needs(folder, config["needs"])
    model, options, seed = config["model"], config["options"], config["seed"]
    if not isinstance(model, str) or not isinstance(options, dict) or not isinstance(config["parameters"], dict):
        raise RunFolderError(f"{where} names no model with its options: copy it again, or fit again")
    if type(seed) is not int or not 0 <= seed < 1 << 64:
        raise RunFolderError(f"{where} cannot be used: the seed is {str(seed)[:60]!r}")
    info = RunInfo(str(config["graph_name"]), str(config["fingerprint"]), config["parameters"], config["needs"])
    return RunConfig(
        info,
        seed,
        MODELS[model].name,
        options,
        read_record(Calibration, config["calibration"], where),
        _ranking(config["ranking"], where),
    )


def _ranking(parts: Mapping[str, Any], where: str) -> RankingConfig:
    shortlist, curves = parts["shortlist"], parts["calibration"]
    return RankingConfig(
        read_record(CandidateConfig, parts["candidates"], where),
        (
            None
            if shortlist is None
            else Shortlist(*(_numbers(shortlist[name]) for name in ("centre", "scale", "weight")))
        ),
        CandidateCalibration(*(_curve(curves[name]) for name in ("sharing", "apart"))),
        float(parts["missing_per_known"]),
        _counts(parts["counts"]),
    )


def _counts(parts: Mapping[str, Any]) -> CalibrationCounts:
    sharing, apart = (tuple(_stage(stage) for stage in parts[kind]) for kind in ("sharing", "apart"))
    return CalibrationCounts(sharing, apart, float(parts["known_per_training"]), float(parts["unit"]))


def _stage(parts: Mapping[str, Any]) -> StageCounts:
    score, hits, count = (_numbers(parts[name]) for name in ("score", "hits", "count"))
    return StageCounts(score, hits, count, float(parts["rho"]), float(parts["other"]))


def _curve(parts: Mapping[str, Any]) -> CalibrationCurve:
    others = tuple(_numbers(weights) for weights in parts["others"])
    return CalibrationCurve(
        float(parts["centre"]), _numbers(parts["knots"]), _numbers(parts["weights"]), others, int(parts["links"])
    )


def _numbers(values: Sequence[Any]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _require_needs(folder: Path, needs: Mapping[str, Mapping[str, str]]) -> None:
    """Refuses a run that needs code which is not loaded: code is never imported from a run, nor automatically."""
    for need, about in needs.items():
        if need == PACKED_NEED:
            continue
        kind, _, name = need.partition(" ")
        if kind not in REGISTRIES:
            raise RunFolderError(
                f"the run {folder} needs {need!r}, which this version of llwlc does not know: update it"
            )
        came = f" (from {about['file']})" if about.get("file") else ""
        if name not in REGISTRIES[kind]:
            raise RunFolderError(
                f"the run {folder} needs the {kind} {name!r}{came}, which is not part of llwlc: load it with --plugin"
                " FILE, in Python import the module that registers it"
            )
        if REGISTRIES[kind][name].digest != about.get("digest"):
            warnings.warn(
                f"the {kind} {name!r}{came} has changed since the run {folder} was fitted: its scores may differ from"
                " those measured",
                stacklevel=2,
            )


def _manifest(folder: Path) -> dict[str, str]:
    """The digest of every file, by name."""
    about = _json_object(folder / MANIFEST)
    if about.get("format") != FORMAT:
        raise _other_format(folder, about.get("format"))
    files = about.get("files")
    if not isinstance(files, dict) or not all(isinstance(entry, dict) for entry in files.values()):
        raise RunFolderError(f"{folder}/{MANIFEST} names no files: copy it again, or fit again")
    missing = [name for name in FILES if name not in files]
    if missing:
        raise RunFolderError(f"{folder}/{MANIFEST} does not name {missing[0]}: copy it again, or fit again")
    names = (*FILES, *OPTIONAL, PACKED_MANIFEST)
    return {name: str(entry.get("sha256")) for name, entry in files.items() if name in names}


def _verify(folder: Path, digests: Mapping[str, str]) -> None:
    for name in FILES:
        path = folder / name
        if name != CARD and not path.is_file():
            raise RunFolderError(f"the run {folder} lacks {name}: copy the whole folder, or fit again")
    for name, digest in digests.items():
        path = folder / name
        if not path.is_file():
            raise RunFolderError(f"the run {folder} lacks {name}: copy the whole folder, or fit again")
        if file_digest(path) != digest:
            raise RunFolderError(
                f"{path} is damaged (its checksum differs from the recorded one): copy it again, or fit again"
            )


def _json_object(path: Path) -> dict[str, Any]:
    content = read_json(path)
    if not isinstance(content, dict):
        raise RunFolderError(f"{path} is not a configuration of llwlc: is this a run folder?")
    return content


def _other_format(folder: Path, format: object) -> RunFolderError:
    return RunFolderError(
        f"{folder} has format {str(format)[:60]}, this version reads {FORMAT}: fit again, or use the version that"
        " wrote it"
    )


def list_needs(code: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The code beyond this package that a run needs, with its digest and its file."""
    needs = {}
    for need, digest in code.items():
        kind, _, name = need.partition(" ")
        needs[need] = {"digest": digest, "file": Path(source_file(REGISTRIES[kind][name].load())).name}
    return needs
