"""A page of pictures: pairs of graphs, the constraints, the first constrained eigenvectors, and the two spectra over
each other.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import torch

from llwlc import constraints, subgraphs
from llwlc._support.files import write_text
from llwlc.graph._graph import Graph
from research.expressivity.columns import Real
from research.expressivity.families import Pair, adjacency, paper, skip_link
from research.expressivity.resolvent import laplacian
from research.expressivity.separate import fingerprint, separate
from research.expressivity.wl import wl1, wl3

EIGENVECTORS = 3


class Side(NamedTuple):
    """One graph as it is shown: adjacency `[n, n]`, constraint columns `[n, k]`, the nodes with a red rim, a label a
    node, a title.
    """

    a: Real
    columns: Real
    marked: tuple[int, ...]
    labels: tuple[str, ...]
    title: str


class Exhibit(NamedTuple):
    """A pair, its two sides, the policies that are asked, and what there is to see."""

    pair: Pair
    sides: tuple[Side, Side]
    policies: tuple[str, ...]
    text: str


class Basis(NamedTuple):
    """The complete constrained eigenbasis of one graph: `values [m]` ascending, `vectors [n, m]`."""

    values: Real
    vectors: Real


def make_exhibits() -> list[Exhibit]:
    """The paper's two pairs, the second under both kinds of constraint, and a pair of skip-link graphs."""
    cycles, squares = paper()
    csl = Pair("CSL(11, 2) | CSL(11, 3)", adjacency(skip_link(11, 2)), adjacency(skip_link(11, 3)))
    return [
        Exhibit(
            cycles,
            _deleted_sides(cycles, (0,), (0,)),
            ("none", "neumann", "deleted-1", "filter-1"),
            "2-regular, so 1-WL gives every node the same colour. Two components show in the plain spectrum already:"
            " eigenvalue 0 twice, and once under the constraint of a deleted vertex.",
        ),
        Exhibit(
            squares,
            _deleted_sides(squares, _clique(squares.a, 4), _clique(squares.b, 3)),
            ("none", "deleted-3", "deleted-4", "filter-2"),
            "Strongly regular with the same parameters, so 3-WL is blind to them, and so are the spectra of up to three"
            " deleted vertices. The rook's graph has eight cliques of four vertices, the Shrikhande graph none:"
            " deleting such a clique gives a spectrum that no four vertices of the other graph can give.",
        ),
        Exhibit(
            squares,
            (_neumann_side(squares.a, "rook, an edge"), _neumann_side(squares.b, "Shrikhande, an edge")),
            ("enclosing", "neumann"),
            "The same two graphs around an edge (red), which is removed. The labels are the entries of the Neumann"
            " column: how many edges join a one-hop node (+) to two-hop nodes (−). The subgraphs without constraints"
            " are cospectral, with them they are not.",
        ),
        Exhibit(
            csl,
            _deleted_sides(csl, (0, 1), (0, 1)),
            ("none", "deleted-2", "neumann", "filter-1"),
            "Circular skip-link graphs: 4-regular and vertex-transitive, told apart by the plain spectrum.",
        ),
    ]


def _deleted_sides(pair: Pair, *deleted: tuple[int, ...]) -> tuple[Side, Side]:
    """Both graphs under the vertex-deleted constraints of these vertices."""
    sides = []
    for a, name, gone in zip(pair[1:], pair.name.split(" | "), deleted, strict=True):
        d = a.sum(1)
        columns = d[:, None] - np.eye(len(a))[:, list(gone)] * d[list(gone)]
        labels = tuple(str(i) for i in range(len(a)))
        sides.append(Side(a, columns, gone, labels, f"{name}\ndeleted: {', '.join(map(str, gone))}"))
    return sides[0], sides[1]


def _neumann_side(a: Real, title: str) -> Side:
    """The enclosing subgraph of the first edge, under its Neumann constraints."""
    edges = torch.tensor(np.argwhere(np.triu(a)))
    subs = subgraphs.extract(Graph.from_edges(edges, num_nodes=len(a)), edges[:1])
    inner = np.zeros((subs.num_nodes, subs.num_nodes))
    inner[subs.row.numpy(), subs.col.numpy()] = 1
    columns = constraints.neumann(subs).columns.numpy()
    labels = tuple(f"{x:+.0f}" if x else "" for x in columns[:, 0])
    return Side(inner, columns, (int(subs.u), int(subs.v)), labels, title)


def compute_constrained_basis(side: Side) -> Basis:
    """The eigenbasis of PLP on the null space of the constraints."""
    left, singular, _ = np.linalg.svd(side.columns, full_matrices=True)
    null = left[:, int((singular > 1e-9 * max(float(singular.max(initial=0)), 1e-30)).sum()) :]
    values, vectors = np.linalg.eigh(null.T @ laplacian(side.a) @ null)
    return Basis(values, null @ vectors)


def write_page(path: Path, shown: Sequence[Exhibit] | None = None) -> Path:
    """The page as one file without links to others; needs matplotlib (`pip install llwlc[plots]`)."""
    parts = [_section(exhibit) for exhibit in (make_exhibits() if shown is None else shown)]
    page = _PAGE.format(sections="\n".join(parts))
    write_text(path, page)
    return path


def draw_figure(exhibit: Exhibit) -> Any:
    """One row a graph: the graph with its deleted vertices, the first eigenvectors as colours; below, spectra and
    fingerprints.
    """
    import matplotlib.pyplot as plt

    fig = plt.figure(figsize=(3.1 * (EIGENVECTORS + 1), 9.2), layout="constrained")
    grid = fig.add_gridspec(3, 2 * (EIGENVECTORS + 1), height_ratios=[1, 1, 0.9])
    names = exhibit.pair.name.split(" | ")
    bases = [compute_constrained_basis(side) for side in exhibit.sides]
    for r, (side, basis) in enumerate(zip(exhibit.sides, bases, strict=True)):
        axes = [fig.add_subplot(grid[r, 2 * c : 2 * c + 2]) for c in range(EIGENVECTORS + 1)]
        _draw_row(axes, side, basis)
    half = EIGENVECTORS + 1
    _draw_spectra(fig.add_subplot(grid[2, :half]), [b.values for b in bases], names)
    _draw_fingerprints(fig.add_subplot(grid[2, half:]), exhibit, names)
    return fig


def _draw_row(axes: Sequence[Any], side: Side, basis: Basis) -> None:
    graph = nx.from_numpy_array(side.a)
    at = _layout(graph)
    rim = ["#c0392b" if i in side.marked else "#333333" for i in graph]
    style: dict[str, Any] = {"node_size": 190, "linewidths": 1.6, "edgecolors": rim}
    nx.draw_networkx_edges(graph, at, ax=axes[0], edge_color="#bbbbbb")
    fill = ["#f5b7b1" if i in side.marked else "#d6eaf8" for i in graph]
    nx.draw_networkx_nodes(graph, at, ax=axes[0], node_color=fill, **style)
    nx.draw_networkx_labels(graph, at, ax=axes[0], labels=dict(enumerate(side.labels)), font_size=7)
    axes[0].set_title(side.title, fontsize=9)
    for c, ax in enumerate(axes[1:]):
        v = _upright(basis.vectors[:, c])
        top = float(np.abs(basis.vectors[:, :EIGENVECTORS]).max())
        nx.draw_networkx_edges(graph, at, ax=ax, edge_color="#dddddd")
        nx.draw_networkx_nodes(graph, at, ax=ax, node_color=v, cmap="RdBu_r", vmin=-top, vmax=top, **style)
        ax.set_title(f"eigenvector {c + 1}\nλ = {abs(basis.values[c]):.4f}", fontsize=9)
    for ax in axes:
        ax.set_aspect("equal")
        ax.margins(0.12)
        ax.axis("off")


def _draw_spectra(ax: Any, values: Sequence[Real], names: Sequence[str]) -> None:
    """Both spectra of PLP as steps: where they part, the graphs do."""
    for v, name, style in zip(values, names, ("-", "--"), strict=True):
        ax.step(np.arange(1, len(v) + 1), v, style, where="mid", label=name, linewidth=1.8)
    ax.set(xlabel="number of the eigenvalue", ylabel="λ of PLP", title="the two constrained spectra")
    ax.legend(fontsize=8)


def _draw_fingerprints(ax: Any, exhibit: Exhibit, names: Sequence[str]) -> None:
    """The last policy's numbers over all constraint sets: the fingerprint itself."""
    policy = exhibit.policies[-1]
    for a, name, style in zip(exhibit.pair[1:], names, ("-", "--"), strict=True):
        x = fingerprint(a, policy)
        ax.step(np.linspace(0, 1, len(x) + 1), [x[0], *x], style, label=name, linewidth=1.8)
    ax.set(
        xlabel=f"share of the {len(x):,} constraint sets", ylabel="number of the set", title=f"fingerprints, {policy}"
    )
    ax.legend(fontsize=8)


def _layout(graph: nx.Graph) -> Any:
    """Components beside each other, each on a circle."""
    at = {}
    for i, part in enumerate(sorted(map(sorted, nx.connected_components(graph)))):
        ring = nx.circular_layout(graph.subgraph(part), center=(2.5 * i, 0))
        at.update(ring)
    return at


def _upright(v: Real) -> Real:
    """An eigenvector's sign is arbitrary: the largest entry is shown positive."""
    return np.asarray(v * np.sign(v[np.argmax(np.abs(v))]))


def _clique(a: Real, size: int) -> tuple[int, ...]:
    """The first clique of that size, and the first other vertex where four are wanted and there are none."""
    found = sorted(sorted(c) for c in nx.enumerate_all_cliques(nx.from_numpy_array(a)) if len(c) == size)
    chosen = found[0]
    rest = [i for i in range(len(a)) if i not in chosen]
    return tuple(sorted([*chosen, *rest[: 4 - size]]))


def _section(exhibit: Exhibit) -> str:
    import matplotlib.pyplot as plt

    fig = draw_figure(exhibit)
    buffer = io.BytesIO()
    fig.savefig(buffer, format="png", dpi=110)
    plt.close(fig)
    image = base64.b64encode(buffer.getvalue()).decode()
    pair = exhibit.pair
    lines = [("1-WL", "separated" if wl1(pair.a, pair.b) else "equal", "")]
    lines += [("3-WL", "separated" if wl3(pair.a, pair.b) else "equal", "")]
    for policy in exhibit.policies:
        verdict = separate(pair, policy, check=0)
        answer = "separated" if verdict.separated else "equal"
        lines.append((policy, answer, f"{verdict.distance:.1e} apart, {verdict.noise:.0e} from its own copy"))
    rows = "".join(f"<tr class={b}><td>{html.escape(a)}</td><td>{b}</td><td>{c}</td></tr>" for a, b, c in lines)
    title = html.escape(pair.name.replace(" | ", " and "))
    return (
        f"<section><h2>{title}</h2><p>{html.escape(exhibit.text)}</p><table>{rows}</table>"
        f'<img alt="{title}: graphs, constraints, eigenvectors, spectra" src="data:image/png;base64,{image}"></section>'
    )


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>What constrained eigenbases tell apart</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2em auto; padding: 0 1em; color: #222 }}
img {{ width: 100%; height: auto }}
table {{ border-collapse: collapse; margin: 0.6em 0 }}
td {{ padding: 0.15em 0.9em 0.15em 0; border-bottom: 1px solid #ddd }}
tr.separated td:nth-child(2) {{ color: #1e8449; font-weight: 600 }}
tr.equal td:nth-child(2) {{ color: #999 }}
</style></head><body>
<h1>What constrained eigenbases tell apart</h1>
<p>Red: deleted vertices, each of which adds the constraint Σ d<sub>x</sub> f(x) = 0 over all other nodes, or the ends of an edge
under its Neumann constraints. Colours: the first eigenvectors of PLP on
the null space, red positive, blue negative; an eigenvector of a repeated eigenvalue is one choice of many. Below: both spectra, and
the fingerprints over all constraint sets, on top of each other.</p>
{sections}
</body></html>
"""
