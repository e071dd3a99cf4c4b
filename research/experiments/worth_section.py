"""What constraints are worth: each family against no constraint, in the default network and in the paper's.

The rule, stated before the first run. The unit is a graph: its gain is the mean over seeds of the paired difference
from `none` in AUC, on validation links and on test links. A family earns its place in a network if its mean gain over
all graphs on *validation* is above zero, by a t-test over graphs whose p is corrected by Holm's method over the seven
families; test links are shown beside it and decide nothing. Seeds 0 to 4; where |t| of a graph over its seeds lies
between 1 and 3, seeds 5 to 14 too. Two runs are a pair only if they are of the same commit, as other changes of the
code move a fit by as much as a constraint does. The default network follows once every family has five pairs on every
graph: its constraint is the family that earns its place by the largest gain, and none if no family does.
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
NETWORKS = {
    "WebKB-wisconsin-link1": 565,
    "football": 613,
    "iscas89-s1494": 796,
    "power-1138-bus": 1458,
    "Winnipeg_net": 1595,
    "AEW18_": 1508,
    "BioGrid-Escherichia-Coli-K12-Mg1655": 1889,
    "cpan-authors": 2112,
    "rhesusbrain": 3054,
    "columbia-mobility": 4147,
}
"""Networks of the corpus for choices (`tune`), without features, one or two a domain; and their links."""
LINKS = {
    **{f"corpus/{name}": links for name, links in NETWORKS.items()},
    "cora": 5278,
    "citeseer": 4552,
    "pubmed": 44324,
}
SLOWER = {"learned": 8.0, "neumann_vertex": 2.5, "paper": 2.5}
"""Times the seconds of a fit, by constraint or network, roughly."""
LONG = 120.0
"""Seconds: longer fits come after all others."""
KIND = "worth"
METRICS = {"validation": "valid_auc", "test": "auc"}
SEEDS = tuple(range(5))


def estimate_seconds(cell: Cell) -> float:
    """Core-seconds of a fit, to a factor of two, from the lines of the smaller graphs.

    >>> estimate_seconds(Cell("worth", "corpus/football", "ncn", "anchored", {"constraints": "none"})) < 10
    True
    """
    factor = SLOWER.get(str(cell.options["constraints"]), 1.0) * SLOWER.get(cell.method, 1.0)
    return factor * (1 + LINKS[cell.data] / 140)


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
class WorthVerdict:
    """`best`: the family that the rule chooses; `earning`: all that earn their place; `pairs` of `wanted`, the pairs of
    runs that there are of the first five seeds."""

    best: str
    earning: tuple[str, ...]
    pairs: int
    wanted: int

    @property
    def complete(self) -> bool:
        return self.pairs == self.wanted

    def __str__(self) -> str:
        if not self.complete:
            return f"No verdict yet: {self.pairs} of {self.wanted} pairs of runs are stored."
        if not self.earning:
            return "Verdict: no constraint earns its place on validation links."
        return (
            f"Verdict: {', '.join(self.earning)} earn their place on validation links; the largest gain: {self.best}."
        )


EVERYTHING = Selection()


def _format_test(gains: Gains, rejected: bool) -> tuple[str, str]:
    if not gains.by_graph:
        return NOTHING, NOTHING
    return f"{gains.p:.3f}", "differs" if rejected else "no difference shown"


def _reject(found: Mapping[str, Mapping[str, Gains]]) -> list[bool]:
    """Holm's rule over all families; one without pairs has p = 1."""
    return list(holm([by["validation"].p for by in found.values()]))


@dataclass(frozen=True)
class WorthSection:
    """`by_graph`: a row for each graph instead of the verdict over all."""

    title: str
    rows: tuple[Row, ...]
    by_graph: bool = False
    metrics: Mapping[str, str] = field(default_factory=lambda: METRICS)

    def cells(self, chosen: Selection) -> list[Cell]:
        """The short fits, one seed of all graphs before the next and all families of a graph together, then the long
        ones: a run that is cut off leaves pairs of all graphs.
        """

        def rank(cell: Cell) -> tuple[bool, int, int]:
            return estimate_seconds(cell) > LONG, cell.seed, LINKS[cell.data]

        return sorted(make_row_cells(KIND, self.rows, chosen), key=rank)

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
        return [
            [
                title,
                *(format_gain(by[name].graphs) for name in self.metrics),
                *_format_test(by["validation"], rejected),
                str(len(by["validation"].by_graph)),
                str(sum(map(len, by["validation"].by_graph.values()))),
            ]
            for (title, by), rejected in zip(found.items(), _reject(found), strict=True)
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
                notes.append(
                    f"|t| between 1 and 3 on seeds 0 to 4, so seeds 5 to 14 are asked for: {shown}. The command is the"
                    " table's with `--seeds 5-14`, `--data` and `--model` for each, and `--model 'no constraint'`."
                )
            return notes
        return [
            f"{told} over graphs; p: a t-test over graphs on validation, Holm's rule over the seven families.",
            str(self.decide(lines, chosen)),
        ]

    def decide(self, lines: Sequence[Line], chosen: Selection = EVERYTHING) -> WorthVerdict:
        """What the rule says of these lines."""
        found = self.gains(lines, chosen)
        earning = {
            title: float(by["validation"].graphs.mean())
            for (title, by), rejected in zip(found.items(), _reject(found), strict=True)
            if rejected and by["validation"].graphs.mean() > 0
        }
        graphs = dict.fromkeys(data for row in self.rows for data in select_datasets(row, EVERYTHING))
        pairs = [len(by["validation"].by_graph.get(graph, ())) for by in found.values() for graph in graphs]
        present = sum(min(count, len(SEEDS)) for count in pairs)
        best = max(earning, key=lambda title: earning[title], default=next(iter(FAMILIES)))
        return WorthVerdict(best, tuple(earning), present, len(SEEDS) * len(pairs))

    def gains(self, lines: Sequence[Line], chosen: Selection) -> dict[str, dict[str, Gains]]:
        """By family and by validation or test; only graphs that have pairs."""
        return {
            title: {name: self._gains_of(title, name, lines, chosen) for name in self.metrics}
            for title in list(FAMILIES)[1:]
        }

    def _gains_of(self, title: str, name: str, lines: Sequence[Line], chosen: Selection) -> Gains:
        first = next(iter(FAMILIES))
        by_graph = {}
        for row in (row for row in self.rows if row.title == title):
            reference = next(other for other in self.rows if other.title == first and other.data == row.data)
            for data in select_datasets(row, chosen):
                base = _values(reference, data, self.metrics[name], lines, chosen)
                own = _values(row, data, self.metrics[name], lines, chosen)
                if both := sorted(base.keys() & own.keys()):
                    by_graph[data] = tuple(100 * (own[pair] - base[pair]) for pair in both)
        return Gains(by_graph)

    def _gain_of(self, by: Mapping[str, Gains], graph: str) -> list[str]:
        values = [by[name].by_graph[graph] for name in self.metrics]
        return [*map(format_gain, values), str(len(values[0]))]


def _values(row: Row, data: str, metric: str, lines: Sequence[Line], chosen: Selection) -> dict[tuple[int, str], float]:
    """The value of each seed and commit that has a run, further seeds than the row's own included."""
    every = Row(row.title, row.method, row.data, row.protocol, row.options)
    found = find_row_lines(KIND, every, data, lines, chosen)
    return {(line.cell.seed, line.get("commit", "")): line[metric] for line in found if line.get(metric) is not None}


def find_undecided(section: WorthSection, lines: Sequence[Line]) -> list[tuple[str, str]]:
    """Families and graphs whose |t| over seeds 0 to 4 on validation lies between 1 and 3: ten more seeds decide."""
    found = []
    for title, by in section.gains(lines, Selection(seeds=SEEDS)).items():
        for graph, values in by["validation"].by_graph.items():
            spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
            if spread > 0 and 1 <= abs(np.mean(values)) / (spread / math.sqrt(len(values))) <= 3:
                found.append((title, graph))
    return found
