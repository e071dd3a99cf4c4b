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
