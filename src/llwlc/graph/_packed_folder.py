"""A packed graph: a folder of plain arrays that are mapped instead of read, so that a graph may be larger than memory.

`manifest.json` names every other file with its size and SHA-256 and is written last. A manifest shows that files are
unchanged, not who wrote them: so, as for a run, the contents of all files are checked before kernels index into them,
in one pass and in memory that does not grow with the folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from llwlc._support.files import file_digest, write_text
from llwlc._support.json_file import read_json
from llwlc._support.version import VERSION
from llwlc.errors import InputError, LLwLCError
from llwlc.graph._csr_check import SYMMETRY_FAULT, find_csr_fault
from llwlc.graph._graph import Graph
from llwlc.graph._packed_names import PackedNames
from llwlc.graph._report import GraphReport
from llwlc.graph._sorted_search import INDPTR_FAULT, ORDER_FAULT, RANGE_FAULT, are_texts_sorted

MANIFEST, KIND, FORMAT = "manifest.json", "packed graph", 1
INDPTR, INDICES, WEIGHT = "indptr.i64", "indices.i64", "weight.f32"
TIMES = {"time.i64": torch.int64, "time.f64": torch.float64}
VALUE, TEXT, END, IDENTITY = "name_value.i64", "name_text.u8", "name_end.i64", "name_identity.i64"
DTYPES: dict[str, torch.dtype] = {
    INDPTR: torch.int64,
    INDICES: torch.int64,
    WEIGHT: torch.float32,
    **TIMES,
    VALUE: torch.int64,
    TEXT: torch.uint8,
    END: torch.int64,
    IDENTITY: torch.int64,
}
AT_ONCE = 1 << 22
"""Names that are checked at a time."""
FAULTS = {
    INDPTR_FAULT: "indptr does not rise",
    RANGE_FAULT: "indices name nodes that do not exist",
    ORDER_FAULT: "a row is unsorted, repeats a neighbour or has a self-loop",
    SYMMETRY_FAULT: "a link is there in one direction only, or with another weight or time in the other",
}


def is_packed(folder: str | Path) -> bool:
    """Whether the folder has a manifest of a packed graph."""
    path = Path(folder) / MANIFEST
    try:
        return path.is_file() and read_json(path).get("kind") == KIND
    except (InputError, AttributeError):
        return False


def write_manifest(folder: Path, nodes: int, report: GraphReport, origin: Mapping[str, Any]) -> None:
    """Writes the manifest: size and digest of every file of a packed graph, and the file that it was made of."""
    there = [name for name in DTYPES if (folder / name).exists()]
    _write_about(folder, nodes, report, {name: file_digest(folder / name) for name in there}, origin)


def _write_about(
    folder: Path,
    nodes: int,
    report: GraphReport | None,
    digests: Mapping[str, str],
    origin: Mapping[str, Any] | None = None,
) -> None:
    files = {name: {"bytes": (folder / name).stat().st_size, "sha256": digest} for name, digest in digests.items()}
    counts = None if report is None else asdict(report)
    about = {"kind": KIND, "format": FORMAT, "llwlc": VERSION, "nodes": nodes, "report": counts, "files": files}
    if origin is not None:
        about["origin"] = dict(origin)
    write_text(folder / MANIFEST, json.dumps(about, indent=2) + "\n")


def copy_packed_graph(graph: Graph, folder: Path) -> None:
    """Writes a graph that was opened as another packed folder: its files as links to the same bytes on disk where the
    file system has such links, else as copies.
    """
    assert graph.folder is not None
    arrays = {INDPTR: graph.indptr, INDICES: graph.indices, WEIGHT: graph.weight}
    arrays |= {
        name: graph.time for name, dtype in TIMES.items() if graph.time is not None and graph.time.dtype == dtype
    }
    if isinstance(names := graph.names, PackedNames):
        own = None if names.identity is names.value else names.identity  # integers stand for themselves
        arrays |= {VALUE: names.value, TEXT: names.text, END: names.end, IDENTITY: own}
    folder.mkdir()
    digests = {}
    for name, array in arrays.items():
        if array is not None:
            digests[name] = _link_or_write(graph.folder / name, folder / name, array)
    _write_about(folder, graph.num_nodes, graph.report, digests)


def _link_or_write(source: Path, target: Path, array: Tensor) -> str:
    """The array as a file, and its digest. The file that it was mapped from may have been replaced since: then it is
    another one, and the array is written.
    """
    data = array.contiguous().numpy().view(np.uint8).data
    digest = hashlib.sha256(data).hexdigest()
    with contextlib.suppress(OSError):
        os.link(source, target)
        if file_digest(target) == digest:
            return digest
        target.unlink()
    target.write_bytes(data)
    return digest


def open_graph(folder: str | Path, *, verify: bool = True) -> Graph:
    """The graph of a packed folder, its arrays mapped: a page of them is read when it is first used. Without `verify`,
    only sizes are compared: for a folder that the same user has just verified."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}: make one with llwlc data pack EDGES -o {folder}")
    if not (folder / MANIFEST).is_file():
        raise InputError(
            f"{folder} is a folder but not a packed graph, since it lacks {MANIFEST}: name a file, or pack one with"
            " llwlc data pack EDGES -o FOLDER"
        )
    about = read_json(folder / MANIFEST)
    if not isinstance(about, dict) or about.get("kind") != KIND:
        raise InputError(
            f"{folder} is not a packed graph (its {MANIFEST} describes something else): name the folder that llwlc data"
            " pack wrote"
        )
    if about.get("format") != FORMAT:
        raise InputError(
            f"{folder} has format {str(about.get('format'))[:60]}, this version reads {FORMAT}: pack again, or update"
            " llwlc"
        )
    try:
        return _opened(folder, about, verify)
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError, OSError) as error:
        if isinstance(error, LLwLCError):
            raise
        raise _wrong(folder, f"{MANIFEST}: {type(error).__name__}") from error


def _opened(folder: Path, about: Mapping[str, Any], verify: bool) -> Graph:
    n, files = int(about["nodes"]), about["files"]
    arrays = {name: _mapped(folder, name, files[name]) for name in files if name in DTYPES}
    times = [arrays[name] for name in TIMES if name in arrays]
    indptr, indices = arrays[INDPTR], arrays[INDICES]
    if len(indptr) != n + 1 or n < 0 or int(indptr[0]) != 0 or int(indptr[-1]) != len(indices) or len(indices) % 2:
        raise _wrong(folder, "indptr does not rise from 0 to the entries of indices")
    for name in (WEIGHT, *TIMES):
        if name in arrays and len(arrays[name]) != len(indices):
            raise _wrong(folder, f"{name} has {len(arrays[name])} entries, indices {len(indices)}")
    names = _names(folder, arrays, n)
    counts = about["report"]
    lists = {name: tuple((counts or {}).get(name, ())) for name in ("notes", "unused", "dates")}
    report = None if counts is None else GraphReport(**(counts | lists))
    graph = Graph(indptr, indices, arrays.get(WEIGHT), times[0] if times else None, None, names, report, folder=folder)
    if verify:
        for name in arrays:
            if file_digest(folder / name) != files[name]["sha256"]:
                raise _wrong(folder, f"the checksum of {name} differs from the recorded one")
        _check_contents(folder, graph)
    return graph


def _mapped(folder: Path, name: str, about: Mapping[str, Any]) -> Tensor:
    """The numbers of a file, mapped: read when they are first used."""
    path, dtype = folder / name, DTYPES[name]
    size = path.stat().st_size if path.is_file() else -1
    if size != about["bytes"] or size % dtype.itemsize:
        raise _wrong(folder, f"{name} has {max(size, 0):,} bytes, {about['bytes']:,} were written")
    count = size // dtype.itemsize
    return torch.from_file(str(path), shared=False, size=count, dtype=dtype) if count else torch.zeros(0, dtype=dtype)


def _names(folder: Path, arrays: Mapping[str, Tensor], n: int) -> PackedNames | None:
    value, text, end = arrays.get(VALUE), arrays.get(TEXT), arrays.get(END)
    identity = arrays.get(IDENTITY, value)  # integers stand for themselves
    if identity is None:
        return None
    lengths = {len(identity), n if value is None else len(value), n if end is None else len(end) - 1}
    if lengths != {n} or (value is None) == (text is None) or (text is None) != (end is None):
        raise _wrong(folder, f"names are not those of {n:,} nodes")
    return PackedNames(identity, value, text, end)


def _check_contents(folder: Path, graph: Graph) -> None:
    """Checks that rows are sorted, that every link is there in both directions with the same weight and time, and that
    names are sorted.
    """
    indptr, indices = graph.indptr.numpy(), graph.indices.numpy()
    fault = find_csr_fault(indptr, indices, lambda first, last: _values(folder, graph, first, last))
    if fault:
        raise _wrong(folder, FAULTS[fault])
    if isinstance(graph.names, PackedNames):
        _check_names(folder, graph.names)


def _values(folder: Path, graph: Graph, first: int, last: int) -> np.ndarray:
    """Weight and time of the entries from `first` to `last` as 64 bits each, for comparison."""
    bits = np.zeros(0 if graph.weight is None and graph.time is None else last - first, dtype=np.uint64)
    if graph.weight is not None:
        weight = graph.weight[first:last].numpy()
        if not (np.isfinite(weight) & (weight > 0)).all():
            raise _wrong(folder, "a weight is not finite and above zero")
        bits ^= weight.view(np.uint32).astype(np.uint64)
    if graph.time is not None:
        bits ^= graph.time[first:last].numpy().view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return bits


def _check_names(folder: Path, names: PackedNames) -> None:
    """Checks that names are sorted and distinct: binary search relies on it."""
    n = len(names)
    if names.text is not None and names.end is not None:
        ends = names.end.numpy()
        rising = ends[0] == 0 and ends[-1] == len(names.text)
        for begin in range(0, n, AT_ONCE):
            rising = rising and bool((np.diff(ends[begin : begin + AT_ONCE + 1]) > 0).all())
        rising = rising and are_texts_sorted(names.text.numpy(), ends, 0, n - 1)
    else:
        assert names.value is not None
        value = names.value.numpy()
        parts = (value[begin : begin + AT_ONCE + 1] for begin in range(0, n, AT_ONCE))
        rising = all(bool((part[1:] > part[:-1]).all()) for part in parts)
    if not rising:
        raise _wrong(folder, "names are not in order, or one comes twice")


def _wrong(folder: Path, what: str) -> InputError:
    return InputError(f"the packed graph {folder} cannot be used ({what}): copy it again, or pack it again")
