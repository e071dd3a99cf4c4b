"""Where the CUDA kernels run in tests: on a GPU where there is one, and everywhere else as plain C++ with groups of one
thread, or slowly with all lanes of a group, see `lanes.h`."""

import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest
import torch

from llwlc import constraints
from llwlc._kernels.cuda import driver, extraction, solving
from llwlc._kernels.cuda.hub_rows import hub_rows
from llwlc._support.counter_hash import CAP_STREAM
from llwlc.bases._config import BasisConfig
from llwlc.bases._eigenbasis import make_gpu_basis_inputs
from llwlc.bases._kernel_options import make_solve_options, neumann_bits
from llwlc.bases._laplacian import laplacian_of
from llwlc.bases._starts import StartInputs
from llwlc.graph._graph import Graph
from llwlc.linalg._basis import Eigenbasis
from llwlc.subgraphs._batch import Subgraphs, symmetric_weight
from llwlc.subgraphs._extraction import subgraphs_from_tensors


class Host:
    """The same source, compiled by g++: one thread for each link, one link after the other."""

    shared_bytes = 1 << 17  # `room` in group.cuh
    groups = 2
    device = torch.device("cpu")

    def __init__(self) -> None:
        self.launched: list[tuple[str, int]] = []

    def launch(self, kernel: str, group: int, groups: int, shared: int, task: ctypes.Structure) -> None:
        assert shared <= self.shared_bytes
        self.launched.append((kernel, group))
        function = getattr(library(kernel), kernel)
        function.argtypes = [type(task)]
        function.restype = None
        function(task)


class Lanes(Host):
    """All lanes of a group (128 where it has more) taking turns on one CPU: slow, but reductions and barriers are those
    of a GPU.
    """

    def launch(self, kernel: str, group: int, groups: int, shared: int, task: ctypes.Structure) -> None:
        assert shared <= self.shared_bytes
        group = min(group, 128)
        self.launched.append((kernel, group))
        run = library(kernel, group).run
        run.argtypes, run.restype = [type(task)], ctypes.c_bool
        assert run(task), "lanes wait for each other at different barriers"


@cache
def library(kernel: str, group: int = 1) -> ctypes.CDLL:
    folder = Path(tempfile.mkdtemp(prefix="llwlc-cuda-"))
    target = folder / f"{kernel}.so"
    command = [
        "g++",
        "-x",
        "c++",
        "-std=c++17",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-DGROUP={group}",
        "-shared",
        "-fPIC",
    ]
    source = files("llwlc._kernels.cuda") / f"{kernel}.cu"
    if group > 1:
        command += ["-Wno-unknown-pragmas", "-Wno-unused-function", "-include", str(Path(__file__).parent / "lanes.h")]
        text = (
            driver.source(kernel)
            .replace("extern __shared__ __align__(16)", "[[maybe_unused]] alignas(16) static")
            .replace("room[]", "room[1 << 14]")
        )
        given = {"extract": "Extraction", "network": "Network", "pairs": "Pairs"}.get(kernel, "Task")
        text += f"static {given} given; static void work() {{ {kernel}(given); }}"
        text += f'extern "C" bool run({given} t) {{ given = t; return lanes::all<work>(); }}'
        source = folder / f"{kernel}.cu"
        source.write_text(text, encoding="utf-8")
    subprocess.run([*command, str(source), "-o", str(target)], check=True)
    loaded = ctypes.CDLL(str(target))
    shutil.rmtree(folder)
    return loaded


ENGINES = [
    pytest.param(
        Host, id="as C++", marks=pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
    ),
    pytest.param(
        lambda: driver.get_gpu_engine(0),
        id="GPU",
        marks=[pytest.mark.gpu, pytest.mark.skipif(not driver.available(), reason="needs CUDA")],
    ),
]


def extract(
    engine,
    graph: Graph,
    pairs: torch.Tensor,
    *,
    hops: int = 2,
    cap: int | None = None,
    seed: int = 0,
    longer_than: int | None = None,
) -> Subgraphs:
    """`subgraphs.extract` on the engine, brought back to the CPU; rows of more than `longer_than` nodes are ordered
    before.
    """
    indptr, indices, pairs = (x.to(engine.device).contiguous() for x in (graph.indptr, graph.indices, pairs))
    weighted = graph.weight is not None
    draw_ids = None if graph.identity is None else graph.identity.to(engine.device)
    hubs = None if longer_than is None else hub_rows(indptr, indices, draw_ids, seed, CAP_STREAM, longer_than)
    found = extraction.extract(
        engine, indptr, indices, pairs,
        hops=hops, cap=cap or 0, seed=seed, stream=CAP_STREAM, with_edges=weighted, draw_ids=draw_ids, hubs=hubs,
    )  # fmt: skip
    weight = graph.weight.to(engine.device) if weighted else None
    return subgraphs_from_tensors(found, weight, hops, draw_ids).to("cpu")


def eigenbasis(
    engine,
    subs: Subgraphs,
    cons=None,
    *,
    steps: int = 10,
    start="query",
    laplacian="normalized",
    dtype=torch.float32,
    seed=0,
    epoch=0,
) -> Eigenbasis:
    """`bases._eigenbasis` on the engine, brought back to the CPU."""
    weight = None if subs.weight is None else symmetric_weight(subs)
    inputs = StartInputs(subs, torch.zeros(subs.num_nodes, 0), lambda: laplacian_of(subs, laplacian), seed, epoch)
    here = make_gpu_basis_inputs(subs, cons, weight, start, inputs)
    given = solving.GpuBasisInputs(*(None if x is None else x.to(engine.device) for x in here))
    ritz = solving.eigenbasis(
        engine,
        given,
        make_solve_options(steps, laplacian, dtype),
        dtype=dtype,
        neumann=cons if isinstance(cons, int) else 0,
    )
    values, vectors, residual, live, degree = (x.cpu() for x in ritz)
    assert torch.allclose(degree.double(), subs.degree.double(), equal_nan=True), (
        "degrees that the kernel leaves behind"
    )
    return Eigenbasis(values, vectors, torch.arange(steps) < live[:, None], residual, subs.ptr)


def link_bases(
    engine,
    graph: Graph,
    pairs: torch.Tensor,
    *,
    hops=2,
    constraints_="neumann",
    count=10,
    max_nodes_per_hop=None,
    seed=0,
    epoch=0,
    **options,
) -> tuple[Subgraphs, Eigenbasis]:
    """`link_bases` on the engine."""
    subs = extract(engine, graph, pairs, hops=hops, cap=max_nodes_per_hop, seed=seed)
    cons = constraints.by_name(subs, constraints_, count=count, seed=seed, epoch=epoch)
    # those that the kernel makes by itself
    cons = neumann_bits(BasisConfig(constraints=constraints_, start=options.get("start", "query"))) or cons
    return subs, eigenbasis(engine, subs, cons, seed=seed, epoch=epoch, **options)
