"""Which cells can run here: those whose data is available and whose method exists in this version."""

from __future__ import annotations

from collections.abc import Iterable

from llwlc.errors import LLwLCError
from llwlc.models._llwlc.presets import PRESETS
from llwlc.models._registry import MODELS
from research.experiments.cell import Cell
from research.experiments.graphs import load_graph
from research.experiments.study_baselines import STUDY_BASELINES

LLWLC = "llwlc"
WITHOUT_DATA = ("growth", "separation", "counting", "transfer")


def select_runnable(cells: Iterable[Cell]) -> tuple[list[Cell], list[str]]:
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
    # a cell of our network names its preset
    known = cell.method in PRESETS or cell.method in STUDY_BASELINES
    if cell.kind == "sizes" or known or (cell.method in MODELS and cell.method != LLWLC):
        return ""
    return f"{cell.method} is no method of this version: only its stored results are shown"


def _missing_data(name: str) -> str:
    if name not in _known:
        try:
            load_graph(name)
            _known[name] = ""
        except LLwLCError as error:
            _known[name] = f"{name} is not available, so its rows are left out: {error}"
    return _known[name]


_known: dict[str, str] = {}
