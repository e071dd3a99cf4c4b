"""Checks of a run folder before its arrays are passed to kernels.

A manifest shows that files are unchanged, not who wrote them: a hostile folder can have matching digests. Kernels do
not check indices, so every index is checked here, once, in time linear in the size of the arrays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from llwlc._fitting.fit_metrics import FitMetrics
from llwlc._runs.format import CONFIG, GRAPH, HISTORY, METRICS, MODEL, SPLIT, RunConfig
from llwlc.errors import RunFolderError
from llwlc.graph._csr_check import SYMMETRY_FAULT, find_csr_fault
from llwlc.graph._graph import Graph
from llwlc.graph._sorted_search import RANGE_FAULT
from llwlc.models._registry import MODELS
from llwlc.ranking._calibration_counts import CalibrationCounts
from llwlc.ranking._ranking import RankingConfig
from llwlc.splits._linksplit import PARTS, STAGES, LinkSplit
from llwlc.training._compact_features import RawFeatures
from llwlc.training._epoch_record import EpochRecord
from llwlc.training._node_features import NodeFeatures

OWN_PARAMETERS = frozenset({"self", "preset", "model", "seed", "minutes", "device", "cache"})
"""Parameters of a predictor that are not options of its model."""
MAX_SLOPE = 500.0
"""The largest logarithm of a slope whose exponential, times a score, stays a finite number."""
LARGEST = 1e300
"""The largest measurement."""


def check_config(folder: Path, config: RunConfig) -> None:
    """Checks that numbers are finite; each record has checked its own ranges."""
    where = folder / CONFIG
    if not all(math.isfinite(value) for value in (config.calibration.slope, config.calibration.offset)):
        raise _wrong(where, "the calibration is NaN or infinite")
    if config.calibration.slope <= 0:  # its logarithm is taken, and it would turn the order round
        raise _wrong(where, f"the slope of the calibration is {config.calibration.slope}, not above 0")
    for name, value in (("slope", config.calibration.slope), ("offset", config.calibration.offset)):
        if abs(value) > math.exp(MAX_SLOPE):  # differences of log-odds would be infinite
            raise _wrong(where, f"the {name} of the calibration is {value}, too large for finite log-odds")
    _check_ranking(where, config.ranking)
    _check_parameters(where, config.info.parameters)


def _check_parameters(where: Path, parameters: Mapping[str, Any]) -> None:
    """Checks that a predictor can be made with these parameters."""
    if lacking := {"preset", "model", "minutes", "directed", "options"} - set(parameters):
        raise _wrong(where, f"parameters.{min(lacking)} is missing")
    for name in ("preset", "model"):
        if not isinstance(parameters[name], str | None):
            raise _wrong(where, f"parameters.{name} is not text")
    minutes, options = parameters["minutes"], parameters["options"]
    if minutes is not None and not _is_number(minutes):
        raise _wrong(where, "parameters.minutes is not a number")
    if not isinstance(parameters["directed"], bool):
        raise _wrong(where, "parameters.directed is not true or false")
    if not isinstance(options, Mapping):
        raise _wrong(where, "parameters.options is not a list of options by name")
    for name in options:
        if name in OWN_PARAMETERS:
            raise _wrong(where, f"parameters.options has {name!r}, which is not an option")


def _check_ranking(where: Path, ranking: RankingConfig) -> None:
    """Checks that the numbers of the ranking are finite, and their counts consistent."""
    candidates = ranking.candidates
    numbers = [
        candidates.degree,
        candidates.walk,
        candidates.hubness_penalty,
        candidates.svd_similarity,
        ranking.missing_per_known,
    ]
    for curve in (ranking.calibration.sharing, ranking.calibration.apart):
        size = len(curve.knots) + 2
        if (
            len(curve.weights) != size
            or any(len(other) != size for other in curve.others)
            or list(curve.knots) != sorted(curve.knots)
        ):
            raise _wrong(where, "a curve of the candidates' calibration does not fit together")
        if any(slope > MAX_SLOPE for weights in (curve.weights, *curve.others) for slope in weights[1:]):
            raise _wrong(where, "a curve of the candidates' calibration is too steep")
        numbers += [curve.centre, *curve.knots, *curve.weights, *(value for other in curve.others for value in other)]
    if ranking.counts is not None:
        _check_counts(where, ranking.counts)
    if len(ranking.calibration.sharing.others) != len(ranking.calibration.apart.others):
        raise _wrong(where, "the two curves of the candidates' calibration were refitted unequally often")
    if ranking.shortlist is not None:
        centre, scale, weight = ranking.shortlist.centre, ranking.shortlist.scale, ranking.shortlist.weight
        if len(centre) != len(scale) or len(weight) != 2 * len(centre) + 2 or not all(value > 0 for value in scale):
            raise _wrong(where, "the shortlist does not fit together")
        numbers += [*centre, *scale, *weight]
    if not all(math.isfinite(value) for value in numbers) or ranking.missing_per_known <= 0:
        raise _wrong(where, "the candidates' calibration is NaN, infinite or negative")


def _check_counts(where: Path, counts: CalibrationCounts) -> None:
    """Checks that the counts of the calibration are finite, of equal length, and hidden links among candidates."""
    numbers = [counts.known_per_training, counts.unit]
    for stage in (*counts.sharing, *counts.apart):
        if not len(stage.score) == len(stage.hits) == len(stage.count) or not all(
            0 <= hits <= count and count > 0 for hits, count in zip(stage.hits, stage.count, strict=True)
        ):
            raise _wrong(where, "the counts of the candidates' calibration do not fit together")
        if stage.rho <= 0 or stage.other < 0:
            raise _wrong(where, "the counts of the candidates' calibration have a negative share of hidden links")
        numbers += [stage.rho, stage.other, *stage.score, *stage.count]
    if not all(_is_number(value) for value in numbers) or counts.known_per_training < 1 or counts.unit <= 0:
        raise _wrong(where, "the counts of the candidates' calibration are NaN, infinite or negative")


def check_links(folder: Path, stored: Mapping[str, Tensor], names: object) -> None:
    """Checks that the links form a valid graph, whose nodes have names of their own."""
    _check_names(folder / GRAPH, names, check_csr(folder / GRAPH, stored))


def check_arrays(
    folder: Path, config: RunConfig, model: Mapping[str, Tensor], stored: Mapping[str, Tensor], n: int
) -> None:
    """Checks that the weights fit the network of the configuration, and the features the weights and the `n` nodes."""
    _check_weights(folder / MODEL, config, model)
    where, compact = folder / GRAPH, stored.get("features")
    width = 0 if compact is None or not compact.ndim else compact.shape[-1]
    if compact is not None and compact.shape != (n, width):
        raise _wrong(where, f"features of shape {tuple(compact.shape)} do not fit {n} nodes")
    _require_finite(where, {"features": compact, "x": stored.get("x"), "x.data": stored.get("x.data")})
    if "compactor.weight" in model:
        _check_compactor(folder / MODEL, model, width)


def check_features(folder: Path, x: RawFeatures | None, num_nodes: int, columns: int | None) -> None:
    """Checks that raw features have a row for each node and the columns that the compactor was fitted on."""
    if x is None:
        return
    if x.ndim != 2 or x.shape[0] != num_nodes or (columns is not None and x.shape[1] != columns):
        raise _wrong(
            folder / GRAPH, f"x of shape {tuple(x.shape)} does not fit {num_nodes} nodes and {columns} columns"
        )
    if not isinstance(x, Tensor):
        x.check_format(full_check=True)  # a ValueError that says what is wrong


def check_node_features(folder: Path, features: NodeFeatures) -> None:
    """Checks that weighing and scaling the raw features gave finite numbers."""
    unit = features.unit
    if unit is not None and not np.isfinite(unit if isinstance(unit, np.ndarray) else unit.data).all():
        raise _wrong(folder / MODEL, "the map to compact features turns x into NaN or infinite numbers")


def check_shortlist(folder: Path, ranking: RankingConfig, channels: int) -> None:
    """Checks that the shortlist has a weight for the score in a candidate list and for each input of a pair."""
    if ranking.shortlist is not None and len(ranking.shortlist.centre) != (num_inputs := 1 + channels):
        raise _wrong(
            folder / CONFIG, f"the shortlist has {len(ranking.shortlist.centre)} inputs, its features give {num_inputs}"
        )


def check_split(folder: Path, split: LinkSplit, num_nodes: int) -> None:
    """Checks that parts and message graphs contain only nodes of the graph."""
    where = folder / SPLIT
    for name in PARTS:
        part: Tensor = getattr(split, name)
        if part.dtype != torch.int64 or part.ndim not in (2, 3) or part.shape[-1] != 2:
            raise _wrong(where, f"{name} is not a list of pairs, but {tuple(part.shape)} of {part.dtype}")
        _require_nodes(where, name, part, num_nodes)
    if split.known_neg is not None:
        if split.known_neg.dtype != torch.int64 or split.known_neg.ndim != 2 or split.known_neg.shape[1] != 2:
            raise _wrong(where, f"known_neg is not a list of pairs, but {tuple(split.known_neg.shape)}")
        _require_nodes(where, "known_neg", split.known_neg, num_nodes)
    if split.nodes is not None:
        _require_nodes(where, "nodes", split.nodes, num_nodes)
    for name in STAGES:
        graph: Graph = getattr(split, name)
        if any(graph is getattr(split, other) for other in STAGES[: STAGES.index(name)]):
            continue  # stages of a packed graph share theirs
        arrays = {"indptr": graph.indptr, "indices": graph.indices, "weight": graph.weight, "time": graph.time}
        check_csr(where, {key: array for key, array in arrays.items() if array is not None}, prefix=f"{name}.")


def check_records(folder: Path, metrics: FitMetrics, history: Sequence[EpochRecord]) -> None:
    """Refuses measurements that are not finite numbers."""
    flat = [
        value for found in (metrics.as_dict(), *metrics.as_dict()["heuristics"].values()) for value in found.items()
    ]
    for name, value in flat:
        if name not in ("heuristics", "ranking", "stages", "direction") and not _is_number(value):
            raise _wrong(folder / METRICS, f"{name} is {str(value)[:60]!r}, no number")
    if metrics.ranking is not None:
        _check_numbers(folder / METRICS, metrics.ranking.as_dict() | {"population": 0})
    if metrics.direction is not None:
        _check_numbers(folder / METRICS, metrics.direction.as_dict())
    for record in history:
        if not all(
            _is_number(value) or (name == "valid_candidates" and value is None)
            for name, value in record.as_dict().items()
        ):
            raise _wrong(folder / HISTORY, "an entry is not a number")


def _check_numbers(where: Path, value: object) -> None:
    """Refuses anything but numbers, at any depth."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            _check_numbers(where, part)
    elif not _is_number(value):
        raise _wrong(where, f"the ranking has {str(value)[:60]!r} where a number belongs")


def check_csr(where: Path, arrays: Mapping[str, Tensor], prefix: str = "") -> int:
    """Checks that arrays are a valid undirected graph: rows in order, columns ascending and in range, every link in
    both directions with the same weight above zero. Returns the number of nodes."""
    for name in ("indptr", "indices"):
        if name not in arrays or arrays[name].dtype != torch.int64 or arrays[name].ndim != 1:
            raise _wrong(where, f"{prefix}{name} is missing, or no list of 64-bit integers")
    indptr, indices = (arrays[name].numpy() for name in ("indptr", "indices"))
    n, entries = len(indptr) - 1, len(indices)
    if n < 0 or indptr[0] != 0 or indptr[-1] != entries or (np.diff(indptr) < 0).any():
        raise _wrong(where, f"{prefix}indptr does not rise from 0 to the {entries} entries of indices")
    fault = find_csr_fault(indptr, indices)
    if fault == RANGE_FAULT:
        raise _wrong(where, f"{prefix}indices name nodes outside 0 to {n - 1}")
    if fault == SYMMETRY_FAULT:
        raise _wrong(where, f"{prefix}indices have a link in one direction only")
    if fault:
        raise _wrong(where, f"{prefix}indices are unsorted, repeated or name a node itself")
    for name in ("weight", "time"):
        if name in arrays:
            _check_values(where, prefix + name, arrays[name], indptr, indices)
    return n


def _check_values(where: Path, name: str, values: Tensor, indptr: np.ndarray, indices: np.ndarray) -> None:
    if values.shape != (len(indices),):
        raise _wrong(where, f"{name} has shape {tuple(values.shape)}, the graph {len(indices)} entries")
    array = values.contiguous().numpy()
    bits = array.view(f"u{array.itemsize}")
    if np.isnan(array).any() or find_csr_fault(indptr, indices, lambda a, b: bits[a:b].astype(np.uint64)):
        raise _wrong(where, f"{name} is NaN, or not the same in both directions")
    if name.endswith("weight") and not (
        values.is_floating_point() and torch.isfinite(values).all() and (values > 0).all()
    ):
        raise _wrong(where, f"{name} is not finite and above zero everywhere")


def _check_names(where: Path, names: object, n: int) -> None:
    if names is None:
        return
    if not isinstance(names, list) or len(names) != n or not all(isinstance(name, str) for name in names):
        raise _wrong(where, f"names are not a list of {n} texts")
    if len(set(names)) != n:
        raise _wrong(where, "two nodes have one name")
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        raise _wrong(where, "a name is not text") from None


def _check_weights(where: Path, config: RunConfig, model: Mapping[str, Tensor]) -> None:
    expected = MODELS[config.model].load().shapes(config.options, str(where.parent / CONFIG))
    tensors = {name.removeprefix("net."): tensor for name, tensor in model.items() if name.startswith("net.")}
    if expected is None:  # a model of the user's own, which checks its state itself
        _require_finite(where, model)
        return
    if set(tensors) != set(expected):
        raise _wrong(where, f"weights and configuration differ in {sorted(set(tensors) ^ set(expected))[0]!r}")
    for name, tensor in tensors.items():
        if tensor.shape != expected[name].shape or tensor.dtype != expected[name].dtype:
            raise _wrong(where, f"{name} is {tuple(tensor.shape)} of {tensor.dtype}, not {tuple(expected[name].shape)}")
    _require_finite(where, model)


def _check_compactor(where: Path, model: Mapping[str, Tensor], width: int) -> None:
    parts = {name: model.get(f"compactor.{name}") for name in ("weight", "shift", "components", "counts")}
    shapes = {name: None if part is None else tuple(part.shape) for name, part in parts.items()}
    rows = len(model["compactor.weight"]) if model["compactor.weight"].ndim else 0
    columns = 0 if width == rows and shapes["components"] == (rows, 0) else width  # raw features have no components
    if shapes != {"weight": (rows,), "shift": (rows,), "components": (rows, columns), "counts": (1,)}:
        raise _wrong(where, "the map to compact features does not fit together")


def _require_nodes(where: Path, name: str, nodes: Tensor, num_nodes: int) -> None:
    if nodes.is_floating_point() or (nodes.numel() and not 0 <= int(nodes.min()) <= int(nodes.max()) < num_nodes):
        raise _wrong(where, f"{name} names nodes outside 0 to {num_nodes - 1}")


def _require_finite(where: Path, tensors: Mapping[str, Tensor | None]) -> None:
    for name, tensor in tensors.items():
        if tensor is not None and tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise _wrong(where, f"{name} has NaN or infinite values")
        if tensor is not None and tensor.is_complex():
            raise _wrong(where, f"{name} is complex")


def _is_number(value: Any) -> bool:
    """Whether it is a finite number, and small enough that differences are finite too."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


def _wrong(where: Path, what: str) -> RunFolderError:
    return RunFolderError(f"{where} cannot be used ({what}): copy the run again, or fit again")
