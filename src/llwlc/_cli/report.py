"""`llwlc report`: a run as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from llwlc._cli.console import print_status
from llwlc._cli.options import PluginOption, RunArgument, load_plugins
from llwlc._cli.relations import open_relation_run
from llwlc._cli.runs import open_run
from llwlc._support.stopwatch import STARTING, stage
from llwlc.errors import InputError
from llwlc.relations._run_folder import is_relation_run


def report(
    run: RunArgument,
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML file to write.")] = Path("report.html"),
    top: Annotated[int, typer.Option(min=1, max=2000, help="How many missing links, each with its reasons.")] = 100,
    plugin: PluginOption = None,
) -> None:
    """Writes a run as one HTML file that opens offline.

    The file holds what was measured, the likeliest missing links with their surroundings and reasons, the graph in
    numbers, and the model card.

    Example: `llwlc report run -o report.html --top 500`
    """
    load_plugins(plugin)
    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{out}: a report is an HTML file: choose a name that ends in .html")
    with stage(STARTING):
        from llwlc._support.files import check_parent_folder

    check_parent_folder(out)
    if is_relation_run(run):
        with stage(STARTING):
            from llwlc._report.typed_page import write_typed_report

        write_typed_report(open_relation_run(run), out, top=top)
    else:
        with stage(STARTING):
            from llwlc._report.page import write_report

        write_report(open_run(run), out, top=top)
    print_status(f"written to {out}, {out.stat().st_size / 1e6:.1f} MB")
