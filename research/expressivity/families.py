"""Pairs of graphs that are hard to tell apart, in named suites."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import numpy as np

from llwlc._support.roots import data_root
from llwlc.errors import DatasetError, InputError
from research.expressivity.columns import Real

BREC = {
    "basic": ("Basic", 60),
    "regular": ("Regular", 50),
    "str": ("Strongly regular", 50),
    "extension": ("Extension", 100),
    "cfi": ("CFI", 100),
    "4vtx": ("4-vertex condition", 20),
    "dr": ("Distance regular", 20),
}
"""BREC's files in the order of its own numbering: title and number of pairs. Its paper adds the last two and `str` to
Regular (140).
"""


class Pair(NamedTuple):
    """Two graphs, `a` and `b`, as adjacency matrices `[n, n]` of zeros and ones, and the `name` of the pair.

    >>> pair = Pair("path and nothing", np.eye(2)[::-1], np.zeros((2, 2)))
    >>> pair.a.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    name: str
    a: Real
    b: Real


def adjacency(graph: nx.Graph) -> Real:
    """The adjacency matrix, nodes in sorted order.

    >>> adjacency(nx.path_graph(3)).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    return np.asarray(nx.to_numpy_array(graph, nodelist=sorted(graph)), dtype=np.float64)


def relabel(a: Real, seed: int) -> Real:
    """The same graph, its nodes in another order.

    Args:
        a: adjacency matrix `[n, n]`.
        seed: seed of the random permutation.

    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0.0]])
    >>> sorted(relabel(path, 0).sum(0).tolist())
    [1.0, 1.0, 2.0]
    """
    order = np.random.default_rng(seed).permutation(len(a))
    return a[np.ix_(order, order)]


def graph6(text: str | bytes) -> Real:
    """The graph of a graph6 string."""
    return adjacency(nx.from_graph6_bytes(text if isinstance(text, bytes) else text.encode()))


def rook() -> nx.Graph:
    """The 4 × 4 rook's graph: squares of a board, joined along rows and columns."""
    return nx.line_graph(nx.complete_bipartite_graph(4, 4))


def shrikhande() -> nx.Graph:
    """The Cayley graph of Z₄ × Z₄ with ±(1, 0), ±(0, 1), ±(1, 1): the other strongly regular graph of the rook's
    parameters.
    """
    steps = [(1, 0), (0, 1), (1, 1)]
    edges = [((i, j), ((i + x) % 4, (j + y) % 4)) for i in range(4) for j in range(4) for x, y in steps]
    return nx.Graph(edges)


def skip_link(n: int, skip: int) -> nx.Graph:
    """The circular skip-link graph: a cycle of n nodes and all chords of length `skip`."""
    return nx.circulant_graph(n, [1, skip])


def paper() -> list[Pair]:
    """The paper's two pairs: the 2-regular graphs of its first figure (C₁₀ and two C₅), and rook against Shrikhande."""
    two = nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(5))
    return [
        Pair("C10 | 2 C5", adjacency(nx.cycle_graph(10)), adjacency(two)),
        Pair("rook | Shrikhande", adjacency(rook()), adjacency(shrikhande())),
    ]


def csl() -> list[Pair]:
    """All pairs of the ten circular skip-link graphs on 41 nodes (Murphy et al. 2019)."""
    graphs = {s: adjacency(skip_link(41, s)) for s in (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)}
    return [Pair(f"CSL {r} | {s}", graphs[r], graphs[s]) for r, s in combinations(graphs, 2)]


def atlas(max_nodes: int = 7) -> list[Real]:
    """All graphs with 1 to `max_nodes` ≤ 7 nodes, each isomorphism class once: 1252 of them (networkx's atlas)."""
    graphs = (g for g in nx.graph_atlas_g() if 1 <= g.number_of_nodes() <= max_nodes)
    return [adjacency(g) for g in graphs]


def strongly_regular(name: str, *, root: str | Path | None = None) -> list[Pair]:
    """All pairs inside one family of the data root: "sr16622" (2 graphs) or "sr251256" (15 graphs, 105 pairs)."""
    lines = _file(f"strongly_regular/{name}.g6", root).read_bytes().split()
    graphs = [graph6(line) for line in lines]
    return [Pair(f"{name} {i} | {j}", graphs[i], graphs[j]) for i, j in combinations(range(len(graphs)), 2)]


def brec(category: str, *, root: str | Path | None = None) -> list[Pair]:
    """The pairs of one of BREC's files (a key of `BREC`), in its order. Some files hold pairs, some a row of graphs two
    by two.
    """
    if category not in BREC:
        raise InputError(f"BREC category {category!r} is not known; choose from {', '.join(BREC)}")
    rows = np.load(_file(f"brec/{category}.npy", root), allow_pickle=False).reshape(-1, 2)
    return [Pair(f"{category} {i}", graph6(a), graph6(b)) for i, (a, b) in enumerate(rows)]


def _file(name: str, root: str | Path | None) -> Path:
    path = data_root(root) / name
    if not path.exists():
        raise DatasetError(
            f"{path} is not there; put it into the data root, or point LLWLC_DATA to the root that has it"
        )
    return path


SUITES: dict[str, Callable[[], list[Pair]]] = {
    "paper": paper,
    "csl": csl,
    **{family: partial(strongly_regular, family) for family in ("sr16622", "sr251256")},
    **{f"brec-{category}": partial(brec, category) for category in BREC},
}
"""Suites of pairs by name. All graphs with at most 7 nodes are a suite of their own (`atlas`), compared by classes."""


def load_suite(name: str) -> list[Pair]:
    """The pairs of a suite of graphs.

    Args:
        name: a key of `SUITES`.

    >>> [pair.name for pair in load_suite("paper")]
    ['C10 | 2 C5', 'rook | Shrikhande']
    """
    if name not in SUITES:
        raise InputError(f"suite {name!r} is not known; choose from {', '.join((*SUITES, 'atlas'))}")
    return SUITES[name]()


def make_relabelled_pairs(graphs: list[Real], count: int, seed: int) -> Iterator[Pair]:
    """`count` pairs of a graph and a relabelled copy of it, taken from the graphs in turn: none may be separated."""
    for i in range(count):
        a = graphs[i % len(graphs)]
        yield Pair(f"graph {i % len(graphs)}, copy {i}", a, relabel(a, seed + i))
