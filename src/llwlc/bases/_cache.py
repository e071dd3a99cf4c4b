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
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch
from torch import Tensor

from llwlc._support.files import file_digest, open_atomic_folder, remove, write_text
from llwlc._support.free_space import free_disk
from llwlc._support.json_file import read_json
from llwlc._support.repeated_warnings import warn
from llwlc._support.roots import cache_root
from llwlc.bases._config import BasisConfig
from llwlc.bases._encoded_links import (
    FIELD_TYPES,
    EncodedLinks,
    encode_pairs,
    iterate_encoded_parts,
    make_encoded_links,
    stored_type,
)
from llwlc.errors import InputError, StorageError
from llwlc.graph._graph import Graph

CACHE_FORMAT = 4  # part of the hash: raise it when the arrays or the numerics behind them change
CACHE_LIMIT = 20 << 30
"""Bytes that the cache may hold unless LLWLC_CACHE_LIMIT says otherwise, in gigabytes; beyond, the least recently used
entries are deleted.
"""
DIGESTS, OWNER = "digests.json", "owner"
ABANDONED_AFTER = 86_400  # seconds after which an unfinished folder is deleted
MIN_FREE_BYTES = 1 << 30
"""Bytes of the disk that the cache leaves free."""


class CacheFullError(Exception):
    """An entry does not fit the cache or the disk."""


class DamagedEntryError(Exception):
    """An entry is not what was written."""


def default_cache_folder() -> Path:
    return cache_root() / "bases"


def cache_limit() -> int:
    """Bytes that the cache may hold."""
    limit = os.environ.get("LLWLC_CACHE_LIMIT")
    if not limit:  # an empty variable is as good as none: shells and containers cannot always unset one
        return CACHE_LIMIT
    try:
        gigabytes = float(limit)
    except ValueError:
        gigabytes = -1.0
    if not 0 <= gigabytes < 1 << 30:
        raise InputError(f"LLWLC_CACHE_LIMIT is a number of gigabytes, got {limit!r}")
    return int(gigabytes * 2**30)


def load_or_encode(
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
    """The bases of these pairs: from the cache, or computed on the graph's device and stored there, or kept in memory
    where they do not fit. Damaged ones are computed again, with a warning.

    `owner`: the folder of the run that they belong to; once it is deleted, they are the first to be removed.
    """
    folder = cache / cache_key(graph, pairs, config, epoch)
    if os.path.lexists(folder):
        try:
            _verify(folder)
            cached = _read(folder, len(pairs), config, memory_budget)
        except DamagedEntryError as reason:
            warn(f"{reason}; they are computed again", stacklevel=2)
            remove(folder)
        else:
            with contextlib.suppress(OSError):  # the cache may be read-only
                os.utime(folder)  # last used now
            return cached
    try:
        if os.path.lexists(folder):
            raise CacheFullError(f"the damaged bases in {folder} cannot be replaced")
        _write(folder, iterate_encoded_parts(graph, pairs, config, epoch=epoch, about=about), len(pairs), owner)
        return _read(folder, len(pairs), config, memory_budget)
    except (CacheFullError, DamagedEntryError) as reason:  # damaged: another process may clear the cache at any time
        warn(f"{reason}; they are kept in memory", stacklevel=2)
        return encode_pairs(graph, pairs, config, epoch=epoch, about=about)


def cache_key(graph: Graph, pairs: Tensor, config: BasisConfig, epoch: int) -> str:
    """The hash of everything a basis depends on, the code of a user's own constraint included. The device type is part
    of it: CPU and GPU differ in the last bits."""
    options = {f.name: getattr(config, f.name) for f in fields(config)}
    options.pop("redraw")  # the epoch, below, is what it comes to
    options["constraints"] = [family.name for family in config.families]
    about = [
        CACHE_FORMAT,
        options,
        config.code,
        epoch if config.stochastic else 0,
        graph.indptr.device.type,
        graph.digest,
    ]
    digest = hashlib.sha256(json.dumps(about).encode())
    if config.draws(graph) and (draw_ids := graph.identity) is not None:
        digest.update(draw_ids.cpu().numpy().tobytes())
    digest.update(str(tuple(pairs.shape)).encode() + pairs.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:32]


def _write(folder: Path, parts: Iterator[dict[str, Tensor]], links: int, owner: Path | None) -> None:
    """Writes an entry atomically, with a digest of each array. Other entries are deleted for it as soon as the
    first part shows how large it will be.
    """
    digests = {name: hashlib.sha256() for name in FIELD_TYPES}
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"the cache {folder.parent} cannot be made ({error.strerror}): set LLWLC_CACHE") from error
    with open_atomic_folder(folder) as partial:
        with ExitStack() as stack:
            files = {name: stack.enter_context((partial / name).open("wb")) for name in FIELD_TYPES}
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


def measure_store_seconds(data: EncodedLinks) -> float:
    """How long it takes to store these bases and to read them again, measured in a file of its own; on a full disk, as
    long as it went.
    """
    begin = time.perf_counter()
    with contextlib.suppress(OSError), tempfile.TemporaryFile() as file:
        for name in FIELD_TYPES:
            _append(file, hashlib.sha256(), getattr(data, name))
        file.flush()
    for name in FIELD_TYPES:
        getattr(data, name).clone()
    return time.perf_counter() - begin


def _evict_for(folder: Path, needed: int) -> None:
    """Deletes the least needed entries until an entry of `needed` bytes fits within the cache's limit."""
    limit, cache = cache_limit(), folder.parent
    if needed > limit:
        raise CacheFullError(
            f"the bases take some {needed / 2**30:.1f} GB, more than the cache may hold ({limit / 2**30:g} GB,"
            " LLWLC_CACHE_LIMIT)"
        )
    entries = list_entries(cache)
    excess = sum(entry.size for entry in entries) + needed - limit
    short = needed + MIN_FREE_BYTES - free_disk(cache)
    for entry in sorted(entries, key=lambda entry: (not entry.abandoned, entry.used)):
        if max(excess, short) <= 0:
            break
        if not entry.busy:
            shutil.rmtree(entry.folder, ignore_errors=True)
            excess, short = excess - entry.size, short - entry.size
    if short > 0:
        raise CacheFullError(f"the bases take some {needed / 2**30:.1f} GB, more than the disk of {cache} has room for")


@dataclass(frozen=True)
class CacheEntry:
    """Bases that the cache holds: `used` last, in seconds since 1970, `size` in bytes; `abandoned`: their run was
    deleted, or they were never finished; `busy`: another process is writing them.
    """

    folder: Path
    used: float
    size: int
    abandoned: bool
    busy: bool


def list_entries(cache: Path) -> list[CacheEntry]:
    """What the cache holds."""
    entries = []
    for folder in cache.iterdir() if cache.is_dir() else ():
        used, size = _usage(folder)
        # a hidden folder is being written by another process, or was left by a killed one
        partial = folder.name.startswith(".")
        busy = partial and time.time() - used < ABANDONED_AFTER
        entries.append(CacheEntry(folder, used, size, (partial and not busy) or _abandoned(folder), busy))
    return entries


def delete_entries(cache: Path) -> int:
    """Delete everything that no process is writing. Returns the bytes that became free."""
    freed = 0
    for entry in list_entries(cache):
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
    """The arrays: in memory if they take no more than the budget, else memory-mapped. (Copied out of a map they would
    be in memory twice for a moment.)
    """
    steps, types = config.steps, {name: stored_type(name, config) for name in FIELD_TYPES}
    rows = int(_array(folder, "sizes", links, types["sizes"], mapped=False).sum())
    count = {"sizes": links, "vectors": rows * steps} | dict.fromkeys(("values", "mask", "residual"), links * steps)
    sizes = {name: count.get(name, rows) for name in FIELD_TYPES}
    mapped = sum(size * types[name].itemsize for name, size in sizes.items()) > memory_budget
    fields = {name: _array(folder, name, size, types[name], mapped=mapped) for name, size in sizes.items()}
    wide = {name: fields[name].reshape(-1, steps) for name in ("values", "mask", "residual", "vectors")}
    return make_encoded_links(fields | wide)


def _verify(folder: Path) -> None:
    """Checks the digests of all arrays: that reads each byte once, which an epoch does many times."""
    try:
        stated = read_json(folder / DIGESTS)
        for name in FIELD_TYPES:
            if not (folder / name).is_file():
                raise _damaged(folder, f"{name} is not a file")
            if not isinstance(stated, dict) or file_digest(folder / name) != stated.get(name):
                raise _damaged(folder, f"the checksum of {name} differs from the recorded one")
    except InputError:
        raise _damaged(folder, f"{DIGESTS} cannot be read") from None
    except OSError as error:
        raise _damaged(folder, error.strerror or type(error).__name__) from error


def _array(folder: Path, name: str, count: int, dtype: torch.dtype, *, mapped: bool) -> Tensor:
    """`count` numbers of a file."""
    path = folder / name
    if not path.is_file() or path.stat().st_size != count * dtype.itemsize:
        raise _damaged(folder, f"{name} has another size")
    if mapped and count:
        return torch.from_file(str(path), shared=False, size=count, dtype=dtype)
    return torch.from_numpy(np.fromfile(path, torch.empty(0, dtype=dtype).numpy().dtype, count))


def _damaged(folder: Path, what: str) -> DamagedEntryError:
    return DamagedEntryError(f"the cached bases in {folder} are damaged ({what})")
