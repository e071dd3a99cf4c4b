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

    `watch.cpu_seconds` are those of all processors that this process used meanwhile: fewer where it waited.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._cpu: dict[str, float] = {}
        self._open: list[str] = []
        self._since = time.perf_counter(), time.process_time()

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        self._count()
        self._open.append(stage)
        self.add(stage, 0.0)
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

    @property
    def cpu_seconds(self) -> dict[str, float]:
        """Seconds of all processors in each stage up to now."""
        self._count()
        return dict(self._cpu)

    def add(self, stage: str, seconds: float, cpu_seconds: float = 0.0) -> None:
        """Counts seconds that were measured elsewhere."""
        self._seconds[stage] = self._seconds.get(stage, 0.0) + seconds
        self._cpu[stage] = self._cpu.get(stage, 0.0) + cpu_seconds

    def _count(self) -> None:
        """Gives the seconds since the last call to the innermost stage that is open."""
        now, before = (time.perf_counter(), time.process_time()), self._since
        if self._open:
            self.add(self._open[-1], now[0] - before[0], now[1] - before[1])
        self._since = now


_command: ContextVar[Stopwatch | None] = ContextVar("command", default=None)


def current_watch() -> Stopwatch:
    """The stopwatch of the command that runs here, a new one outside of commands."""
    return _command.get() or Stopwatch()


@contextmanager
def stage(name: str) -> Iterator[None]:
    """A stage of the command that runs here, as a block or as a decorator; outside of commands nothing is counted."""
    with current_watch()(name):
        yield


@contextmanager
def watch_command(name: str) -> Iterator[Stopwatch]:
    """Until the end of the block, `current_watch` is one for the whole process: what no stage has is the command's
    own.
    """
    watch = Stopwatch()
    watch.add(STARTING, process_age(), time.process_time())
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
