"""What the commands share: where they print, and how they warn and fail."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from llwlc.errors import InputError

OUT = Console()
ERR = Console(stderr=True)
HERE = Path(__file__).parents[1]


class Group(TyperGroup):
    """Commands whose `InputError` ends in one plain sentence on stderr and exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with plain_warnings():
                return super().invoke(ctx)
        except InputError as error:
            say(f"Error: {error}", style="red")
            raise typer.Exit(2) from None


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Says the library's own warnings without Python's file and line."""
    with warnings.catch_warnings():
        python_says = warnings.showwarning

        def show_warning(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if Path(filename).is_relative_to(HERE):
                say(f"Warning: {message}", style="yellow")
            else:
                python_says(message, category, filename, lineno, file, line)

        warnings.showwarning = show_warning
        yield


def say(text: str, *, style: str | None = None) -> None:
    """One line on stderr, never cut or wrapped, its brackets left alone."""
    ERR.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def show(title: str, rows: Sequence[tuple[str, str]]) -> None:
    """A table of two columns on stdout."""
    OUT.print(title, markup=False, highlight=False, soft_wrap=True)  # rich would fold a long title to the table's width
    table = Table(show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in rows:
        table.add_row(name, value)
    OUT.print(table)
