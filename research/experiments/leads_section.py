"""Changes of a preset, decided on validation links: what each gains, paired by seed; test links have no say and are not
shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from research.experiments.cell import Cell
from research.experiments.lines import Line, compute_mean_and_spread
from research.experiments.table import (
    NOTHING,
    Row,
    Selection,
    find_row_lines,
    format_spread,
    make_row_cells,
    select_datasets,
)

SHOWN = {"validation HR@100": "valid_hits@100", "validation AUC": "valid_auc"}
"""Titles of columns, and the numbers of a line that they show, in percent."""


@dataclass(frozen=True)
class LeadsSection:
    """The first row is the preset as it is; the others are shown by what they gain over it."""

    title: str
    rows: tuple[Row, ...]

    def cells(self, chosen: Selection) -> list[Cell]:
        return make_row_cells("accuracy", self.rows, chosen)

    def header(self) -> list[str]:
        beside = [title for name in SHOWN for title in (name, f"gain ± s.e., {name.split()[1]}")]
        return ["data", "change", "protocol", *beside, "parameters", "epoch, s", "seeds"]

    def body(self, lines: Sequence[Line], chosen: Selection) -> list[list[str]]:
        found = []
        for data in dict.fromkeys(data for row in self.rows for data in row.data):
            base = _by_seed(find_row_lines("accuracy", self.rows[0], data, lines, chosen))
            for row in self.rows:
                runs = (
                    find_row_lines("accuracy", row, data, lines, chosen) if data in select_datasets(row, chosen) else []
                )
                runs = [run for run in runs if run.cell.seed in base and "valid_hits@100" in run.found]
                if runs:
                    found.append([data, row.title, row.protocol, *_gains(runs, base, row is self.rows[0])])
        return found

    def notes(self, lines: Sequence[Line], chosen: Selection) -> list[str]:
        return [
            "Percent, on validation links at the epoch that they choose; gains are paired by seed, each a new split. A"
            " change stays if it gains more than two standard errors here and on other seeds."
        ]


def _by_seed(lines: Sequence[Line]) -> dict[int, Line]:
    return {line.cell.seed: line for line in lines if "valid_hits@100" in line.found}


def _gains(runs: Sequence[Line], base: dict[int, Line], first: bool) -> list[str]:
    shown = []
    for name in SHOWN.values():
        gains = [100 * (run[name] - base[run.cell.seed][name]) for run in runs]
        mean, deviation = compute_mean_and_spread(gains)
        error = "" if deviation is None else f" ± {deviation / math.sqrt(len(gains)):.2f}"
        shown += [format_spread(runs, name), NOTHING if first else f"{mean:+.2f}{error}"]
    epochs = [run["epoch_seconds"] for run in runs if run.get("epoch_seconds") is not None]
    return [*shown, f"{runs[0]['parameters']:,}", f"{min(epochs):.2f}" if epochs else NOTHING, str(len(runs))]
