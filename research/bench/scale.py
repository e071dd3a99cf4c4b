"""Large generated graphs: every training pair streamed through extraction and basis."""

from __future__ import annotations

import time
from typing import NamedTuple

import torch

from llwlc import datasets
from llwlc._support.progress import track
from llwlc.bases._link_bases import stream_bases
from research.bench.clock import highest_memory
from research.bench.run import sample_pairs


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
) -> Scale:
    """Streams pairs of a large graph through `stream_bases` under a bar, half edges and half others.

    Args:
        name: name of a generated graph.
        links: number of pairs; by default twice the number of edges.
        batch_size: pairs in a batch.
        seed: seed of the random pairs.

    >>> scale("coauthor-like", links=100_000).links_per_second    # doctest: +SKIP
    40000.0
    """
    graph = datasets.generate(name)
    pairs = sample_pairs(graph, links or 2 * graph.num_edges, seed)
    for _ in stream_bases(graph, pairs[:64]):
        before = highest_memory()
    begin, done, nodes = time.perf_counter(), 0, 0
    batches = stream_bases(graph, pairs, batch_size=batch_size)
    for subs, basis in track(batches, f"batches of {batch_size:,} links", total=-(-len(pairs) // batch_size)):
        done, nodes = done + basis.num_graphs, nodes + subs.num_nodes
    seconds = time.perf_counter() - begin
    return Scale(
        name,
        graph.num_nodes,
        graph.num_edges,
        done,
        seconds,
        nodes / done,
        torch.get_num_threads(),
        before,
        highest_memory(),
    )


def scale_table(found: Scale) -> list[tuple[str, str]]:
    """What `scale` measured, as rows of (what, figure).

    Args:
        found: what `scale` returned.

    >>> scale_table(Scale("coauthor-like", 1000, 5000, 64, 0.5, 36.0, 1, 0.2, 0.3))[2]
    ('time', '0.5 s on 1 threads, 128 links/s')
    """
    return [
        ("nodes, edges", f"{found.nodes:,}, {found.edges:,}"),
        ("links", f"{found.links:,}, {found.nodes_per_link:.0f} nodes each"),
        ("time", f"{found.seconds:.1f} s on {found.threads} threads, {found.links_per_second:,.0f} links/s"),
        ("peak memory", f"{found.memory_before:.2f} GB before, {found.memory_after:.2f} GB after"),
    ]
