"""The list in the picture of README.md: `python docs/make_list_picture.py [folder]`. Needs the extra `plots`.

The characters of Les Misérables, joined where they meet in a chapter, and the ten likeliest missing links of a default
fit.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # no display needed
import matplotlib.pyplot as plt
import networkx
from matplotlib import patheffects
from matplotlib.figure import Figure

import llwlc
from llwlc.ranking import Recommendations

GREY, RED = "#b8b8b8", "#b2182b"


def find_links(model: str | None = None) -> tuple[networkx.Graph, Recommendations]:
    """The graph, and the best ten candidates of a model, of the default without one."""
    characters = networkx.Graph(networkx.les_miserables_graph().edges)  # without the numbers of chapters
    predictor = llwlc.LinkPredictor(model=model).fit(llwlc.Graph.from_networkx(characters))
    return characters, predictor.recommend(top=10)


def draw(characters: networkx.Graph, links: Recommendations) -> Figure:
    """The graph with the links drawn in, and the list beside it."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.6), width_ratios=(1.8, 1), layout="constrained")
    places = networkx.kamada_kawai_layout(characters)
    networkx.draw_networkx_edges(characters, places, ax=left, edge_color=GREY, width=0.6)
    ends = {name for link in links for name in (link.source, link.target)}
    sizes = [60 if name in ends else 14 for name in characters]
    colors = [RED if name in ends else GREY for name in characters]
    networkx.draw_networkx_nodes(characters, places, ax=left, node_size=sizes, node_color=colors)
    found = [(link.source, link.target) for link in links]
    networkx.draw_networkx_edges(characters, places, found, ax=left, edge_color=RED, style="--", width=1.6)
    label(left, {name: places[name] for name in ends})
    left.axis("off")
    cells = [[f"{link.source} – {link.target}", f"{link.probability:.2f}"] for link in links]
    table = right.table(cells, colLabels=["missing link", "probability"], colWidths=[0.9, 0.3], loc="center")
    table.auto_set_font_size(False)
    table.set_fontsize(9)
    table.scale(1, 1.4)
    for (row, column), cell in table.get_celld().items():
        cell.set_linewidth(0)
        cell.get_text().set_horizontalalignment("right" if column else "left")
        cell.get_text().set_fontweight("bold" if row == 0 else "normal")
    right.axis("off")
    return figure


def label(axes: Any, places: dict[str, Any]) -> None:
    """Names beside their nodes, each where it covers least of the names that stand already and of the other nodes."""
    axes.figure.canvas.draw()  # the layout has to be known
    scale = axes.figure.dpi / 72
    dots = {name: axes.transData.transform(at) / scale for name, at in places.items()}
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in dots.values()]
    outline = [patheffects.withStroke(linewidth=2.5, foreground="white")]
    for name, (x, y) in sorted(dots.items(), key=lambda dot: -dot[1][1]):
        width, best = 4.8 * len(name), None
        for dx, dy in product((6, -width / 2, -width - 6), (6, -3, -14, 16, -24)):
            box = (x + dx, y + dy, x + dx + width, y + dy + 9)
            cost = sum(overlap(box, other) for other in taken) + 0.2 * abs(dy)
            if best is None or cost < best[0]:
                best = (cost, dx, dy, box)
        _, dx, dy, box = best
        taken.append(box)
        options = {"textcoords": "offset points", "fontsize": 8, "path_effects": outline}
        axes.annotate(name, places[name], (dx, dy), **options)


def overlap(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    """The area that two boxes (left, bottom, right, top) share."""
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def main(folder: Path, model: str | None = None) -> None:
    figure = draw(*find_links(model))
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "first_list.png", dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures")
