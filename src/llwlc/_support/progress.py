"""Progress bars with rate and time left, on stderr; where that is not a terminal, a line every ten seconds instead. A
call from Python shows none unless it is asked to.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar, cast

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

LOG = logging.getLogger(__name__)
LOG.addHandler(logging.NullHandler())  # else Python prints a warning to stderr where nobody set up logging
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
LINE_SECONDS = 10.0
"""Seconds between two lines about a step, where no bar can be drawn."""


def rate(task: Task) -> str:
    """Steps per second, or seconds per step where that is the larger number."""
    speed = task.finished_speed or task.speed
    if not speed:
        return "–/s"
    return f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.1f}/s" if speed >= 1 else f"{1 / speed:.1f} s each"


class RateColumn(ProgressColumn):
    """A column with the rate of a task."""

    def render(self, task: Task) -> Text:
        return Text(rate(task))


_shown: list[Progress] = []
_wanted: ContextVar[bool] = ContextVar("llwlc_show_progress", default=False)


@contextmanager
def show_progress(show: bool = True) -> Iterator[None]:
    """Shows progress bars and notices on stderr inside the block, as the command line does. Elsewhere there are no
    bars, and notices are records of a logger below "llwlc", most of them at level INFO.

    The setting is a context variable: it holds for this thread, and for others only where they are given its context
    (`contextvars.copy_context`).

    Args:
        show: False for a silent block inside one that shows them.

    >>> with show_progress():
    ...     pass
    """
    before = _wanted.set(show)
    try:
        yield
    finally:
        _wanted.reset(before)


def as_verbose(method: F) -> F:
    """A method that shows its progress where its object is `verbose`, and else where the caller shows it."""

    @wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        with show_progress(self.verbose or _wanted.get()):
            return method(self, *args, **options)

    return cast(F, call)


@contextmanager
def make_progress(console: Console | None = None) -> Iterator[Progress]:
    """A rich `Progress` with the columns of all commands; where the console is not a terminal, a line every
    `LINE_SECONDS` says how far the running step is.

    Inside another such block it returns that block's `Progress`: two displays would draw over each other. Where no
    progress is shown, nor a console given, it draws nothing.
    """
    if console is None and not _wanted.get():
        yield Progress(disable=True)
        return
    outer = _shown[-1:]  # one step: another thread may end its display meanwhile
    if outer and console is None:
        yield outer[0]
        return
    console = Console(stderr=True) if console is None else console
    with (
        show_progress(),
        Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            RateColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        ) as progress,
    ):
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
            progress.console.print(describe_task(running[-1]), markup=False, highlight=False, soft_wrap=True)


def describe_task(task: Task) -> str:
    """How far a step is, in a line: its name, steps done, their rate, and the time left where it can be estimated."""
    if task.total is None and not task.completed:
        return f"{task.description} …"
    total = "" if task.total is None else f" of {task.total:,.0f}"
    remaining = task.time_remaining
    end = (
        ""
        if remaining is None
        else f", about {remaining / 60:.0f} min left"
        if remaining >= 90
        else f", about {remaining:.0f} s left"
    )
    return f"{task.description}: {task.completed:,.0f}{total}, {rate(task)}{end}"


def print_notice(text: str, level: int = logging.INFO) -> None:
    """Prints a line on stderr, above any bars; where no progress is shown, it is logged at this level."""
    if not _wanted.get():
        LOG.log(level, text)
        return
    outer = _shown[-1:]
    console = outer[0].console if outer else Console(stderr=True)
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def track(
    steps: Iterable[T],
    description: str,
    *,
    total: float | None = None,
    completed: int = 0,
    console: Console | None = None,
) -> Iterator[T]:
    """Yields the steps one by one, under a bar; a bar below another one disappears when it is done. `completed`: steps
    of the `total` that were done before.

    >>> list(track(range(3), "adding"))
    [0, 1, 2]
    """
    below = bool(_shown)
    if total is None and isinstance(steps, Sized):
        total = len(steps)
    with make_progress(console) as progress:
        task = progress.add_task(description, total=total, completed=completed)
        try:
            for step in steps:
                yield step
                progress.advance(task)
        finally:
            if below:
                progress.remove_task(task)
