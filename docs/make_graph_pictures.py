"""The pictures of graphs in docs/expressivity.md: `python docs/make_graph_pictures.py [folder]`. Needs the `plots`
extra; columns are computed by `constraints.neumann`, a second or two.
"""

from __future__ import annotations

import math
import sys
from itertools import pairwise
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no display needed
import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from torch import Tensor

from llwlc import constraints
from llwlc.bases import eigenbasis
from llwlc.graph import Graph
from llwlc.subgraphs import Subgraphs, extract

HOP_COLORS = {0: "#fdd49e", 1: "#9ecae1", 2: "#2171b5"}
HOP_NAMES = {0: "pair asked about", 1: "S, one hop away", 2: "boundary δS, two hops away"}
GREY, RED = "#bbbbbb", "#b2182b"
TEN_RING = [(i, (i + 1) % 10) for i in range(10)]
TWO_FIVE_RINGS = [(i + at, (i + 1) % 5 + at) for at in (0, 5) for i in range(5)]
SIX_RING = [(0, 1), (1, 3), (3, 5), (5, 4), (4, 2), (2, 0)]
"""The paper's C₆, its numbers less one: 1-2-4-6-5-3-1."""


def ring_places(order: list[int], center: tuple[float, float] = (0.0, 0.0), radius: float = 1.0) -> dict[int, Tensor]:
    """Nodes on a circle, the first at the top, clockwise."""
    angles = [math.pi / 2 - 2 * math.pi * i / len(order) for i in range(len(order))]
    return {
        node: torch.tensor([center[0] + radius * math.cos(a), center[1] + radius * math.sin(a)])
        for node, a in zip(order, angles, strict=True)
    }


def enclosing(edges: list[tuple[int, int]], pair: tuple[int, int]) -> tuple[Subgraphs, Tensor]:
    """The two-hop subgraph of a pair, its own link taken out, and its Neumann columns `[n, 2]`."""
    subs = extract(Graph.from_edges(torch.tensor(edges)), torch.tensor([pair]), hops=2)
    return subs, constraints.neumann(subs).columns


def draw_pair(
    axes: plt.Axes,
    edges: list[tuple[int, int]],
    pair: tuple[int, int],
    places: dict[int, Tensor],
    *,
    first: int = 0,
    beside: float = 0.3,
) -> None:
    """The graph, the nodes of the pair's subgraph in the colours of their hops, the pair dotted, and `beside` each node
    its entry in the boundary column, where that is not zero. Nodes are numbered from `first`.
    """
    subs, columns = enclosing(edges, pair)
    hops = dict(zip(subs.node.tolist(), subs.hop.tolist(), strict=True))
    entries = dict(zip(subs.node.tolist(), columns[:, 0].tolist(), strict=True))
    middle = torch.stack([places[node] for node in hops]).mean(0)
    for a, b in edges:
        if {a, b} != set(pair):
            across = {hops.get(a), hops.get(b)} == {1, 2}
            style = {"color": RED, "lw": 2.2} if across else {"color": "black", "lw": 1.1}
            axes.plot(*torch.stack([places[a], places[b]]).T, zorder=1, **style)
    axes.plot(*torch.stack([places[pair[0]], places[pair[1]]]).T, ls=":", color="black", lw=1.4, zorder=1)
    for node, at in places.items():
        color = HOP_COLORS[hops[node]] if node in hops else "white"
        edge = "black" if node in hops else GREY
        axes.scatter(*at, s=260, color=color, edgecolors=edge, zorder=2)
        ink = "white" if hops.get(node) == 2 else ("black" if node in hops else GREY)
        axes.text(*at, str(node + first), ha="center", va="center", fontsize=9, color=ink, zorder=3)
        if entries.get(node):
            outward = at + beside * (at - middle) / (at - middle).norm()
            axes.text(*outward, f"{entries[node]:+g}", ha="center", va="center", fontsize=9, color=RED)
    axes.set_aspect("equal")
    axes.margins(0.2)
    axes.axis("off")


def write_columns(axes: plt.Axes, subs: Subgraphs, columns: Tensor, first: int = 0) -> None:
    """The two columns of C as numbers, a row a node, in the colours of the hops."""
    order = sorted(range(subs.num_nodes), key=lambda i: int(subs.node[i]))
    cells = [[f"{x:g}" for x in columns[i].tolist()] for i in order]
    table = axes.table(
        cells,
        rowLabels=[str(int(subs.node[i]) + first) for i in order],
        colLabels=["boundary", "degree"],
        rowColours=[HOP_COLORS[int(subs.hop[i])] for i in order],
        cellLoc="center",
        loc="center",
        colWidths=[0.42, 0.36],
    )
    table.auto_set_font_size(False)
    table.set_fontsize(8.5)
    table.scale(1, 1.15)
    for i, row in enumerate(order, 1):
        if subs.hop[row] == 2:
            table[i, -1].get_text().set_color("white")
    axes.axis("off")


def legend(figure: Figure) -> None:
    handles = [
        plt.Line2D([], [], ls="", marker="o", ms=9, mfc=HOP_COLORS[hop], mec="black", label=HOP_NAMES[hop])
        for hop in HOP_COLORS
    ]
    handles += [
        plt.Line2D([], [], color=RED, lw=2.2, label="edge from S to δS, and what it adds to the column"),
        plt.Line2D([], [], color="black", ls=":", lw=1.4, label="pair, its own link left out"),
    ]
    figure.legend(handles=handles, loc="lower center", ncols=3, fontsize=8, frameon=False)


def pipeline() -> Figure:
    """The paper's first figure: two 2-regular graphs, their columns, their constrained eigenvalues, what follows."""
    figure, axes = plt.subplots(
        2, 5, figsize=(12.0, 5.8), gridspec_kw={"width_ratios": [2.1, 1.0, 1.35, 1.05, 0.8]}, squeeze=False
    )
    figure.subplots_adjust(left=0.02, right=0.98, top=0.9, bottom=0.13, wspace=0.28, hspace=0.22)
    two_places = ring_places(list(range(5)), (-1.35, 0), 0.95) | ring_places(list(range(5, 10)), (1.35, 0), 0.95)
    rows = (("C₁₀", TEN_RING, ring_places(list(range(10)), radius=1.25)), ("two C₅", TWO_FIVE_RINGS, two_places))
    for line, (name, edges, places) in zip(axes, rows, strict=True):
        subs, columns = enclosing(edges, (0, 1))
        draw_pair(line[0], edges, (0, 1), places, beside=0.42)
        line[0].set_title(f"{name}, pair (0, 1)", fontsize=10)
        write_columns(line[1], subs, columns)
        draw_spectra(line[2], subs)
        write_block(line[3], "blocks", ["X ← σ(V f(R) VᵀX W)", "f: learned, on R", "W: learned", "k times, one basis"])
        write_block(line[4], "readout", ["pooling", "fully connected", "ŷ"])
    for column, title in ((1, "two columns of C"), (2, "eigenvalues R of PLP, P = I − CC⁺")):
        axes[0, column].set_title(title, fontsize=10)
    axes[0, 2].legend(fontsize=7.5, loc="lower right")
    for line in axes:
        for a, b in pairwise(line):
            left, right = a.get_position(), b.get_position()
            height = (left.y0 + left.y1) / 2
            ends = ((left.x1 + 0.002, height), (right.x0 - 0.006, height))
            if b is not line[2]:  # ticks of the spectra stand there
                figure.add_artist(FancyArrowPatch(*ends, mutation_scale=11, color=GREY, lw=1.2))
    legend(figure)
    return figure


def draw_spectra(axes: plt.Axes, subs: Subgraphs) -> None:
    """Eigenvalues of L and of PLP on the null space, of the pair's subgraph."""
    for color, label, cons in (
        (GREY, "L, no constraint", constraints.none(subs)),
        (RED, "PLP, both columns", constraints.neumann(subs)),
    ):
        basis = eigenbasis(subs, cons, complete=True, laplacian="combinatorial", dtype=torch.float64)
        values = basis.values[0, basis.mask[0]]
        axes.plot(range(1, len(values) + 1), values, "o-", color=color, ms=5, lw=0.8, label=label)
    axes.set_ylim(-0.2, 4.2)
    axes.set_xticks(range(1, subs.num_nodes + 1))
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.25)


def write_block(axes: plt.Axes, title: str, words: list[str]) -> None:
    box = {"boxstyle": "round,pad=0.6", "facecolor": "#f0f0f0", "edgecolor": GREY}
    text = "\n".join([title.upper(), "", *words])
    axes.text(0.5, 0.5, text, ha="center", va="center", fontsize=8.5, bbox=box, transform=axes.transAxes)
    axes.axis("off")


ORBITS = {"adjacent, (2, 4)": (1, 3), "two apart, (2, 6)": (1, 5), "opposite, (2, 5)": (1, 4)}


def six_ring() -> Figure:
    """The three orbits of pairs of C₆, in the paper's numbers, and their columns."""
    figure, axes = plt.subplots(2, 3, figsize=(8.6, 6.4), gridspec_kw={"height_ratios": [1.25, 1]}, squeeze=False)
    figure.subplots_adjust(left=0.04, right=0.96, top=0.92, bottom=0.12, hspace=0.12)
    for place, (title, pair) in enumerate(ORBITS.items()):
        subs, columns = enclosing(SIX_RING, pair)
        draw_pair(axes[0, place], SIX_RING, pair, ring_places([1, 3, 5, 4, 2, 0]), first=1)
        axes[0, place].set_title(title, fontsize=10)
        write_columns(axes[1, place], subs, columns, first=1)
        if not columns[:, 0].any():
            words = {"ha": "center", "va": "center", "fontsize": 8.5, "color": RED}
            paper = {"facecolor": "white", "edgecolor": "none"}
            axes[0, place].text(0, 0, "no node two hops\naway: δS is empty", bbox=paper, **words)
    legend(figure)
    return figure


PICTURES = {"pipeline": pipeline, "six_ring": six_ring}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        figure = draw()
        # no software version in the file, so that the same picture is the same bytes
        figure.savefig(folder / f"{name}.png", dpi=100, metadata={"Software": None})
        plt.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures")
