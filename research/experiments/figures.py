"""The graphs of the paper's figures (two 2-regular graphs, the three kinds of pairs in C₆, rook and Shrikhande), and
which methods tell them apart.
"""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import torch

from llwlc.bases._config import BasisConfig
from llwlc.bases._eigenbasis import eigenbasis
from llwlc.graph._graph import Graph
from llwlc.subgraphs._extraction import extract
from research.expressivity.families import Pair, paper
from research.expressivity.separate import separate
from research.expressivity.wl import wl1, wl3

SPECTRA = {
    "none": "spectra of L",
    "enclosing": "spectra of enclosing subgraphs",
    "neumann": "spectra under Neumann constraints",
    **{f"deleted-{k}": f"spectra under {k} vertex-deleted column{'s' if k > 1 else ''}" for k in range(1, 6)},
}
RING_PAIRS = {"adjacent": (0, 1), "two apart": (0, 2), "opposite": (0, 3)}
TOLERANCE = 1e-8


def make_rows() -> list[tuple[str, str, str]]:
    """Rows of the table: the graphs, the method, and whether it tells them apart."""
    cycles, squares = paper()
    found = _graphs("C₁₀ and two C₅ (Figure 1)", cycles) + _graphs("4×4 rook and Shrikhande", squares)
    return found + [
        ("pairs of C₆ (Figure 2)", title, _orbits(name))
        for name, title in (
            ("none", "spectra of enclosing subgraphs"),
            ("neumann", "spectra under Neumann constraints"),
        )
    ]


def _graphs(title: str, pair: Pair) -> list[tuple[str, str, str]]:
    tests = [("1-WL", wl1(pair.a, pair.b)), ("3-WL (2-FWL)", wl3(pair.a, pair.b))]
    tests += [(words, separate(pair, policy).separated) for policy, words in SPECTRA.items()]
    return [(title, by, "told apart" if apart else "not told apart") for by, apart in tests]


def _orbits(constraints: str) -> str:
    """Which kinds of pairs in a ring of six have different spectra, their own link removed."""
    graph = Graph.from_edges(torch.tensor(list(nx.cycle_graph(6).edges)))
    subs = extract(graph, torch.tensor(list(RING_PAIRS.values())))
    columns = BasisConfig(constraints=constraints).columns(subs)
    basis = eigenbasis(subs, columns, complete=True, laplacian="combinatorial", dtype=torch.float64)
    spectra = dict(zip(RING_PAIRS, basis.values, strict=True))
    same = [f"{a} and {b}" for a, b in combinations(RING_PAIRS, 2) if (spectra[a] - spectra[b]).abs().max() < TOLERANCE]
    return "all three told apart" if not same else f"not told apart: {'; '.join(same)}"
