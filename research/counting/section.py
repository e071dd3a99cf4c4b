"""The table of counting: errors by level and pattern, beside the published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from research.counting.counts import CYCLES, LEVELS
from research.counting.trial import GROUPS
from research.experiments.cell import Cell
from research.experiments.lines import Line, compute_mean_and_spread, select_row_lines
from research.experiments.table import NOTHING, Selection

ROWS = {
    "rooted bases, ends deleted": ("deleted", 10),
    "rooted bases, no constraint": ("none", 10),
    "start signals alone, no basis": ("no-basis", 10),
    "GIN": ("gin", 200),
    "subgraph network": ("subgraph", 200),
}
"""Name of the model and epochs."""
SEEDS = (0, 1, 2)
GRAPHS = "random-regular"
CHORDAL = ("chordal 4-cycle", "chordal 5-cycle")
PUBLISHED: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "message passing, published": {
        "graph": (0.3584, 0.2079, 0.1876, 0.1457, 0.2609, 0.2047),
        "node": (0.5996, 0.4134, 0.3003, 0.2073, 0.3177, 0.2368),
        "edge": (1.0981, 0.7736, 0.5115, 0.3520, 0.6032, 0.5038),
    },
    "subgraph GNN, published": {
        "graph": (0.0103, 0.0205, 0.0245, 0.0458, 0.0073, 0.0269),
        "node": (0.0031, 0.0049, 0.0920, 0.0823, 0.0503, 0.0731),
        "edge": (0.0010, 0.0026, 0.0897, 0.0957, 0.0382, 0.0651),
    },
    "local 2-GNN, published": {
        "graph": (0.0089, 0.0113, 0.0169, 0.0343, 0.0073, 0.0161),
        "node": (0.0023, 0.0052, 0.0103, 0.0235, 0.0039, 0.0149),
        "edge": (0.0012, 0.0047, 0.0096, 0.0192, 0.0045, 0.0143),
    },
    "local 2-FGNN, published": {
        "graph": (0.0031, 0.0041, 0.0102, 0.0196, 0.0027, 0.0100),
        "node": (0.0042, 0.0059, 0.0122, 0.0205, 0.0042, 0.0138),
        "edge": (0.0027, 0.0062, 0.0118, 0.0216, 0.0051, 0.0121),
    },
}
"""Zhang et al., "Beyond Weisfeiler-Lehman" (ICLR 2024): means of the logs of four seeds in subgraph23/
homomorphism-expressivity, of 3- to 6-cycles and of chordal 4- and 5-cycles."""


Rows = Mapping[str, Sequence[Line]]
"""Lines by the title of their row."""


def keep_shared_seeds(rows: Rows) -> Rows:
    """The lines of the seeds that all rows have: errors of two seeds may differ by a factor of a hundred."""
    seeds = [{line.cell.seed for line in row} for row in rows.values()]
    shared = set.intersection(*seeds) if seeds else set()
    if not shared:
        return rows
    return {title: [line for line in row if line.cell.seed in shared] for title, row in rows.items()}


@dataclass(frozen=True)
class CountingSection:
    """`group`: a name of `trial.GROUPS`."""

    title: str
    group: str

    @property
    def patterns(self) -> tuple[str, ...]:
        return GROUPS[self.group]

    def cells(self, chosen: Selection) -> list[Cell]:
        if chosen.data is not None and GRAPHS not in chosen.data:
            return []
        seeds = SEEDS if chosen.seeds is None else chosen.seeds
        return [
            self._cell(model, epochs, seed)
            for seed in seeds
            for title, (model, epochs) in ROWS.items()
            if chosen.methods is None or {model, title} & set(chosen.methods)
        ]

    def _cell(self, model: str, epochs: int, seed: int = 0) -> Cell:
        return Cell("counting", GRAPHS, "", model, {"patterns": self.group, "epochs": epochs}, seed=seed)

    def header(self) -> list[str]:
        return ["level", "model", *self.patterns, "seeds", "prepare, s", "train, s", "MB", "parameters"]

    def body(self, lines: Sequence[Line], chosen: Selection) -> list[list[str]]:
        found = keep_shared_seeds(self._stored(lines, chosen))
        rows = []
        for level in LEVELS if found else ():
            rows += [[level, title, *self._errors(row, level), *_costs(row)] for title, row in found.items()]
            rows += [[level, *row] for row in self._published(level)]
        return rows

    def _stored(self, lines: Sequence[Line], chosen: Selection) -> Rows:
        ours = {cell.row for cell in self.cells(chosen)}
        cells = {title: self._cell(model, epochs) for title, (model, epochs) in ROWS.items()}
        found = {title: list(select_row_lines(lines, cell, chosen.seeds)) for title, cell in cells.items()}
        return {title: row for title, row in found.items() if row and row[0].cell.row in ours}

    def _errors(self, found: Sequence[Line], level: str) -> list[str]:
        return [format_errors([line["test"][level][name] for line in found]) for name in self.patterns]

    def _published(self, level: str) -> list[list[str]]:
        known = (*CYCLES, *CHORDAL)
        shown = [known.index(name) if name in known else None for name in self.patterns]
        return [
            [title, *(NOTHING if at is None else f"{values[level][at]:.4f}" for at in shown), "4", *[NOTHING] * 4]
            for title, values in PUBLISHED.items()
        ]

    def notes(self, lines: Sequence[Line], chosen: Selection) -> list[str]:
        stored = self._stored(lines, chosen)
        shown = keep_shared_seeds(stored)
        machines = sorted({str(line.get("machine", "unknown")) for row in shown.values() for line in row})
        further = {title: [line.cell.seed for line in row if line not in shown[title]] for title, row in stored.items()}
        notes = [
            "Test error, 1,500 / 1,000 / 2,500 graphs for training, validation, test: absolute errors summed over a"
            " graph, divided by the number of nodes (edges) of the pattern and by the standard deviation of a graph's"
            " count, averaged over graphs; mean ± standard deviation over seeds, each of other graphs and weights."
            f" Made on: {'; '.join(machines)}. Seconds are processor seconds on a CPU and wall seconds on a GPU, which"
            " several runs shared: upper bounds. Counts and bases are prepared on the CPU. Memory is the GPU's where"
            " there is one.",
            "Published: other graphs of the same recipe, one network for each pattern and level, 1,200 epochs; ours are"
            " one network for all patterns and levels of the table. The published edge error of the chordal 5-cycle is"
            " divided by 7, ours by its 6 edges.",
        ]
        if any(further.values()):
            named = "; ".join(f"{title}: {', '.join(map(str, seeds))}" for title, seeds in further.items() if seeds)
            notes.append(f"Each row of ours has the seeds that all of them have. Stored besides, by seed: {named}.")
        return notes


def format_errors(values: Sequence[float]) -> str:
    """Mean ± standard deviation, four digits behind the point, or two that count where the mean is below 0.001.

    >>> format_errors([0.0123, 0.0125]), format_errors([0.000123])
    ('0.0124 ± 0.0001', '1.2e-04')
    """
    mean, spread = compute_mean_and_spread(list(values))
    form = ".4f" if mean >= 0.001 else ".1e"
    return f"{mean:{form}}" + ("" if spread is None else f" ± {spread:{form}}")


def _costs(found: Sequence[Line]) -> list[str]:
    def mean(name: str) -> float:
        return compute_mean_and_spread([float(line[name]) for line in found])[0]

    return [
        str(len(found)),
        f"{mean('prepare_seconds'):.0f}",
        f"{mean('train_seconds'):.0f}",
        f"{mean('gpu_peak_mb' if 'gpu_peak_mb' in found[0].found else 'peak_mb'):,.0f}",
        f"{found[0]['parameters']:,}",
    ]
