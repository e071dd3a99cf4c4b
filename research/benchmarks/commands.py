"""A command of two versions of this package, by turns in one run: seconds of all processors and the memory at the peak
of the whole process, from start to exit; wall seconds say little on a machine that others use.

git worktree add ../before COMMIT
python research/benchmarks/commands.py ../before/src --turns 2 -- fit cora --model llwlc --plan full --out {out}
python research/benchmarks/commands.py ../before/src --turns 2 -- recommend RUN --top 100 -o {out}.csv

`{out}`: a fresh name each time. Rows are added to research/results/commands.jsonl. Kernels have to be compiled: run
each command once before.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROWS = ROOT / "research" / "results" / "commands.jsonl"


def measure(source: Path, arguments: list[str], out: str) -> tuple[float, float]:
    """CPU seconds and gigabytes at the peak of one call."""
    words = [sys.executable, "-m", "llwlc", *(word.replace("{out}", out) for word in arguments)]
    child = os.fork()
    if not child:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(null, stream)
        os.execve(words[0], words, os.environ | {"PYTHONPATH": str(source)})
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{' '.join(words)} with {source} ended with status {status}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="the src folder of the version before")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="where to keep what the commands write; by default nowhere")
    parser.add_argument("--about", default="", help="what else a reader has to know")
    parser.add_argument("arguments", nargs="+", help="the command, behind --")
    options = parser.parse_args()
    taken: dict[str, list[float]] = {"before": [], "after": []}
    memory: dict[str, float] = {"before": 0.0, "after": 0.0}
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or temporary
        for turn in range(options.turns):
            for name, source in (("before", options.before.resolve()), ("after", ROOT / "src")):
                seconds, peak = measure(source, options.arguments, f"{folder}/{name}{turn}")
                taken[name].append(round(seconds, 2))
                memory[name] = max(memory[name], round(peak, 2))
                print(f"{name}: {seconds:.1f} CPU s, {peak:.2f} GB at the peak", flush=True)
    ratio = statistics.median(taken["after"]) / statistics.median(taken["before"])
    row = {
        "command": " ".join(Path(word).name if "/" in word else word for word in options.arguments),
        "cpu_seconds": taken,
        "peak_gb": memory,
        "ratio": round(ratio, 3),
        "about": options.about,
        "date": datetime.date.today().isoformat(),
    }
    with ROWS.open("a") as file:
        file.write(json.dumps(row) + "\n")
    print(f"{ratio:.2f} of the CPU seconds")


if __name__ == "__main__":
    main()
