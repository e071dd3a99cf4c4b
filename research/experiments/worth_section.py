"""What constraints are worth: each family against no constraint, in the default network and in the paper's.

The rule, stated before the first run. The unit is a graph: its gain is the mean over seeds of the paired difference
from `none` in AUC, on validation links and on test links. A family earns its place in a network if its mean gain over
all graphs on *validation* is above zero, by a t-test over graphs whose p is corrected by Holm's method over the seven
families; test links are shown beside it and decide nothing. Seeds 0 to 4; where |t| of a graph over its seeds lies
between 1 and 3, seeds 5 to 14 too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import t as student

from research.corpus.comparison import holm
from research.experiments.cell import Cell
from research.experiments.lines import Line
from research.experiments.table import (
    NOTHING,
    WIDE,
    Row,
    Selection,
    find_row_lines,
    make_row_cells,
    select_datasets,
)

FAMILIES = {
    "no constraint": {"constraints": "none"},
    "boundary": {"constraints": "neumann_boundary"},
    "Neumann": {"constraints": "neumann"},
    "Neumann, each boundary vertex": {"constraints": "neumann_vertex"},
    "10 vertex-deleted": {"constraints": "vertex_deleted"},
    "contraction": {"constraints": "contraction"},
    "marking": {"constraints": "marking"},
    "learned": {"constraints": "learned"},
}
"""Titles of the families, the reference first, and their options."""
CITATIONS = ("cora", "citeseer", "pubmed")
NETWORKS = (
    "WebKB-wisconsin-link1",
    "football",
    "iscas89-s1494",
    "power-1138-bus",
    "Winnipeg_net",
    "AEW18_",
    "BioGrid-Escherichia-Coli-K12-Mg1655",
    "cpan-authors",
    "rhesusbrain",
    "columbia-mobility",
)
"""Networks of the corpus for choices (`tune`), without features, one or two a domain, the smallest first."""
METRICS = {"validation": "valid_auc", "test": "auc"}
SEEDS = tuple(range(5))


def make_worth_rows(method: str) -> tuple[Row, ...]:
    """A row for each family, on all graphs; Pubmed in wide batches where the preset's are small."""
    small = tuple(f"corpus/{name}" for name in NETWORKS) + CITATIONS[:2]
    wide: Mapping[str, object] = WIDE if method == "paper" else {}
    seeds = dict.fromkeys((*small, "pubmed"), SEEDS)
    return tuple(
        row
        for title, options in FAMILIES.items()
        for row in (
            Row(title, method, small, "ncn", options, seeds=seeds),
            Row(title, method, ("pubmed",), "ncn", {**options, **wide}, seeds=seeds),
        )
    )


@dataclass(frozen=True)
class Gains:
    """The paired gains of a family over the reference, in percent, by graph: one value a seed."""

    by_graph: Mapping[str, tuple[float, ...]]

    @property
    def graphs(self) -> np.ndarray:
        """The mean gain of each graph."""
        return np.array([np.mean(values) for values in self.by_graph.values()])

    @property
    def p(self) -> float:
        """Two-sided, of a t-test over graphs; 1 where there are fewer than three."""
        gains = self.graphs
        if len(gains) < 3 or not gains.std() > 0:
            return 1.0
        return float(2 * student.sf(abs(gains.mean()) / (gains.std(ddof=1) / math.sqrt(len(gains))), len(gains) - 1))


def format_gain(values: Sequence[float] | np.ndarray) -> str:
    """Mean and standard error."""
    if not len(values):
        return NOTHING
    error = f" ± {np.std(values, ddof=1) / math.sqrt(len(values)):.2f}" if len(values) > 1 else ""
    return f"{np.mean(values):+.2f}{error}"


@dataclass(frozen=True)
class WorthSection:
    """`by_graph`: a row for each graph instead of the verdict over all."""

    title: str
    rows: tuple[Row, ...]
    by_graph: bool = False
    metrics: Mapping[str, str] = field(default_factory=lambda: METRICS)

    def cells(self, chosen: Selection) -> list[Cell]:
        return make_row_cells("accuracy", self.rows, chosen)

    def header(self) -> list[str]:
        if self.by_graph:
            return ["graph", "constraint", *(f"gain in {name} AUC" for name in self.metrics), "seeds"]
        return ["constraint", *(f"gain in {name} AUC" for name in self.metrics), "p", "Holm", "graphs", "runs"]

    def body(self, lines: Sequence[Line], chosen: Selection) -> list[list[str]]:
        found = self.gains(lines, chosen)
        if self.by_graph:
            return [
                [graph.removeprefix("corpus/"), title, *self._gain_of(found[title], graph)]
                for graph in dict.fromkeys(data for row in self.rows for data in row.data)
                for title in found
                if graph in found[title]["validation"].by_graph
            ]
        p = [by["validation"].p for by in found.values()]
        return [
            [
                title,
                *(format_gain(by[name].graphs) for name in self.metrics),
                f"{by['validation'].p:.3f}",
                "differs" if rejected else "no difference shown",
                str(len(by["validation"].by_graph)),
                str(sum(map(len, by["validation"].by_graph.values()))),
            ]
            for (title, by), rejected in zip(found.items(), holm(p), strict=True)
        ]

    def notes(self, lines: Sequence[Line], chosen: Selection) -> list[str]:
        told = (
            "Points of AUC in percent over no constraint, protocol `ncn` (one non-link a link), paired by seed, each a"
            " new split; mean ± standard error"
        )
        if self.by_graph:
            notes = [f"{told} over seeds."]
            if undecided := find_undecided(self, lines):
                shown = ", ".join(f"{title} on {graph.removeprefix('corpus/')}" for title, graph in undecided)
                notes.append(f"|t| between 1 and 3 on seeds 0 to 4, so seeds 5 to 14 are asked for: {shown}.")
            return notes
        return [f"{told} over graphs; p: a t-test over graphs on validation, Holm's rule over the families."]

    def gains(self, lines: Sequence[Line], chosen: Selection) -> dict[str, dict[str, Gains]]:
        """By family and by validation or test; only families and graphs that have runs."""
        titles = [title for title in dict.fromkeys(row.title for row in self.rows) if title in FAMILIES][1:]
        found = {title: {name: self._gains_of(title, name, lines, chosen) for name in self.metrics} for title in titles}
        return {title: by for title, by in found.items() if by["validation"].by_graph}

    def _gains_of(self, title: str, name: str, lines: Sequence[Line], chosen: Selection) -> Gains:
        first = next(iter(FAMILIES))
        by_graph = {}
        for row in (row for row in self.rows if row.title == title):
            reference = next(other for other in self.rows if other.title == first and other.data == row.data)
            for data in select_datasets(row, chosen):
                base = _values(reference, data, self.metrics[name], lines, chosen)
                own = _values(row, data, self.metrics[name], lines, chosen)
                if both := sorted(base.keys() & own.keys()):
                    by_graph[data] = tuple(100 * (own[seed] - base[seed]) for seed in both)
        return Gains(by_graph)

    def _gain_of(self, by: Mapping[str, Gains], graph: str) -> list[str]:
        values = [by[name].by_graph[graph] for name in self.metrics]
        return [*map(format_gain, values), str(len(values[0]))]


def _values(row: Row, data: str, metric: str, lines: Sequence[Line], chosen: Selection) -> dict[int, float]:
    """The value of each seed that has a run, further seeds than the row's own included."""
    every = Row(row.title, row.method, row.data, row.protocol, row.options)
    found = find_row_lines("accuracy", every, data, lines, chosen)
    return {line.cell.seed: line[metric] for line in found if line.get(metric) is not None}


def find_undecided(section: WorthSection, lines: Sequence[Line]) -> list[tuple[str, str]]:
    """Families and graphs whose |t| over seeds 0 to 4 on validation lies between 1 and 3: ten more seeds decide."""
    found = []
    for title, by in section.gains(lines, Selection(seeds=SEEDS)).items():
        for graph, values in by["validation"].by_graph.items():
            spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
            if spread > 0 and 1 <= abs(np.mean(values)) / (spread / math.sqrt(len(values))) <= 3:
                found.append((title, graph))
    return found
