"""Timing of a piece of work: what one of many costs, on this machine, in a second or less."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from torch import Tensor

T = TypeVar("T")
NUM_REPEATS = 2
"""How often what a link costs is timed; the fastest counts, as the first one still asks for memory."""
QUICK_ENOUGH = 2.0
"""Seconds up to which what is done once is timed a second time."""
QUICK, MOST_TIMES = 0.4, 8
"""Seconds that a sample of pairs is asked about again in, and how often at most."""


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
    """Yields a function that, after the block, returns the seconds that the block took."""
    ends: list[float] = []
    begin = time.perf_counter()
    yield lambda: ends[0]
    ends.append(time.perf_counter() - begin)
