"""How time and memory of `fit --plan full`, `recommend` and `score` grow with nodes, links, features and pairs, on
generated graphs of one shape: exponents with 95 % intervals.

    python research/benchmarks/growth.py nodes --sizes 1e2-1e5 --repeats 3
    python research/benchmarks/growth.py links --sizes 1e4-1e6
    python research/benchmarks/growth.py features --sizes 4-4000
    python research/benchmarks/growth.py pairs --sizes 1e3-1e6
    python research/benchmarks/growth.py --show

Each command is a process of its own, on kernels that were compiled before; its CPU seconds are those of all processors
and its children, its memory is the peak of the process. One line a measurement in research/results/growth.jsonl; a
finished one is not run again. What is measured is a + b sizeᶜ: a command has a fixed cost, the start of Python above
all; c is the exponent, its interval by 500 draws of the residuals.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # as a module too
from large import generated

RESULTS = Path(__file__).parents[1] / "results" / "growth.jsonl"
SHAPE = {"nodes": 3_000, "links": 15_000, "features": 16, "pairs": 10_000}
"""The size of what does not grow; links grow with nodes."""
COMMANDS = ("fit", "recommend", "score")
EPOCHS = 3
DRAWS = 500


def sizes_of(text: str) -> list[int]:
    """Three sizes a decade, from the first to the last.

    >>> sizes_of("100-1e3")
    [100, 215, 464, 1000]
    """
    first, last = (float(part) for part in text.split("-"))
    count = max(1, round(3 * np.log10(last / first))) + 1
    return [round(size) for size in np.geomspace(first, last, count)]


def shape_of(axis: str, size: int) -> dict[str, int]:
    """The graph and the pairs of a measurement."""
    shape = SHAPE | {axis: size}
    return shape | {"links": 5 * size} if axis == "nodes" else shape


def write_files(folder: Path, shape: dict[str, int]) -> None:
    import pandas as pd

    links, x = generated(shape["nodes"], shape["features"], links=shape["links"] / shape["nodes"])
    pd.DataFrame(links, columns=["source", "target"]).to_parquet(folder / "links.parquet")
    if x is not None:
        table = pd.DataFrame(x, columns=[f"x{i}" for i in range(x.shape[1])])
        table.insert(0, "id", np.arange(len(x)))
        table.to_parquet(folder / "nodes.parquet")
    known = np.unique(links)
    ends = np.random.default_rng(3).choice(known, (2 * shape["pairs"], 2))
    pd.DataFrame(ends[ends[:, 0] != ends[:, 1]][: shape["pairs"]], columns=["source", "target"]).to_parquet(
        folder / "pairs.parquet"
    )


def run(command: list[str], folder: Path) -> dict[str, float]:
    """CPU seconds, wall seconds and the peak of memory in bytes of a command of llwlc, in a process of its own."""
    begin = time.perf_counter()
    with (folder / "messages").open("w") as messages:
        process = subprocess.Popen(
            [sys.executable, "-m", "llwlc", *command], cwd=folder, stdout=subprocess.DEVNULL, stderr=messages
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"llwlc {' '.join(command)}:\n{(folder / 'messages').read_text()[-2000:]}")
    wall, peak = time.perf_counter() - begin, usage.ru_maxrss * 1024
    return {"cpu": round(usage.ru_utime + usage.ru_stime, 3), "wall": round(wall, 3), "peak": peak}


def measure(shape: dict[str, int], commands: tuple[str, ...] = COMMANDS) -> dict[str, dict[str, float]]:
    """What each command takes on a graph of this shape."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, shape)
        features = ["--features", "nodes.parquet"] if shape["features"] else []
        fit = ["fit", "links.parquet", *features, "--model", "llwlc", "--plan", "full", "--set", f"epochs={EPOCHS}"]
        calls = {
            "fit": [*fit, "--out", "run", "--device", "cpu"],
            "recommend": ["recommend", "run", "--top", "100", "-o", "top.csv"],
            "score": ["score", "run", "pairs.parquet", "-o", "scores.parquet"],
        }
        return {command: run(calls[command], folder) for command in COMMANDS if command in {"fit", *commands}}


def fit_exponent(sizes: np.ndarray, values: np.ndarray) -> tuple[float, float, float]:
    """The exponent c of values = a + b sizeᶜ, a ≥ 0, by least squares of logarithms, and its 95 % interval."""
    log, x = np.log(values), np.log(sizes / sizes.max())
    # a is known up to a grid; then b and c are a line
    fixed = np.append(0.0, values.min() * (1 - np.geomspace(1e-3, 1, 60)))

    def solve(y: np.ndarray) -> tuple[float, np.ndarray]:
        best = (np.inf, 0.0, y)
        for a in fixed:
            above = np.exp(y) - a
            if (above <= 0).any():
                continue
            # a step of the line's logarithm is a step of the whole's by the share of the line in it
            weight = above / np.exp(y)
            c, b = np.polyfit(x, np.log(above), 1, w=weight)
            model = np.log(a + np.exp(b + c * x))
            error = float(((y - model) ** 2).sum())
            if error < best[0]:
                best = (error, float(c), model)
        return best[1], best[2]

    exponent, model = solve(log)
    rng, residual = np.random.default_rng(0), log - model
    draws = [solve(model + rng.choice(residual, len(residual)))[0] for _ in range(DRAWS)]
    low, high = np.percentile(draws, (2.5, 97.5))
    return exponent, float(low), float(high)


def stored() -> list[dict]:
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def show(lines: list[dict]) -> None:
    """The exponents of all stored measurements."""
    print("| command | grows | sizes | CPU s, first and last | exponent | peak, MB | exponent |\n" + "| --- " * 7 + "|")
    for axis, command in dict.fromkeys((line["axis"], line["command"]) for line in lines):
        own = sorted((line for line in lines if (line["axis"], line["command"]) == (axis, command)),
                     key=lambda line: line["size"])  # fmt: skip
        sizes = np.array([line["size"] for line in own], float)
        if len(np.unique(sizes)) < 4:
            continue
        cells = []
        for what, unit in (("cpu", 1.0), ("peak", 1e6)):
            exponent, low, high = fit_exponent(sizes, np.array([line[what] for line in own], float))
            cells += [
                f"{own[0][what] / unit:,.1f}, {own[-1][what] / unit:,.1f}",
                f"{exponent:.2f} ({low:.2f}–{high:.2f})",
            ]
        print(f"| {command} | {axis} | {own[0]['size']:,}–{own[-1]['size']:,} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("axis", nargs="?", choices=tuple(SHAPE))
    parser.add_argument("--sizes", default="1e2-1e5", help="the first and the last size, as in 1e2-1e5")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the exponents of stored lines and run nothing")
    arguments = parser.parse_args()
    if arguments.axis and not arguments.show:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
        about = {"commit": commit, "cores": os.cpu_count(), "machine": platform.machine(), "epochs": EPOCHS}
        commands = ("score",) if arguments.axis == "pairs" else COMMANDS
        done = {(line["axis"], line["size"], line["repeat"]) for line in stored()}
        warm = False
        for repeat in range(arguments.repeats):
            for size in sizes_of(arguments.sizes):
                if (arguments.axis, size, repeat) in done:
                    continue
                if not warm:
                    measure(SHAPE | {"nodes": 100, "links": 300, "pairs": 100})  # compiles
                    warm = True
                shape = shape_of(arguments.axis, size)
                for command, taken in measure(shape, commands).items():
                    if command in commands:
                        line = {"axis": arguments.axis, "size": size, "repeat": repeat, "command": command}
                        with RESULTS.open("a") as file:
                            file.write(json.dumps(line | taken | shape | about | {"load": os.getloadavg()[0]}) + "\n")
                        print(f"{arguments.axis} {size:,} {command}: {taken}", flush=True)
    show(stored())


if __name__ == "__main__":
    main()
