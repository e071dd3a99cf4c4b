"""Which cells can run here: those whose data is available and whose method exists in this version."""

from __future__ import annotations

from collections.abc import Iterable

from llwlc.baselines.registry import METHODS
from llwlc.datasets.catalog import DATASETS, load
from llwlc.errors import InputError
from llwlc.experiments.cell import Cell
from llwlc.training.presets import PRESETS

WITHOUT_DATA = ("growth", "separation")


def runnable(cells: Iterable[Cell]) -> tuple[list[Cell], list[str]]:
    """The cells that can run, and why others cannot, a sentence for each dataset or method."""
    ready: list[Cell] = []
    left: dict[str, None] = {}
    for cell in cells:
        why = "" if cell.kind in WITHOUT_DATA else _missing_data(cell.data) or _missing_method(cell)
        if why:
            left[why] = None
        else:
            ready.append(cell)
    return ready, list(left)


def _missing_method(cell: Cell) -> str:
    if cell.kind == "sizes" or cell.method in PRESETS or cell.method in METHODS:
        return ""
    return f"{cell.method} is no method of this version: only its stored results are shown"


def _missing_data(name: str) -> str:
    if name not in _known:
        try:
            if name not in DATASETS:
                raise InputError("there is no dataset of this name")
            load(name)
            _known[name] = ""
        except InputError as error:
            _known[name] = f"{name} is not available, so its rows are left out: {error}"
    return _known[name]


_known: dict[str, str] = {}
