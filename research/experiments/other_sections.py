"""Sections that are no accuracies: wall time, growth, sizes of datasets, the graphs of the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from research.experiments.accuracy_section import METRICS
from research.experiments.cell import Cell
from research.experiments.lines import Line, select_row_lines
from research.experiments.names import MARKING
from research.experiments.published import LINK_TIME, SIZES, WALLTIME
from research.experiments.table import (
    NOTHING,
    Row,
    Selection,
    find_row_lines,
    format_spread,
    make_row_cells,
    select_datasets,
)


@dataclass(frozen=True)
class WalltimeSection:
    """Accuracy and the time of an epoch, of some methods on shares of the training links."""

    title: str
    rows: tuple[Row, ...]
    timed: tuple[str, ...] = ("pubmed",)
    """Datasets whose epochs are timed, one seed, alone on the machine."""
    only_timed: tuple[Row, ...] = ()
    """Rows whose epochs are timed, and whose accuracy is not measured."""

    def cells(self, chosen: Selection) -> list[Cell]:
        return self.timing(chosen) + make_row_cells("accuracy", self.rows, chosen)

    def timing(self, chosen: Selection) -> list[Cell]:
        """The cells that measure time: to be run one at a time."""
        found = [(row, data) for row in self.rows for data in select_datasets(row, chosen) if data in self.timed]
        found += [(row, data) for row in self.only_timed for data in select_datasets(row, chosen)]
        return [row.cell("time", data, protocol=chosen.protocol) for row, data in found]

    def header(self) -> list[str]:
        return [
            "data",
            "method",
            "protocol",
            "share of the links",
            "pre-training, s",
            "epoch, s",
            "µs a link",
            "HR@100 or AUC",
            "published: pre-training, s",
            "published: epoch, s",
            "published: HR@100 or AUC",
            "parameters",
            "published: parameters, M",
            "seeds",
        ]

    def body(self, lines: Sequence[Line], chosen: Selection) -> list[list[str]]:
        rows = (*self.rows, *self.only_timed)
        found = [
            self._row(row, data, lines, chosen)
            for data in dict.fromkeys(data for row in rows for data in row.data)
            for row in rows
            if data in select_datasets(row, chosen)
        ]
        return [row for row in found if any(cell not in (NOTHING, "0") for cell in row[4:])]

    def _row(self, row: Row, data: str, lines: Sequence[Line], chosen: Selection) -> list[str]:
        share = row.options.get("fraction", row.options.get("kept", 1.0))
        runs = find_row_lines("accuracy", row, data, lines, chosen)
        timed = list(select_row_lines(lines, row.cell("time", data, protocol=chosen.protocol)))
        clock = [NOTHING] * 3
        if timed:
            one = timed[0]
            before = max(0.0, one["before_seconds"] - one["epoch_seconds"])
            clock = [f"{before:.1f}", f"{one['epoch_seconds']:.2f}", f"{one['microseconds_a_link']:.0f}"]
        protocol = chosen.protocol or row.protocol
        # a row with other messages or negatives is none of the paper's
        own = not {"kept", "near"} & set(row.options)
        known = WALLTIME.get(data, {}).get((row.method, share)) if own else None
        published = [NOTHING] * 4
        if known is not None:
            under = "" if row.published_under == protocol else f" ({row.published_under})"
            numbers = [NOTHING if x is None else f"{x:g}" for x in (known.before, known.epoch, known.parameters)]
            published = [*numbers[:2], f"{known.accuracy:.2f}{under}", numbers[2]]
        parameters = next((f"{line['parameters']:,}" for line in [*runs, *timed]), NOTHING)
        begin = [data, row.title, protocol, f"{100 * share:g} %"]
        accuracy = format_spread(runs, METRICS.get(data, "hits@100"))
        return [*begin, *clock, accuracy, *published[:3], parameters, published[3], str(len(runs))]

    def notes(self, lines: Sequence[Line], chosen: Selection) -> list[str]:
        rows = (*self.rows, *self.only_timed)
        timed = [line for row in rows for data in row.data for line in select_row_lines(lines, row.cell("time", data))]
        machines = sorted({str(line["machine"]) for line in timed})
        notes = [
            (
                "Epoch: training on the links and as many negatives, then scoring validation links; pre-training: all"
                " that comes before the first epoch, and what only the first one does, as compiling. µs a link: an"
                " epoch over links and negatives."
            ),
            (
                "A share of the links is what is trained on; all training links carry messages, but where messages are"
                " thinned too. Negatives of `vessel-sample` are near in space, as ogbl-vessel's."
            ),
            "Published seconds are of a GeForce GT 1030: they compare with each other, not with ours.",
        ]
        return notes + ([f"Times of: {'; '.join(machines)}."] if machines else [])


@dataclass(frozen=True)
class LinkTimeSection:
    """The time a link of training and of inference, beside the orders that the paper states."""

    title: str
    rows: tuple[Row, ...]

    def cells(self, chosen: Selection) -> list[Cell]:
        return [
            row.cell("time", data, protocol=chosen.protocol)
            for row in self.rows
            for data in select_datasets(row, chosen)
        ]

    def header(self) -> list[str]:
        return ["data", "method", "pre-training, s", "training, µs a link", "inference, µs a link", "stated: a link"]

    def body(self, lines: Sequence[Line], chosen: Selection) -> list[list[str]]:
        found = []
        for data in dict.fromkeys(data for row in self.rows for data in row.data):
            for row in self.rows:
                if data in select_datasets(row, chosen):
                    timed = list(select_row_lines(lines, row.cell("time", data, protocol=chosen.protocol)))
                    found.append([data, row.title, *_link_times(timed), LINK_TIME.get(row.method, NOTHING)])
        return found

    def notes(self, lines: Sequence[Line], chosen: Selection) -> list[str]:
        timed = [
            line for row in self.rows for data in row.data for line in select_row_lines(lines, row.cell("time", data))
        ]
        machines = sorted({str(line["machine"]) for line in timed})
        notes = [
            "Protocol `paper`, all training links, one seed. Training: the second epoch over its links and negatives,"
            " with the scoring of validation links. Inference: all test links and negatives in one call, divided by"
            " their number, so what is computed once for the graph is shared among them."
        ]
        return notes + ([f"Times of: {'; '.join(machines)}."] if machines else [])


def _link_times(timed: Sequence[Line]) -> list[str]:
    if not timed:
        return [NOTHING] * 3
    one = timed[0]
    inference = one.get("inference_microseconds")
    return [
        f"{max(0.0, one['before_seconds'] - one['epoch_seconds']):.1f}",
        f"{one['microseconds_a_link']:.0f}",
        NOTHING if inference is None else f"{inference:.0f}",
    ]


@dataclass(frozen=True)
class CostSection:
    """Time and memory of whole fits, one after the other on one machine."""

    title: str
    rows: tuple[Row, ...]

    def cells(self, chosen: Selection) -> list[Cell]:
        return [row.cell("cost", data, protocol=chosen.protocol) for row, data in self._asked(chosen)]

    def _asked(self, chosen: Selection) -> list[tuple[Row, str]]:
        order = dict.fromkeys(data for row in self.rows for data in row.data)
        return [(row, data) for data in order for row in self.rows if data in select_datasets(row, chosen)]

    def header(self) -> list[str]:
        return [
            "data",
            "method",
            "fit, s",
            "epochs",
            "epoch, s",
            "all epochs, s",
            "MB",
            "MB, GPU",
            "HR@100",
            "parameters",
        ]

    def body(self, lines: Sequence[Line], chosen: Selection) -> list[list[str]]:
        found = []
        for row, data in self._asked(chosen):
            for line in find_row_lines("cost", row, data, lines, chosen)[:1]:
                found.append([data, row.title, *_cost(line)])
        return found

    def notes(self, lines: Sequence[Line], chosen: Selection) -> list[str]:
        found = [
            line for row, data in self._asked(chosen) for line in find_row_lines("cost", row, data, lines, chosen)[:1]
        ]
        machines = sorted({str(line["machine"]) for line in found})
        notes = [
            "Fit: features, bases or sketches, training, validation after each epoch, test; without the start of"
            " Python. A fit in brackets began no epoch after the time that it was given: all epochs, of the method's"
            " recipe, are then reckoned from its own epochs. HR@100 of a fit that was cut short says nothing about the"
            " method."
        ]
        return notes + ([f"Made on: {'; '.join(machines)}."] if machines else [])


def _cost(line: Line) -> list[str]:
    cut = "stopped_after" in line.found
    epoch, epochs, seconds = line.get("epoch_seconds"), line["epochs"], line["seconds"]
    whole = NOTHING
    if cut and epoch is not None:
        whole = f"{seconds + epoch * max(0, line.get('most_epochs', epochs) - epochs):.0f}, at most"
    shown = f"({seconds:.0f})" if cut else f"{seconds:.1f}"
    memory = [NOTHING if line.get(name) is None else f"{line[name]:,}" for name in ("peak_mb", "gpu_peak_mb")]
    begin = [shown, str(epochs), NOTHING if epoch is None else f"{epoch:.2f}", whole]
    return [*begin, *memory, NOTHING if cut else f"{100 * line['hits@100']:.2f}", f"{line['parameters']:,}"]


@dataclass(frozen=True)
class EnergySection:
    """How much of the network's input lies in the span of a basis."""

    title: str
    rows: tuple[Row, ...]

    def cells(self, chosen: Selection) -> list[Cell]:
        return [
            row.cell("energy", data, protocol=chosen.protocol)
            for row in self.rows
            for data in select_datasets(row, chosen)
        ]

    def header(self) -> list[str]:
        return ["data", "basis", "share of the input's energy in it"]

    def body(self, lines: Sequence[Line], chosen: Selection) -> list[list[str]]:
        found = []
        for data in dict.fromkeys(data for row in self.rows for data in row.data):
            for row in self.rows:
                if data in select_datasets(row, chosen):
                    runs = list(select_row_lines(lines, row.cell("energy", data, protocol=chosen.protocol)))
                    found.append([data, row.title, f"{format_spread(runs, 'share', digits=1)} %" if runs else NOTHING])
        return found

    def notes(self, lines: Sequence[Line], chosen: Selection) -> list[str]:
        return [
            "‖VᵀX‖² / ‖X‖² of the labels and degrees, mean over 1,000 training links and 1,000 negatives of `paper`,"
            " seed 0. Without a skip, what lies outside is lost."
        ]


@dataclass(frozen=True)
class GrowthSection:
    """Measured exponents of the time for a basis, beside the orders that the paper states."""

    title: str
    cell: Cell
    stated: Mapping[str, str]
    column: str = "stated: O(κE + k²n + k³)"

    def cells(self, chosen: Selection) -> list[Cell]:
        return [self.cell]

    def header(self) -> list[str]:
        return ["quantity", "measured exponent", self.column]

    def body(self, lines: Sequence[Line], chosen: Selection) -> list[list[str]]:
        found = next(select_row_lines(lines, self.cell), None)
        shown = {} if found is None else found["exponents"]
        return [
            [name, f"{shown[name]:.2f}" if name in shown else NOTHING, words] for name, words in self.stated.items()
        ]

    def notes(self, lines: Sequence[Line], chosen: Selection) -> list[str]:
        found = next(select_row_lines(lines, self.cell), None)
        if found is None:
            return []
        if "model_error" not in found.found:
            return [f"{found['machine']}."]
        return [
            f"The model κE + κ(κ+k)n + k²n + k³ fits the times to {100 * found['model_error']:.0f} % in the median; its"
            f" second term, which the paper leaves out, is projection and reorthogonalisation. {found['machine']}."
        ]


@dataclass(frozen=True)
class SizesSection:
    """The datasets of the appendix, and replacements for those that are not available."""

    title: str
    data: tuple[str, ...]

    def cells(self, chosen: Selection) -> list[Cell]:
        return [Cell("sizes", data) for data in self.data if chosen.data is None or data in chosen.data]

    def header(self) -> list[str]:
        return ["data", "", "nodes", "links", "2m/n", "1-hop nodes", "2-hop nodes"]

    def body(self, lines: Sequence[Line], chosen: Selection) -> list[list[str]]:
        found = []
        for cell in self.cells(chosen):
            line = next(select_row_lines(lines, cell), None)
            measured = [NOTHING] * 5 if line is None else _sizes(line.found)
            if line is None and cell.data.startswith("ogbl-"):
                measured[0] = "data not at hand"
            found.append([cell.data, "measured", *measured])
            if cell.data in SIZES:
                found.append([cell.data, "published", *_sizes(SIZES[cell.data])])
        return found

    def notes(self, lines: Sequence[Line], chosen: Selection) -> list[str]:
        return [
            "1-hop and 2-hop nodes: of a link's enclosing subgraph in the whole graph, mean ± standard deviation. The"
            " published second row of degrees is the square of the first."
        ]


def _sizes(found: Mapping[str, object]) -> list[str]:
    def pair(name: str) -> str:
        both = found[name]
        assert isinstance(both, list | tuple)
        return f"{both[0]:.0f} ± {both[1]:.0f}"

    return [f"{found['nodes']:,}", f"{found['edges']:,}", f"{found['degree']:.2f}", pair("one_hop"), pair("two_hop")]


@dataclass(frozen=True)
class FiguresSection:
    """Which of the figures' graphs, and of C₆'s pairs, are told apart by what."""

    title: str
    cell: Cell

    def cells(self, chosen: Selection) -> list[Cell]:
        return [self.cell]

    def header(self) -> list[str]:
        return ["asked", "by", "answer"]

    def body(self, lines: Sequence[Line], chosen: Selection) -> list[list[str]]:
        found = next(select_row_lines(lines, self.cell), None)
        if found is None:
            return [["all", "", "not run yet"]]
        return [[str(part) for part in verdict] for verdict in found["verdicts"]]

    def notes(self, lines: Sequence[Line], chosen: Selection) -> list[str]:
        if self.cell.data == MARKING:
            return ["Exact: multisets of 1-WL classes over all copies with so many perturbed vertices."]
        return ["Exact, by fingerprints that differ by more than 1e-8: `research/notes/2026-11-19-expressivity.md`."]
