"""Timing on a shared machine: methods take turns, and the fastest turn of each counts."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import scipy
import torch

Work = Callable[[], object]


def time_in_turns(timed: Mapping[str, Work], *, repeats: int, at_least: float = 0.2) -> dict[str, float]:
    """Seconds of one call of each, the least over `repeats` rounds in which every method has a turn.

    A turn repeats the call until `at_least` seconds are over, so that a fast method gets as many chances to run
    undisturbed. The first call, which may compile, is not counted.

    >>> times = time_in_turns({"nothing": lambda: None, "sleep": lambda: time.sleep(0.01)}, repeats=2, at_least=0)
    >>> times["nothing"] < 0.01 <= times["sleep"]
    True
    """
    for work in timed.values():
        work()
    best = dict.fromkeys(timed, float("inf"))
    for _ in range(repeats):
        for name, work in timed.items():
            spent = 0.0
            while True:
                begin = time.perf_counter()
                work()
                took = time.perf_counter() - begin
                best[name] = min(best[name], took)
                spent += took
                if spent >= at_least:
                    break
    return best


@contextmanager
def use_threads(count: int) -> Iterator[None]:
    """Torch, and with it the kernels, on this many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def describe_machine() -> dict[str, str | int | float]:
    """A description of the machine that times are measured on."""
    model = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), model)
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    return {
        "processor": model,
        "cores": os.cpu_count() or 1,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan"),
        "memory_gb": _memory_gb(),
        "gpu": gpu,
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "date": time.strftime("%Y-%m-%d"),
    }


def _memory_gb() -> float:
    if not hasattr(os, "sysconf"):  # Windows
        return float("nan")
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)


def measure_peak_memory(work: Callable[..., object], *arguments: object) -> float:
    """The highest memory, in GB, of a fresh process that does this work; `work` must be a module's function."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (work, arguments))


def _measured(work: Callable[..., object], arguments: tuple[object, ...]) -> float:
    torch.set_num_threads(1)
    work(*arguments)
    return highest_memory()


def highest_memory() -> float:
    """The most memory that this process has had so far, in GB."""
    with contextlib.suppress(OSError), open("/proc/self/status") as file:
        # a process begins with its parent's `ru_maxrss`, but with a fresh mark here
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 2**20
    try:
        import resource
    except ImportError:  # Windows has no such module
        return float("nan")
    unit = 2**30 if sys.platform == "darwin" else 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
