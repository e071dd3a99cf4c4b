"""The list in the picture of README.md: `python docs/make_list_picture.py [folder]`. Needs the extra `plots`.

The characters of Les Misérables, joined where they meet in a chapter, and the ten likeliest missing links of a default
fit.
"""

from __future__ import annotations

import sys
from pathlib import Path

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
    outline = [patheffects.withStroke(linewidth=2.5, foreground="white")]
    for at, name in enumerate(sorted(ends, key=lambda name: places[name][0])):  # by turns above and below
        offset = (3, 7 if at % 2 else -13)
        left.annotate(name, places[name], offset, textcoords="offset points", fontsize=8, path_effects=outline)
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


def main(folder: Path, model: str | None = None) -> None:
    figure = draw(*find_links(model))
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "first_list.png", dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures")
