"""Tables that more than one command shows or writes."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from llwlc.cli.console import OUT, say

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
    for row in result_rows(model.fitted):
        table.add_row(*row)
    OUT.print(table)
    OUT.print(result_notes(model.fitted, model.run.split), markup=False, highlight=False)


def show_ranking(report: RankingReport, hidden: str) -> None:
    """How well each method's list finds hidden links, in percent."""
    tops = sorted({k for quality in report.methods.values() for k in quality.precision})
    table = Table(pad_edge=False)
    for name in ("method", *(f"P@{k}" for k in tops), "AP", "own MRR", "own P@10"):
        table.add_column(name, no_wrap=True, justify="left" if name == "method" else "right")
    for name, quality in report.methods.items():
        cells = [*quality.precision.values(), quality.average_precision, quality.node_mrr, quality.node_precision]
        table.add_row(name, *(f"{100 * cell.value:.1f}" for cell in cells))
    OUT.print(table)
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
    OUT.print(title, markup=False, highlight=False)
    table = Table("source", "target", "score", "probability", "common neighbours", "distance")
    for r in found:
        far = "> 5" if r.distance is None else str(r.distance)
        table.add_row(r.source, r.target, f"{r.score:.3f}", f"{r.probability:.4f}", str(r.common_neighbors), far)
    OUT.print(table)


def deliver(table: pa.Table, out: Path | None) -> None:
    """Writes a table to a file, or prints it as CSV."""
    if out is not None:
        from llwlc.graph.table_file import write_table

        write_table(out, table)
        say(f"written to {out}")
        return
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(table.column_names)
    rows.writerows(row.values() for row in table.to_pylist())
