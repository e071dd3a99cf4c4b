"""`llwlc fit` within its budget, graph by graph: forecast, wall time, peak memory, disk and AUC beside the best
heuristic's: the tables of docs/budget.md.

    python research/benchmarks/budget.py usair celegans cora blocks-1000-25 --minutes 10 --seeds 1
    python research/benchmarks/budget.py usair cora --full --seeds 3 --device cuda     # nothing left out
    (`--plan full`), to compare with python research/benchmarks/budget.py --table

Each fit is a process of its own with an empty cache. One line a fit in research/results/budget.jsonl; a finished one is
not run again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results" / "budget.jsonl"
GIGABYTE = 2**30


def measure(name: str, seed: int, minutes: float, device: str) -> dict:
    from dense_graphs import MAKERS, load

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        graph, given = load(name), name
        if name.split("-")[0] in MAKERS:
            given = str(folder / "edges.csv")
            rows = "\n".join(f"n{a},n{b}" for a, b in graph.edges.tolist())
            Path(given).write_text(f"source,target\n{rows}\n")
        env = os.environ | {"LLWLC_CACHE": str(folder / "cache"), "PYTHONWARNINGS": "ignore", "PYTHONUNBUFFERED": "1"}
        budget = ["--minutes", str(minutes)] if minutes else ["--plan", "full"]
        command = [sys.executable, "-m", "llwlc", "fit", given, *budget, "--seed", str(seed)]
        command += ["--device", device, "--out", str(folder / "run")]
        begin, planned, version = time.perf_counter(), 0.0, commit()
        with (folder / "errors").open("w+") as errors:
            ran = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=errors, text=True)
            for line in ran.stdout or ():
                if line.startswith("Plan for"):
                    planned = time.perf_counter() - begin
            ran.wait()
            errors.seek(0)
            said = errors.read()
        wall = time.perf_counter() - begin
        found = {"data": name, "seed": seed, "minutes": minutes, "nodes": graph.num_nodes, "links": graph.num_edges}
        found |= {
            "cores": len(os.sched_getaffinity(0)),
            "machine": platform.processor() or platform.machine(),
            "commit": version,
            "wall": wall,
            "peak": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
            "rc": ran.returncode,
        }
        if ran.returncode:
            return found | {"said": " ".join(said.split())[-400:]}
        metrics = json.loads((folder / "run" / "metrics.json").read_text())
        if not minutes:
            return found | {"auc": metrics["auc"], "positives": metrics["num_positives"], "epochs": metrics["epochs"]}
        plan = json.loads((folder / "run" / "plan.json").read_text())
        disk = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file() and "cache" in f.parts)
        beside = {title: score["auc"] for title, score in metrics["heuristics"].items()}
        config = json.loads((folder / "run" / "config.json").read_text())
        ranking = metrics.get("ranking", {}).get("methods", {})
        return found | {
            "planned": planned,
            "forecast": plan["forecast"],
            "cost": plan["cost"],
            "preset": {k: plan["preset"][k] for k in ("basis", "train", "limits", "budget")},
            "stages": metrics.get("stages", {}),
            "disk": disk,
            "auc": metrics["auc"],
            "positives": metrics["num_positives"],
            "heuristics": beside,
            "ap": {title: quality["average_precision"]["value"] for title, quality in ranking.items()},
            "ranks_by": (config.get("method") or {}).get("method", "llwlc"),
            "epochs": metrics["epochs"],
        }


def commit() -> str:
    """The version that was run; `LLWLC_COMMIT` where there is no repository to ask."""
    if named := os.environ.get("LLWLC_COMMIT"):
        return named
    ask = partial(subprocess.check_output, text=True, cwd=RESULTS.parents[2])
    changed = ask(["git", "status", "--porcelain", "--", "src"])
    return ask(["git", "rev-parse", "--short", "HEAD"]).strip() + ("-changed" if changed else "")


def stored(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def make_group_key(run: dict) -> tuple[str, float, bool, str]:
    """What the fits of a row of the table have in common."""
    return run["data"], run["minutes"], "GPU" in run["machine"], run["commit"]


def plan_words(run: dict) -> str:
    basis, train = run["preset"]["basis"], run["preset"]["train"]
    words = [f"{basis['hops']} hop{'s' if basis['hops'] > 1 else ''}"]
    if basis["max_nodes_per_hop"] < 10_000:
        words.append(f"≤ {basis['max_nodes_per_hop']}")
    if train["fraction"] < 1:
        words.append(f"{100 * train['fraction']:g} %")
    return ", ".join([*words, f"{train['epochs']} epochs"])


def losses(path: Path) -> None:
    """What a plan costs: its test AUC beside that of a fit that leaves nothing out, on the same splits and seeds."""
    runs = [run for run in stored(path) if not run["rc"]]
    full = {(run["data"], run["seed"]): 100 * run["auc"] for run in runs if not run["minutes"]}
    print(
        "| graph | minutes | plan (known cost, points) | AUC of the plan | AUC of everything | lost ± s.e. (seeds) |"
        " version |"
    )
    print("| --- " * 7 + "|")
    for kind in dict.fromkeys(make_group_key(run) for run in runs if run["minutes"]):
        own = [r for r in runs if make_group_key(r) == kind and (r["data"], r["seed"]) in full]
        if len(own) < 2:
            continue
        ours, all_in = [100 * r["auc"] for r in own], [full[r["data"], r["seed"]] for r in own]
        lost = [b - a for a, b in zip(ours, all_in, strict=True)]
        error = statistics.stdev(lost) / math.sqrt(len(lost))
        print(
            f"| {kind[0]} | {kind[1]:g} | {'; '.join(sorted({plan_words(r) for r in own}))}"
            f" ({statistics.mean(r['cost'] for r in own):.1f}) | {statistics.mean(ours):.2f} |"
            f" {statistics.mean(all_in):.2f} | {statistics.mean(lost):+.2f} ± {error:.2f} ({len(own)}) | {kind[3]} |"
        )


def auc_error(runs: list[dict]) -> float:
    """The standard error of an AUC in points: of the mean over seeds, or, of one seed, Hanley and McNeil's, with as
    many negatives as positives.
    """
    if len(runs) > 1:
        return statistics.stdev(100 * run["auc"] for run in runs) / math.sqrt(len(runs))
    a, n = runs[0]["auc"], runs[0]["positives"]
    both = a / (2 - a) + 2 * a * a / (1 + a) - 2 * a * a
    return 100 * math.sqrt(max(a * (1 - a) + (n - 1) * both, 0.0)) / n


def table(path: Path) -> None:
    runs = [run for run in stored(path) if run["minutes"]]
    print(
        "| graph | minutes | nodes, links | plan (known cost, points) | forecast: least, usual, most; taken, s | wall,"
        " s | peak GB | disk GB | AUC | best untrained | difference ± s.e. | ranks by | version |"
    )
    print("| --- " * 13 + "|")
    kinds = [make_group_key(run) for run in runs]
    for kind in dict.fromkeys(kinds):
        own = [run for run, other in zip(runs, kinds, strict=True) if other == kind]
        name, minutes = kind[0] + (" (GPU)" if kind[2] else ""), f"{kind[1]:g}"
        first, refused = own[0], [run for run in own if run["rc"]]
        if refused:
            print(
                f"| {name} | {minutes} | {first['nodes']:,}, {first['links']:,} | {len(refused)} of {len(own)} refused:"
                f" …{refused[0].get('said', '')[-80:]} | | | | | | | | | {kind[3]} |"
            )
        own = [run for run in own if not run["rc"]]
        if not own:
            continue
        first = own[0]
        titles = [title for title in first["heuristics"] if all(title in run["heuristics"] for run in own)]
        best = max(titles, key=lambda title: statistics.mean(run["heuristics"][title] for run in own))
        ours, theirs = ([100 * run["auc"] for run in own], [100 * run["heuristics"][best] for run in own])
        gain = [a - b for a, b in zip(ours, theirs, strict=True)]
        error = f" ± {statistics.stdev(gain) / math.sqrt(len(gain)):.2f}" if len(gain) > 1 else ""
        mean = statistics.mean
        print(
            f"| {name} | {minutes} | {first['nodes']:,}, {first['links']:,} | {plan_words(first)} ({first['cost']:.1f})"
            f" | {mean(r['forecast']['at_least'] for r in own):.0f}, {mean(r['forecast']['usual'] for r in own):.0f},"
            f" {mean(r['forecast']['at_most'] for r in own):.0f}; {mean(r['wall'] - r['planned'] for r in own):.0f} |"
            f" {mean(r['wall'] for r in own):.0f} | {max(r['peak'] for r in own) / GIGABYTE:.2f} |"
            f" {max(r['disk'] for r in own) / GIGABYTE:.2f} | {mean(ours):.2f} ± {auc_error(own):.2f} |"
            f" {mean(theirs):.2f} ({best}) | {mean(gain):+.2f}{error} ({len(own)}) |"
            f" {', '.join(sorted({r['ranks_by'] for r in own}))} | {kind[3]} |"
        )


def factors(path: Path) -> None:
    """How forecasts held: what was taken beside what was expected, and beside what is forecast for as many epochs as it
    came to.
    """
    runs = [run for run in stored(path) if run["minutes"] and not run["rc"] and run["ranks_by"] == "llwlc"]
    if len(runs) < 2:
        return
    taken = [run["wall"] - run["planned"] for run in runs]
    near = [t / run["forecast"]["usual"] for t, run in zip(taken, runs, strict=True)]
    exact = []
    for t, run in zip(taken, runs, strict=True):
        left = 1 - run["epochs"] / run["preset"]["train"]["epochs"]
        exact.append(t / (run["forecast"]["seconds"] - left * run["forecast"]["stages"]["training"]))
    inside = sum(1 / 1.5 <= f <= 1.5 for f in near)
    print(
        f"{len(runs)} fits, {sum(run['wall'] > 60 * run['minutes'] for run in runs)} longer than their minutes, at most"
        f" {max(r['wall'] / 60 / r['minutes'] for r in runs):.2f} of them."
    )
    print(
        f"Taken / expected: {inside} within a factor of 1.5, {min(near):.2f} to {max(near):.2f}, the middle half"
        f" {statistics.quantiles(near)[0]:.2f} to {statistics.quantiles(near)[2]:.2f}."
    )
    print(
        f"Taken / forecast for the epochs that it came to: {min(exact):.2f} to {max(exact):.2f},"
        f" {sum(1 / 1.5 <= f <= 1.5 for f in exact)} within 1.5."
    )
    for run, f in sorted(zip(runs, near, strict=True), key=lambda pair: pair[1]):
        if not 1 / 1.5 <= f <= 1.5:
            print(
                f"- {run['data']}, {run['minutes']:g} minutes, seed {run['seed']}: {f:.2f}; {run['epochs']} of"
                f" {run['preset']['train']['epochs']} epochs ({run['commit']})"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--full", action="store_true", help="leave nothing out: --plan full instead of a budget")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.full:
        options.minutes = 0.0
    if options.table:
        table(options.out)
        print()
        losses(options.out)
        print()
        factors(options.out)
        return
    if options.one:
        name, seed = json.loads(options.one)
        print(json.dumps(measure(name, seed, options.minutes, options.device)))
        return
    done = {(run["data"], run["seed"], run["minutes"]) for run in stored(options.out)}
    for seed in range(options.seeds):
        for name in options.data:
            if (name, seed, options.minutes) in done:
                continue
            command = [
                sys.executable,
                __file__,
                *(["--full"] if options.full else []),
                "--minutes",
                str(options.minutes),
                "--device",
                options.device,
            ]
            ran = subprocess.run([*command, "--one", json.dumps([name, seed])], capture_output=True, text=True)
            if ran.returncode:
                print(f"{name} {seed} failed:\n{ran.stderr[-1500:]}", flush=True)
                continue
            with options.out.open("a") as file:
                file.write(ran.stdout.strip().splitlines()[-1] + "\n")
            print(name, seed, "done", flush=True)
    table(options.out)


if __name__ == "__main__":
    main()
