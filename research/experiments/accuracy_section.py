"""A section of accuracies: one row a method and dataset, ours beside the published number, the protocol of each,
negatives and rate, seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from research.experiments.cell import Cell
from research.experiments.lines import Line
from research.experiments.table import (
    NOTHING,
    Row,
    Selection,
    find_row_lines,
    format_parameters,
    format_spread,
    make_row_cells,
    select_datasets,
)

METRICS = {
    "ogbl-collab": "hits@50",
    "coauthor-cs": "hits@50",
    "coauthor-like": "hits@50",
    "ogbl-vessel": "auc",
    "vessel-sample": "auc",
    "ogbl-ddi": "hits@20",
}
"""The metric of a dataset; HR@100 for datasets that are not listed."""


@dataclass(frozen=True)
class AccuracySection:
    """`metric`: one for all datasets; "" for each dataset's own. `absent`: datasets that are not available here, and
    why.
    """

    title: str
    rows: tuple[Row, ...]
    metric: str = ""
    absent: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, str] = field(default_factory=dict)
    """Further columns: their titles, and the numbers of a line that they show, in percent."""

    def cells(self, chosen: Selection) -> list[Cell]:
        return make_row_cells("accuracy", self.rows, chosen)

    def header(self) -> list[str]:
        return [
            "data",
            "method",
            "protocol",
            "metric",
            "ours",
            "published",
            "negatives, FPR",
            "AUC",
            *self.more,
            "parameters",
            "seeds",
        ]

    def body(self, lines: Sequence[Line], chosen: Selection) -> list[list[str]]:
        """Rows by dataset; a row with neither a run nor a published number of its own protocol is left out."""
        return [
            self._row(row, data, lines, chosen)
            for row, data in self._asked(chosen)
            if self._says(row, data, lines, chosen)
        ]

    def _asked(self, chosen: Selection) -> list[tuple[Row, str]]:
        order = dict.fromkeys(data for row in self.rows for data in row.data)
        return [(row, data) for data in order for row in self.rows if data in select_datasets(row, chosen)]

    def _says(self, row: Row, data: str, lines: Sequence[Line], chosen: Selection) -> bool:
        published = data.removesuffix("-planetoid") in row.published
        known = published and row.published_under == (chosen.protocol or row.protocol)
        return known or bool(find_row_lines("accuracy", row, data, lines, chosen))

    def _row(self, row: Row, data: str, lines: Sequence[Line], chosen: Selection) -> list[str]:
        found = find_row_lines("accuracy", row, data, lines, chosen)
        metric = self.metric or METRICS.get(data, "hits@100")
        protocol = chosen.protocol or row.protocol
        published = row.published.get(data.removesuffix("-planetoid"))
        known = NOTHING if published is None else f"{published:g}" if self.metric == "auc" else f"{published:.2f}"
        if published is not None and row.published_under != protocol:
            known += f" ({row.published_under})"
        begin = [data, row.title, protocol, metric.replace("hits", "HR").replace("auc", "AUC").replace("mrr", "MRR")]
        if not found:
            why = "data not at hand" if data in self.absent else NOTHING
            return [*begin, why, known, *[NOTHING] * (len(self.header()) - 6)]
        first = found[0]
        rate = first.get(f"{metric}_fpr")
        negatives = f"{first['num_negatives']}" + ("" if rate is None else f", {100 * rate:.1f} %")
        beside = [format_spread(found, name) for name in ("auc", *self.more.values())]
        return [
            *begin,
            format_spread(found, metric),
            known,
            negatives,
            *beside,
            format_parameters(found),
            str(len(found)),
        ]

    def notes(self, lines: Sequence[Line], chosen: Selection) -> list[str]:
        found = [
            line
            for row in self.rows
            for data in select_datasets(row, chosen)
            for line in find_row_lines("accuracy", row, data, lines, chosen)
        ]
        machines = sorted({str(line.get("machine", "unknown")) for line in found})
        notes = [
            "Percent, mean ± standard deviation over seeds, each a new split; a published number followed by a protocol"
            " in brackets was measured under that protocol, not ours."
        ]
        if machines:
            notes.append(f"Made on: {'; '.join(machines)}.")
        stopped = [line for line in found if "stopped_after" in line.found]
        if stopped:
            limits = " or ".join(f"{limit:g}" for limit in sorted({line["stopped_after"] for line in stopped}))
            rows = ", ".join(sorted({f"{line.cell.method} on {line.cell.data}" for line in stopped}))
            notes.append(
                f"Fits that began no epoch after {limits} seconds, so may not have been trained to their end: {rows}."
            )
        silent = sum(not self._says(row, data, lines, chosen) for row, data in self._asked(chosen))
        if silent:
            notes.append(f"{silent} further rows have no run yet: the command without --show makes them.")
        asked = chosen.data is None
        return notes + [f"{data}: {why}" for data, why in self.absent.items() if asked or data in (chosen.data or ())]
