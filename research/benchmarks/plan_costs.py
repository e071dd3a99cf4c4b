"""What each thing that a plan leaves out costs: the test AUC with and without it, on the same splits and seeds.

    python research/benchmarks/plan_costs.py usair celegans cora blocks-1000-25 geometric-1000-25 clustered-1000-24
    --seeds 3 --device cuda --processes 8 python research/benchmarks/plan_costs.py --table

One line a run in research/results/plan_costs.jsonl; a finished one is not run again.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results" / "plan_costs.jsonl"
SMALLEST = {
    "hops": 1,
    "max_nodes_per_hop": 100,
    "fraction": 0.1,
    "epochs": 10,
    "copies": 0,
    "negative_pool": 1,
    "candidate_pool": 1,
}
LARGE = {"max_nodes_per_hop": 100, "fraction": 0.2, "epochs": 20, "copies": 0}
VARIANTS = {
    "full": {},
    "100 nodes a hop": {"max_nodes_per_hop": 100},
    "one hop": {"hops": 1, "max_nodes_per_hop": 1000},
    "one hop, 100 nodes": {"hops": 1, "max_nodes_per_hop": 100},
    "half of the links": {"fraction": 0.5},
    "a fifth of the links": {"fraction": 0.2},
    "a tenth of the links": {"fraction": 0.1},
    "a twentieth of the links": {"fraction": 0.05},
    "20 epochs": {"epochs": 20},
    "10 epochs": {"epochs": 10},
    "no copies": {"copies": 0},
    "10 epochs, no copies": {"epochs": 10, "copies": 0},
    "10 epochs, no copies, bases in half precision": {"epochs": 10, "copies": 0, "stored_bits": 16},
    "10 epochs, no copies, 30 nodes a hop": {"epochs": 10, "copies": 0, "max_nodes_per_hop": 30},
    "no copies, one negative a link": {"copies": 0, "negative_pool": 1, "candidate_pool": 1},
    "3,000 candidates ranked": {"shortlist": 3000},
    "30 candidates a node": {"budget": 30},
    "all of the smallest, a tenth of the links": SMALLEST,
    "large": LARGE,
    "large, a tenth of the links": LARGE | {"fraction": 0.1},
    "large, a twentieth of the links": LARGE | {"fraction": 0.05},
    "large, a fiftieth of the links": LARGE | {"fraction": 0.02},
    "large, one hop": LARGE | {"hops": 1, "max_nodes_per_hop": 1000},
    "large, one hop, 100 nodes": LARGE | {"hops": 1},
    "large, 10 epochs": LARGE | {"epochs": 10},
}


def measure(name: str, seed: int, variant: str, device: str) -> dict:
    import torch

    from dense_graphs import load
    from llwlc import splits
    from llwlc._fitting.fit import fit_model
    from llwlc.models import make
    from llwlc.training._resources import Resources

    torch.set_num_threads(1)
    graph = load(name)
    split = splits.make(graph, protocol="random", seed=seed)
    options = {"measured": 10_000} | VARIANTS[variant]
    model = make("llwlc", **options)
    fitted = fit_model(model, graph, split, seed=seed, resources=Resources(torch.device(device)))
    m = fitted.metrics
    best = {title: found["auc"] for title, found in m["heuristics"].items()}
    return {
        "data": name,
        "seed": seed,
        "variant": variant,
        "auc": m["auc"],
        "num_negatives": m["num_negatives"],
        "ranking_ap": m.ranking.methods["llwlc"].average_precision.value,
        "seconds": m.seconds,
        "stages": dict(m.stages),
        "heuristics": best,
    }


def stored(path: Path = RESULTS) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def base_of(variant: str) -> str:
    """What a variant is compared with: a fit that leaves nothing out, or `large` on graphs where that takes too
    long.
    """
    return "large" if variant.startswith("large") else "full"


def table() -> None:
    runs = {(r["data"], r["variant"], r["seed"]): r for r in stored()}
    for base in ("full", "large"):
        graphs = list(dict.fromkeys(data for data, variant, _ in runs if variant == base))
        print("| left out | " + " | ".join(graphs) + " | mean |")
        print("| --- " * (len(graphs) + 2) + "|")
        for variant in (v for v in VARIANTS if base_of(v) == base):
            cells, means = [], []
            for data in graphs:
                seeds = [s for d, v, s in runs if (d, v) == (data, variant) and (data, base, s) in runs]
                if not seeds:
                    cells.append("–")
                    continue
                if variant == base:
                    cells.append(f"{100 * statistics.mean(runs[data, base, s]['auc'] for s in seeds):.2f}")
                    continue
                lost = [100 * (runs[data, base, s]["auc"] - runs[data, variant, s]["auc"]) for s in seeds]
                error = statistics.stdev(lost) / len(lost) ** 0.5 if len(lost) > 1 else 0.0
                means.append(statistics.mean(lost))
                cells.append(f"{means[-1]:+.2f} ± {error:.2f} ({len(lost)})")
            if means or variant == base:
                mean = f"{statistics.mean(means):+.2f}" if means else ""
                print(f"| {variant} | " + " | ".join(cells) + f" | {mean} |")
        print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--variant", nargs="*", default=list(VARIANTS))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no run after so many")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, seed, variant = json.loads(options.one)
        print(json.dumps(measure(name, seed, variant, options.device)))
        return
    if options.table:
        table()
        return
    done = {(r["data"], r["seed"], r["variant"]) for r in stored(options.out)}
    cells = [
        (name, seed, variant) for seed in range(options.seeds) for variant in options.variant for name in options.data
    ]
    until = time.time() + 60 * options.minutes

    def work(cell: tuple[str, int, str]) -> None:
        if time.time() > until:
            return
        command = [sys.executable, __file__, "--device", options.device, "--one", json.dumps(cell)]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode:
            print(f"{cell} failed:\n{ran.stderr[-1500:]}", flush=True)
            return
        with options.out.open("a") as file:
            file.write(ran.stdout.strip().splitlines()[-1] + "\n")
        print(cell, "done", flush=True)

    with ThreadPoolExecutor(options.processes) as pool:
        list(pool.map(work, [cell for cell in cells if cell not in done]))


if __name__ == "__main__":
    main()
