"""Tables that more than one command shows or writes."""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from llwlc._cli.console import OUT, print_status, print_table, print_text
from llwlc._support.stopwatch import stage
from llwlc._support.text import escape_controls
from llwlc.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from llwlc._predictor import LinkPredictor
    from llwlc.ranking._list_quality import RankingReport
    from llwlc.ranking._recommendations import Recommendations


def show_result(model: LinkPredictor, *, after_trust: bool = False) -> None:
    """Prints what a run measured, beside the heuristics; `after_trust`: without the sentences that `show_trust` has."""
    from llwlc._runs.model_card import first_sentence, result_columns, result_notes, result_rows

    if not after_trust and (first := first_sentence(model.fitted_)):
        OUT.print(first, markup=False, highlight=False)

    table = Table(pad_edge=False)  # with the longest numbers it is 79 wide; a terminal has 80
    for name in result_columns(model.run_.split):
        table.add_column(name, no_wrap=True, justify="left" if name == "method" else "right")
    print_table(table, result_rows(model.fitted_, model.run_.split))
    OUT.print(result_notes(model.fitted_, model.run_.split), markup=False, highlight=False)
    if not after_trust and model.metrics_.direction is not None:
        OUT.print(model.metrics_.direction.sentence, markup=False, highlight=False)


def show_trust(model: LinkPredictor) -> None:
    """Prints how far to trust the list of a run, in sentences; for a directed run, the directions too."""
    from llwlc._runs.plain_summary import describe_trust

    OUT.print(f"How far to trust this: {describe_trust(model.fitted_)}", markup=False, highlight=False)
    if model.metrics_.direction is not None:
        OUT.print(model.metrics_.direction.sentence, markup=False, highlight=False)


def show_ranking(report: RankingReport) -> None:
    """Prints how well the list of each method finds hidden links, in percent."""
    from llwlc._runs.model_card import RANKING_COLUMNS, ranking_notes, ranking_rows

    table = Table(pad_edge=False, collapse_padding=True)  # as narrow as a terminal of 80 columns
    for name in RANKING_COLUMNS:
        table.add_column(name, no_wrap=True, justify="left" if name == "method" else "right")
    print_table(table, [list(row) for row in ranking_rows(report)])
    OUT.print(ranking_notes(report), markup=False, highlight=False)


def show_links(recommendations: Recommendations, title: str) -> None:
    """Prints recommended links as a table."""
    print_text(title)
    rows = []
    for r in recommendations:
        far = "> 5" if r.distance is None else str(r.distance)
        spread = f"{r.probability_low:.3f}–{r.probability_high:.3f}"
        last = far if r.direction is None else f"{r.direction:.3f}"
        rows.append([r.source, r.target, f"{r.probability:.3f}", spread, str(r.common_neighbors), last])
    table = Table("source", "target", show_edge=False, pad_edge=False)
    last = "direction" if recommendations.directed else "distance"  # a terminal has no place for both
    for name, width in (("probability", 11), ("90 % range", 11), ("common neighbours", 10), (last, 9)):
        table.add_column(name, min_width=width)  # where space is short, names of nodes are wrapped, not numbers
    print_table(table, rows)


NO_CANDIDATES = (
    "There are no candidates for missing links: no two nodes without a link stand out as near each other or as having"
    " like features (in a bipartite graph only pairs across its two sides count). llwlc score answers for any pair that"
    " you name."
)


def describe_expected_links(recommendations: Recommendations) -> str:
    """How many links of the list to expect to be missing ones, in a sentence or two."""
    if not recommendations.candidates:
        return NO_CANDIDATES
    share, low, high = recommendations.expected
    count = len(recommendations)
    if recommendations.links_per_new_node is not None:
        condition = recommendations.condition
        return (
            f"{count:,} links of {recommendations.candidates:,} pairs of new nodes."
            f" {condition[0].upper()}{condition[1:]} (others have {recommendations.links_per_new_node:.1f} links on"
            f" average; --prior states another share), expect {share * count:.1f} of these {count:,} to be links"
            f" ({low * count:.0f} to {high * count:.0f} in nine cases of ten)."
        )
    if recommendations.calibrated_on is not None:
        return (
            f"{count:,} links of {recommendations.candidates:,} candidates, best first. Probabilities were"
            f" calibrated on lists of"
            f" {recommendations.calibrated_on:,} candidates per node, since the graph is large, and say little of this"
            f" longer list."
        )
    text = (
        f"{count:,} links of {recommendations.candidates:,} candidates. If {100 * recommendations.missing_share:.3g} %"
        f" of all links are missing ({_source_of_share(recommendations)}), expect {share * count:.0f} of these"
        f" {count:,} to be missing links ({low * count:.0f} to {high * count:.0f} in nine cases of ten)."
    )
    if recommendations.sources is not None:
        text += (
            f" Only the lists of {recommendations.sources:,} nodes, drawn at random, were used here; llwlc recommend"
            " uses all."
        )
    return text


def _source_of_share(recommendations: Recommendations) -> str:
    if recommendations.share_assumed:
        return "an assumption, which sets these numbers: state yours with --missing-share"
    return "as stated"


FORMATS = ("csv", "tsv", "parquet", "jsonl")


@dataclass(frozen=True)
class TableOutput:
    """Where a table goes, and in which format; `spreadsheet_safe`: no cell can act as a formula in a spreadsheet."""

    out: Path | None
    format: str
    spreadsheet_safe: bool = False

    @classmethod
    def of(cls, out: Path | None, format: str | None, *, spreadsheet_safe: bool = False) -> TableOutput:
        """The delivery that the options describe; a place that cannot be written is refused before any work is done."""
        from llwlc._io.table_writing import check_writable, infer_format

        if format is not None and format not in FORMATS:
            raise InputError(f"--format must be one of {', '.join(FORMATS)}, got {format!r}")
        if out is None or str(out) == "-":
            if format == "parquet" and sys.stdout.isatty():
                raise InputError("Parquet cannot be printed: name a file with -o, or choose another --format")
            return cls(None, format or "csv", spreadsheet_safe)
        check_writable(out, format)
        return cls(out, format or infer_format(out), spreadsheet_safe)

    @property
    def text(self) -> bool:
        """Whether cells are written as text, so that those of a text file stay as they are."""
        return self.format in ("csv", "tsv")

    @stage("writing")
    def write_out(self, table: pa.Table) -> None:
        """Writes the table, or prints it."""
        from llwlc._io.spreadsheet import escape_formulas
        from llwlc._io.table_writing import serialize_table, write_table

        table = escape_formulas(table) if self.spreadsheet_safe else table
        if self.out is not None:
            write_table(self.out, table, self.format)
            print_status(f"written to {self.out}")
        elif sys.stdout.isatty() and self.format in (
            "csv",
            "tsv",
        ):  # a terminal would obey control characters, so they are made visible
            rows = csv.writer(sys.stdout, delimiter="\t" if self.format == "tsv" else ",", lineterminator="\n")
            rows.writerow(map(escape_controls, table.column_names))
            for row in table.to_pylist():
                rows.writerow([escape_controls(cell) if isinstance(cell, str) else cell for cell in row.values()])
        else:
            data = serialize_table(table, self.format)
            sys.stdout.flush()
            if hasattr(sys.stdout, "buffer"):  # the same bytes as in a file, whatever the terminal's encoding is
                sys.stdout.buffer.write(data)
                sys.stdout.buffer.flush()
            else:
                sys.stdout.write(data.decode())
