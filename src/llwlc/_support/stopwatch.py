"""Stopwatch: how long each stage of some work took; each second counts for one stage."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

STARTING = "starting"
"""The stage from the start of the process, with all imports."""
_IMPORTED = time.perf_counter()


class Stopwatch:
    """`with watch("reading"): ...` adds the seconds of the block to `watch.seconds["reading"]`, except those of blocks
    inside it, which count for their own stages. Blocks are entered by one thread.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._open: list[str] = []
        self._since = time.perf_counter()

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        self._count()
        self._open.append(stage)
        self._seconds.setdefault(stage, 0.0)
        try:
            yield
        finally:
            self._count()
            self._open.pop()

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds of each stage up to now."""
        self._count()
        return dict(self._seconds)

    def add(self, stage: str, seconds: float) -> None:
        """Counts seconds that were measured elsewhere."""
        self._seconds[stage] = self._seconds.get(stage, 0.0) + seconds

    def _count(self) -> None:
        """Gives the seconds since the last call to the innermost stage that is open."""
        now = time.perf_counter()
        if self._open:
            self._seconds[self._open[-1]] += now - self._since
        self._since = now


_command: ContextVar[Stopwatch | None] = ContextVar("command", default=None)


def current_watch() -> Stopwatch:
    """The stopwatch of the command that runs here, a new one outside of commands."""
    return _command.get() or Stopwatch()


@contextmanager
def watch_command(name: str) -> Iterator[Stopwatch]:
    """Until the end of the block, `current_watch` is one for the whole process: what no stage has is the command's
    own.
    """
    watch = Stopwatch()
    watch.add(STARTING, process_age())
    token = _command.set(watch)
    try:
        with watch(name):
            yield watch
    finally:
        _command.reset(token)


def process_age() -> float:
    """Seconds since this process was started; where the system does not tell, since this module was imported."""
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError, IndexError):
        return time.perf_counter() - _IMPORTED
