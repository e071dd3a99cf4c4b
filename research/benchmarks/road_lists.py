"""A road network with two lists of recommendations drawn on it: those of our network alone, and of the default blend.

    python research/benchmarks/road_lists.py                 # Winnipeg, 50 recommendations each
    python research/benchmarks/road_lists.py --network Terrassa-Asym_net --top 100 --out lists.png

A tenth of the links is hidden, the test links of the protocol `random` at `--seed`. Each model is fitted on a graph
without them, and `recommend` lists what that graph lacks: links that a model is given are never on its list, whichever
part of its split they are in. Coordinates are not in the file: nodes are placed by Kamada and Kawai's layout of the
whole network, hidden links included. Only networks to tune on are taken. The data root is LLWLC_DATA.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

# a script finds modules beside itself only
sys.path.insert(0, str(Path(__file__).parents[2]))

from llwlc import LinkPredictor, splits
from llwlc._support.charts import new_figure
from llwlc.graph import Graph
from research.corpus.networks import load_network, select_networks

MODELS = {"llwlc": "our network alone", "blend": "network, stack and global model"}
KNOWN, HIDDEN, HIT, MISS = "0.8", "0.55", "tab:green", "tab:orange"


def recommended_pairs(known: Graph, model: str, top: int, *, seed: int, minutes: float) -> torch.Tensor:
    """The best pairs `[top, 2]` of a model that is fitted on the known links alone."""
    predictor = LinkPredictor(model=model, seed=seed, minutes=minutes, device="cpu", cache=None)
    found = predictor.fit(known).recommend(top=top)
    number = {known.name(node): node for node in range(known.num_nodes)}
    return torch.tensor([[number[one.source], number[one.target]] for one in found])


def draw_list(axes: Axes, place: np.ndarray, split: splits.LinkSplit, best: torch.Tensor) -> int:
    """Draws known and hidden links and the list; returns how many of the list are hidden links."""
    n = len(place)
    keys = [pairs.amin(1) * n + pairs.amax(1) for pairs in (best, split.test_pos)]
    hit = torch.isin(*keys)
    for pairs, colour, width, style in (
        (split.test_graph.edges, KNOWN, 0.6, "solid"),
        (split.test_pos, HIDDEN, 0.9, "dotted"),
        (best[~hit], MISS, 1.3, "solid"),
        (best[hit], HIT, 2.2, "solid"),
    ):
        axes.add_collection(LineCollection(place[pairs.numpy()], colors=colour, linewidths=width, linestyles=style))
    axes.autoscale()
    axes.set_aspect("equal")
    axes.set_axis_off()
    return int(hit.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="Winnipeg_net")
    parser.add_argument("--top", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--out", type=Path, default=Path("docs/figures/road_lists.png"))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    select_networks("tune", [asked.network])
    graph = load_network(asked.network)
    split = splits.make(graph, protocol="random", seed=asked.seed)
    layout = nx.kamada_kawai_layout(nx.Graph(graph.edges.tolist()))
    place = np.array([layout.get(node, (np.nan, np.nan)) for node in range(graph.num_nodes)])
    figure, whole = new_figure(10.0, 5.3)
    whole.remove()
    for axes, (model, title) in zip(figure.subplots(1, len(MODELS)), MODELS.items(), strict=True):
        best = recommended_pairs(split.test_graph, model, asked.top, seed=asked.seed, minutes=asked.minutes)
        hits = draw_list(axes, place, split, best)
        axes.set_title(f"{title}: {hits} of the best {len(best)} are hidden links", fontsize=9)
        print(f"{model}: {hits} of the best {len(best)} are among {len(split.test_pos)} hidden links")
    figure.savefig(asked.out, dpi=110)
    print(f"written to {asked.out}")


if __name__ == "__main__":
    main()
