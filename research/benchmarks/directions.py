"""Directions of hidden links: how often the way of a one-way link is right, by the model of directions and by the
degrees of the ends alone, on the networks of the folder `directed` in the data root. Lines that are stored are not
measured again.

    python research/benchmarks/directions.py --seeds 5
    python research/benchmarks/directions.py --show
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from pathlib import Path
from typing import Any

# a script finds modules beside itself only
sys.path.insert(0, str(Path(__file__).parents[2]))

from llwlc import Graph, splits
from llwlc._direction.fit import fit_directions
from llwlc._support.repeated_warnings import suppress_warnings
from llwlc._support.roots import data_root
from llwlc.graph import GraphWarning
from llwlc.training._node_features import NodeFeatures
from research.experiments.lines import append_line

RESULTS = Path(__file__).parents[1] / "results" / "directions.jsonl"
KINDS = {
    "neurons": ["celegans-neurons"],
    "air routes": ["airline-routes"],
    "messages": ["college-messages"],
    "food webs of soil and water": [
        *(f"foodweb-{name}" for name in ("aew06", "aew18", "aew25", "sew02", "sew41")),
        *(f"foodweb-{name}" for name in ("chub_pond", "loon_lake", "weddell_sea")),
    ],
    "food web of the Serengeti": ["serengeti-foodweb"],
}
"""The networks of each kind; the mean of a kind is that of its networks."""


def measure(network: str, seed: int) -> dict[str, Any]:
    """A line: protocol `random`, 5 % validation and 10 % test links, of which nothing is known when directions are
    measured.
    """
    with suppress_warnings(GraphWarning):
        graph = Graph.read(data_root() / "directed" / f"{network}.csv.gz", time=None, directed=True)
    begin = time.perf_counter()
    split = splits.make(graph, protocol="random", seed=seed)
    report = fit_directions(graph, split, NodeFeatures(), seed=seed).report
    about = {"network": network, "seed": seed, "nodes": graph.num_nodes, "known_links": graph.num_edges}
    return about | report.as_dict() | {"seconds": round(time.perf_counter() - begin, 2)}


def read(path: Path) -> dict[tuple[str, int], dict[str, Any]]:
    lines = [json.loads(text) for text in path.read_text().splitlines()] if path.exists() else []
    return {(line["network"], line["seed"]): line for line in lines}


def table(lines: dict[tuple[str, int], dict[str, Any]], seeds: range) -> str:
    """A row for each kind, as Markdown; ± is the standard error of the mean difference over seeds."""
    rows = [
        "| kind | both ways | one-way test links | degrees alone | model | difference |",
        "|---|---|---|---|---|---|",
    ]
    for kind, networks in KINDS.items():
        per_seed = [[lines[name, seed] for name in networks] for seed in seeds if (networks[0], seed) in lines]
        if len(per_seed) < 2 or any((name, seed) not in lines for name in networks for seed in seeds):
            continue

        def mean(name: str, some: list[dict[str, Any]]) -> float:
            return statistics.fmean(100 * line[name] for line in some)

        ours, theirs = ([mean(name, some) for some in per_seed] for name in ("right", "right_by_degrees"))
        gap = [a - b for a, b in zip(ours, theirs, strict=True)]
        error = statistics.stdev(gap) / math.sqrt(len(gap))
        both = statistics.fmean(mean("both", some) for some in per_seed)
        count = statistics.fmean(sum(line["one_way"] for line in some) for some in per_seed)
        means = f"{statistics.fmean(theirs):.1f} | {statistics.fmean(ours):.1f}"
        rows.append(f"| {kind} | {both:.1f} % | {count:.0f} | {means} | {statistics.fmean(gap):+.1f} ± {error:.1f} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--show", action="store_true", help="print what is stored and measure nothing")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    lines = read(options.results)
    cells = [(name, seed) for names in KINDS.values() for name in names for seed in range(options.seeds)]
    for network, seed in [] if options.show else [cell for cell in cells if cell not in lines]:
        lines[network, seed] = measure(network, seed)
        append_line(options.results, lines[network, seed])
    print(table(lines, range(options.seeds)))


if __name__ == "__main__":
    main()
