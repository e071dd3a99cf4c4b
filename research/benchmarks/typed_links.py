"""Filtered MRR and Hits@K of typed links on a folder with train.txt, valid.txt and test.txt, as PyKEEN carries them.

    pip download --no-deps pykeen && unzip pykeen-*.whl 'pykeen/datasets/*'
    python research/benchmarks/typed_links.py pykeen/datasets/umls
    python research/benchmarks/typed_links.py pykeen/datasets/kinships

Lines are source, type and target behind tabs. The epoch is chosen on valid.txt; ranks are those of PyKEEN's protocol:
both ends asked for, links of all three files filtered, ties counting half. Two lines for each seed on stdout: the
factors alone, and with the types that already join a pair and our network (each left out where validation links do
not gain by it).

The stored lines of PyKEEN's models on Kinships are those of its benchmarking study (github.com/pykeen/benchmarking at
6268854e: the best of all runs of a model, by their test MRR).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

# a script finds modules beside itself only
sys.path.insert(0, str(Path(__file__).parents[2]))

from llwlc.relations import RelationPredictor, Triples

RESULTS = Path(__file__).parents[1] / "results" / "typed_links.jsonl"
GRAPHS = {"umls": "UMLS", "kinships": "Kinships"}


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def table(lines: Sequence[Mapping[str, Any]]) -> str:
    """The mean and the range of each model on each graph, best first, as Markdown."""
    rows = ["| graph | model | MRR | Hits@10 | runs |", "| --- | --- | --- | --- | --- |"]
    for graph, title in GRAPHS.items():
        models = {
            line["model"]: [x for x in lines if (x["graph"], x["model"]) == (graph, line["model"])] for line in lines
        }
        known = [(name, found) for name, found in models.items() if found]
        for name, found in sorted(known, key=lambda item: -np.mean([line["mrr"] for line in item[1]])):
            cells = [_spread([100 * line[key] for line in found]) for key in ("mrr", "hits@10")]
            rows.append(f"| {title} | {name} | {cells[0]} | {cells[1]} | {len(found)} |")
    return "\n".join(rows)


def _spread(values: Sequence[float]) -> str:
    mean = f"{np.mean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.1f} to {max(values):.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    parts = {}
    for name in ("train", "valid", "test"):
        lines = (given.folder / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        parts[name] = [tuple(line.split("\t")) for line in lines]
    triples = Triples.of([triple for part in parts.values() for triple in part])  # type: ignore[misc]
    row = {tuple(numbers): at for at, numbers in enumerate(triples.rows.tolist())}
    valid, test = (np.array([row[tuple(t)] for t in triples.find(parts[name]).tolist()]) for name in ("valid", "test"))
    for seed in range(given.seeds):
        model = RelationPredictor(seed=seed).fit(triples, valid=valid, test=test)
        for what, metrics in (("ours, factors alone", model.factor_metrics_), ("ours", model.metrics_)):
            line = {"graph": given.folder.name, "model": what, "seed": seed, "epochs": model.epoch_, **metrics}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
