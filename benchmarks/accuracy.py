"""Accuracy on the Planetoid graphs: every number of docs/accuracy.md comes out of this command.

    python benchmarks/accuracy.py --data cora citeseer --protocol ncn --seeds 5 --out docs/results/accuracy.jsonl
    python benchmarks/accuracy.py --table docs/results/accuracy.jsonl

A run is one line of the output file; runs that are there already are not repeated, so an interrupted command goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections import defaultdict
from multiprocessing import get_context
from pathlib import Path

# from the paper's setup to ours, one change after the other; each row keeps those above it
LADDER = {
    "lanczosnet": ("unconstrained", {}),
    "paper": ("paper", {}),
    "paper, 10 vertex-deleted, redrawn": ("paper", {"constraints": "vertex_deleted"}),
    "+ normalised Laplacian, query start": ("paper", {"laplacian": "normalized", "start": "query"}),
}
STEPS = [
    ("+ boundary column only", {"constraints": "neumann_boundary"}),
    ("+ four filters, skip, jumping knowledge", {"filters": 4, "skip": True, "jumping": True}),
    ("+ distance-class pooling, ends read out", {"pooling": "class", "ends": True, "head": 32}),
    ("+ compact features, filtered at the ends", {"features": 64, "filtered_channels": 64}),
    ("+ cosines of the filtered ends", {"cosines": True}),
    (
        "+ moving average, thinned copies",
        {"average": 0.99, "copies": 4, "learning_rate": 2e-3, "epochs": 40, "patience": 10},
    ),
]
_options = dict(LADDER["+ normalised Laplacian, query start"][1])
for _name, _change in STEPS:
    _options = _options | _change
    LADDER[_name] = ("paper", dict(_options))
VARIANTS = {
    **LADDER,
    "anchored": ("anchored", {}),
    "anchored, no constraints": ("anchored", {"constraints": "none"}),
    "anchored, both Neumann columns": ("anchored", {"constraints": "neumann"}),
    "anchored, 10 vertex-deleted, redrawn": ("anchored", {"constraints": "vertex_deleted"}),
    "anchored, dropout 0.5": ("anchored", {"dropout": 0.5, "feature_dropout": 0.5}),
    "anchored, thinned copies": ("anchored", {"copies": 4}),
    "anchored, random start": ("anchored", {"start": "random"}),
    "anchored, one block": ("anchored", {"blocks": 1}),
    "anchored, 10 % of the links": ("anchored", {"fraction": 0.1}),
    "anchored, 5 % of the links": ("anchored", {"fraction": 0.05}),
    "anchored, 1 % of the links": ("anchored", {"fraction": 0.01}),
}


def run(job: dict) -> dict:
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch

    from llwlc import datasets, splits
    from llwlc.training.fit import fit_split
    from llwlc.training.presets import preset

    torch.set_num_threads(1)
    name, options = VARIANTS[job["variant"]]
    graph = datasets.load(job["data"])
    split = splits.make(graph, protocol=job["protocol"], seed=job["seed"])
    fitted = fit_split(
        graph, split, preset(name, seed=job["seed"], **options), device=job["device"], rank_candidates=False
    )
    found = {k: v for k, v in fitted.metrics.as_dict().items() if not isinstance(v, dict)}
    cosine = fitted.metrics["heuristics"]["cosine of Â²X"]["hits@100"]
    best = max(fitted.history, key=lambda record: record.valid)
    where = torch.cuda.get_device_name() if job["device"] == "cuda" else "CPU, one thread"
    return (
        {k: job[k] for k in ("data", "protocol", "variant", "seed")}
        | found
        | {
            "cosine_hits@100": cosine,
            "valid_auc": best.valid_auc,
            "best_epoch": best.epoch,
            "machine": where,
        }
    )


def guarded(job: dict) -> tuple[dict, dict | str]:
    if time.time() > job["until"]:
        return job, "no time left"
    try:
        return job, run(job)
    except Exception as error:  # one failed run must not lose the others
        return job, repr(error)


def table(path: Path) -> str:
    """Mean ± standard deviation over seeds, by data set and protocol."""
    groups = defaultdict(list)
    for line in path.read_text().splitlines():
        record = json.loads(line)
        groups[record["data"], record["protocol"], record["variant"]].append(record)
    order = {name: i for i, name in enumerate(VARIANTS)}
    lines = ["| data | protocol | variant | HR@100 | negatives, FPR | AUC | MRR | ECE | parameters | seeds |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")

    def cell(records: list[dict], key: str, scale: float = 100) -> str:
        values = [scale * r[key] for r in records]
        return f"{statistics.mean(values):.2f} ± {statistics.stdev(values) if len(values) > 1 else 0:.2f}"

    for (data, protocol, variant), records in sorted(groups.items(), key=lambda g: (g[0][:2], order[g[0][2]])):
        first = records[0]
        lines.append(
            f"| {data} | {protocol} | {variant} | {cell(records, 'hits@100')} "
            f"| {first['num_negatives']}, {100 * first['hits@100_fpr']:.1f} % | {cell(records, 'auc')} "
            f"| {cell(records, 'mrr')} | {cell(records, 'calibration_error')} | {first['parameters']} | {len(records)} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["cora"])
    parser.add_argument("--protocol", nargs="+", default=["ncn"], choices=["paper", "seal", "ncn", "buddy", "heart"])
    parser.add_argument(
        "--variant",
        nargs="+",
        default=["anchored"],
        help=f"one or more of: {'; '.join(VARIANTS)}; ladder".replace("%", "%%"),
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no run after so many")
    parser.add_argument("--out", type=Path, default=Path("docs/results/accuracy.jsonl"))
    parser.add_argument("--table", type=Path, help="print the table of such a file and stop")
    options = parser.parse_args()
    if options.table:
        print(table(options.table))
        return
    variants = [v for name in options.variant for v in (LADDER if name == "ladder" else [name])]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    done = set()
    if options.out.exists():
        for line in options.out.read_text().splitlines():
            record = json.loads(line)
            done.add((record["data"], record["protocol"], record["variant"], record["seed"]))
    until = time.time() + 60 * options.minutes
    jobs = [
        {"data": d, "protocol": p, "variant": v, "seed": s, "device": options.device, "until": until}
        for v in variants
        for s in range(options.first_seed, options.first_seed + options.seeds)
        for p in options.protocol
        for d in options.data
        if (d, p, v, s) not in done
    ]
    with get_context("spawn").Pool(options.processes) as pool:
        for job, result in pool.imap_unordered(guarded, jobs):
            if isinstance(result, str):
                print(f"{job['data']} {job['protocol']} {job['variant']} seed {job['seed']}: {result}", file=sys.stderr)
                continue
            with options.out.open("a") as file:
                file.write(json.dumps(result) + "\n")
            print(
                f"{result['data']} {result['protocol']} {result['variant']} seed {result['seed']}: "
                f"HR@100 {result['hits@100']:.4f}, AUC {result['auc']:.4f}, {result['seconds']:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
