"""`python -m research reproduce`: a table of the paper, from stored runs and those that are still missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llwlc._cli.console import print_status
from llwlc._cli.options import PluginOption, load_plugins, parse_seeds
from llwlc.errors import InputError

if TYPE_CHECKING:
    from research.experiments.cell import Cell

NAMES = (
    "results",
    "neumann",
    "constraints",
    "walltime",
    "complexity",
    "datasets",
    "figures",
    "chain",
    "accuracy",
    "ladder",
    "leads",
    "worth",
    "counting",
    "transfer",
    "baselines",
)
"""The keys of `experiments.tables.TABLES`, which is not imported before it is needed; a test compares."""
TIMED = ("time", "growth", "cost")
"""Kinds of cells that measure time: they run one at a time, before all others."""
COMMITTED = Path("research/results/paper.jsonl")


def reproduce(
    table: Annotated[str, typer.Argument(metavar="TABLE", help=f"One of {', '.join(NAMES)}.")],
    data: Annotated[list[str] | None, typer.Option(help="Only this dataset; may be repeated.")] = None,
    model: Annotated[list[str] | None, typer.Option(help="Only this model or row; may be repeated.")] = None,
    section: Annotated[int | None, typer.Option(min=1, help="Only this section of the table, counted from 1.")] = None,
    kind: Annotated[
        str | None, typer.Option(help="Run only cells of this kind: accuracy, time or cost, as stored lines name it.")
    ] = None,
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
        float | None, typer.Option(help="Seconds after which the fit of a baseline begins no further epoch.")
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="Minutes after which no further cell is begun.")] = None,
    results: Annotated[
        Path | None,
        typer.Option(help=f"File of the runs, a line each; default: {COMMITTED} where it is, else paper.jsonl here."),
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Print what is stored and run nothing.")] = False,
    form: Annotated[str, typer.Option("--format", help="text, markdown or latex.")] = "text",
    plugin: PluginOption = None,
    plot: Annotated[Path | None, typer.Option(help="Picture of the accuracies, PNG or PDF.")] = None,
) -> None:
    """Prints a table of the paper, our numbers beside the published ones.

    Stored runs are not repeated; an interrupted command continues when it is run again.

    Examples:

    `python -m research reproduce neumann --show`

    `python -m research reproduce results --data cora --model gcn --seeds 5 --device cuda --processes 4`

    `python -m research reproduce baselines --data cora --plugin my_model.py --model degrees --seeds 3`

    `python -m research reproduce chain --seeds 30-32 --results mine.jsonl --format latex`
    """
    if table not in NAMES:
        raise InputError(f"no table is called {table!r}; there are {', '.join(NAMES)}")
    load_plugins(plugin)
    from research.experiments.lines import read_lines
    from research.experiments.rendering import FORMATS, PICTURES, render
    from research.experiments.rendering import plot as draw
    from research.experiments.table import Selection
    from research.experiments.tables import TABLES, with_own_models

    if form not in FORMATS:
        raise InputError(f"--format is {', '.join(FORMATS)}, got {form!r}")
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise InputError(f"--plot ends in {', '.join(PICTURES)}, got {plot}")
    file = results or (COMMITTED if COMMITTED.exists() else Path("paper.jsonl"))
    if show and not file.exists():
        raise InputError(
            f"{file} does not exist, so there is nothing to show: call this in a checkout of the repository, which has"
            f" {COMMITTED}, name a file with --results, or leave out --show to make the runs"
        )
    chosen = Selection(
        None if data is None else tuple(data),
        None if model is None else tuple(model),
        protocol,
        None if seeds is None else parse_seeds(seeds),
    )
    asked = TABLES[table] if section is None else TABLES[table][section - 1 : section]
    if not asked:
        raise InputError(f"--section is 1 to {len(TABLES[table])} for the table {table}, got {section}")
    sections, lines = with_own_models(asked), read_lines(file)
    if not show:
        done = {line.cell.key for line in lines}
        cells = [cell for part in sections for cell in part.cells(chosen) if cell.key not in done]
        cells = [cell for cell in cells if kind in (None, cell.kind)]
        run_missing(
            list({cell.key: cell for cell in cells}.values()), file, device, processes, seconds, minutes, plugin or ()
        )
        lines = read_lines(file)
    typer.echo(render(sections, lines, chosen, form))
    if plot is not None:
        draw(sections, lines, chosen, plot)
        print_status(f"written to {plot}")


def run_missing(
    cells: list[Cell],
    file: Path,
    device: str,
    processes: int,
    seconds: float | None,
    minutes: float | None,
    plugins: Sequence[Path] = (),
) -> None:
    """Runs the cells whose data is available; those that measure time run first, one at a time."""
    from llwlc._support.devices import pick_device
    from research.experiments.availability import select_runnable
    from research.experiments.process import run_cells

    ready, left = select_runnable(cells)
    for reason in left:
        print_status(reason)
    if not ready:
        return
    where, total = str(pick_device(device)), len(ready)
    print_status(f"{total} cells to run, {processes} at a time, on {where}; lines go to {file}")
    count = 0

    def report(cell: Cell, line: dict[str, Any] | None, why: str) -> None:
        nonlocal count
        count += 1
        if line is None:
            print_status(f"[{count}/{total}] {cell}: failed, {why}")
            return
        measured = [f"{name} {100 * line[name]:.2f}" for name in ("hits@100", "auc") if name in line]
        measured.append(f"{line['wall']:.0f} s")
        print_status(f"[{count}/{total}] {cell}: {', '.join(measured)}")

    alone = [cell for cell in ready if cell.kind in TIMED]
    beside = [cell for cell in ready if cell.kind not in TIMED]
    missing = 0
    for part, at_once in ((alone, 1), (beside, processes)):
        missing += run_cells(
            part,
            file,
            device=where,
            processes=at_once,
            seconds=seconds,
            minutes=minutes,
            plugins=plugins,
            report=report,
        )
    if missing:
        print_status(f"{missing} of {total} cells have no line yet: the same command goes on with them")
