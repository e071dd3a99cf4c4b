"""Progress bars with rate and time left, on stderr; where that is no terminal, a line every ten seconds instead."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

T = TypeVar("T")
LINE_SECONDS = 10.0
"""Seconds between two lines about a step, where no bar can be drawn."""


def rate(task: Task) -> str:
    """Steps a second, or seconds a step where that is the larger number."""
    speed = task.finished_speed or task.speed
    if not speed:
        return "–/s"
    return f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.1f}/s" if speed >= 1 else f"{1 / speed:.1f} s each"


class RateColumn(ProgressColumn):
    """A column with the rate of a task."""

    def render(self, task: Task) -> Text:
        return Text(rate(task))


_shown: list[Progress] = []


@contextmanager
def bars(console: Console | None = None) -> Iterator[Progress]:
    """A rich `Progress` with the columns of all commands; where the console is no terminal, a line every `LINE_SECONDS` says how far the running step is.

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
        done = threading.Event()
        if not console.is_terminal:
            threading.Thread(target=_say_lines, args=(progress, done), daemon=True).start()
        try:
            yield progress
        finally:
            done.set()
            _shown.remove(progress)


def _say_lines(progress: Progress, done: threading.Event) -> None:
    while not done.wait(LINE_SECONDS):
        running = [task for task in progress.tasks if task.started and not task.finished]
        if running:  # the last one is inside the others
            progress.console.print(line_about(running[-1]), markup=False, highlight=False, soft_wrap=True)


def line_about(task: Task) -> str:
    """How far a step is, in a line: its name, steps done, their rate, and the time left where it can be told."""
    total = "" if task.total is None else f" of {task.total:,.0f}"
    left = task.time_remaining
    end = "" if left is None else f", about {left / 60:.0f} min left" if left >= 90 else f", about {left:.0f} s left"
    return f"{task.description}: {task.completed:,.0f}{total}, {rate(task)}{end}"


def notice(text: str) -> None:
    """Prints a line on stderr, above any bars."""
    console = _shown[-1].console if _shown else Console(stderr=True)
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def track(
    steps: Iterable[T],
    description: str,
    *,
    total: float | None = None,
    completed: int = 0,
    console: Console | None = None,
) -> Iterator[T]:
    """Yields the steps one by one, under a bar; a bar below another one disappears when it is done. `completed`: steps of the `total` that were done before.

    >>> list(track(range(3), "adding"))
    [0, 1, 2]
    """
    below = bool(_shown)
    if total is None and isinstance(steps, Sized):
        total = len(steps)
    with bars(console) as progress:
        task = progress.add_task(description, total=total, completed=completed)
        try:
            for step in steps:
                yield step
                progress.advance(task)
        finally:
            if below:
                progress.remove_task(task)
