"""Seconds until the validation links are found as well as another method finds them at its end: our default beside NCN,
BUDDY, SEAL and OCN, each in a process of its own, from its start.

    python research/benchmarks/time_to_accuracy.py cora pubmed --seeds 3
    python research/benchmarks/time_to_accuracy.py cora --seeds 3 --device cuda
    python research/benchmarks/time_to_accuracy.py cora --theirs ncn "python NeighborOverlap.py --dataset Cora" \
        "Valid: ([0-9.]+)" --folder ~/NeighborOverlap                       # their own code, wherever it was fetched
    python research/benchmarks/time_to_accuracy.py --show

One line a run in research/results/time_to_accuracy.jsonl; a finished one is not run again. HR@100 of the validation
links is noted after each epoch, and at the end; seconds are those of the wall clock since the process began, with
imports, features and candidates. Baselines are those of this package (`ours`) unless their own code is named: then each
line that it prints is searched for the pattern, whose group is HR@100 in percent.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results" / "time_to_accuracy.jsonl"
DEFAULT, OTHERS = "blend", ("ncn", "buddy", "seal", "ocn")
Curve = list[tuple[float, float]]


def measure(data: str, method: str, seed: int, device: str, settings: dict[str, object]) -> dict:
    """One of this package's models: validation HR@100 by the seconds of this process."""
    import torch

    from llwlc import datasets, metrics, splits
    from llwlc._fitting.fit import fit_model
    from llwlc._support.stopwatch import process_age
    from llwlc.models import make
    from llwlc.training import _loop
    from llwlc.training._resources import Resources

    curve, choose = [], _loop._selected

    def note(select: str, scores: _loop.ValidationScores) -> float:
        curve.append((process_age(), metrics.hits_at_k(scores.pos, scores.neg.reshape(-1), 100).value))
        return choose(select, scores)

    _loop._selected = note  # the one place that sees the validation scores of every epoch of every model
    graph = datasets.load(data)
    split = splits.make(graph, protocol="ncn", seed=seed)
    model = make(method, **settings) if method in (DEFAULT, "llwlc") else make(method, data=data, **settings)
    ours = method in (DEFAULT, "llwlc")
    resources = Resources(torch.device(device))
    fitted = fit_model(model, graph, split, seed=seed, resources=resources, rank_candidates=ours)
    assert fitted.validation is not None
    final, end = fitted.validation["hits@100"], process_age()
    return {"curve": [*curve, (end, final)], "final": final, "test": fitted.metrics["hits@100"], "seconds": end,
            "cpu": time.process_time(), "stages": dict(fitted.metrics.stages), "code": "ours"}  # fmt: skip


def measure_theirs(command: str, pattern: str, folder: Path) -> dict:
    """Code that is not ours: the lines it prints, as they come."""
    begin, curve = time.perf_counter(), []
    with subprocess.Popen(
        shlex.split(command), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(pattern, line):
                curve.append((time.perf_counter() - begin, float(found[1]) / 100))
    if process.returncode or not curve:
        raise RuntimeError(
            f"{command!r} ended with {process.returncode} and printed {len(curve)} lines like {pattern!r}"
        )
    best = max(value for _, value in curve)
    return {"curve": curve, "final": best, "seconds": time.perf_counter() - begin, "code": "theirs", "command": command}


def seconds_to(curve: Curve, target: float) -> float | None:
    """When a curve first reaches a figure; None where it never does.

    >>> seconds_to([(1.0, 0.5), (2.0, 0.8), (3.0, 0.7)], 0.7)
    2.0
    """
    return next((seconds for seconds, value in curve if value >= target), None)


def stored() -> list[dict]:
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def show(lines: list[dict]) -> None:
    """Mean seconds over seeds to each other method's final figure, the method's own and ours."""
    print("| graph | device | other, code | its HR@100, valid | its seconds | ours | ahead |\n" + "| --- " * 7 + "|")
    keys = dict.fromkeys(
        (line["data"], line["device"], line["method"], line["code"]) for line in lines if line["method"] != DEFAULT
    )
    for data, device, method, code in keys:
        here = [line for line in lines if (line["data"], line["device"]) == (data, device)]
        own = {line["seed"]: line for line in here if (line["method"], line["code"]) == (method, code)}
        ours = {line["seed"]: line for line in here if line["method"] == DEFAULT}
        times = [(seconds_to(own[s]["curve"], own[s]["final"]), seconds_to(ours[s]["curve"], own[s]["final"]))
                 for s in own if s in ours]  # fmt: skip
        reached = [(a, b) for a, b in times if a is not None and b is not None]
        missed = f" ({len(times) - len(reached)} of {len(times)} not reached)" if len(reached) < len(times) else ""
        if not reached:
            print(f"| {data} | {device} | {method}, {code} | | | none{missed} | |")
            continue
        theirs, mine = (statistics.mean(column) for column in zip(*reached, strict=True))
        ratios = [a / b for a, b in reached]
        spread = f" ± {statistics.stdev(ratios):.2f}" if len(ratios) > 1 else ""
        final = 100 * statistics.mean(line["final"] for line in own.values())
        print(
            f"| {data} | {device} | {method}, {code} | {final:.2f} | {theirs:.1f} | {mine:.1f}{missed} |"
            f" {statistics.mean(ratios):.2f} ×{spread} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--methods", nargs="+", default=[DEFAULT, *OTHERS])
    parser.add_argument("--set", nargs="*", default=[], help="options of the models, as in epochs=2, to try it out")
    parser.add_argument("--theirs", nargs=3, metavar=("METHOD", "COMMAND", "PATTERN"))
    parser.add_argument("--folder", type=Path, default=Path(), help="where their code is run")
    parser.add_argument("--show", action="store_true", help="print the stored lines and run nothing")
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "SEED"), help="for the processes that this script starts")
    options = parser.parse_args()
    settings = {key: int(value) for key, value in (text.split("=") for text in options.set)}
    if options.one:
        method, seed = options.one
        print(json.dumps(measure(options.data[0], method, int(seed), options.device, settings)))
        return
    done = {(line["data"], line["method"], line["seed"], line["device"], line["code"]) for line in stored()}
    methods = [] if options.show else [options.theirs[0]] if options.theirs else options.methods
    code = "theirs" if options.theirs else "ours"
    cells = [(data, seed, method) for data in options.data for seed in range(options.seeds) for method in methods]
    for data, seed, method in cells:
        if (data, method, seed, options.device, code) in done:
            continue
        if options.theirs:
            found = measure_theirs(f"{options.theirs[1]} --seed {seed}", options.theirs[2], options.folder)
        else:
            given = ["--set", *options.set] if options.set else []
            command = [sys.executable, __file__, data, "--device", options.device, *given, "--one", method, str(seed)]
            ran = subprocess.run(command, capture_output=True, text=True)
            if ran.returncode:
                print(f"{data} {method} {seed} failed:\n{ran.stderr[-2000:]}", flush=True)
                continue
            found = json.loads(ran.stdout.strip().splitlines()[-1])
        line = {"data": data, "method": method, "seed": seed, "device": options.device, "settings": settings}
        with RESULTS.open("a") as file:
            file.write(json.dumps(line | found | {"cores": os.cpu_count(), "load": os.getloadavg()[0]}) + "\n")
        print(f"{data} {method} {seed}: {100 * found['final']:.2f} in {found['seconds']:.0f} s", flush=True)
    show([line for line in stored() if line["settings"] == settings])


if __name__ == "__main__":
    main()
