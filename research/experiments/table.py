"""Rows, sections and the selection of them: a table of the paper is one specification, printed from stored lines
alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from research.experiments.cell import Cell
from research.experiments.lines import Line, compute_mean_and_spread, select_row_lines

NOTHING = "–"


@dataclass(frozen=True)
class Selection:
    """The selection of the command line; None where nothing was chosen."""

    data: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    protocol: str | None = None
    seeds: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Row:
    """One row of a table: a method on some datasets. `seeds`: the default number of seeds, or which, by dataset;
    `published`: published numbers by dataset, measured under the protocol `published_under`."""

    title: str
    method: str
    data: tuple[str, ...]
    protocol: str = "paper"
    options: Mapping[str, Any] = field(default_factory=dict)
    leak: str = ""
    seeds: Mapping[str, tuple[int, ...]] | None = None
    published: Mapping[str, float] = field(default_factory=dict)
    published_under: str = "paper"

    def cell(self, kind: str, data: str, seed: int = 0, protocol: str | None = None) -> Cell:
        return Cell(kind, data, protocol or self.protocol, self.method, self.options, self.leak, seed)


class Section(Protocol):
    """A part of a table: the cells it needs, and its rows of text from the lines that are there."""

    @property
    def title(self) -> str: ...

    def cells(self, chosen: Selection) -> list[Cell]: ...

    def header(self) -> list[str]: ...

    def body(self, lines: Sequence[Line], chosen: Selection) -> list[list[str]]: ...

    def notes(self, lines: Sequence[Line], chosen: Selection) -> list[str]: ...


WIDE = {"batch_size": 256}
"""Wider batches for Pubmed, where the preset's batches of 64 would be 1,100 steps an epoch; the paper states no batch
size.
"""


def split_off_pubmed(row: Row) -> tuple[Row, Row]:
    """The row on the small graphs, and on all of Pubmed in wider batches."""
    small = tuple(data for data in row.data if data != "pubmed")
    title = f"{row.title}, batches of 256"
    return replace(row, data=small), replace(row, title=title, data=("pubmed",), options={**row.options, **WIDE})


SEEDS = {"cora": 5, "cora-planetoid": 5, "citeseer": 5, "pubmed": 3}
"""Default number of seeds of a row, from 0, by dataset; one for any other dataset."""


def select_datasets(row: Row, chosen: Selection) -> list[str]:
    """The datasets of a row that the command line selects."""
    names = {row.method, row.title}
    if chosen.methods is not None and not names & set(chosen.methods):
        return []
    return [data for data in row.data if chosen.data is None or data in chosen.data]


def choose_seeds(row: Row, data: str, chosen: Selection) -> tuple[int, ...]:
    if chosen.seeds is not None:
        return chosen.seeds
    known = {} if row.seeds is None else row.seeds
    return known.get(data) or tuple(range(SEEDS.get(data, 1)))


def make_row_cells(kind: str, rows: Sequence[Row], chosen: Selection) -> list[Cell]:
    """Cells of these rows, one seed of all rows before the next seed."""
    found = [
        (at, row.cell(kind, data, seed, chosen.protocol))
        for row in rows
        for data in select_datasets(row, chosen)
        for at, seed in enumerate(choose_seeds(row, data, chosen))
    ]
    return [cell for _, cell in sorted(found, key=lambda pair: pair[0])]


def find_row_lines(kind: str, row: Row, data: str, lines: Sequence[Line], chosen: Selection) -> list[Line]:
    own = None if row.seeds is None else row.seeds.get(data)
    return list(select_row_lines(lines, row.cell(kind, data, protocol=chosen.protocol), chosen.seeds or own))


def format_parameters(lines: Sequence[Line]) -> str:
    """The number of parameters, or the smallest and the largest: the size of a sorting readout depends on the split."""
    counted = sorted({line["parameters"] for line in lines})
    return f"{counted[0]:,}" if len(counted) == 1 else f"{counted[0]:,} to {counted[-1]:,}"


def format_spread(lines: Sequence[Line], name: str, scale: float = 100, digits: int = 2) -> str:
    """Mean ± standard deviation over the lines that have a number of this name."""
    values = [scale * line[name] for line in lines if line.get(name) is not None]
    if not values:
        return NOTHING
    mean, deviation = compute_mean_and_spread(values)
    return f"{mean:.{digits}f}" + ("" if deviation is None else f" ± {deviation:.{digits}f}")
