"""A user's own graph, end to end and without code: `python research/benchmarks/own_graph.py --seeds 3`.

USAir and C.elegans are written out as CSV with made-up names; then `llwlc fit`, `llwlc recommend` and `llwlc score` run
on the files as a user would run them. Prints a Markdown table: AUC on 10 % held-out links, mean ± standard deviation
over seeds 0, 1, …, beside the heuristics on the same links and what SEAL published (Zhang and Chen 2018, 10 %
held out, other random splits).
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from llwlc import datasets
from llwlc.graph._graph import Graph

SEAL = {"usair": "96.6", "celegans": "90.3"}
COLUMNS = (
    "graph",
    "nodes",
    "links",
    "llwlc",
    "common neighbours",
    "Adamic–Adar",
    "resource allocation",
    "SEAL, published",
)


def names(prefix: str, count: int) -> list[str]:
    """`count` made-up names: the prefix and three letters, as airports and neurons have."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return [f"{prefix} {letters[i // 26 % 26]}{letters[i % 26]}{letters[i * 7 % 26]}" for i in range(count)]


def write(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def llwlc(*arguments: str, folder: Path) -> None:
    """One command line, as typed."""
    print("$ llwlc", *arguments, file=sys.stderr, flush=True)
    program = Path(sys.executable).with_name("llwlc")
    subprocess.run([program, *arguments], cwd=folder, check=True, stdout=sys.stderr)


def measure(name: str, graph: Graph, seeds: int, folder: Path) -> str:
    """Fit each seed, recommend and score with the first one, and one row of the table."""
    called = names("Airport" if name == "usair" else "Neuron", graph.num_nodes)
    write(folder / "edges.csv", [["from", "to"], *[[called[u], called[v]] for u, v in graph.edges.tolist()]])
    found = []
    for seed in range(seeds):
        llwlc("fit", "edges.csv", "--seed", str(seed), "--out", f"run{seed}", folder=folder)
        found.append(json.loads((folder / f"run{seed}" / "metrics.json").read_text(encoding="utf-8")))
    llwlc("recommend", "run0", "--top", "100", "-o", "top.csv", folder=folder)
    llwlc("score", "run0", "top.csv", "-o", "scores.csv", "--prior", "0.01", folder=folder)
    ours = cell([m["auc"] for m in found])
    rest = [cell([m["heuristics"][title]["auc"] for m in found]) for title in COLUMNS[4:7]]
    return "| " + " | ".join([name, str(graph.num_nodes), str(graph.num_edges), ours, *rest, SEAL[name]]) + " |"


def cell(values: list[float]) -> str:
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{100 * statistics.mean(values):.2f} ± {100 * spread:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", nargs="*", default=list(SEAL), choices=list(SEAL))
    parser.add_argument("--folder", type=Path, help="where files and runs go; by default a folder that is removed")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        rows = []
        for name in args.data:
            folder = (args.folder or Path(scratch)) / name
            folder.mkdir(parents=True, exist_ok=True)
            rows.append(measure(name, datasets.load(name), args.seeds, folder))
    print("| " + " | ".join(COLUMNS) + " |\n" + "|" + " --- |" * len(COLUMNS))
    print("\n".join(rows))


if __name__ == "__main__":
    main()
