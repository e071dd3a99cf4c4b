"""Opponents on the citation graphs, each under the protocol that its number was published for: the tables of docs/opponents.md.

    python benchmarks/opponents.py --data cora citeseer --seeds 5 --processes 8 --device cuda
    python benchmarks/opponents.py --method seal buddy --data pubmed --seeds 3 --device cuda --seconds 600
    python benchmarks/opponents.py --table

A run is one line of the results file, appended as soon as it is there; runs that are there already are not repeated. Each has a process of its own, so
one that fails prints its error and harms no other. No option is chosen on test links.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "benchmarks" / "results" / "opponents.jsonl"
PROTOCOL = {
    "mlp": "ncn", "gae": "ncn", "ncn": "ncn", "ncnc": "ncn",
    "gcn": "buddy", "sage": "buddy", "seal": "buddy", "buddy": "buddy", "lanczosnet": "buddy",
    "common-neighbors": "buddy", "adamic-adar": "buddy", "resource-allocation": "buddy", "katz": "buddy", "pagerank": "buddy", "cosine": "buddy",
}  # fmt: skip
OURS = "anchored"
"""Our own preset, run under both protocols for time and memory beside the others."""
# HR@100 (ogbl-ddi: HR@20) and its standard deviation over seeds, as published; None where we have no source for it
PUBLISHED = {
    ("gae", "cora"): (88.17, 0.93), ("gae", "citeseer"): (92.40, 1.23), ("gae", "pubmed"): (80.09, 1.72),
    ("ncn", "cora"): (89.05, 0.96), ("ncn", "citeseer"): (91.56, 1.43), ("ncn", "pubmed"): (79.05, 1.16),
    ("ncnc", "cora"): (89.65, None), ("ncnc", "citeseer"): (93.47, None), ("ncnc", "pubmed"): (81.29, None),
    ("buddy", "cora"): (88.00, 0.44), ("buddy", "citeseer"): (92.93, 0.27), ("buddy", "pubmed"): (74.10, 0.78),
    ("seal", "cora"): (81.71, 1.30), ("seal", "citeseer"): (83.89, 2.15), ("seal", "pubmed"): (75.54, 1.32),
    ("gcn", "cora"): (66.79, 1.65), ("gcn", "citeseer"): (67.08, 2.94), ("gcn", "pubmed"): (53.02, 1.39),
    ("gae", "ogbl-ddi"): (94.43, 0.57), ("common-neighbors", "ogbl-ddi"): (17.73, 0), ("adamic-adar", "ogbl-ddi"): (18.61, 0),
    ("resource-allocation", "ogbl-ddi"): (27.60, 0),
    ("sage", "cora"): (55.02, 4.03), ("sage", "citeseer"): (57.01, 3.74), ("sage", "pubmed"): (39.66, 0.72),
}  # fmt: skip
TRAINED = ("mlp", "gcn", "sage", "gae", "buddy", "ncn", "ncnc", "seal", "lanczosnet")


def protocols(method: str, data: str) -> list[str]:
    """Those that a method is compared under: its own, or that of the dataset."""
    if data.startswith("ogbl-"):
        return ["ogb"]
    return ["ncn", "buddy"] if method == OURS else [PROTOCOL[method]]


def cell(job: dict) -> dict:
    """One run, in this process."""
    import torch

    from llwlc import baselines, datasets, metrics, splits

    torch.set_num_threads(job["threads"])
    if job["device"].startswith("cuda"):
        torch.cuda.reset_peak_memory_stats()
    graph = datasets.load(job["data"])
    split = splits.make(graph, protocol=job["protocol"], seed=job["seed"])
    begin = time.perf_counter()
    extra: dict = {}
    if job["method"] == OURS:
        from llwlc.training.fit import fit_split
        from llwlc.training.presets import preset

        fitted = fit_split(graph, split, preset(OURS, seed=job["seed"]), device=job["device"])
        found, history, parameters = fitted.metrics.test, fitted.history, fitted.metrics.parameters
    else:
        method = baselines.get(job["method"])
        options = {"device": job["device"], "seconds": job["seconds"], "options": job["set"]} if method.trained else {}
        fitted = method.fit(graph, split, seed=job["seed"], **options)
        if method.trained:
            found, history, parameters = fitted.metrics.test, fitted.history, fitted.num_parameters
        else:
            found, history, parameters = (
                metrics.evaluate(fitted.score(split.test_pos), fitted.score(split.test_neg)),
                [],
                0,
            )
    seconds = time.perf_counter() - begin
    if history:
        best = max(history, key=lambda record: record.valid)
        extra = {"epochs": len(history), "best_epoch": best.epoch, "valid": best.valid, "valid_auc": best.valid_auc}
    on_gpu = job["device"].startswith("cuda")
    return (
        {k: job[k] for k in ("method", "data", "protocol", "seed")}
        | ({"set": job["set"]} if job["set"] else {})
        | {"metric": split.metric}
        | found.as_dict()
        | extra
        | {
            "parameters": parameters,
            "seconds": round(seconds, 2),
            "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
            "gpu_peak_mb": round(torch.cuda.max_memory_allocated() / 2**20) if on_gpu else 0,
            "device": torch.cuda.get_device_name() if on_gpu else f"CPU, {job['threads']} thread",
            "torch": torch.__version__,
            "commit": job["commit"],
        }
    )


def start(job: dict) -> tuple[dict | None, str]:
    """The result of a run in a process of its own, or None and what went wrong."""
    threads = str(job["threads"])
    env = os.environ | {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads, "NUMBA_NUM_THREADS": threads}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, str(Path(__file__).resolve()), "--cell", json.dumps(job)]
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=job["timeout"])
    except subprocess.TimeoutExpired:
        return None, f"took longer than {job['timeout']:.0f} s"
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode == 0 and lines:
        return json.loads(lines[-1]), ""
    return None, "\n".join(done.stderr.splitlines()[-8:])


def key(record: dict) -> tuple:
    changed = json.dumps(record.get("set") or {}, sort_keys=True)
    return record["data"], record["protocol"], record["method"], record["seed"], changed


def finished(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines() if line] if path.exists() else []


def table(records: list[dict]) -> str:
    """Mean ± standard deviation over seeds beside the published number, by dataset and protocol."""
    groups = defaultdict(list)
    for record in records:
        groups[(*key(record)[:3], key(record)[4])].append(record)
    order = list(PROTOCOL)
    lines = [
        "| data | protocol | method | metric | value | published | joint s.e. above | AUC | MRR | negatives | parameters | seconds | MB (GPU) | seeds |"
    ]
    lines.append("|" + " --- |" * 14)

    def mean(rows: list[dict], name: str, scale: float = 100) -> str:
        values = [scale * r[name] for r in rows]
        return f"{statistics.mean(values):.2f} ± {statistics.stdev(values) if len(values) > 1 else 0:.2f}"

    def place(group: tuple) -> tuple:
        return group[0], group[1], order.index(group[2]) if group[2] in order else len(order), group[3]

    for group in sorted(groups, key=place):
        data, protocol, method, changed = group
        rows = groups[group]
        name = {"cora-planetoid": "cora"}.get(data, data)
        known = PUBLISHED.get((method, name)) if protocol in protocols(method, data) else None
        metric = rows[0]["metric"]
        said = "–" if known is None else f"{known[0]:.2f}" if known[1] is None else f"{known[0]:.2f} ± {known[1]:.2f}"
        seconds = statistics.mean(r["seconds"] for r in rows)
        memory = f"{max(r['peak_mb'] for r in rows)} ({max(r['gpu_peak_mb'] for r in rows)})"
        title = method if changed == "{}" else f"{method} {changed}"
        lines.append(
            f"| {data} | {protocol} | {title} | {metric} | {mean(rows, metric)} | {said} | {distance(rows, metric, known)} "
            f"| {mean(rows, 'auc')} | {mean(rows, 'mrr')} | {rows[0]['num_negatives']} | {rows[0]['parameters']:,} | {seconds:.1f} "
            f"| {memory} | {len(rows)} |"
        )
    return "\n".join(lines)


def distance(rows: list[dict], metric: str, known: tuple[float, float | None] | None) -> str:
    """How many joint standard errors ours lies above the published mean (of ten seeds); of ours alone where its spread is unknown."""
    if known is None or len(rows) < 2:
        return "–"
    values = [100 * r[metric] for r in rows]
    error = math.sqrt(statistics.variance(values) / len(values) + (known[1] or 0) ** 2 / 10)
    return f"{(statistics.mean(values) - known[0]) / error:+.1f}" if error else "–"


def setting(text: str) -> tuple[str, object]:
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def commit() -> str:
    """Of this checkout, or LLWLC_COMMIT where a copy has no git."""
    if os.environ.get("LLWLC_COMMIT"):
        return os.environ["LLWLC_COMMIT"]
    try:
        done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT)
    except OSError:
        return ""
    return done.stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--method",
        nargs="+",
        default=list(TRAINED),
        choices=[*PROTOCOL, OURS],
        metavar="METHOD",
        help=f"of {', '.join([*PROTOCOL, OURS])}",
    )
    parser.add_argument(
        "--data", nargs="+", default=["cora-planetoid", "citeseer"], help="cora means cora-planetoid here"
    )
    parser.add_argument("--protocol", help="instead of each method's own")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, help="of a fit: begin no epoch after so many")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds after which a run is given up")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no run after so many")
    parser.add_argument(
        "--set", nargs="*", default=[], help="name=value: other values of recipe fields; kept in the results apart"
    )
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--table", action="store_true", help="print the table of the results and stop")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        print(json.dumps(cell(json.loads(options.cell))), flush=True)
        return
    if options.table:
        print(table(finished(options.out)))
        return
    options.out.parent.mkdir(parents=True, exist_ok=True)
    done, until, mark = {key(r) for r in finished(options.out)}, time.time() + 60 * options.minutes, commit()
    changed = dict(setting(text) for text in options.set)
    jobs = []
    fixed = {"set": changed, "device": options.device, "seconds": options.seconds, "timeout": options.timeout}
    fixed |= {"threads": options.threads, "commit": mark}
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for data in options.data:
            for method in options.method:
                name = "cora-planetoid" if data == "cora" else data
                for protocol in [options.protocol] if options.protocol else protocols(method, name):
                    jobs.append({"data": name, "protocol": protocol, "method": method, "seed": seed} | fixed)
    jobs = [job for job in jobs if key(job) not in done]
    lock = threading.Lock()

    def work(job: dict) -> None:
        if time.time() > until:
            return
        found, error = start(job)
        name = f"{job['data']} {job['protocol']} {job['method']} seed {job['seed']}"
        with lock:
            if found is None:
                print(f"{name}: FAILED\n{error}", flush=True)
                return
            with options.out.open("a") as file:
                file.write(json.dumps(found) + "\n")
            metric = found["metric"]
            print(f"{name}: {metric} {found[metric]:.4f}, AUC {found['auc']:.4f}, {found['seconds']:.0f} s", flush=True)

    with ThreadPoolExecutor(options.processes) as pool:
        list(pool.map(work, jobs))
    print(table(finished(options.out)))


if __name__ == "__main__":
    main()
