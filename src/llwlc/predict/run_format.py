"""The format of a run directory: its files, its manifest, and how older ones are read.

Format 2: `manifest.json` names every other file with its size and SHA-256 and is written last, so a folder without it is no finished run. (The files of a packed graph stand in a
manifest of their own, which it names.) Format 1 had no
manifest; the digests of its three arrays stood in `config.json`. An entry that an older reader may ignore needs no new format; what it
must not ignore stands in `needs`, and a run whose needs are not met is refused. Options that were added later say in their record what their absence
means (`support.records`), so that an older run keeps its scores.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llwlc.bases.starts import STARTS
from llwlc.candidates.config import CandidateConfig
from llwlc.constraints.registry import FAMILIES
from llwlc.errors import InputError
from llwlc.nn.registry import READOUTS
from llwlc.support.files import file_digest, write_text
from llwlc.support.json_file import read_json
from llwlc.support.records import plain, read_record
from llwlc.support.registry import Registry
from llwlc.support.text import reason
from llwlc.support.version import VERSION
from llwlc.training.calibration import Calibration
from llwlc.training.candidate_calibration import CandidateCalibration, Curve
from llwlc.training.presets import RENAMED, Preset, read_preset
from llwlc.training.ranking import RankingConfig
from llwlc.training.shortlist import Shortlist

FORMAT = 2
CONFIG, MANIFEST = "config.json", "manifest.json"
MODEL, GRAPH, SPLIT = "model.safetensors", "graph.safetensors", "split.safetensors"
METRICS, HISTORY, CARD, PICTURE = "metrics.json", "history.jsonl", "MODEL_CARD.md", "reliability.svg"
PLAN = "plan.json"
FILES = (MODEL, GRAPH, SPLIT, METRICS, HISTORY, CARD, CONFIG)
"""All files that every run has but the manifest."""
OPTIONAL = (PICTURE, PLAN)
"""Files that a run may have."""
PACKED, PACKED_MANIFEST, PACKED_NEED = "graph", f"graph/{MANIFEST}", "graph packed"
"""The folder with the graph of a run that was fitted on a packed one, the file of it whose digest is the run's, and the need that the run states: older versions look for the links in `GRAPH`."""
RANKING = "calibrated candidates"
"""Missing in runs that were fitted before candidates were calibrated: their recommendations are ranked like random pairs."""
KINDS: dict[str, Registry[Any]] = {"constraint": FAMILIES, "start": STARTS, "readout": READOUTS}


@dataclass(frozen=True)
class RunInfo:
    """Facts about a run beside its options and arrays.

    `candidate_prior`: the share of candidates that are links, of a run whose candidates were not calibrated. `needs`: code that is no part of this package, as in
    "constraint common", with the digest it had and the file it came from. `format`: that of the folder it was read from. `lacks`: what a run of an older format cannot offer.
    """

    graph_name: str
    preset_name: str
    fingerprint: str
    candidate_prior: float | None
    needs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    format: int = FORMAT
    lacks: tuple[str, ...] = ()

    @property
    def unverified(self) -> tuple[str, ...]:
        """Files of the run that no digest covers, as it was written before there was a manifest."""
        return () if self.format == FORMAT else (METRICS, HISTORY, CARD, CONFIG)


@dataclass(frozen=True)
class RunConfig:
    """The contents of `config.json`."""

    info: RunInfo
    preset: Preset | None
    """None in the run of an opponent."""
    calibration: Calibration
    ranking: RankingConfig | None = None
    method: Mapping[str, Any] | None = None
    """The opponent: its name, recipe, shape and seed."""

    def as_dict(self) -> dict[str, Any]:
        about = {
            name: getattr(self.info, name)
            for name in ("graph_name", "preset_name", "fingerprint", "candidate_prior", "needs", "lacks")
        }
        parts = {"preset": None if self.preset is None else plain(self.preset), "calibration": plain(self.calibration)}
        if self.method is not None:
            parts["method"] = dict(self.method)
        if self.ranking is not None:
            parts["ranking"] = plain(self.ranking)
        return {"format": FORMAT, "llwlc": VERSION, **about, **parts}


def write_manifest(folder: Path) -> None:
    """Writes the manifest: the digests of all files of a run."""
    there = [name for name in (*FILES, *OPTIONAL, PACKED_MANIFEST) if (folder / name).exists()]
    files = {name: {"bytes": (folder / name).stat().st_size, "sha256": file_digest(folder / name)} for name in there}
    about = {"format": FORMAT, "llwlc": VERSION, "files": files}
    write_text(folder / MANIFEST, json.dumps(about, indent=2) + "\n")


def is_finished(folder: Path) -> bool:
    """Whether the folder holds a finished run, of this format or an older one."""
    return (folder / MANIFEST).exists() or _has_format_1(folder)


def read_config(folder: Path, *, unfinished: str = "") -> RunConfig:
    """`config.json` of a finished run, brought to this format, after every file was compared with its digest."""
    if not folder.is_dir():
        raise InputError(f"there is no run folder {folder}: make one with llwlc fit GRAPH --out {folder}")
    if not (folder / CONFIG).exists() or not is_finished(folder):
        raise InputError(f"{folder} holds no finished run of llwlc, as it has no {CONFIG} or {MANIFEST}{unfinished}")
    if (folder / MANIFEST).exists():
        _verify(folder, _manifest(folder))
        config = _json_object(folder / CONFIG)
    else:
        config = _json_object(folder / CONFIG)
        _verify(folder, _digests_of_format_1(folder, config))
        config = _from_format_1(config)
    if config.get("format") != FORMAT:
        raise _other_format(folder, config.get("format"))
    try:
        return _parsed(folder, config)
    except (LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{folder}/{CONFIG} does not fit together ({type(error).__name__}: {reason(error)}): fit again with this version"
        ) from error


def _parsed(folder: Path, config: Mapping[str, Any]) -> RunConfig:
    where = f"{folder}/{CONFIG}"
    _require_needs(folder, config.get("needs", {}))
    parts, method = config["preset"], config.get("method")
    if (parts is None) == (method is None) or not isinstance(method, Mapping | None):
        raise InputError(f"{where} names neither a preset nor a method: copy it again, or fit again")
    preset = None if parts is None else read_preset(parts, where)
    prior, ranking = config.get("candidate_prior"), config.get("ranking")
    lacks = tuple(config.get("lacks", ()))
    info = RunInfo(
        str(config["graph_name"]),
        RENAMED.get(str(config["preset_name"]), str(config["preset_name"])),
        str(config["fingerprint"]),
        None if prior is None else float(prior),
        config.get("needs", {}),
        int(config.get("read_from", FORMAT)),
        lacks if ranking is not None or RANKING in lacks else (*lacks, RANKING),
    )
    found = None if ranking is None else _ranking(ranking, where)
    return RunConfig(info, preset, read_record(Calibration, config["calibration"], where), found, method)


def _ranking(parts: Mapping[str, Any], where: str) -> RankingConfig:
    shortlist, curves = parts["shortlist"], parts["calibration"]
    return RankingConfig(
        read_record(CandidateConfig, parts["candidates"], where),
        None
        if shortlist is None
        else Shortlist(*(_numbers(shortlist[name]) for name in ("centre", "scale", "weight"))),
        CandidateCalibration(*(_curve(curves[name]) for name in ("sharing", "apart"))),
        float(parts["missing_per_known"]),
    )


def _curve(parts: Mapping[str, Any]) -> Curve:
    others = tuple(_numbers(weights) for weights in parts["others"])
    return Curve(
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
        if kind not in KINDS:
            raise InputError(f"the run {folder} needs {need!r}, which this version of llwlc does not know: update it")
        came = f" (from {about['file']})" if about.get("file") else ""
        if name not in KINDS[kind]:
            raise InputError(
                f"the run {folder} needs the {kind} {name!r}{came}, which is no part of llwlc: load it with --plugin FILE, in Python "
                "import the module that registers it"
            )
        if KINDS[kind][name].digest != about.get("digest"):
            warnings.warn(
                f"the {kind} {name!r}{came} has changed since the run {folder} was fitted: its scores may differ from those measured",
                stacklevel=2,
            )


def _manifest(folder: Path) -> dict[str, str]:
    """The digest of every file, by name."""
    about = _json_object(folder / MANIFEST)
    if about.get("format") != FORMAT:
        raise _other_format(folder, about.get("format"))
    files = about.get("files")
    if not isinstance(files, dict) or not all(isinstance(entry, dict) for entry in files.values()):
        raise InputError(f"{folder}/{MANIFEST} names no files: copy it again, or fit again")
    missing = [name for name in FILES if name not in files]
    if missing:
        raise InputError(f"{folder}/{MANIFEST} does not name {missing[0]}: copy it again, or fit again")
    known = (*FILES, *OPTIONAL, PACKED_MANIFEST)
    return {name: str(entry.get("sha256")) for name, entry in files.items() if name in known}


def _verify(folder: Path, digests: Mapping[str, str]) -> None:
    for name in FILES:
        path = folder / name
        if name != CARD and not path.is_file():
            raise InputError(f"the run {folder} lacks {name}: copy the whole folder, or fit again")
    for name, digest in digests.items():
        path = folder / name
        if not path.is_file():
            raise InputError(f"the run {folder} lacks {name}: copy the whole folder, or fit again")
        if file_digest(path) != digest:
            raise InputError(
                f"{path} is damaged (its checksum differs from the recorded one): copy it again, or fit again"
            )


def _has_format_1(folder: Path) -> bool:
    try:
        return bool(read_json(folder / CONFIG).get("format") != FORMAT)
    except (InputError, AttributeError):
        return (folder / CONFIG).exists()  # reading it will say what is wrong


def _digests_of_format_1(folder: Path, config: Mapping[str, Any]) -> dict[str, str]:
    sums = config.get("sha256")
    if not isinstance(sums, dict) or "preset" not in config:
        raise InputError(f"{folder}/{CONFIG} is no configuration of llwlc: is this a run folder?")
    if config.get("format") != 1:
        raise _other_format(folder, config.get("format"))
    return {name: str(sums.get(name)) for name in (MODEL, GRAPH, SPLIT)}


def _from_format_1(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a format-1 run as format 2 has it."""
    kept = {k: v for k, v in config.items() if k not in ("sha256", "data")}
    return kept | {
        "format": FORMAT,
        "read_from": 1,
        "graph_name": config["data"],
        "needs": {},
        "lacks": ["raw features"],
    }


def _json_object(path: Path) -> dict[str, Any]:
    found = read_json(path)
    if not isinstance(found, dict):
        raise InputError(f"{path} is no configuration of llwlc: is this a run folder?")
    return found


def _other_format(folder: Path, found: object) -> InputError:
    return InputError(f"{folder} has format {found}, this version reads 1 to {FORMAT}: fit again, or update llwlc")
