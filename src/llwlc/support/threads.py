"""Work on many links in threads: each takes the next run of links when it is done with the last one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import count
from threading import Semaphore

import torch

# links of a run, at least and at most: handing one out takes some 30 µs under the GIL, a link 5 to 50, and the last thread keeps all waiting
FEWEST, MOST = 64, 256
# scratch of one thread that grows with the graph; more threads than fit this are not started
SCRATCH_BYTES = 4 << 30


def run_of(links: int) -> int:
    """How many links one run has."""
    return min(max(FEWEST, links // 64), MOST)


def threads_for_kernels() -> int:
    """As many as torch uses, or used before `one_thread`."""
    return _before[0] if _before else torch.get_num_threads()


_before: list[int] = []


def number_of_threads(links: int, bytes_each: int) -> int:
    """As many as there are for kernels, but no more than there are runs, or than scratch fits in 4 GiB."""
    return max(1, min(threads_for_kernels(), -(-links // run_of(links)), SCRATCH_BYTES // max(bytes_each, 1)))


def over_links(links: int, threads: int, make: Callable[[], Callable[[int, int], None]]) -> None:
    """Calls `work(begin, end)` for runs of links until none is left; `make` builds the work of one thread with its own scratch."""
    run = run_of(links)
    starts = count(0, run)  # next() on it is atomic under the GIL

    def loop() -> None:
        work = make()
        for begin in _below(starts, links):
            work(begin, min(begin + run, links))

    if threads == 1:
        loop()
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(loop) for _ in range(threads)]:
            done.result()


def over_parts(parts: int, make: Callable[[], Callable[[int], None]]) -> None:
    """Calls `work(part)` for every part. This thread works too, and waits for parts that others have begun, not for others to begin: on a busy machine a thread
    may be called after all is done."""
    numbers, threads = count(), min(threads_for_kernels(), parts)
    undone, failed, done = Semaphore(0), list[BaseException](), [False]

    def loop() -> None:
        work = None if done[0] else make()
        for part in _below(numbers, parts):
            try:
                assert work is not None
                work(part)
            except BaseException as error:  # told to whoever waits
                failed.append(error)
            finally:
                undone.release()

    for _ in range(threads - 1):
        _helpers(threads - 1).submit(loop)
    loop()
    done[0] = True
    for _ in range(parts):
        undone.acquire()
    if failed:
        raise failed[0]


@cache
def _helpers(threads: int) -> ThreadPoolExecutor:
    """Threads that stay: a step of training is over before new ones would have begun."""
    return ThreadPoolExecutor(threads, "llwlc")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)  # a child has none of its parent's threads


def _below(starts: Iterator[int], links: int) -> Iterator[int]:
    while (begin := next(starts)) < links:
        yield begin


@contextmanager
def one_thread() -> Iterator[None]:
    """torch on one thread: on batches of small graphs more threads mostly wait for each other, on a busy machine ruinously
    so, and one thread adds up in one order, so the last bit does not depend on the machine's load.

    Kernels keep theirs: each link, or group of links, is one thread's, and its last bit depends on none of that."""
    threads = torch.get_num_threads()
    _before.append(threads)
    torch.set_num_threads(1)
    try:
        yield
    finally:
        _before.pop()
        torch.set_num_threads(threads)
