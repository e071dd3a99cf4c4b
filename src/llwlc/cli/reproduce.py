"""`llwlc reproduce`: a table of the paper, from stored runs and those that are still missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llwlc.cli.console import say
from llwlc.cli.options import parse_seeds
from llwlc.errors import InputError

if TYPE_CHECKING:
    from llwlc.experiments.cell import Cell

NAMES = ("results", "neumann", "constraints", "walltime", "complexity", "datasets", "figures", "chain", "accuracy", "ladder", "leads", "opponents")  # fmt: skip
"""The keys of `experiments.tables.TABLES`, which is not imported before it is needed; a test compares."""
TIMED = ("time", "growth", "cost")
"""Kinds of cells that measure time: they run one at a time, before all others."""
COMMITTED = Path("docs/results/paper.jsonl")


def reproduce(
    table: Annotated[str, typer.Argument(metavar="TABLE", help=f"One of {', '.join(NAMES)}.")],
    data: Annotated[list[str] | None, typer.Option(help="Only this dataset; may be repeated.")] = None,
    method: Annotated[list[str] | None, typer.Option(help="Only this method or row; may be repeated.")] = None,
    protocol: Annotated[str | None, typer.Option(help="A protocol to use instead of the table's.")] = None,
    seeds: Annotated[
        str | None,
        typer.Option(help="Number of seeds, from 0, as in 5, or a range, as in 30-34; default: the table's."),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    processes: Annotated[
        int, typer.Option(min=1, max=256, help="Cells of the table computed at a time, one thread each.")
    ] = 1,
    seconds: Annotated[
        float | None, typer.Option(help="Seconds after which the fit of an opponent begins no further epoch.")
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="Minutes after which no further cell is begun.")] = None,
    results: Annotated[
        Path | None,
        typer.Option(help=f"File of the runs, a line each; default: {COMMITTED} where it is, else paper.jsonl here."),
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Print what is stored and run nothing.")] = False,
    form: Annotated[str, typer.Option("--format", help="text, markdown or latex.")] = "text",
    plot: Annotated[Path | None, typer.Option(help="Picture of the accuracies, PNG or PDF.")] = None,
) -> None:
    """Prints a table of the paper, our numbers beside the published ones.

    Stored runs are not repeated; an interrupted command continues when it is run again.

    Examples:

    `llwlc reproduce neumann --show`

    `llwlc reproduce results --data cora --method gcn --seeds 5 --device cuda --processes 4`

    `llwlc reproduce chain --seeds 30-32 --results mine.jsonl --format latex`
    """
    if table not in NAMES:
        raise InputError(f"no table is called {table!r}; there are {', '.join(NAMES)}")
    from llwlc.experiments.lines import read_lines
    from llwlc.experiments.rendering import FORMATS, PICTURES, render
    from llwlc.experiments.rendering import plot as draw
    from llwlc.experiments.table import Selection
    from llwlc.experiments.tables import TABLES

    if form not in FORMATS:
        raise InputError(f"--format is {', '.join(FORMATS)}, got {form!r}")
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise InputError(f"--plot ends in {', '.join(PICTURES)}, got {plot}")
    file = results or (COMMITTED if COMMITTED.exists() else Path("paper.jsonl"))
    if show and not file.exists():
        raise InputError(
            f"{file} does not exist, so there is nothing to show: call this in a checkout of the repository, which has {COMMITTED}, name a file with --results, or leave out --show to make the runs"
        )
    chosen = Selection(
        None if data is None else tuple(data),
        None if method is None else tuple(method),
        protocol,
        None if seeds is None else parse_seeds(seeds),
    )
    sections, lines = TABLES[table], read_lines(file)
    if not show:
        done = {line.cell.key for line in lines}
        cells = [cell for section in sections for cell in section.cells(chosen) if cell.key not in done]
        run_missing(list({cell.key: cell for cell in cells}.values()), file, device, processes, seconds, minutes)
        lines = read_lines(file)
    typer.echo(render(sections, lines, chosen, form))
    if plot is not None:
        draw(sections, lines, chosen, plot)
        say(f"written to {plot}")


def run_missing(
    cells: list[Cell], file: Path, device: str, processes: int, seconds: float | None, minutes: float | None
) -> None:
    """Runs the cells whose data is available; those that measure time run first, one at a time."""
    from llwlc.experiments.at_hand import runnable
    from llwlc.experiments.process import run_cells
    from llwlc.support.devices import pick_device

    ready, left = runnable(cells)
    for reason in left:
        say(reason)
    if not ready:
        return
    where, total = str(pick_device(device)), len(ready)
    say(f"{total} cells to run, {processes} at a time, on {where}; lines go to {file}")
    count = 0

    def report(cell: Cell, line: dict[str, Any] | None, why: str) -> None:
        nonlocal count
        count += 1
        if line is None:
            say(f"[{count}/{total}] {cell}: failed, {why}")
            return
        measured = [f"{name} {100 * line[name]:.2f}" for name in ("hits@100", "auc") if name in line]
        measured.append(f"{line['wall']:.0f} s")
        say(f"[{count}/{total}] {cell}: {', '.join(measured)}")

    alone = [cell for cell in ready if cell.kind in TIMED]
    beside = [cell for cell in ready if cell.kind not in TIMED]
    missing = 0
    for part, at_once in ((alone, 1), (beside, processes)):
        missing += run_cells(
            part, file, device=where, processes=at_once, seconds=seconds, minutes=minutes, report=report
        )
    if missing:
        say(f"{missing} of {total} cells have no line yet: the same command goes on with them")
