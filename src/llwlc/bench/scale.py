"""Large generated graphs: every training pair streamed through extraction and basis."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import torch

from llwlc import datasets
from llwlc.bench.run import sample
from llwlc.pipeline import stream_bases


class Scale(NamedTuple):
    """What was streamed, how fast, and the highest memory of this process in GB, before and after."""

    graph: str
    nodes: int
    edges: int
    links: int
    seconds: float
    nodes_per_link: float
    threads: int
    memory_before: float
    memory_after: float

    @property
    def links_per_second(self) -> float:
        return self.links / self.seconds


def scale(
    name: str = "coauthor-like",
    *,
    links: int | None = None,
    batch_size: int = 1024,
    seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> Scale:
    """Streams `links` pairs (default: as many as twice the edges), half edges and half others; `progress(done, all)` after each batch."""
    graph = datasets.generate(name)
    pairs = sample(graph, links or 2 * graph.num_edges, seed)
    for _ in stream_bases(graph, pairs[:64]):
        before = _memory()
    begin, done, nodes = time.perf_counter(), 0, 0
    for subs, basis in stream_bases(graph, pairs, batch_size=batch_size):
        done, nodes = done + basis.num_graphs, nodes + subs.num_nodes
        if progress is not None:
            progress(done, len(pairs))
    seconds = time.perf_counter() - begin
    return Scale(
        name, graph.num_nodes, graph.num_edges, done, seconds, nodes / done, torch.get_num_threads(), before, _memory()
    )


def scale_table(found: Scale) -> list[tuple[str, str]]:
    """What `scale` measured, as rows."""
    return [
        ("nodes, edges", f"{found.nodes:,}, {found.edges:,}"),
        ("links", f"{found.links:,}, {found.nodes_per_link:.0f} nodes each"),
        ("time", f"{found.seconds:.1f} s on {found.threads} threads, {found.links_per_second:,.0f} links/s"),
        ("peak memory", f"{found.memory_before:.2f} GB before, {found.memory_after:.2f} GB after"),
    ]


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**30 if sys.platform == "darwin" else 2**20)
