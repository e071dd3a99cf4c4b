"""Pairs to bases and to scores on a GPU: absolute times of one device, from pairs in its memory, warm, by stage, and
how far bases are from the bytes that must move.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from llwlc import datasets
from llwlc._kernels import cuda
from llwlc.bases._config import BasisConfig
from llwlc.bases._kernel_options import neumann_bits
from llwlc.bases._link_bases import link_bases, make_gpu_basis
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.linalg._basis import Eigenbasis
from llwlc.models._llwlc.scoring import Scorer
from llwlc.nn._gpu_network import GpuNetwork, make_gpu_rows
from llwlc.subgraphs._batch import Subgraphs
from llwlc.subgraphs._extraction import extract
from research.bench.clock import describe_machine
from research.bench.epoch import time_epoch
from research.bench.run import sample_pairs
from research.bench.scores import default_network

AT_ONCE = 100_000
"""Links in the device's memory at once; more are streamed."""
REFERENCE_LINKS = 4096
TORCH_LINKS = 16_384
"""Links that torch's network scores."""


@dataclass(frozen=True)
class GpuReport:
    """What `run_gpu` measured.

    `links` of `graph`, with `nodes_per_link` and `edges_per_link` in the mean; `seconds` for all of them by stage;
    `reference_per_link`, seconds of the reference in torch on the same device; `stages`, microseconds a link on the way
    to a score, each stage by itself on the first of the links, and the network by torch on a few of them; `difference`,
    the largest in probability between the two; `bytes_moved` by one pass, at least; `bandwidth` of a copy on the same
    device, bytes a second, read and written; seconds of a training `epoch` where there are features; the `machine`.

    >>> report = GpuReport("cora", 4, 36.0, 90.0, {"bases": 1e-6}, 1e-3, 1e5, 1e12)
    >>> report.links
    4
    """

    graph: str
    links: int
    nodes_per_link: float
    edges_per_link: float
    seconds: dict[str, float]
    reference_per_link: float
    bytes_moved: float
    bandwidth: float
    epoch: dict[str, float] = field(default_factory=dict)
    stages: dict[str, float] = field(default_factory=dict)
    difference: float = 0.0
    machine: dict[str, str | int | float] = field(default_factory=dict)

    @property
    def floor(self) -> float:
        """Seconds that the bytes alone would take."""
        return self.bytes_moved / self.bandwidth


def run_gpu(name: str, *, links: int | None = None, repeats: int = 5, seed: int = 0) -> GpuReport:
    """Times pairs to bases and to scores on a GPU, half of the pairs edges. Needs one. The network is the default one,
    untrained: the time does not depend on the weights.

    Args:
        name: a dataset or a generated graph.
        links: number of pairs; by default twice the edges.
        repeats: number of turns; the best one counts.
        seed: seed of the random pairs.

    >>> run_gpu("cora").seconds    # doctest: +SKIP
    """
    if not cuda.available():
        raise InputError(
            "bench --device cuda needs an NVIDIA GPU and a torch built for it: there is none here; leave --device out"
        )
    generated = name in ("coauthor-like", "vessel-like")
    graph = datasets.generate(name) if generated else datasets.load(name)
    pairs = sample_pairs(graph, links or 2 * graph.num_edges, seed).cuda()
    there = Graph(graph.indptr, graph.indices).to("cuda")
    parts = list(torch.split(pairs, AT_ONCE))
    (subs, basis), share = link_bases(there, parts[0]), len(pairs) / len(parts[0])
    net, features, chosen = default_network(graph, graph.num_edges)
    net = net.cuda()
    scorer, by_torch = Scorer(net, features), Scorer(net, features, by_torch=True)
    seconds = {
        "pairs to bases": _median(lambda: _all_bases(there, parts), repeats),
        "pairs to scores": _median(lambda: list(scorer.pairs(there, pairs, chosen.basis)), repeats),
    }
    stages = time_stages(there, parts[0], scorer, chosen.basis, repeats)
    few = pairs[:TORCH_LINKS]
    again = _median(lambda: list(by_torch.pairs(there, few, chosen.basis)), repeats)
    stages["pairs to scores, the network in torch"] = 1e6 * again / len(few)
    one, two = (torch.cat(list(by.pairs(there, few, chosen.basis))).sigmoid() for by in (scorer, by_torch))
    few = pairs[:REFERENCE_LINKS]
    slow = _median(lambda: link_bases(there, few, backend="reference"), 1) / len(few)
    return GpuReport(
        graph=name,
        links=len(pairs),
        nodes_per_link=share * subs.num_nodes / len(pairs),
        edges_per_link=share * len(subs.row) / len(pairs),
        seconds=seconds,
        reference_per_link=slow,
        bytes_moved=share * bytes_moved(there, subs, basis),
        bandwidth=measure_bandwidth(),
        epoch={} if generated else time_epoch(name, device="cuda"),
        stages=stages,
        difference=float((one - two).abs().max()),
        machine=describe_machine(),
    )


def time_stages(graph: Graph, pairs: Tensor, scorer: Scorer, config: BasisConfig, repeats: int) -> dict[str, float]:
    """Microseconds a link of every stage from pairs to scores, each by itself: what runs at the same time in a stream
    may take less together.
    """
    net, inputs = scorer.compiled, scorer.inputs
    assert isinstance(net, GpuNetwork)
    subs, basis = link_bases(graph, pairs, config)
    known = None if inputs is None else inputs(graph, pairs)
    rows = make_gpu_rows(subs, basis, config)
    read = net.read(rows)
    stages: dict[str, Callable[[], object]] = {
        "extraction": lambda: extract(graph, pairs, config.hops, max_nodes_per_hop=config.max_nodes_per_hop),
        "basis": lambda: make_gpu_basis(subs, neumann_bits(config), config),
        "network: rows and pooling": lambda: net.read(rows),
        "network: one row a link": lambda: net.heads(read, known),
    }
    if inputs is not None:
        stages["statistics of pairs"] = lambda: inputs(graph, pairs)
    return {name: 1e6 * _median(work, repeats) / len(pairs) for name, work in stages.items()}


def _all_bases(graph: Graph, parts: list[Tensor]) -> None:
    for part in parts:
        link_bases(graph, part)


def bytes_moved(graph: Graph, subs: Subgraphs, basis: Eigenbasis) -> int:
    """The bytes that any program with these inputs and outputs must read and write: the graph once, every output
    once.
    """
    out: list[Tensor] = [subs.ptr, subs.node, subs.row, subs.col, subs.hop, subs.dist_u, subs.dist_v]
    out += [basis.values, basis.vectors, basis.mask, basis.residual]
    return sum(tensor.nbytes for tensor in (graph.indptr, graph.indices, *out))


def measure_bandwidth(size: int = 1 << 31) -> float:
    """Bytes a second of a copy on the device, read and written."""
    source = torch.empty(size, dtype=torch.uint8, device="cuda").fill_(1)
    target = torch.empty_like(source)
    return 2 * size / _median(lambda: target.copy_(source), 10)


def _median(work: Callable[[], object], repeats: int) -> float:
    work()  # compiles, and lets the allocator settle
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return sorted(times)[len(times) // 2]


def gpu_table(report: GpuReport) -> list[tuple[str, str]]:
    """What `run_gpu` measured, as rows of (what, figure).

    Args:
        report: what `run_gpu` returned.

    >>> gpu_table(GpuReport("cora", 4, 36.0, 90.0, {"pairs to bases": 1e-6}, 1e-3, 1e5, 1e12))[0]
    ('links', '4, 36 nodes and 90 edges each')
    """
    whole = report.seconds["pairs to bases"]
    rows = [
        ("links", f"{report.links:,}, {report.nodes_per_link:.0f} nodes and {report.edges_per_link:.0f} edges each"),
        *(
            (name, f"{1e3 * spent:,.1f} ms, {report.links / spent:,.0f} links/s")
            for name, spent in report.seconds.items()
        ),
        (
            "the reference in torch, same device",
            f"{report.reference_per_link * report.links / whole:.0f} times as long",
        ),
        (
            "bytes that must move",
            f"{report.bytes_moved / 1e9:.2f} GB: {1e3 * report.floor:.2f} ms at {report.bandwidth / 1e12:.2f} TB/s",
        ),
        ("distance from that", f"{whole / report.floor:.0f} times"),
    ]
    rows += [(name, f"{spent:.2f} µs a link") for name, spent in report.stages.items()]
    if report.stages:
        rows.append(("largest difference from torch, in probability", f"{report.difference:.1e}"))
    rows += [(name, f"{spent:.2f} s") for name, spent in report.epoch.items()]
    return [*rows, *((name, str(value)) for name, value in report.machine.items())]
