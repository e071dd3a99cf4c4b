"""Cells in separate processes: a cell that fails or is killed does not affect others, and a finished one is written to
the results file at once.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from llwlc._support.children import run_child
from llwlc._support.plugins import load_plugin
from research.experiments.cell import Cell
from research.experiments.lines import append_line

CHILD = """
from llwlc._support.children import watch_parent
watch_parent()
import sys
from research.experiments.process import in_child
in_child(*sys.argv[1:])
"""
ROOT = Path(__file__).parents[2]
Report = Callable[[Cell, dict[str, Any] | None, str], None]
"""Called for each cell with its line, or with None and the reason."""


def run_cells(
    cells: Iterable[Cell],
    results: Path,
    *,
    device: str = "cpu",
    processes: int = 1,
    seconds: float | None = None,
    minutes: float | None = None,
    plugins: Sequence[Path] = (),
    report: Report | None = None,
) -> int:
    """Runs cells, `processes` at a time, one thread each, and appends their lines. Returns how many cells have no line
    in the end.

    `seconds`: the fit of a baseline begins no epoch after so many; `minutes`: no cell begins after so many; `plugins`:
    files that register models.
    """
    lock, missing, until = threading.Lock(), [], None if minutes is None else time.monotonic() + 60 * minutes

    def work(cell: Cell) -> None:
        if until is not None and time.monotonic() > until:
            missing.append(cell)
            return
        line, why = run_cell(cell, device=device, seconds=seconds, plugins=plugins)
        with lock:
            if line is None:
                missing.append(cell)
            else:
                append_line(results, line)
            if report is not None:
                report(cell, line, why)

    with ThreadPoolExecutor(processes) as pool:
        try:
            for done in [pool.submit(work, cell) for cell in cells]:
                done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return len(missing)


def run_cell(
    cell: Cell,
    *,
    device: str = "cpu",
    seconds: float | None = None,
    plugins: Sequence[Path] = (),
    environment: Mapping[str, str] | None = None,
) -> tuple[dict[str, Any] | None, str]:
    """The line of a cell, measured by another process, or None and the reason."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory(prefix="llwlc-cell-") as folder:
        answer = Path(folder) / "line.json"
        given = json.dumps(
            [asdict(cell) | {"options": dict(cell.options)}, device, seconds, [str(Path(p).resolve()) for p in plugins]]
        )
        code = run_child(
            CHILD, [given, str(answer)], environment=threads | make_environment() | dict(environment or {})
        )
        if not answer.exists():
            return None, f"its process ended with exit code {code} and left nothing"
        found = json.loads(answer.read_text(encoding="utf-8"))
    return (None, str(found["failed"])) if "failed" in found else (found["line"], "")


def make_environment() -> dict[str, str]:
    """The environment in which another process finds `research`, which is not installed, whatever its working
    directory.
    """
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}


def in_child(given: str, answer: str) -> None:
    """In the other process: measures the cell and writes its line, or what went wrong."""
    import torch

    from research.experiments.measures import measure

    torch.set_num_threads(1)
    parts, device, seconds, plugins = json.loads(given)
    try:
        for plugin in plugins:
            load_plugin(Path(plugin))
        found: dict[str, Any] = {"line": measure(Cell(**parts), device=device, seconds=seconds)}
    except Exception as error:  # one failed cell must not lose the others
        found = {"failed": f"{type(error).__name__}: {error}"}
    Path(answer).write_text(json.dumps(found), encoding="utf-8")
