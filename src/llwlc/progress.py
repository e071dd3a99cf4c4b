"""Progress bars with rate and time left, on stderr, and silent where that is no terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

T = TypeVar("T")


class RateColumn(ProgressColumn):
    """Steps a second, or seconds a step where that is the larger number."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("–/s")
        return Text(f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.1f}/s" if speed >= 1 else f"{1 / speed:.1f} s each")


def bars(console: Console | None = None) -> Progress:
    """A rich `Progress` in the house's columns; draws nothing where the console is no terminal."""
    console = Console(stderr=True) if console is None else console
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )


def track(
    steps: Iterable[T], description: str, *, total: float | None = None, console: Console | None = None
) -> Iterator[T]:
    """Passes the steps on, one by one, under a bar.

    >>> list(track(range(3), "adding"))
    [0, 1, 2]
    """
    with bars(console) as progress:
        yield from progress.track(steps, total=total, description=description)
