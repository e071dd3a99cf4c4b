"""Timing of a piece of work: what one of many costs on this machine where nothing else runs, in a second or less, and
how much longer it takes now.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from torch import Tensor

from llwlc._support.threads import get_kernel_threads

T = TypeVar("T")
NUM_REPEATS = 2
"""How often what a link costs is timed; the fastest counts, as the first one still asks for memory."""
QUICK_ENOUGH = 0.3
"""Seconds up to which what is done once is timed a second time."""
QUICK, MOST_TIMES = 0.2, 8
"""Seconds that a sample of pairs is asked about again in, and how often at most."""
SHORTEST_MEASUREMENT = 0.1
"""Seconds of work that show how busy a machine is."""


class WorkClock:
    """Two clocks of the work since it was made: `wall` seconds, and the `idle` ones that it takes where nothing else
    runs, those in which the calling thread computed, or its share of all threads' where it waits for the others.
    """

    def __init__(self) -> None:
        self._begin = time.perf_counter(), time.thread_time(), time.process_time()

    @property
    def wall(self) -> float:
        return time.perf_counter() - self._begin[0]

    @property
    def idle(self) -> float:
        everybody = (time.process_time() - self._begin[2]) / get_kernel_threads()
        return max(time.thread_time() - self._begin[1], everybody)


class LoadMeter:
    """How many times longer work takes than on an idle machine, from all that is measured in `with meter.measuring()`.

    `wall`: the seconds of it.
    """

    def __init__(self) -> None:
        self.wall = self._idle = 0.0

    @contextmanager
    def measuring(self) -> Iterator[None]:
        clock = WorkClock()
        try:
            yield
        finally:
            self.wall, self._idle = self.wall + clock.wall, self._idle + clock.idle

    @property
    def slowdown(self) -> float:
        return max(self.wall / self._idle, 1.0) if self._idle > SHORTEST_MEASUREMENT else 1.0


def measure_fixed_cost(work: Callable[[], T]) -> tuple[T, float]:
    """What a call returns, and its seconds; of a second call where they are few, as the first one loads what is
    compiled.
    """
    with time_block() as first:
        result = work()
    if first() > QUICK_ENOUGH:
        return result, first()
    with time_block() as second:
        result = work()
    return result, second()


def time_fastest(work: Callable[[], T]) -> tuple[T, float]:
    """What calls return, and the seconds of the fastest."""
    seconds = math.inf
    for _ in range(NUM_REPEATS):
        with time_block() as taken:
            result = work()
        seconds = min(seconds, taken())
    return result, seconds


def measure_rate(work: Callable[[int], object], count: int) -> float:
    """Seconds for each of `count`, after a first call that may compile."""
    if not count:
        return 0.0
    work(1)
    with time_block() as seconds:
        work(count)
    return seconds() / count


def measure_pair_rate(work: Callable[[Tensor], object], pairs: Tensor) -> float:
    """Seconds for a pair where there are many: a call has a fixed cost, so a quick sample is asked about several times
    over in one call.
    """
    if not len(pairs):
        return 0.0
    work(pairs[:2])
    with time_block() as once:
        work(pairs)
    times = min(int(QUICK / max(once(), 1e-9)), MOST_TIMES)
    if times < 2:
        return once() / len(pairs)
    with time_block() as seconds:
        work(pairs.repeat(times, 1))
    return seconds() / (times * len(pairs))


@contextmanager
def time_block() -> Iterator[Callable[[], float]]:
    """Yields a function that, after the block, returns the seconds that the block takes on an idle machine."""
    ends: list[float] = []
    clock = WorkClock()
    yield lambda: ends[0]
    ends.append(clock.idle)
