"""`llwlc fit` within its budget, graph by graph: forecast, wall time, peak memory, disk and AUC beside the best
heuristic's: the tables of research/notes/2026-11-19-time-budgets.md.

    python research/benchmarks/budget.py usair celegans cora blocks-1000-25 --minutes 10 --seeds 1
    python research/benchmarks/budget.py usair cora --full --seeds 3 --device cuda     # nothing left out
    (`--plan full`), to compare with python research/benchmarks/budget.py --table
    python research/benchmarks/budget.py --networks 20 --use final --minutes 1 --load 1 --cores 2 --processes 8
    python research/benchmarks/budget.py --kept        # whether budgets were kept, by minutes and load

Each fit is a process of its own with an empty cache. One line a fit in research/results/budget.jsonl; a finished one is
not run again. With `--load 1`, a busy process shares each core with the fit from its start; with `--processes`, fits
run side by side, each on `--cores` cores of its own.
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
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from queue import SimpleQueue

sys.path.insert(0, str(Path(__file__).parents[2]))  # a script finds modules beside itself only

RESULTS = Path(__file__).parents[1] / "results" / "budget.jsonl"
GIGABYTE = 2**30


CORPUS = "corpus:"
"""How names of networks of the corpus begin."""


def read(name: str):
    """A graph of the corpus, a generated one, or a dataset; and whether `llwlc fit` knows the name."""
    from dense_graphs import MAKERS, load
    from research.corpus.networks import load_network

    if name.startswith(CORPUS):
        return load_network(name.removeprefix(CORPUS)), False
    return load(name), name.split("-")[0] not in MAKERS


def choose_networks(use: str, count: int) -> list[str]:
    """So many networks of the corpus with 500 links or more, evenly spaced by their numbers of links."""
    from research.corpus.networks import select_networks

    large = [network.name for network in select_networks(use) if network.num_links >= 500]
    places = [round(i * (len(large) - 1) / max(count - 1, 1)) for i in range(min(count, len(large)))]
    return [CORPUS + large[place] for place in places]


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Other work on the cores of this process, as long as the block lasts."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def measure(name: str, seed: int, minutes: float, device: str, load: float) -> dict:
    with tempfile.TemporaryDirectory() as place, busy(round(load * len(os.sched_getaffinity(0)))):
        folder = Path(place)
        (graph, known), given = read(name), name
        if not known:
            given = str(folder / "edges.csv")
            rows = "\n".join(f"n{a},n{b}" for a, b in graph.edges.tolist())
            Path(given).write_text(f"source,target\n{rows}\n")
        env = os.environ | {"LLWLC_CACHE": str(folder / "cache"), "PYTHONWARNINGS": "ignore", "PYTHONUNBUFFERED": "1"}
        budget = ["--minutes", str(minutes)] if minutes else ["--plan", "full"]
        command = [sys.executable, "-m", "llwlc", "fit", given, *budget, "--seed", str(seed)]
        command += ["--device", device, "--out", str(folder / "run")]
        begin, planned, version, average = time.perf_counter(), 0.0, commit(), [os.getloadavg()[0]]
        ran, said = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True), ""
        for line in ran.stderr or ():
            said += line
            if line.startswith("Plan for"):
                planned = time.perf_counter() - begin
        ran.wait()
        wall = time.perf_counter() - begin
        average.append(os.getloadavg()[0])
        found = {
            "data": name,
            "seed": seed,
            "minutes": minutes,
            "load": load,
            "load_average": [round(value, 1) for value in average],
            "nodes": graph.num_nodes,
            "links": graph.num_edges,
        }
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
            "network_left_out": bool(plan.get("network_left_out")),
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


def kept(path: Path) -> None:
    """Whether fits of the corpus and of generated graphs ended within their budgets, by minutes and load."""
    runs = [run for run in stored(path) if run["minutes"] and "load" in run]
    print(
        "| version | minutes | busy processes a core | load average | fits | refused | over by a tenth |"
        " longest, share of budget | usual | longest planning | network trained | peak GB |"
    )
    print("| --- " * 12 + "|")
    for key in sorted({(run["commit"], run["minutes"], run["load"]) for run in runs}):
        own = [run for run in runs if (run["commit"], run["minutes"], run["load"]) == key]
        done = [run for run in own if not run["rc"]]
        share = [run["wall"] / 60 / run["minutes"] for run in done] or [math.nan]
        planned = [run["stages"].get("planning", math.nan) / 60 / run["minutes"] for run in done] or [math.nan]
        averages = [value for run in own for value in run.get("load_average", ())] or [math.nan]
        print(
            f"| {key[0]} | {key[1]:g} | {key[2]:g} | {min(averages):.0f} to {max(averages):.0f} | {len(own)} |"
            f" {len(own) - len(done)} |"
            f" {sum(part > 1.1 for part in share)} | {max(share):.2f} | {statistics.median(share):.2f} |"
            f" {max(planned):.2f} | {sum(not run['network_left_out'] for run in done)} |"
            f" {max((run['peak'] for run in own), default=0) / GIGABYTE:.2f} |"
        )
        for run, part in zip(done, share, strict=True):
            if part > 1.1:
                print(f"  {run['data']}: {part:.2f}, stages {run['stages']}, forecast {run['forecast']['stages']}")


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


def run_all(cells: list[tuple[str, int]], options: argparse.Namespace) -> None:
    """Runs the fits that have no line, each in a process on cores of its own."""
    cores = sorted(os.sched_getaffinity(0))
    each = options.cores or len(cores) // options.processes
    free: SimpleQueue[list[int]] = SimpleQueue()
    for number in range(options.processes):
        free.put(cores[number * each : (number + 1) * each])

    def work(cell: tuple[str, int]) -> None:
        own = free.get()
        command = [sys.executable, __file__, "--minutes", str(options.minutes), "--load", str(options.load)]
        command += ["--device", options.device, "--one", json.dumps([*cell, own])]
        ran = subprocess.run(command, capture_output=True, text=True)
        free.put(own)
        if ran.returncode:
            print(f"{cell[0]} {cell[1]} failed:\n{ran.stderr[-1500:]}", flush=True)
            return
        line = ran.stdout.strip().splitlines()[-1]
        append_line(options.out, json.loads(line))
        print(*cell, f"{json.loads(line)['wall']:.0f} s", flush=True)

    from research.experiments.lines import append_line

    with ThreadPoolExecutor(options.processes) as pool:
        list(pool.map(work, cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*")
    parser.add_argument("--networks", type=int, default=0, help="so many networks of the corpus too")
    parser.add_argument("--use", default="tune", help="of this use: tune or final")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--full", action="store_true", help="leave nothing out: --plan full instead of a budget")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--load", type=float, default=0, help="busy processes for each core, beside the fit")
    parser.add_argument("--cores", type=int, default=0, help="of a fit; all, by default, divided among processes")
    parser.add_argument("--processes", type=int, default=1, help="fits side by side")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--kept", action="store_true", help="print whether budgets were kept, and run nothing")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.full:
        options.minutes = 0.0
    if options.kept:
        kept(options.out)
        return
    if options.table:
        table(options.out)
        print()
        losses(options.out)
        print()
        factors(options.out)
        return
    if options.one:
        name, seed, cores = json.loads(options.one)
        os.sched_setaffinity(0, cores)
        print(json.dumps(measure(name, seed, options.minutes, options.device, options.load)))
        return
    names = [*options.data, *choose_networks(options.use, options.networks)] if options.networks else options.data
    done = {(run["data"], run["seed"], run["minutes"], run.get("load", 0)) for run in stored(options.out)}
    cells = [(name, seed) for seed in range(options.seeds) for name in names]
    run_all([(n, s) for n, s in cells if (n, s, options.minutes, options.load) not in done], options)
    if options.networks:
        kept(options.out)
    else:
        table(options.out)


if __name__ == "__main__":
    main()
