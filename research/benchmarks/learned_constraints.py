"""What learned constraints cost beside the fixed family: an epoch of training, and scores.

    python research/benchmarks/learned_constraints.py                     # Cora, a tenth of its training links
    python research/benchmarks/learned_constraints.py --graph pubmed --fraction 0.02

Both fit the default preset on the same split, with `constraints=learned` and with its own `neumann_boundary`, on one
thread and without a cache of bases; an epoch covers its validation scores, the first one is left out. Scores are of
`--pairs` random pairs on the fitted network, bases included. CPU seconds, the least of all turns, since the machine is
shared. One line in research/results/learned_constraints.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from threadpoolctl import threadpool_limits

# a script finds modules beside itself only
sys.path.insert(0, str(Path(__file__).parents[2]))

from llwlc import LinkPredictor, datasets, splits
from llwlc.graph import Graph
from research.bench.clock import describe_machine

RESULTS = Path(__file__).parents[1] / "results" / "learned_constraints.jsonl"
FAMILIES = ("neumann_boundary", "learned")


def fit(graph: Graph, split: splits.LinkSplit, **options: Any) -> tuple[LinkPredictor, float]:
    """A fitted predictor, and the CPU seconds of its fastest epoch."""
    ends: list[float] = []
    model = LinkPredictor(device="cpu", cache=None, minutes=None, copies=0, **options)
    model.fit(graph, split=split, on_epoch=lambda *_: ends.append(time.process_time()))
    return model, min(b - a for a, b in pairwise(ends))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default="cora")
    parser.add_argument("--fraction", type=float, default=0.1, help="share of the training links")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--turns", type=int, default=3)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    graph = datasets.load(asked.graph)
    split = splits.make(graph, protocol="random", seed=0)
    pairs = torch.randint(graph.num_nodes, (asked.pairs, 2), generator=torch.Generator().manual_seed(0))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    line: dict[str, object] = {
        "graph": asked.graph,
        "training_links": int(len(split.train_pos) * asked.fraction),
        "pairs": len(pairs),
    }
    training, scoring, networks = {}, dict.fromkeys(FAMILIES, float("inf")), {}
    with threadpool_limits(1):
        for name in FAMILIES:
            model, training[name] = fit(graph, split, constraints=name, epochs=asked.epochs, fraction=asked.fraction)
            networks[name] = model.run_.fitted.model
        for _ in range(asked.turns + 1):  # the first one compiles
            for name, network in networks.items():
                begin = time.process_time()
                network.score(graph, pairs)
                scoring[name] = min(scoring[name], time.process_time() - begin)
    for name in FAMILIES:
        line |= {f"{name}_epoch": round(training[name], 3), f"{name}_scores": round(scoring[name], 4)}
    line |= {
        "training_ratio": round(training["learned"] / training["neumann_boundary"], 2),
        "scoring_ratio": round(scoring["learned"] / scoring["neumann_boundary"], 2),
        "load": round(os.getloadavg()[0], 1),
        "machine": describe_machine(),
    }
    print(json.dumps({key: value for key, value in line.items() if key != "machine"}))
    with RESULTS.open("a") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
