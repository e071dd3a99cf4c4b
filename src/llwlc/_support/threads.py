"""Work on many links in threads: each takes the next run of links when it is done with the last one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import count
from threading import RLock, Semaphore, local
from typing import Any

from threadpoolctl import ThreadpoolController, threadpool_limits

# least and most links of a run: handing out a run takes some 30 µs under the GIL, a link 5 to 50 µs, and all threads
# wait for the last run
MIN_CHUNK_LINKS, MAX_CHUNK_LINKS = 64, 256
# bytes of scratch of all threads together; no more threads are started than fit
SCRATCH_BYTES = 4 << 30


def choose_chunk_size(links: int) -> int:
    """The number of links in a run."""
    return min(max(MIN_CHUNK_LINKS, links // 64), MAX_CHUNK_LINKS)


def get_kernel_threads() -> int:
    """The number of threads for kernels: that of torch, or what it was before `use_one_thread`."""
    import torch  # not above: kernels are compiled without it

    before = _before[:1]  # one step: another thread may leave `use_one_thread` meanwhile
    return before[0] if before else torch.get_num_threads()


_before: list[int] = []
_here = local()


def choose_num_threads(links: int, bytes_each: int) -> int:
    """The number of threads for kernels, but no more than there are runs, or than have scratch memory in 4 GiB."""
    return max(1, min(get_kernel_threads(), -(-links // choose_chunk_size(links)), SCRATCH_BYTES // max(bytes_each, 1)))


def run_over_links(links: int, threads: int, make: Callable[[], Callable[[int, int], None]]) -> None:
    """Calls `work(begin, end)` for runs of links until none is left; `make` builds the work of one thread with its own
    scratch.
    """
    run = choose_chunk_size(links)
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


def run_over_parts(parts: int, make: Callable[[], Callable[[int], None]]) -> None:
    """Calls `work(part)` for every part. The calling thread works too, and waits only for parts that other threads have
    begun: on a busy machine a thread may start after all parts are done."""
    numbers, threads = count(), min(get_kernel_threads(), parts)
    undone, failed, done = Semaphore(0), list[BaseException](), [False]

    def loop() -> None:
        work = None if done[0] else make()
        for part in _below(numbers, parts):
            try:
                assert work is not None
                work(part)
            except BaseException as error:  # raised in the thread that waits
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
    """A permanent pool: a training step is shorter than the start of new threads."""
    return ThreadPoolExecutor(threads, "llwlc")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)  # a forked child has none of its parent's threads


def _below(starts: Iterator[int], links: int) -> Iterator[int]:
    while (begin := next(starts)) < links:
        yield begin


@contextmanager
def use_one_thread() -> Iterator[None]:
    """torch on one thread: on batches of small graphs several threads mostly wait for each other, above all on a busy
    machine; and one thread adds in one order, so the last bit does not depend on the load of the machine.

    Kernels keep their threads: each link, or group of links, is computed by one thread, so its bits do not depend on
    their number. Several threads may be inside at once."""
    import torch

    if getattr(_here, "limited", False):
        yield
        return
    # not torch's number of this moment: a thread that begins while another one is inside has 1 of it, and would leave 1
    # behind
    threads = get_kernel_threads()
    _before.append(threads)
    _here.limited = True
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        _here.limited = False
        _before.pop()


@contextmanager
def use_one_blas_thread() -> Iterator[None]:
    """The BLAS of numpy and scipy on one thread: several add in an order that depends on their number. It is a number
    of the whole process, which the first to leave would give back, so others wait."""
    with _blas_turn(), _find_blas().limit(limits=1, user_api="blas"):
        yield


@contextmanager
def use_one_openmp_thread() -> Iterator[None]:
    """scikit-learn's own loops on one thread, so that its last bits do not depend on their number."""
    with threadpool_limits(1, user_api="openmp"):
        yield


@cache
def _blas_turn() -> RLock:
    return RLock()


@cache
def _find_blas() -> Any:
    """The libraries that are loaded, those of scipy among them: looking for them takes milliseconds."""
    import scipy.linalg  # noqa: F401 — loads its BLAS

    return ThreadpoolController()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_blas_turn.cache_clear)  # a thread that has its turn is not in the child
