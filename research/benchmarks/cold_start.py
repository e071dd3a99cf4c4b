"""Links of new nodes by features alone: a tenth of the nodes is hidden with all links; the model for new nodes beside
the cosine of features and scikit-learn's MLP (one layer of 128, early stopping) on the products and differences of
compact features, fitted on the links that are left and as many random pairs. Lines that are stored are not measured
again.

    python research/benchmarks/cold_start.py cora citeseer --seeds 3
    python research/benchmarks/cold_start.py --show
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.neural_network import MLPClassifier
from torch import Tensor

# a script finds modules beside itself only
sys.path.insert(0, str(Path(__file__).parents[2]))

from llwlc import datasets
from llwlc._cold_start.model import fit_cold_start
from llwlc.metrics import auc
from llwlc.training._compact_features import fit_compactor
from llwlc.training._node_features import NodeFeatures
from research.experiments.lines import append_line

RESULTS = Path(__file__).parents[1] / "results" / "cold_start.jsonl"
METHODS = ("model for new nodes", "cosine of features", "mlp")
SHARE, LISTED = 0.1, 10


def measure(dataset: str, seed: int) -> dict[str, Any]:
    """AUC of the hidden links against as many pairs of hidden and random nodes, and the mean share of hidden links
    among the ten best of hidden nodes that have some, of a hundred at most.
    """
    graph = datasets.load(dataset)
    draw = torch.Generator().manual_seed(seed)
    n = graph.num_nodes
    hidden = torch.randperm(n, generator=draw)[: round(SHARE * n)]
    cold = torch.zeros(n, dtype=torch.bool)
    cold[hidden] = True
    touched = cold[graph.edges].any(1)
    rest = graph.with_edges(graph.edges[~touched])
    links = graph.edges[touched]
    pairs = torch.stack([hidden[torch.randint(len(hidden), (2 * len(links),), generator=draw)],
                         torch.randint(n, (2 * len(links),), generator=draw)], 1)  # fmt: skip
    others = pairs[(pairs[:, 0] != pairs[:, 1]) & ~graph.has_edges(pairs)][: len(links)]
    assert graph.x is not None
    features = NodeFeatures.of(graph.x, fit_compactor(graph.x, 64))
    ours = fit_cold_start(rest, features, seed=seed)
    rows = ours.columns.rows
    assert features.compact is not None
    compact = features.compact.numpy().astype(np.float64)

    def products(asked: Tensor) -> NDArray[np.float64]:
        u, v = (compact[part.numpy()] for part in asked.T)
        return np.concatenate([u * v, np.abs(u - v)], 1)

    random = torch.randint(n, rest.edges.shape, generator=draw)
    mlp = MLPClassifier((128,), early_stopping=True, random_state=seed)
    mlp.fit(products(torch.cat([rest.edges, random])), np.arange(2 * rest.num_edges) < rest.num_edges)

    def score(method: str, asked: Tensor) -> Tensor:
        if method == "mlp":
            return torch.from_numpy(mlp.predict_proba(products(asked))[:, 1])
        if method == METHODS[0]:
            return ours.log_odds(asked, cold)[:, 0]
        u, v = (torch.from_numpy(rows[part.numpy()]).double() for part in asked.T)
        return torch.cosine_similarity(u, v)

    found: dict[str, Any] = {"dataset": dataset, "seed": seed, "hidden_nodes": len(hidden), "hidden_links": len(links)}
    some = hidden[graph.degree[hidden] > 0][:100]
    for method in METHODS:
        precision = []
        for node in some.tolist():
            asked = torch.stack([torch.full((n,), node), torch.arange(n)], 1)[torch.arange(n) != node]
            best = asked[score(method, asked).argsort(descending=True)[:LISTED]]
            precision.append(float(graph.has_edges(best).double().mean()))
        found[method] = {
            "auc": float(auc(score(method, links), score(method, others))),
            "precision": statistics.fmean(precision),
        }
    return found


def table(lines: list[dict[str, Any]]) -> str:
    """Means and standard deviations over seeds, in percent, as Markdown."""
    names = list(dict.fromkeys(line["dataset"] for line in lines))
    columns = [f"{name}, {what}" for name in names for what in ("AUC", "P@10")]
    rows = [f"| | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    for method in METHODS:
        cells = []
        for name in names:
            for what in ("auc", "precision"):
                values = [100 * line[method][what] for line in lines if line["dataset"] == name]
                spread = statistics.stdev(values) if len(values) > 1 else 0.0
                cells.append(f"{statistics.fmean(values):.1f} ± {spread:.1f}")
        rows.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(rows)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in path.read_text().splitlines()] if path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="*", default=["cora", "citeseer"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--show", action="store_true", help="print what is stored and measure nothing")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    done = {(line["dataset"], line["seed"]) for line in read(options.results)}
    cells = [(name, seed) for seed in range(options.seeds) for name in options.datasets]
    for name, seed in [] if options.show else [cell for cell in cells if cell not in done]:
        append_line(options.results, measure(name, seed))
    print(table(read(options.results)))


if __name__ == "__main__":
    main()
