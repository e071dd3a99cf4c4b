"""The benchmark itself: our stages by backend and every other method, on the same links in the same run."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from llwlc import datasets
from llwlc.bases._eigenbasis import eigenbasis
from llwlc.bases._link_bases import link_bases, stream_bases
from llwlc.constraints._boundary import neumann
from llwlc.graph._graph import Graph
from llwlc.subgraphs._extraction import extract
from research.bench import baselines, growth, plain_cpp
from research.bench.clock import Work, describe_machine, measure_peak_memory, time_in_turns, use_threads
from research.bench.epoch import time_epoch

RECIPE, LOBPCG, EIGSH = "(a) scipy slices + DRNL", "(c) lobpcg, Y = C", "(c) eigsh on PLP"
OURS = "pairs to bases, numba"
DENSE_LINKS = 64
EPOCH_FRACTION = 0.2  # of the training links: a whole epoch of Pubmed is half a minute on one core


@dataclass(frozen=True)
class Report:
    """What `run` measured.

    `links` of `graph`, with `nodes_per_link` and `edges_per_link` in the mean; `seconds` a link by method, in the order
    of the table; `ratios` of them; how the time grows (`exponents` of the measured `points`, and the median
    `model_error`); peak `memory` in GB; seconds of a training `epoch`; seconds against a `plain` loop in C++; the
    `machine`.

    >>> Report("cora", 4, 36.0, 90.0, {"numba": 1e-5}, {}).seconds
    {'numba': 1e-05}
    """

    graph: str
    links: int
    nodes_per_link: float
    edges_per_link: float
    seconds: dict[str, float]
    ratios: dict[str, float]
    exponents: dict[str, float] = field(default_factory=dict)
    points: list[tuple[int, int, int, int, float]] = field(default_factory=list)
    model_error: float | None = None
    memory: dict[str, float] = field(default_factory=dict)
    epoch: dict[str, float] = field(default_factory=dict)
    plain: dict[str, float] = field(default_factory=dict)
    machine: dict[str, str | int | float] = field(default_factory=dict)


def run(
    name: str = "cora",
    *,
    links: int = 1024,
    repeats: int = 3,
    seed: int = 0,
    with_growth: bool = True,
    with_memory: bool = True,
    with_epoch: bool = True,
) -> Report:
    """Times everything on pairs of a graph, half of them edges: one core against one core, the best of `repeats` turns.
    Takes minutes. Dense rivals, which take a thousand times as long, are timed on the first `DENSE_LINKS` pairs only.

    Args:
        name: name of a dataset.
        links: number of pairs.
        repeats: number of turns; the best one counts.
        seed: seed of the random pairs.
        with_growth: measure how the time grows with nodes, edges and steps too.
        with_memory: measure memory too, in separate processes.
        with_epoch: time an epoch of training too.

    >>> run("cora", links=64, with_growth=False, with_memory=False, with_epoch=False).ratios    # doctest: +SKIP
    """
    graph = datasets.load(name)
    pairs = sample_pairs(graph, links, seed)
    with use_threads(1):
        subs, _ = link_bases(graph, pairs)
        times = time_in_turns(make_methods(graph, pairs), repeats=repeats)
        seconds = {
            method: spent / (len(pairs[:DENSE_LINKS]) if "dense" in method else len(pairs))
            for method, spent in times.items()
        }
        ratios = compute_ratios(seconds)
        compared = plain_cpp.compare_with_cpp(repeats=repeats)
        grown = growth.measure_growth(repeats=repeats) if with_growth else None
    ratios["two threads, against one"] = measure_two_threads(graph, seed, repeats)
    return Report(
        graph=name,
        links=len(pairs),
        nodes_per_link=subs.num_nodes / len(pairs),
        edges_per_link=len(subs.row) / len(pairs),
        seconds=seconds,
        ratios=ratios,
        exponents=grown.exponents if grown else {},
        points=grown.points if grown else [],
        model_error=grown.model_error if grown else None,
        memory=measure_stream_memory(name) if with_memory else {},
        epoch=time_epoch(name, device="cpu", fraction=EPOCH_FRACTION, repeats=1) if with_epoch else {},
        plain={**compared._asdict(), "ratio": compared.ratio} if compared else {},
        machine=describe_machine(),
    )


def sample_pairs(graph: Graph, links: int, seed: int) -> Tensor:
    """Half edges, half pairs of any two different nodes."""
    draw = torch.Generator().manual_seed(seed)
    edges = graph.edges[torch.randint(graph.num_edges, (links // 2,), generator=draw)]
    other = torch.randint(graph.num_nodes, (links - links // 2, 2), generator=draw)
    other[:, 1] = torch.where(other[:, 0] == other[:, 1], (other[:, 1] + 1) % graph.num_nodes, other[:, 1])
    return torch.cat([edges, other])[torch.randperm(links, generator=draw)]


def make_methods(graph: Graph, pairs: Tensor) -> dict[str, Work]:
    """The methods to time, by name; a method of one stage gets the results of our earlier stages."""
    subs, basis = link_bases(graph, pairs)
    few = extract(graph, pairs[:DENSE_LINKS])
    cons = neumann(subs)
    problems = baselines.make_problems(subs, basis)
    adjacency, edge_index = baselines.to_csr(graph), graph.edge_index
    return {
        "extract, numba": lambda: extract(graph, pairs, backend="numba"),
        "extract, reference": lambda: extract(graph, pairs, backend="reference"),
        "eigenbasis, numba": lambda: eigenbasis(subs, cons, backend="numba"),
        "eigenbasis, reference": lambda: eigenbasis(subs, cons, backend="reference"),
        OURS: lambda: link_bases(graph, pairs, backend="numba"),
        "pairs to bases, reference": lambda: link_bases(graph, pairs, backend="reference"),
        RECIPE: lambda: baselines.run_slicing_and_drnl(adjacency, pairs),
        "(b) PyG k_hop_subgraph": lambda: baselines.run_k_hop(edge_index, graph.num_nodes, pairs),
        LOBPCG: lambda: baselines.run_lobpcg(problems),
        EIGSH: lambda: baselines.run_eigsh(problems),
        "(d) dense batched eigh": lambda: baselines.run_dense_eigh(few, batch=8),
        "(e) dense batched Lanczos": lambda: baselines.run_dense_lanczos(few, batch=8),
    }


def compute_ratios(seconds: dict[str, float]) -> dict[str, float]:
    """The times of the others as multiples of ours from pairs to bases."""
    ours = seconds[OURS]
    return {
        "recipe (a) alone": seconds[RECIPE] / ours,
        "recipe (a), then (c) lobpcg": (seconds[RECIPE] + seconds[LOBPCG]) / ours,
        "recipe (a), then (c) eigsh": (seconds[RECIPE] + seconds[EIGSH]) / ours,
        "the reference": seconds["pairs to bases, reference"] / ours,
    }


def measure_two_threads(graph: Graph, seed: int, repeats: int) -> float:
    """Throughput of two threads over that of one, on enough links to keep both busy."""
    pairs = sample_pairs(graph, 8192, seed)

    def on(count: int) -> object:
        with use_threads(count):
            return link_bases(graph, pairs)

    times = time_in_turns({"one": lambda: on(1), "two": lambda: on(2)}, repeats=max(repeats, 5))
    return times["one"] / times["two"]


def measure_stream_memory(name: str) -> dict[str, float]:
    """Peak memory of fresh processes that stream 1 and 4 parts of the graph's links, and of one that only loads it."""
    return {
        "graph alone": measure_peak_memory(stream_links, name, 0),
        "streamed, 10,000 links": measure_peak_memory(stream_links, name, 10_000),
        "streamed, 40,000 links": measure_peak_memory(stream_links, name, 40_000),
        "streamed, twice as many links as edges": measure_peak_memory(
            stream_links, name, 2 * datasets.load(name).num_edges
        ),
    }


def stream_links(name: str, links: int) -> int:
    """Takes this many links of a graph through `stream_bases` and keeps nothing."""
    graph = datasets.load(name)
    link_bases(graph, graph.edges[:2])
    return sum(basis.num_graphs for _, basis in stream_bases(graph, sample_pairs(graph, links, 0))) if links else 0
