"""Tables that more than one command shows or writes."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from llwlc.cli.console import OUT, print_table, print_text, say
from llwlc.support.text import visible

if TYPE_CHECKING:
    import pyarrow as pa

    from llwlc.predict.list_quality import RankingReport
    from llwlc.predict.predictor import LinkPredictor
    from llwlc.predict.ranking import Recommendation


def show_result(model: LinkPredictor) -> None:
    """What a run measured, beside the scores that need no training."""
    from llwlc.predict.model_card import COLUMNS, result_notes, result_rows

    table = Table(pad_edge=False)  # with the longest numbers it is 79 wide; a terminal has 80
    for name in COLUMNS:
        table.add_column(name, no_wrap=True, justify="left" if name == "method" else "right")
    print_table(table, result_rows(model.fitted))
    OUT.print(result_notes(model.fitted, model.run.split), markup=False, highlight=False)


def show_ranking(report: RankingReport, hidden: str) -> None:
    """How well each method's list finds hidden links, in percent."""
    tops = sorted({k for quality in report.methods.values() for k in quality.precision})
    table = Table(pad_edge=False)
    for name in ("method", *(f"P@{k}" for k in tops), "AP", "own MRR", "own P@10"):
        table.add_column(name, no_wrap=True, justify="left" if name == "method" else "right")
    rows = []
    for name, quality in report.methods.items():
        cells = [*quality.precision.values(), quality.average_precision, quality.node_mrr, quality.node_precision]
        rows.append([name, *(f"{100 * cell.value:.1f}" for cell in cells)])
    print_table(table, rows)
    ours = report.methods["llwlc"]
    largest = ", ".join(f"P@{k} {100 * m.error:.1f}" for k, m in ours.precision.items())
    random = report.chance * report.recall  # the AP of a list in random order
    lift = ours.average_precision.value / random if random else 0.0
    OUT.print(
        f"{report.hidden:,} hidden links ({hidden}), {100 * report.recall:.1f} % of them among {report.candidates:,} candidates; in percent; "
        f"a random list has P@K {100 * report.chance:.2f} and AP {100 * random:.2f}, which llwlc has {lift:.1f} times; own: of a node's own list; standard errors of llwlc: {largest}, "
        f"AP {100 * ours.average_precision.error:.1f}, own MRR {100 * ours.node_mrr.error:.1f}. A candidate that is not hidden "
        "may still be missing, so all numbers are lower bounds.",
        markup=False,
        highlight=False,
    )


def show_links(found: Sequence[Recommendation], title: str) -> None:
    """Recommended links on the screen."""
    print_text(title)
    rows = []
    for r in found:
        far = "> 5" if r.distance is None else str(r.distance)
        rows.append([r.source, r.target, f"{r.score:.3f}", f"{r.probability:.4f}", str(r.common_neighbors), far])
    print_table(Table("source", "target", "score", "probability", "common neighbours", "distance"), rows)


def deliver(table: pa.Table, out: Path | None, *, spreadsheet_safe: bool = False) -> None:
    """Writes a table to a file, or prints it as CSV; `spreadsheet_safe`: so that no spreadsheet computes what a cell says."""
    from llwlc.graph.spreadsheet import guarded
    from llwlc.graph.table_file import write_table

    table = guarded(table) if spreadsheet_safe else table
    if out is not None:
        write_table(out, table)
        say(f"written to {out}")
        return
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(table.column_names)
    shown = visible if sys.stdout.isatty() else str  # a terminal acts on what it reads, a file keeps it
    for row in table.to_pylist():
        rows.writerow([shown(cell) if isinstance(cell, str) else cell for cell in row.values()])
