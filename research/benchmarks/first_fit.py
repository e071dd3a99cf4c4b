"""How long the first fit on a machine takes to its first epoch, with an empty code cache: this checkout beside another.

    git worktree add ../before COMMIT
    python research/benchmarks/first_fit.py --before ../before
    python research/benchmarks/first_fit.py --show

Each turn starts `llwlc fit cora` with each model in one checkout after the other, from a code cache that is empty, and
ends it when it has written its first epoch. Seconds by the clock, and CPU seconds of all processes, those that compile
included. Lines in research/results/first_fit.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# a script finds modules beside itself only
sys.path.insert(0, str(Path(__file__).parents[2]))

from research.bench.clock import describe_machine
from research.experiments.lines import append_line

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "research" / "results" / "first_fit.jsonl"
MODELS = {"llwlc": ["--model", "llwlc"], "default": []}
LIMIT = 900.0
"""Seconds after which a fit has failed."""


def to_first_epoch(checkout: Path, model: str, folder: Path) -> tuple[float, float]:
    """Seconds and CPU seconds from the start of the command to the file of its first epoch."""
    out = Path(tempfile.mkdtemp(dir=folder)) / "run"
    where = {"PYTHONPATH": str(checkout / "src"), "NUMBA_CACHE_DIR": str(folder / "code"), "LLWLC_CACHE": str(out)}
    command = [sys.executable, "-m", "llwlc", "fit", "cora", *MODELS[model], "--plan", "full", "--out", str(out)]
    begin, quiet = time.perf_counter(), subprocess.DEVNULL
    process = subprocess.Popen(command, env=os.environ | where, stdout=quiet, stderr=quiet, cwd=folder)
    while not any(out.rglob("checkpoint*")):
        if process.poll() is not None or time.perf_counter() - begin > LIMIT:
            process.kill()
            raise SystemExit(f"{' '.join(command)} ended before its first epoch, code {process.wait()}")
        time.sleep(0.05)
    seconds = time.perf_counter() - begin
    process.send_signal(signal.SIGKILL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return seconds, usage.ru_utime + usage.ru_stime


def commit_of(checkout: Path) -> str:
    """The commit of a checkout, marked where files differ from it."""
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def measure(checkouts: dict[str, Path], model: str, turn: int) -> dict[str, Any]:
    """One line: both checkouts, each from an empty code cache."""
    line: dict[str, Any] = {"model": model, "turn": turn, "machine": describe_machine()}
    for name, checkout in checkouts.items():
        with tempfile.TemporaryDirectory() as folder:
            seconds, cpu = to_first_epoch(checkout, model, Path(folder))
        line[name] = {"commit": commit_of(checkout), "seconds": round(seconds, 1), "cpu_seconds": round(cpu, 1)}
    return line


def ratio(lines: list[dict[str, Any]], model: str, unit: str) -> float:
    """The mean over turns of how much of the time of before is left, from an empty code cache."""
    ratios = [line["now"][unit] / line["before"][unit] for line in lines if line["model"] == model]
    return statistics.fmean(ratios)


def sentence(lines: list[dict[str, Any]]) -> str:
    """What docs/speed.md says of the stored lines."""
    mine = [line for line in lines if line["model"] == "llwlc"]
    before, now = (statistics.fmean(line[name]["cpu_seconds"] for line in mine) for name in ("before", "now"))
    return (
        f"from an empty code cache to the first epoch of `llwlc fit cora --model llwlc`: {now:.0f} CPU seconds,"
        f" {before:.0f} where kernels are compiled from source"
    )


def table(lines: list[dict[str, Any]]) -> str:
    """Means and extremes over turns."""
    rows = ["| model | | seconds | CPU seconds |", "|---|---|---|---|"]
    for model in dict.fromkeys(line["model"] for line in lines):
        for name in ("before", "now"):
            cells = []
            for unit in ("seconds", "cpu_seconds"):
                values = [line[name][unit] for line in lines if line["model"] == model]
                cells.append(f"{statistics.fmean(values):.1f} ({min(values):.1f} to {max(values):.1f})")
            rows.append(f"| {model} | {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in path.read_text().splitlines()] if path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="another checkout, to be measured beside this one")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--show", action="store_true", help="print what is stored and measure nothing")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    if not options.show:
        if options.before is None:
            parser.error("--before names the checkout to compare with")
        checkouts = {"before": options.before.resolve(), "now": ROOT}
        for turn in range(options.turns):
            for model in options.models:
                append_line(options.results, measure(checkouts, model, turn))
    lines = read(options.results)
    print(table(lines))
    for model in dict.fromkeys(line["model"] for line in lines):
        time_left, cpu_left = (ratio(lines, model, unit) for unit in ("seconds", "cpu_seconds"))
        print(f"{model}: {time_left:.2f} of the time and {cpu_left:.2f} of the CPU time of before")


if __name__ == "__main__":
    main()
