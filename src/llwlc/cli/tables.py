"""Tables that more than one command shows or writes."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from llwlc.cli.console import OUT, print_table, print_text, say
from llwlc.support.text import visible

if TYPE_CHECKING:
    import pyarrow as pa

    from llwlc.predict.predictor import LinkPredictor
    from llwlc.predict.ranking import Recommendations
    from llwlc.training.list_quality import RankingReport


def show_result(model: LinkPredictor) -> None:
    """What a run measured, beside the scores that need no training."""
    from llwlc.predict.model_card import first_sentence, result_columns, result_notes, result_rows

    if first := first_sentence(model.model):
        OUT.print(first, markup=False, highlight=False)

    table = Table(pad_edge=False)  # with the longest numbers it is 79 wide; a terminal has 80
    for name in result_columns(model.run.split):
        table.add_column(name, no_wrap=True, justify="left" if name == "method" else "right")
    print_table(table, result_rows(model.model, model.run.split))
    OUT.print(result_notes(model.model, model.run.split), markup=False, highlight=False)


def show_ranking(report: RankingReport) -> None:
    """How well each method's list finds hidden links, in percent."""
    from llwlc.predict.model_card import RANKING_COLUMNS, ranking_notes, ranking_rows

    table = Table(pad_edge=False)
    for name in RANKING_COLUMNS:
        table.add_column(name, no_wrap=True, justify="left" if name == "method" else "right")
    print_table(table, [list(row) for row in ranking_rows(report)])
    OUT.print(ranking_notes(report), markup=False, highlight=False)


def show_links(found: Recommendations, title: str) -> None:
    """Recommended links on the screen."""
    print_text(title)
    rows = []
    for r in found:
        far = "> 5" if r.distance is None else str(r.distance)
        spread = f"{r.probability_low:.3f}–{r.probability_high:.3f}"
        rows.append([r.source, r.target, f"{r.probability:.3f}", spread, str(r.common_neighbors), far])
    print_table(Table("source", "target", "probability", "90 % range", "common neighbours", "distance"), rows)


def advice(found: Recommendations) -> str:
    """What the list is worth, in a sentence or two."""
    share, low, high = found.expected
    count = len(found)
    text = (
        f"{count:,} links of {found.candidates:,} candidates. If {100 * found.missing_share:.3g} % of all links are missing (--missing-share), expect {share * count:.0f} of these "
        f"{count:,} to be missing links ({low * count:.0f} to {high * count:.0f} in nine cases of ten)."
    )
    if found.sources is not None:
        text += f" Only the lists of {found.sources:,} nodes, drawn at random, were looked at here; llwlc recommend looks at all."
    if not found.calibrated:
        text += " This run was fitted before candidates were calibrated: its probabilities are those of random pairs, far too high here; fit again."
    return text


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
