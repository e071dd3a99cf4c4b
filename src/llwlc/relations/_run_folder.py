"""The files of a run of typed links, and whether what is read from them is one."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llwlc.errors import RunFolderError

if TYPE_CHECKING:
    from torch import Tensor

ABOUT, TENSORS, FORMAT = "relations.json", "relations.safetensors", 1
MAX_EPOCHS = 10_000


def is_relation_run(folder: Path | str) -> bool:
    """Whether a folder is a run of typed links."""
    return (Path(folder) / ABOUT).is_file()


def write_run(folder: Path, about: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Writes a new folder."""
    from llwlc._support.files import open_atomic_folder, write_tensors, write_text

    if folder.exists():
        raise RunFolderError(f"{folder} exists already: choose another folder, or delete it")
    with open_atomic_folder(folder) as partial:
        write_tensors(partial / TENSORS, {name: tensor.contiguous() for name, tensor in tensors.items()})
        write_text(partial / ABOUT, json.dumps(about, ensure_ascii=False) + "\n")


def read_run(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What `write_run` wrote, checked."""
    # here, since commands that need no numbers import this module
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from llwlc._support.json_file import read_json

    try:
        about, tensors = read_json(folder / ABOUT), load_file(folder / TENSORS)
        check_contents(about, tensors)
    except (OSError, KeyError, TypeError, ValueError, IndexError, AttributeError, SafetensorError) as error:
        raise RunFolderError(f"{folder} is no readable run of typed links ({error}): fit again") from error
    return about, tensors


def check_contents(about: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Raises `ValueError` if the contents of a run do not fit together, since anybody may have written them."""
    for what in ("names", "types"):
        given = about[what]
        if not _are_texts(given) or not given or given != sorted(set(given)):
            raise ValueError(f"its {what} are not sorted texts, each once")
    n, kinds, epochs = len(about["names"]), len(about["types"]), about["epochs"]
    labels, metrics, calibration = about["node_types"], about["metrics"], about["calibration"]
    rows, nodes, types = (tensors[name] for name in ("triples", "nodes", "types"))
    size = nodes.shape[-1]
    wrong = {
        "format": about["format"] != FORMAT,
        "column of types": not isinstance(about["relation"], str),
        "node types": labels is not None and not (_are_texts(labels) and len(labels) == n),
        "epochs": not (_is_whole(epochs, 1, MAX_EPOCHS) and _is_whole(about["epoch"], 1, epochs)),
        "seed": not _is_whole(about["seed"], 0, 2**63),
        "metrics": not _are_shares(metrics) or not _are_shares(about["factor_metrics"]),
        "calibration": not isinstance(calibration, list)
        or len(calibration) != 2
        or not all(map(_is_finite, calibration)),
        "network": not _is_network(tensors.get("network"), about, n),
        "weights": not _are_weights(about["weights"], len(about["attributes"]), "network" in tensors),
        "attributes": not _are_attributes(about["attributes"], tensors.get("attributes"), len(rows)),
        "triples": str(rows.dtype) != "torch.int64" or rows.dim() != 2 or rows.shape[1] != 3 or not len(rows),
        "factors": nodes.shape != (n, size)
        or types.shape != (2 * kinds, size)
        or size % 2
        or nodes.dtype != types.dtype,
    }
    for what, is_wrong in wrong.items():
        if is_wrong:
            raise ValueError(f"its {what} cannot be right")
    if int(rows.min()) < 0 or bool((rows.amax(0) >= rows.new_tensor([n, kinds, n])).any()):
        raise ValueError("its triples name nodes or types that it does not have")
    if not nodes.is_floating_point() or not (nodes.isfinite().all() and types.isfinite().all()):
        raise ValueError("its factors are not finite")


def _is_network(scores: Tensor | None, about: Mapping[str, Any], n: int) -> bool:
    """Whether the scores of pairs by our network are some, and have a weight, or there are none."""
    if not isinstance(about["network_note"], str):
        return False
    if scores is None:
        return True
    is_table = str(scores.dtype) == "torch.float32" and scores.shape == (n, n) and bool(scores.isfinite().all())
    return is_table and bool((scores == scores.T).all()) and about["weights"] is not None


def _are_weights(weights: Any, num_attributes: int, with_network: bool) -> bool:
    """Whether there is a weight for each channel of `TypedScorer`, or none at all."""
    if weights is None:
        return True
    right = isinstance(weights, list) and len(weights) == 4 + 2 * num_attributes + with_network
    return right and all(_is_finite(x) and abs(x) < 1e6 for x in weights)


def _are_attributes(names: Any, values: Tensor | None, num_links: int) -> bool:
    if values is None:
        return isinstance(names, list) and not names
    fits = str(values.dtype) == "torch.float64" and values.shape == (num_links, len(names))
    return _are_texts(names) and fits and bool(values.isfinite().all())


def _are_shares(metrics: Any) -> bool:
    return isinstance(metrics, dict) and all(_is_finite(x) and 0 <= x <= 1 for x in metrics.values())


def _are_texts(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(x, str) for x in given)


def _is_whole(x: Any, least: int, most: int) -> bool:
    return isinstance(x, int) and not isinstance(x, bool) and least <= x <= most


def _is_finite(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x)
