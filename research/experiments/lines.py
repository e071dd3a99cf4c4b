"""The results file: one line of JSON for each run, appended in one write when the run is done; a damaged file is
refused with the number of the line.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llwlc._support.text import describe_error
from llwlc.errors import InputError, StorageError
from research.experiments.cell import Cell, read_cell


@dataclass(frozen=True)
class Line:
    """A cell and its results `found`: a mapping from names to numbers, texts and small mappings."""

    cell: Cell
    found: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.found[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self.found.get(name, default)


def read_lines(path: Path) -> list[Line]:
    """The lines of a file, none where there is no file. A cell that is there twice counts once, the first time."""
    if not path.exists():
        return []
    lines: dict[str, Line] = {}
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({describe_error(error)}): copy it again") from error
    content_of = data.split(b"\n")
    whole = content_of[-1] == b""  # what is behind the last end of a line
    for number, content in enumerate(content_of[:-1] if whole else content_of, 1):
        try:
            found = json.loads(content.decode(), parse_constant=_refuse)
            if not isinstance(found, dict):
                raise InputError("it is no mapping")
            cell = read_cell(found)
            _check_numbers(found)
        except (ValueError, TypeError, RecursionError) as error:
            raise InputError(
                f"{path}, line {number} is damaged ({describe_error(error)}): delete that line, and the run is made"
                " again, or copy the file again"
            ) from error
        lines.setdefault(cell.key, Line(cell, found))
    if not whole:
        raise InputError(
            f"{path}, line {len(content_of)} is damaged (it has no end): delete that line, and the run is made again"
        )
    return list(lines.values())


def _check_numbers(found: Mapping[str, Any]) -> None:
    """Refuses a line that has something else where tables print a number."""
    for name, value in found.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if name.startswith(NUMBERS) and not number and not (value is None and name.endswith("_seconds")):
            raise InputError(f"{name} is {str(value)[:60]!r}")


NUMBERS = (
    "hits@",
    "auc",
    "mrr",
    "ap",
    "num_",
    "parameters",
    "epoch_seconds",
    "before_seconds",
    "microseconds",
    "inference_microseconds",
    "valid_",
)
"""How the names of numbers that tables print begin."""


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def append_line(path: Path, line: Mapping[str, Any]) -> None:
    """Appends a line to the file in one write, so that processes that share the file do not mix their lines."""
    data = (json.dumps(dict(line), ensure_ascii=False) + "\n").encode()
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise StorageError(f"{path} cannot be written ({error.strerror or error}): choose another --results") from error


def select_row_lines(lines: Iterable[Line], cell: Cell, seeds: Iterable[int] | None = None) -> Iterator[Line]:
    """The lines of a row, whatever their seed, or of these seeds, in their order."""
    wanted = None if seeds is None else set(seeds)
    found = [line for line in lines if line.cell.row == cell.row and (wanted is None or line.cell.seed in wanted)]
    return iter(sorted(found, key=lambda line: line.cell.seed))


def compute_mean_and_spread(values: list[float]) -> tuple[float, float | None]:
    """Mean and sample standard deviation; the latter is None for a single value."""
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, None
    return mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))
