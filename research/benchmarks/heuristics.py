"""HR@100 of the scores that need no training, under each protocol: `python research/benchmarks/heuristics.py cora
citeseer pubmed --seeds 10`.

`--heart` gives MRR against hard negatives instead. Prints a Markdown table: mean ± standard deviation over seeds 0, 1,
…, with the number of test negatives and the false-positive rate that K = 100 stands for. `messages` says which links
the scores see at test time: each protocol's own choice, and under `buddy` both.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np

from llwlc import datasets, splits
from llwlc.heuristics._registry import HEURISTICS
from llwlc.metrics import HitsAtK, hits_at_k, mrr

ROWS = (("buddy", "train"), ("buddy", "train + val"), ("ncn", "train"), ("seal", "train"), ("paper", "train + val"))

SCORES = {record.title: record.load() for record in HEURISTICS.records()}


def measure(name: str, seeds: int) -> list[str]:
    """The rows of one dataset."""
    graph = datasets.load(name)
    found: dict[tuple[str, str, str], list[HitsAtK]] = {}
    for protocol in dict.fromkeys(protocol for protocol, _ in ROWS):
        for seed in range(seeds):
            split = splits.make(graph, protocol=protocol, seed=seed)
            for messages in (m for p, m in ROWS if p == protocol):
                seen = split.train_graph if messages == "train" else split.test_graph
                for title, score in SCORES.items():
                    hit = hits_at_k(score(seen, split.test_pos), score(seen, split.test_neg), 100)
                    found.setdefault((protocol, messages, title), []).append(hit)
    rows = []
    for protocol, messages in ROWS:
        cells = [cell([hit.value for hit in found[protocol, messages, title]]) for title in SCORES]
        hit = found[protocol, messages, next(iter(SCORES))][0]
        rate = f"{100 * hit.false_positive_rate:.1f} %"
        rows.append(" | ".join(["", name, f"`{protocol}`", messages, str(hit.num_negatives), rate, *cells, ""]).strip())
    return rows


def measure_heart(name: str, seeds: int) -> list[str]:
    """MRR under `heart`, 500 hard negatives for each link."""
    graph = datasets.load(name)
    found: dict[str, list[float]] = {title: [] for title in SCORES}
    for seed in range(seeds):
        split = splits.make(graph, protocol="heart", seed=seed)
        for title, score in SCORES.items():
            found[title].append(mrr(score(split.test_graph, split.test_pos), score(split.test_graph, split.test_neg)))
    cells = [cell(values) for values in found.values()]
    return [" | ".join(["", name, "`heart`", "train", "500 a link", "", *cells, ""]).strip()]


def cell(values: Sequence[float]) -> str:
    percent = 100 * np.array(values)
    return f"{percent.mean():.1f} ± {percent.std(ddof=1 if len(values) > 1 else 0):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=["cora"], help="datasets")
    parser.add_argument("--seeds", type=int, default=10, help="number of seeds")
    parser.add_argument("--heart", action="store_true", help="MRR against hard negatives")
    args = parser.parse_args()
    started = time.perf_counter()
    heads = ["graph", "protocol", "messages", "negatives", "false positives", *SCORES]
    print("| " + " | ".join(heads) + " |")
    print("| " + " | ".join("---" for _ in heads) + " |")
    for name in args.names:
        for row in (measure_heart if args.heart else measure)(name, args.seeds):
            print(row, flush=True)
    print(
        f"\n{'MRR × 100' if args.heart else 'HR@100'}, mean ± std of {args.seeds} seeds,"
        f" {time.perf_counter() - started:.0f} s"
    )


if __name__ == "__main__":
    main()
