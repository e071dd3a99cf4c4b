"""The typer app of the study."""

from __future__ import annotations

import typer

from llwlc._cli.console import Group
from research.cli.bench import bench
from research.cli.corpus import corpus
from research.cli.expressivity import expressivity
from research.cli.reproduce import reproduce


class ResearchGroup(Group):
    """The error messages and exit codes of `llwlc`."""

    resumed = ("reproduce", "corpus")


app = typer.Typer(
    cls=ResearchGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    add_completion=False,
    help="Reproduces the study of the paper, from the root of a checkout.",
)
for command in (reproduce, expressivity, bench, corpus):
    app.command()(command)
