"""The typer app: its commands and `--version`."""

from __future__ import annotations

from typing import Annotated

import typer

from llwlc.cli.bench import bench
from llwlc.cli.cache import cache
from llwlc.cli.console import Group
from llwlc.cli.data import data
from llwlc.cli.evaluate import evaluate
from llwlc.cli.explain import explain
from llwlc.cli.expressivity import expressivity
from llwlc.cli.fit import KINDS, fit
from llwlc.cli.recommend import recommend
from llwlc.cli.report import report
from llwlc.cli.reproduce import reproduce
from llwlc.cli.score import score
from llwlc.cli.serve import serve
from llwlc.support.version import VERSION

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Finds the links that are missing from a graph.",
    epilog="First steps: `llwlc data list`, `llwlc data show cora`, `llwlc fit edges.csv --out run`, `llwlc recommend run`.",
)
app.add_typer(data, name="data")
app.add_typer(cache, name="cache")
app.command(epilog=KINDS)(fit)
for command in (score, recommend, explain, report, serve, evaluate, reproduce, bench, expressivity):
    app.command()(command)


@app.callback(invoke_without_command=True)
def about(
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    if show_version:
        typer.echo(f"llwlc {VERSION}")
        raise typer.Exit
