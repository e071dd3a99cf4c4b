"""The typer app: its commands and `--version`."""

from __future__ import annotations

from typing import Annotated

import typer

from llwlc._cli.cache import cache
from llwlc._cli.console import Group, print_stages
from llwlc._cli.data import data
from llwlc._cli.evaluate import evaluate
from llwlc._cli.explain import explain
from llwlc._cli.fit import OPTIONS_HELP, fit
from llwlc._cli.help_screens import make_command_class
from llwlc._cli.recommend import recommend
from llwlc._cli.report import report
from llwlc._cli.score import score
from llwlc._cli.serve import serve
from llwlc._cli.tune import tune
from llwlc._support.stopwatch import watch_command
from llwlc._support.version import VERSION

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Finds the links that are missing from a graph.",
    epilog=(
        "First steps: `llwlc fit cora` (a dataset that comes along), `llwlc fit edges.csv`, `llwlc recommend run"
        " --top 100`. Every command has examples: `llwlc COMMAND --help`."
    ),
)
app.add_typer(data, name="data")
app.add_typer(cache, name="cache")
app.command(cls=make_command_class("fit"), epilog=OPTIONS_HELP)(fit)
app.command(cls=make_command_class("recommend"))(recommend)
for command in (explain, report, serve):
    app.command()(command)
for command in (score, tune):
    app.command(cls=make_command_class(command.__name__))(command)
app.command()(evaluate)


@app.callback(invoke_without_command=True)
def about(
    ctx: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
    profile: Annotated[
        bool, typer.Option(help="Print the seconds that each stage of the command took, from the start of the process.")
    ] = False,
) -> None:
    if show_version:
        typer.echo(f"llwlc {VERSION}")
        raise typer.Exit
    if ctx.invoked_subcommand:
        command = watch_command(ctx.invoked_subcommand)
        if profile:
            ctx.call_on_close(lambda: print_stages(watch))  # after the stopwatch, which is closed before
        watch = ctx.with_resource(command)
