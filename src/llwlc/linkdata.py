"""LinkData: the eigenbases of many links as data, computed once, found again by a hash, mapped from disk where they are large.

With fixed constraints nothing in a basis is learned, so it is computed once for a (graph, pairs, configuration) and kept as plain
arrays in the cache, under the hash of all three. Where the arrays exceed the memory budget they are mapped, not read:
then the operating system pages in what a batch touches.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from llwlc import kernels
from llwlc.errors import InputError
from llwlc.graph import Graph
from llwlc.kernels import cuda
from llwlc.linalg.basis import Eigenbasis
from llwlc.nn.batch import LinkBatch
from llwlc.pipeline import DEFAULT_CAP, Laplacian, link_bases
from llwlc.progress import track
from llwlc.ragged import expand, pointer
from llwlc.subgraphs import Subgraphs, distance_encoding

FORMAT = 2  # part of the hash: raise it when the arrays or the numerics behind them change
CHUNK, CHUNK_ON_GPU = 2048, 16_384  # links encoded at once
CACHE_LIMIT = 20 << 30
"""Bytes that the cache may hold; beyond, what was not used for longest is deleted."""
ABANDONED = 86_400  # seconds after which a folder half written is rubbish
FIELDS = {
    "sizes": torch.int64,
    "values": torch.float32,
    "mask": torch.bool,
    "residual": torch.float32,
    "vectors": torch.float32,
    "node": torch.int32,
    "label": torch.uint8,
    "degree": torch.float32,
}


@dataclass(frozen=True)
class BasisConfig:
    """How a pair becomes a basis. The defaults are `anchored`'s."""

    hops: int = 2
    constraints: str = "neumann_boundary"
    steps: int = 10
    start: str = "query"
    laplacian: Laplacian = "normalized"
    max_nodes_per_hop: int | None = DEFAULT_CAP
    seed: int = 0
    distance_cap: int = 3

    def __post_init__(self) -> None:
        if not 1 <= self.distance_cap <= 21:  # the classes of more would not fit a byte
            raise InputError(f"distance_cap is 1 to 21, got {self.distance_cap!r}")

    @property
    def stochastic(self) -> bool:
        """Whether a new epoch asks for new bases."""
        return "vertex_deleted" in self.constraints


@dataclass(frozen=True, eq=False)
class LinkData:
    """The bases of B links. Shapes: `sizes [B]`, `values`, `mask`, `residual [B, κ]`, `vectors [N, κ]`, `node`, `label`, `degree [N]`.

    In every graph row 0 is u and row 1 is v, the smaller id first, so (u, v) and (v, u) are one link to the last bit.
    """

    sizes: Tensor
    values: Tensor
    mask: Tensor
    residual: Tensor
    vectors: Tensor
    node: Tensor
    label: Tensor
    degree: Tensor
    ptr: Tensor

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def num_bytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in FIELDS)

    def batch(self, index: Tensor) -> LinkBatch:
        """The links at these positions."""
        sizes = self.sizes[index]
        rows, _ = expand(self.ptr[index], sizes)
        ptr = pointer(sizes)
        basis = Eigenbasis(
            values=self.values[index],
            vectors=self.vectors[rows],
            mask=self.mask[index],
            residual=self.residual[index],
            ptr=ptr,
        )
        node, label = self.node[rows].long(), self.label[rows].long()
        return LinkBatch(basis, node, label, self.degree[rows], ptr[:-1], ptr[:-1] + 1)

    def uniform_batch(self, index: Tensor, width: int) -> LinkBatch:
        """`batch` with `width` rows for each link, the last of them empty: every shape is known beforehand, so nothing waits for the device.
        No link may be larger."""
        place = torch.arange(width, device=index.device)
        live = (place < self.sizes[index].unsqueeze(1)).flatten()
        rows = (self.ptr[index].unsqueeze(1) + place).flatten().clamp(max=len(self.node) - 1)
        basis = Eigenbasis.uniform(
            values=self.values[index],
            vectors=self.vectors[rows] * live.unsqueeze(1),
            mask=self.mask[index],
            residual=self.residual[index],
        )
        u = torch.arange(len(index), device=index.device) * width
        label = torch.where(live, self.label[rows].long(), -1)
        return LinkBatch(basis, self.node[rows].long(), label, self.degree[rows] * live, u, u + 1)

    def to(self, device: torch.device | str) -> LinkData:
        return _with_pointer({name: getattr(self, name).to(device) for name in FIELDS})


def encode(graph: Graph, pairs: Tensor, config: BasisConfig, *, epoch: int = 0, about: str = "eigenbases") -> LinkData:
    """The bases of these pairs `[B, 2]` in the memory of the graph's device. `about` heads the progress bar; none where it is empty."""
    parts = list(_stream(graph, pairs, config, epoch, about))
    return _with_pointer({name: torch.cat([p[name] for p in parts]) for name in FIELDS})


def messages_on(graph: Graph, device: torch.device | str) -> Graph:
    """The graph as its bases are computed for a network there: on the GPU if the network is on one and the kernels are."""
    return Graph(graph.indptr, graph.indices, graph.weight).to(device) if cuda.available() else graph


def cached(
    graph: Graph,
    pairs: Tensor,
    config: BasisConfig,
    *,
    cache: Path,
    epoch: int = 0,
    memory_budget: int = 2 << 30,
    about: str = "eigenbases",
) -> LinkData:
    """The bases of these pairs, from the cache where they are, else computed, on the graph's device, and put there."""
    folder = cache / key(graph, pairs, config, epoch)
    if not folder.is_dir():
        _write(folder, _stream(graph, pairs, config, epoch, about))
        _prune(cache, keep=folder)
    os.utime(folder)  # last used now
    data = _read(folder, len(pairs), config.steps)
    if data.num_bytes <= memory_budget:
        return _with_pointer({name: getattr(data, name).clone() for name in FIELDS})
    return data


def key(graph: Graph, pairs: Tensor, config: BasisConfig, epoch: int) -> str:
    """The hash of everything a basis depends on; of another kind of device its last bits are others."""
    about = [FORMAT, asdict(config), epoch if config.stochastic else 0, graph.indptr.device.type]
    digest = hashlib.sha256(json.dumps(about).encode())
    for tensor in (graph.indptr, graph.indices, graph.weight, pairs):
        digest.update(
            b"-" if tensor is None else tensor.cpu().contiguous().numpy().tobytes() + str(tensor.shape).encode()
        )
    return digest.hexdigest()[:32]


def estimate_bytes(num_links: int, mean_size: float, steps: int) -> int:
    """What `LinkData` of so many links takes."""
    return int(num_links * (mean_size * (4 * steps + 9) + 9 * steps + 8))


COMPILE = """
import json, sys, torch
from llwlc.graph import Graph
from llwlc.pipeline import link_bases
options, weight = json.loads(sys.argv[1]), sys.argv[2]
weight = None if weight == "None" else torch.ones(6, dtype=getattr(torch, weight.removeprefix("torch.")))
ring = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [0, 5]]), weight=weight)
link_bases(ring, ring.edges, **options)
"""


def compile_elsewhere(graph: Graph, config: BasisConfig) -> None:
    """Have the kernels for this configuration compiled and cached by another process, once for a machine.

    Machine code that was compiled in a process and the same code found on disk differ in how calls are inlined, and so in the
    last bits of a sum: a run that compiled would not be equal to the one that resumes it.
    """
    if not kernels.available() or graph.indptr.is_cuda:
        return
    from llwlc.kernels.compiled import cache_dir

    names = ("hops", "constraints", "steps", "start", "laplacian", "max_nodes_per_hop")
    options = json.dumps({name: getattr(config, name) for name in names})
    weight = str(None if graph.weight is None else graph.weight.dtype)
    mark = Path(cache_dir()) / f"ready-{hashlib.sha256((options + weight).encode()).hexdigest()[:16]}"
    if mark.exists():
        return
    done = subprocess.run([sys.executable, "-c", COMPILE, options, weight], capture_output=True, check=False)
    if done.returncode == 0:  # else the call itself will say what is wrong
        mark.touch()


def _stream(graph: Graph, pairs: Tensor, config: BasisConfig, epoch: int, about: str) -> Iterator[dict[str, Tensor]]:
    ordered = torch.stack([pairs.amin(1), pairs.amax(1)], 1)
    chunks = torch.split(ordered, CHUNK_ON_GPU if graph.indptr.is_cuda else CHUNK)
    compile_elsewhere(graph, config)
    for chunk in track(chunks, about) if about else chunks:
        subs, basis = link_bases(
            graph,
            chunk,
            hops=config.hops,
            constraints=config.constraints,
            steps=config.steps,
            start=config.start,
            laplacian=config.laplacian,
            max_nodes_per_hop=config.max_nodes_per_hop,
            seed=config.seed,
            epoch=epoch,
        )
        yield _fields(subs, basis, config)


def _fields(subs: Subgraphs, basis: Eigenbasis, config: BasisConfig) -> dict[str, Tensor]:
    found = {
        "sizes": subs.ptr.diff(),
        "values": basis.values,
        "mask": basis.mask,
        "residual": basis.residual,
        "vectors": basis.vectors,
        "node": subs.node,
        "label": distance_encoding(subs, config.distance_cap),
        "degree": subs.degree,
    }
    return {name: found[name].to(dtype) for name, dtype in FIELDS.items()}


def _with_pointer(fields: dict[str, Tensor]) -> LinkData:
    return LinkData(**fields, ptr=pointer(fields["sizes"]))


def _write(folder: Path, parts: Iterator[dict[str, Tensor]]) -> None:
    """Whole or not at all: into a folder of another name first."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        with ExitStack() as stack:
            files = {name: stack.enter_context((partial / name).open("wb")) for name in FIELDS}
            for part in parts:
                for name, file in files.items():
                    file.write(part[name].cpu().numpy().tobytes())
        try:
            partial.rename(folder)
        except OSError:
            if not folder.is_dir():  # another process was first; its arrays are the same
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


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


def _read(folder: Path, links: int, steps: int) -> LinkData:
    rows = int(_map(folder, "sizes", links).sum())
    count = {"sizes": links, "vectors": rows * steps} | dict.fromkeys(("values", "mask", "residual"), links * steps)
    fields = {name: _map(folder, name, count.get(name, rows)) for name in FIELDS}
    wide = {name: fields[name].reshape(-1, steps) for name in ("values", "mask", "residual", "vectors")}
    return _with_pointer(fields | wide)


def _map(folder: Path, name: str, count: int) -> Tensor:
    """So many numbers of a file, not read before they are touched."""
    path, dtype = folder / name, FIELDS[name]
    if not path.is_file() or path.stat().st_size != count * dtype.itemsize:
        raise InputError(f"the cached bases in {folder} are damaged: delete that folder and run again")
    return torch.from_file(str(path), shared=False, size=count, dtype=dtype) if count else torch.zeros(0, dtype=dtype)
