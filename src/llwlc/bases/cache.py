"""Bases kept on disk, found again by a hash of graph, pairs and configuration, mapped instead of read where they are large.

Where the arrays exceed the memory budget they are mapped: then the operating system pages in what a batch touches.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path

import torch
from torch import Tensor

from llwlc.bases.config import BasisConfig
from llwlc.bases.encoded_links import FIELDS, EncodedLinks, encode_parts, with_pointer
from llwlc.errors import InputError
from llwlc.graph.graph import Graph
from llwlc.support.files import file_digest, whole_folder
from llwlc.support.roots import cache_root

FORMAT = 4  # part of the hash: raise it when the arrays or the numerics behind them change
CACHE_LIMIT = 20 << 30
"""Bytes that the cache may hold; beyond, what was not used for longest is deleted."""
DIGESTS = "digests.json"
ABANDONED = 86_400  # seconds after which a folder half written is rubbish


def default_cache() -> Path:
    return cache_root() / "bases"


def cached(
    graph: Graph,
    pairs: Tensor,
    config: BasisConfig,
    *,
    cache: Path,
    epoch: int = 0,
    memory_budget: int = 2 << 30,
    about: str = "eigenbases",
) -> EncodedLinks:
    """The bases of these pairs, from the cache where they are, else computed, on the graph's device, and put there."""
    folder = cache / key(graph, pairs, config, epoch)
    if not folder.is_dir():
        _write(folder, encode_parts(graph, pairs, config, epoch=epoch, about=about))
        _prune(cache, keep=folder)
    with contextlib.suppress(OSError):  # a cache that may only be read is one too
        os.utime(folder)  # last used now
    data = _read(folder, len(pairs), config.steps)
    if data.num_bytes <= memory_budget:
        return with_pointer({name: getattr(data, name).clone() for name in FIELDS})
    return data


def key(graph: Graph, pairs: Tensor, config: BasisConfig, epoch: int) -> str:
    """The hash of everything a basis depends on, the code of a user's own constraint included. The device type is part of it: CPU and GPU
    differ in the last bits."""
    options = {f.name: getattr(config, f.name) for f in fields(config)}
    options["constraints"] = [family.name for family in config.families]
    about = [FORMAT, options, config.code, epoch if config.stochastic else 0, graph.indptr.device.type, graph.digest]
    digest = hashlib.sha256(json.dumps(about).encode())
    if config.draws(graph) and (drawn_by := config.drawn_by(graph)) is not None:
        digest.update(drawn_by.cpu().numpy().tobytes())
    digest.update(str(tuple(pairs.shape)).encode() + pairs.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:32]


def _write(folder: Path, parts: Iterator[dict[str, Tensor]]) -> None:
    """Whole or not at all, a digest of each array beside them."""
    digests = {name: hashlib.sha256() for name in FIELDS}
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the cache {folder.parent} cannot be made ({error.strerror}): set LLWLC_CACHE") from error
    with whole_folder(folder) as partial:
        with ExitStack() as stack:
            files = {name: stack.enter_context((partial / name).open("wb")) for name in FIELDS}
            for part in parts:
                for name, file in files.items():
                    data = part[name].cpu().numpy().tobytes()
                    digests[name].update(data)
                    file.write(data)
        (partial / DIGESTS).write_text(json.dumps({name: digest.hexdigest() for name, digest in digests.items()}))


def _prune(cache: Path, *, keep: Path) -> None:
    """Delete what was not used for longest until the cache is within its limit."""
    found = sorted((*_usage(folder), folder) for folder in cache.iterdir())
    excess = sum(size for _, size, _ in found) - CACHE_LIMIT
    for used, size, folder in found:
        if excess <= 0:
            break
        # a folder of a hidden name is being written by another process, or was left by one that was killed
        if folder != keep and not (folder.name.startswith(".") and time.time() - used < ABANDONED):
            shutil.rmtree(folder, ignore_errors=True)
            excess -= size


def _usage(folder: Path) -> tuple[float, int]:
    """When a folder was last used, and its bytes; nothing of one that another process has just renamed or removed."""
    try:
        return folder.stat().st_mtime, sum(file.stat().st_size for file in folder.iterdir())
    except OSError:
        return 0.0, 0


def _read(folder: Path, links: int, steps: int) -> EncodedLinks:
    """The arrays, mapped, after each was compared with its digest: it costs a look at each byte, which an epoch does many times."""
    _verify(folder)
    rows = int(_map(folder, "sizes", links).sum())
    count = {"sizes": links, "vectors": rows * steps} | dict.fromkeys(("values", "mask", "residual"), links * steps)
    fields = {name: _map(folder, name, count.get(name, rows)) for name in FIELDS}
    wide = {name: fields[name].reshape(-1, steps) for name in ("values", "mask", "residual", "vectors")}
    return with_pointer(fields | wide)


def _verify(folder: Path) -> None:
    try:
        stated = json.loads((folder / DIGESTS).read_bytes())
        whole = stated == {name: file_digest(folder / name) for name in FIELDS}
    except (OSError, ValueError, RecursionError):
        whole = False
    if not whole:
        raise _damaged(folder)


def _map(folder: Path, name: str, count: int) -> Tensor:
    """So many numbers of a file, not read before they are touched."""
    path, dtype = folder / name, FIELDS[name]
    if not path.is_file() or path.stat().st_size != count * dtype.itemsize:
        raise _damaged(folder)
    return torch.from_file(str(path), shared=False, size=count, dtype=dtype) if count else torch.zeros(0, dtype=dtype)


def _damaged(folder: Path) -> InputError:
    return InputError(f"the cached bases in {folder} are damaged: delete that folder and run again")
