"""Worker processes of one thread each, for trials that do not depend on each other."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.pool import Pool

import torch

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def open_pool(processes: int) -> Iterator[Pool]:
    """New processes; leaving the block, also by an interrupt, ends them at once."""
    with one_thread(), get_context("spawn").Pool(processes, initializer=_start) as pool:
        yield pool


def _start() -> None:
    """A worker: one thread, and an interrupt is the parent's to answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for torch here and, by the environment they inherit, for every library of the workers."""
    before, threads = {name: os.environ.get(name) for name in THREADS}, torch.get_num_threads()
    os.environ.update(dict.fromkeys(THREADS, "1"))
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
