"""Cells of the corpus in child processes: each child takes a run of cells, one after the other, and appends the line of
each at once; so an interrupted command loses one cell of a child, and the next run resumes.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from llwlc._support.children import run_child
from research.corpus.folds import SMALL
from research.corpus.measure import has_budget
from research.corpus.networks import Network
from research.experiments.cell import Cell
from research.experiments.lines import append_line, read_lines
from research.experiments.measures import measure
from research.experiments.process import make_environment

CELLS_OF_A_CHILD = 40
"""Starting a child takes seconds, a heuristic milliseconds; a child that is killed loses the rest of its cells."""
CHILD = """
from llwlc._support.children import watch_parent
watch_parent()
import sys
from research.corpus.runs import in_child
in_child(*sys.argv[1:])
"""
Report = Callable[[str], None]


def make_cells(
    networks: Sequence[Network], models: Sequence[str], seeds: Sequence[int], folds: int, minutes: float
) -> list[Cell]:
    """One cell for each network, seed and model; `folds` of a network below `SMALL` links, else one split."""
    cells = []
    for network in networks:
        for seed in seeds:
            for model in models:
                options: dict[str, float] = {}
                if network.num_links < SMALL and folds > 1:
                    options["folds"] = folds
                if has_budget(model):
                    options["minutes"] = minutes
                cells.append(Cell("corpus", network.name, "random", model, options, seed=seed))
    return cells


def run_corpus(cells: Sequence[Cell], results: Path, *, processes: int, report: Report) -> int:
    """Measures the cells that have no line yet; returns how many still have none."""
    done = {line.cell.key for line in read_lines(results)}
    missing = [cell for cell in cells if cell.key not in done]
    slow = [[cell] for cell in missing if has_budget(cell.method)]
    quick = [cell for cell in missing if not has_budget(cell.method)]
    batches = slow + [quick[at : at + CELLS_OF_A_CHILD] for at in range(0, len(quick), CELLS_OF_A_CHILD)]
    begin, lock, measured = time.monotonic(), threading.Lock(), 0

    def work(batch: list[Cell]) -> None:
        nonlocal measured
        failures = _run_batch(batch, results)
        with lock:
            measured += len(batch)
            for failure in failures:
                report(failure)
            report(f"[{measured}/{len(missing)}] {batch[-1]}: {time.monotonic() - begin:.0f} s")

    with ThreadPoolExecutor(processes) as pool:
        try:
            for future in [pool.submit(work, batch) for batch in batches]:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    done = {line.cell.key for line in read_lines(results)}
    return sum(cell.key not in done for cell in cells)


def _run_batch(batch: Sequence[Cell], results: Path) -> list[str]:
    """Measures these cells in a child process; returns what went wrong."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory(prefix="llwlc-corpus-") as folder:
        given, failed = Path(folder) / "cells.json", Path(folder) / "failed.jsonl"
        cells = [asdict(cell) | {"options": dict(cell.options)} for cell in batch]
        given.write_text(json.dumps(cells), encoding="utf-8")
        arguments = [str(given), str(results.resolve()), str(failed)]
        code = run_child(CHILD, arguments, environment=threads | make_environment())
        reasons = failed.read_text(encoding="utf-8").splitlines() if failed.exists() else []
    return reasons if code == 0 else [*reasons, f"a process ended with exit code {code}"]


def in_child(given: str, results: str, failed: str) -> None:
    """Runs in the child: writes a line for each cell, or what went wrong with it."""
    import torch

    torch.set_num_threads(1)
    for parts in json.loads(Path(given).read_text(encoding="utf-8")):
        cell = Cell(**parts)
        try:
            append_line(Path(results), measure(cell))
        except Exception as error:  # one failed cell must not lose the others
            with Path(failed).open("a", encoding="utf-8") as file:
                file.write(f"{cell}: {type(error).__name__}: {error}".replace("\n", " ") + "\n")
