"""Progress bars with rate and time left, on stderr, and silent where that is no terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
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


_shown: list[Progress] = []


@contextmanager
def bars(console: Console | None = None) -> Iterator[Progress]:
    """A rich `Progress` with the columns of all commands; draws nothing where the console is no terminal.

    Inside another such block it returns that block's `Progress`: two displays would draw over each other.
    """
    if _shown and console is None:
        yield _shown[-1]
        return
    console = Console(stderr=True) if console is None else console
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    ) as progress:
        _shown.append(progress)
        try:
            yield progress
        finally:
            _shown.remove(progress)


def notice(text: str) -> None:
    """Prints a line on stderr, above any bars."""
    console = _shown[-1].console if _shown else Console(stderr=True)
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def track(
    steps: Iterable[T], description: str, *, total: float | None = None, console: Console | None = None
) -> Iterator[T]:
    """Yields the steps one by one, under a bar; a bar below another one disappears when it is done.

    >>> list(track(range(3), "adding"))
    [0, 1, 2]
    """
    below = bool(_shown)
    with bars(console) as progress:
        task = progress.add_task(description)
        try:
            yield from progress.track(steps, total=total, description=description, task_id=task)
        finally:
            if below:
                progress.remove_task(task)
