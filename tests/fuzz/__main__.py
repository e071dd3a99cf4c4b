"""`python -m fuzz`: every target in a process of its own, which is started again behind a case that crashes it or takes
too long.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

HANG = 10
"""Seconds of processor time that a case may take that trains nothing."""


def cpu_seconds() -> float:
    """Of this process and of its children that have ended."""
    return sum(os.times()[:4])


def work(name: str, seed: int, first: int, count: int) -> None:
    """In the process of a target: says a line before and after each case."""
    import torch

    from fuzz.targets import TARGETS

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    out = sys.stdout
    with tempfile.TemporaryDirectory() as folder:
        kind, _, seconds = TARGETS[name]
        target = kind(Path(folder))
        for i in range(first, count):
            print(json.dumps(["begun", i]), file=out, flush=True)
            begin = cpu_seconds()
            faulthandler.dump_traceback_later(seconds, exit=True)
            try:
                said = target.case(np.random.default_rng([seed, *name.encode(), i]))
            except Exception as error:
                where = traceback.extract_tb((error.__cause__ or error).__traceback__)[-1]
                said = (
                    f"fault: {type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {str(error)[:300]}"
                )
            faulthandler.cancel_dump_traceback_later()
            spent = cpu_seconds() - begin
            if spent > HANG and not target.trained and not said.startswith("fault"):
                said = f"fault: {spent:.0f} s of processor time"
            print(json.dumps(["done", i, said, spent, target.trained]), file=out, flush=True)


def drive(name: str, seed: int, first: int, count: int) -> tuple[Counter[str], list[str], dict[bool, list[float]]]:
    """All cases of a target, what its faults were, and the seconds of those that trained and of those that did not."""
    found: Counter[str] = Counter()
    faults: list[str] = []
    times: dict[bool, list[float]] = {False: [0.0], True: [0.0]}
    at = first
    while at < count:
        command = [
            sys.executable,
            "-m",
            "fuzz",
            "--work",
            name,
            "--seed",
            str(seed),
            "--first",
            str(at),
            "--cases",
            str(count),
        ]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
        ) as process:
            begun = None
            for line in process.stdout or ():
                if not line.startswith('["'):
                    continue
                kind, i, *said = json.loads(line)
                begun = i if kind == "begun" else None
                if kind == "done":
                    at = i + 1
                    times[said[2]].append(said[1])
                    found[said[0].split(":")[0]] += 1
                    faults += [f"{name} {i}: {said[0]}"] if said[0].startswith("fault") else []
            errors = (process.stderr.read() if process.stderr else "").strip().splitlines()
        if begun is not None:
            at = begun + 1
            found["fault"] += 1
            faults.append(f"{name} {begun}: fault: process ended with {process.returncode}: {' | '.join(errors[:8])}")
        elif at < count:
            raise SystemExit(f"{name} cannot be set up: {errors[-1:]}")
    return found, faults, times


def main() -> None:
    from fuzz.targets import TARGETS

    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", choices=list(TARGETS), default=list(TARGETS))
    parser.add_argument("--share", type=float, default=1.0, help="of the cases of a whole run")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.work, given.seed, given.first, given.cases)
        return
    failed = False
    for name in given.only:
        begin, count = time.monotonic(), given.cases or max(1, round(given.share * TARGETS[name][1]))
        found, faults, times = drive(name, given.seed, given.first, count)
        failed |= bool(faults)
        outcomes = ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(found.items()))
        print(
            f"{name}: {count - given.first:,} cases, seed {given.seed}: {outcomes}; {time.monotonic() - begin:.0f} s",
            flush=True,
        )
        longest = f"at most {max(times[False]):.1f} s of processor time a case"
        print(f"  {longest}" + (f", {max(times[True]):.1f} s where it trained" if len(times[True]) > 1 else ""))
        for fault in faults:
            print(f"  {fault}", flush=True)
    raise SystemExit(int(failed))


if __name__ == "__main__":
    main()
