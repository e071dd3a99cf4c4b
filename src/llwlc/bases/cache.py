"""A cache of bases on disk, under a hash of graph, pairs and configuration.

Arrays beyond the memory budget are memory-mapped: the operating system reads what a batch touches.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch
from torch import Tensor

from llwlc.bases.config import BasisConfig
from llwlc.bases.encoded_links import FIELDS, EncodedLinks, encode, encode_parts, stored_type, with_pointer
from llwlc.errors import InputError
from llwlc.graph.graph import Graph
from llwlc.support.files import file_digest, whole_folder, write_text
from llwlc.support.roots import cache_root
from llwlc.support.space import free_disk

FORMAT = 4  # part of the hash: raise it when the arrays or the numerics behind them change
CACHE_LIMIT = 20 << 30
"""Bytes that the cache may hold unless LLWLC_CACHE_LIMIT says otherwise, in gigabytes; beyond, the least recently used entries are deleted."""
DIGESTS, OWNER = "digests.json", "owner"
ABANDONED = 86_400  # seconds after which an unfinished folder is deleted
LEFT_FREE = 1 << 30
"""Bytes of the disk that the cache leaves free."""


class DoesNotFit(Exception):
    """An entry does not fit the cache or the disk."""


def default_cache() -> Path:
    return cache_root() / "bases"


def cache_limit() -> int:
    """Bytes that the cache may hold."""
    limit = os.environ.get("LLWLC_CACHE_LIMIT")
    if limit is None:
        return CACHE_LIMIT
    try:
        gigabytes = float(limit)
    except ValueError:
        gigabytes = -1.0
    if not 0 <= gigabytes < 1 << 30:
        raise InputError(f"LLWLC_CACHE_LIMIT is a number of gigabytes, got {limit!r}")
    return int(gigabytes * 2**30)


def cached(
    graph: Graph,
    pairs: Tensor,
    config: BasisConfig,
    *,
    cache: Path,
    epoch: int = 0,
    memory_budget: int = 2 << 30,
    owner: Path | None = None,
    about: str = "eigenbases",
) -> EncodedLinks:
    """The bases of these pairs: from the cache, or computed on the graph's device and stored there, or kept in memory where they do not fit.

    `owner`: the folder of the run that they belong to; when it is gone, they are deleted first.
    """
    folder = cache / key(graph, pairs, config, epoch)
    known = folder.is_dir()
    if not known:
        try:
            _write(folder, encode_parts(graph, pairs, config, epoch=epoch, about=about), len(pairs), owner)
        except DoesNotFit as reason:
            warnings.warn(f"{reason}; they are kept in memory", stacklevel=2)
            return encode(graph, pairs, config, epoch=epoch, about=about)
    with contextlib.suppress(OSError):  # the cache may be read-only
        os.utime(folder)  # last used now
    if known:  # what was just written has its digests already
        _verify(folder)
    return _read(folder, len(pairs), config, memory_budget)


def key(graph: Graph, pairs: Tensor, config: BasisConfig, epoch: int) -> str:
    """The hash of everything a basis depends on, the code of a user's own constraint included. The device type is part of it: CPU and GPU
    differ in the last bits."""
    options = {f.name: getattr(config, f.name) for f in fields(config)}
    options.pop("redraw")  # the epoch, below, is what it comes to
    options["constraints"] = [family.name for family in config.families]
    about = [FORMAT, options, config.code, epoch if config.stochastic else 0, graph.indptr.device.type, graph.digest]
    digest = hashlib.sha256(json.dumps(about).encode())
    if config.draws(graph) and (drawn_by := config.drawn_by(graph)) is not None:
        digest.update(drawn_by.cpu().numpy().tobytes())
    digest.update(str(tuple(pairs.shape)).encode() + pairs.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:32]


def _write(folder: Path, parts: Iterator[dict[str, Tensor]], links: int, owner: Path | None) -> None:
    """Writes an entry whole or not at all, with a digest of each array. Other entries are deleted for it as soon as the first part shows how large it will be."""
    digests = {name: hashlib.sha256() for name in FIELDS}
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the cache {folder.parent} cannot be made ({error.strerror}): set LLWLC_CACHE") from error
    with whole_folder(folder) as partial:
        with ExitStack() as stack:
            files = {name: stack.enter_context((partial / name).open("wb")) for name in FIELDS}
            for done, part in enumerate(parts):
                if not done:
                    _evict_for(folder, sum(t.nbytes for t in part.values()) * links // max(len(part["sizes"]), 1))
                for name, file in files.items():
                    _append(file, digests[name], part[name])
        (partial / DIGESTS).write_text(json.dumps({name: digest.hexdigest() for name, digest in digests.items()}))
        if owner is not None:
            write_text(partial / OWNER, str(owner.absolute()))


def _append(file: BinaryIO, digest: hashlib._Hash, data: Tensor) -> None:
    block = data.cpu().numpy().tobytes()
    digest.update(block)
    file.write(block)


def seconds_to_store(data: EncodedLinks) -> float:
    """How long it takes to store these bases and to read them again, measured in a file of its own; on a full disk, as long as it went."""
    begin = time.perf_counter()
    with contextlib.suppress(OSError), tempfile.TemporaryFile() as file:
        for name in FIELDS:
            _append(file, hashlib.sha256(), getattr(data, name))
        file.flush()
    for name in FIELDS:
        getattr(data, name).clone()
    return time.perf_counter() - begin


def _evict_for(folder: Path, needed: int) -> None:
    """Deletes the least needed entries until one of so many bytes keeps the cache within its limit."""
    limit, cache = cache_limit(), folder.parent
    if needed > limit:
        raise DoesNotFit(
            f"the bases take some {needed / 2**30:.1f} GB, more than the cache may hold ({limit / 2**30:g} GB, LLWLC_CACHE_LIMIT)"
        )
    found = entries(cache)
    excess = sum(entry.size for entry in found) + needed - limit
    short = needed + LEFT_FREE - free_disk(cache)
    for entry in sorted(found, key=lambda entry: (not entry.abandoned, entry.used)):
        if max(excess, short) <= 0:
            break
        if not entry.busy:
            shutil.rmtree(entry.folder, ignore_errors=True)
            excess, short = excess - entry.size, short - entry.size
    if short > 0:
        raise DoesNotFit(f"the bases take some {needed / 2**30:.1f} GB, more than the disk of {cache} has room for")


@dataclass(frozen=True)
class Entry:
    """Bases that the cache holds: `used` last, in seconds since 1970, `size` in bytes; `abandoned`: their run is gone, or they were never finished; `busy`: another process is writing them."""

    folder: Path
    used: float
    size: int
    abandoned: bool
    busy: bool


def entries(cache: Path) -> list[Entry]:
    """What the cache holds."""
    found = []
    for folder in cache.iterdir() if cache.is_dir() else ():
        used, size = _usage(folder)
        # a hidden folder is being written by another process, or was left by a killed one
        partial = folder.name.startswith(".")
        busy = partial and time.time() - used < ABANDONED
        found.append(Entry(folder, used, size, (partial and not busy) or _abandoned(folder), busy))
    return found


def clear(cache: Path) -> int:
    """Delete everything that no process is writing. Returns the bytes that became free."""
    freed = 0
    for entry in entries(cache):
        if not entry.busy:
            shutil.rmtree(entry.folder, ignore_errors=True)
            freed += entry.size
    return freed


def _abandoned(folder: Path) -> bool:
    try:
        return not Path((folder / OWNER).read_text(encoding="utf-8")).exists()
    except (OSError, ValueError):
        return False  # without an owner


def _usage(folder: Path) -> tuple[float, int]:
    """When a folder was last used, and its bytes; zeros where another process has just renamed or removed it."""
    try:
        return folder.stat().st_mtime, sum(file.stat().st_size for file in folder.iterdir())
    except OSError:
        return 0.0, 0


def _read(folder: Path, links: int, config: BasisConfig, memory_budget: int) -> EncodedLinks:
    """The arrays: in memory if they take no more than the budget, else memory-mapped. (Copied out of a map they would be in memory twice for a moment.)"""
    steps, types = config.steps, {name: stored_type(name, config) for name in FIELDS}
    rows = int(_array(folder, "sizes", links, types["sizes"], mapped=False).sum())
    count = {"sizes": links, "vectors": rows * steps} | dict.fromkeys(("values", "mask", "residual"), links * steps)
    sizes = {name: count.get(name, rows) for name in FIELDS}
    mapped = sum(size * types[name].itemsize for name, size in sizes.items()) > memory_budget
    fields = {name: _array(folder, name, size, types[name], mapped=mapped) for name, size in sizes.items()}
    wide = {name: fields[name].reshape(-1, steps) for name in ("values", "mask", "residual", "vectors")}
    return with_pointer(fields | wide)


def _verify(folder: Path) -> None:
    """Checks the digests of all arrays: that reads each byte once, which an epoch does many times."""
    try:
        stated = json.loads((folder / DIGESTS).read_bytes())
        whole = stated == {name: file_digest(folder / name) for name in FIELDS}
    except (OSError, ValueError, RecursionError):
        whole = False
    if not whole:
        raise _damaged(folder)


def _array(folder: Path, name: str, count: int, dtype: torch.dtype, *, mapped: bool) -> Tensor:
    """`count` numbers of a file."""
    path = folder / name
    if not path.is_file() or path.stat().st_size != count * dtype.itemsize:
        raise _damaged(folder)
    if mapped and count:
        return torch.from_file(str(path), shared=False, size=count, dtype=dtype)
    return torch.from_numpy(np.fromfile(path, torch.empty(0, dtype=dtype).numpy().dtype, count))


def _damaged(folder: Path) -> InputError:
    return InputError(f"the cached bases in {folder} are damaged: delete that folder and run again")
