"""Output that all commands share: standard output, warnings and errors."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from llwlc._cli.process import OutputError
from llwlc._io.database_url import redact
from llwlc._support.progress import show_progress
from llwlc._support.repeated_warnings import deduplicate_warnings
from llwlc._support.stopwatch import Stopwatch
from llwlc._support.text import escape_controls
from llwlc.errors import LLwLCError

HERE = Path(__file__).parents[1]


class PlainConsole(Console):
    """A console that makes control characters visible: a node's or file's name must not act on the terminal."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*(escape_controls(o, keep="\n") if isinstance(o, str) else o for o in objects), **options)


OUT = PlainConsole()
ERR = PlainConsole(stderr=True)


class Group(TyperGroup):
    """Commands that report an `LLwLCError`, or an error of the operating system, in one sentence on stderr, and exit
    with code 2.
    """

    resumed: tuple[str, ...] = ("fit",)
    """Commands that continue where they were interrupted."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        with escape_usage():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        try:
            with show_plain_warnings(), escape_usage(), show_progress():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            if ctx.invoked_subcommand in self.resumed:
                print_status("Stopped. Run the same command to go on where it was.")
            raise  # typer ends with code 130
        except (BrokenPipeError, OutputError):
            # of a pipe that is closed: typer ends quietly; of a standard output that is full: `main` reports it, as
            # after --help
            raise
        except (LLwLCError, OSError, MemoryError, UnicodeError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and not isinstance(error, LLwLCError) and not _lacks_memory(error):
                raise
            print_status(f"Error: {_sentence(error)}", style="red")
            raise typer.Exit(2) from None


def print_stages(watch: Stopwatch) -> None:
    """Prints on stderr what each stage of a command took, the longest first, and their sum; and the seconds of all
    processors that this process used meanwhile.
    """
    seconds, cpu = watch.seconds, watch.cpu_seconds
    total = sum(seconds.values())
    rows = [(stage, seconds[stage], cpu[stage]) for stage in sorted(seconds, key=lambda stage: -seconds[stage])]
    for stage, taken, used in [*rows, ("total", total, sum(cpu.values()))]:
        line = f"{taken:9.2f} s {taken / total:6.1%} {used:9.2f} CPU s  {stage}"
        ERR.print(line, markup=False, highlight=False, soft_wrap=True)


def _lacks_memory(error: RuntimeError) -> bool:
    """Whether torch ran out of memory: it raises a plain RuntimeError for the CPU as for a GPU, so the message is
    read.
    """
    return "alloc" in str(error) and "memory" in str(error)


def _sentence(error: Exception) -> str:
    """A sentence for the user: the message of an `LLwLCError`, or what a system error means and what to do about it."""
    if isinstance(error, LLwLCError):
        return str(error)
    if isinstance(error, MemoryError | RuntimeError):
        return "there is not enough memory for this: take a smaller graph or network, or a machine with more"
    if isinstance(error, UnicodeError):
        return f"an argument or a name is not valid text ({error}): write it as UTF-8"
    if isinstance(error, OSError):
        what = error.strerror or str(error)
        return (
            f"{error.filename}: {what}"
            if error.filename
            else f"{what}: check the disk and the folder, then run the same again"
        )
    raise TypeError(error)


@contextmanager
def escape_usage() -> Iterator[None]:
    """Makes control characters visible in messages about wrong usage, which quote the argument; older versions of typer
    print it unchanged.
    """
    try:
        yield
    except Exception as error:
        message = getattr(error, "message", None)
        if hasattr(error, "format_message") and isinstance(
            message, str
        ):  # click's, which typer brings along under various names
            error.message = redact(escape_controls(message))  # type: ignore[attr-defined]
        raise


@contextmanager
def show_plain_warnings() -> Iterator[None]:
    """Shows the library's own warnings without Python's file and line."""
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
                print_status(f"Warning: {message}", style="yellow")
            else:
                python_says(message, category, filename, lineno, file, line)

        warnings.showwarning = show_warning
        with deduplicate_warnings():
            yield


def print_status(text: str, *, style: str | None = None) -> None:
    """Prints one line on stderr, never cut or wrapped; brackets are not markup."""
    ERR.print(Text(redact(escape_controls(text)), style=style or ""), soft_wrap=True)


def print_text(text: str) -> None:
    """Prints one line on stdout, never cut or wrapped; brackets are not markup."""
    OUT.print(Text(escape_controls(text)), soft_wrap=True)


def print_table(table: Table, rows: Iterable[Sequence[str]]) -> None:
    """A table on stdout with these rows, each cell as it is."""
    for row in rows:
        table.add_row(*(Text(escape_controls(cell)) for cell in row))
    OUT.print(table)


def print_rows(title: str, rows: Sequence[tuple[str, str]]) -> None:
    """A table of two columns on stdout."""
    print_text(title)
    table = Table(show_header=False)
    table.add_column()
    table.add_column(justify="right")
    print_table(table, rows)
