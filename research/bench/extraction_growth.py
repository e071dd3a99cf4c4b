"""How the time of both extraction policies grows: subgraph and Neumann columns of a link with the boundary,
vertex-deleted columns with the nodes of sparse and dense graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import networkx as nx
import numpy as np
import torch

from llwlc.constraints._boundary import neumann
from llwlc.constraints._deletion import vertex_deleted
from llwlc.constraints._registry import VertexCount
from llwlc.graph._graph import Graph
from llwlc.subgraphs._batch import Subgraphs
from llwlc.subgraphs._extraction import extract
from research.bench.clock import Work, time_in_turns
from research.bench.growth import random_batch

DEGREES = (8, 16, 32, 64)
"""Of regular graphs, in which a link's boundary has about 2 d² nodes."""
FEW, ALL = (2048, 4096, 8192, 16_384), (256, 512, 1024)
"""Nodes of sparse graphs under ten vertex-deleted columns, and of all graphs under all n."""
DENSE = (256, 512, 1024)
SPARSE_DEGREE = 6


def measure_extraction(*, scale: float = 1.0, repeats: int = 3) -> dict[str, float]:
    """Exponents by least squares on logarithms, by what grows; `scale` of the sizes above."""
    found = measure_neumann([round(scale * d) for d in DEGREES], repeats=repeats)
    settings: tuple[tuple[str, tuple[int, ...], int | None, VertexCount], ...] = (
        ("10 vertex-deleted, sparse: n", FEW, SPARSE_DEGREE, 10),
        ("10 vertex-deleted, dense: n", DENSE, None, 10),
        ("all n vertex-deleted, sparse: n", ALL, SPARSE_DEGREE, "all"),
        ("all n vertex-deleted, dense: n", DENSE, None, "all"),
    )
    for name, sizes, degree, count in settings:
        nodes = [round(scale * n) for n in sizes]
        batches = [random_batch(1, n, n * (n // 2 if degree is None else degree), seed=0) for n in nodes]
        # a fresh copy each time: degrees are kept with a batch
        works = {str(len(b.node)): partial(_delete, b, count) for b in batches}
        found[name] = fit_exponent(nodes, list(time_in_turns(works, repeats=repeats, at_least=0.02).values()))
    return found


def measure_neumann(degrees: Sequence[int], *, repeats: int) -> dict[str, float]:
    """Extraction with both Neumann columns, against the edges of the subgraph and the product that the paper states."""
    works: dict[str, Work] = {}
    edges, product = [], []
    for degree in degrees:
        plain = nx.random_regular_graph(degree, 20 * degree**2, seed=0)
        graph = Graph.from_edges(torch.tensor(list(plain.edges)))
        pairs = graph.edges[:4]
        subs = extract(graph, pairs)
        edges.append(len(subs.row) / len(pairs))
        product.append(degree * int((subs.hop == 2).sum()) / len(pairs))
        works[str(degree)] = partial(_neumann, graph, pairs)
    times = list(time_in_turns(works, repeats=repeats, at_least=0.02).values())
    return {
        "Neumann: edges of the subgraph": fit_exponent(edges, times),
        "Neumann: largest degree × boundary": fit_exponent(product, times),
    }


def fit_exponent(x: Sequence[float], seconds: Sequence[float]) -> float:
    """The slope of log seconds over log x.

    >>> round(fit_exponent([1, 2, 4], [3.0, 12.0, 48.0]), 6)
    2.0
    """
    return float(np.polyfit(np.log(x), np.log(seconds), 1)[0])


def _neumann(graph: Graph, pairs: torch.Tensor) -> object:
    return neumann(extract(graph, pairs))


def _delete(subs: Subgraphs, count: VertexCount) -> object:
    return vertex_deleted(replace(subs), count=count)
