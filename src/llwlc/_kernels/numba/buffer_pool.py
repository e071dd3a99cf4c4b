"""A pool of large arrays for reuse: the system zeroes every page that it hands out, which for a batch of links can take
a third as long as the work on them.

A buffer is free when nothing but the pool refers to it. Arrays and tensors made from it refer to it as long as they
live.
"""

from __future__ import annotations

import sys
from threading import Lock

import numpy as np

SMALL = 1 << 16  # bytes; smaller arrays are not pooled
SPARE = 4  # a buffer is made a quarter larger than asked for, since batches differ in size
# The pool evicts the oldest buffers beyond 32, or 512 MB, in use or free: so much unused memory may stay with the
# process
MOST, BYTES = 32, 1 << 29

_buffers: list[np.ndarray] = []
_unreferenced = [np.empty(0, np.uint8)]
_lock = Lock()


def empty(count: int, dtype: type[np.generic]) -> np.ndarray:
    """`np.empty(count, dtype)`, from a free buffer of the pool where one fits."""
    size = count * np.dtype(dtype).itemsize
    # never wait for the lock: a process that was forked while it was held would wait for ever
    if size < SMALL or not _counts_references() or not _lock.acquire(blocking=False):
        return np.empty(count, dtype)
    try:
        return _take(size)[:size].view(dtype)
    finally:
        _lock.release()


def _take(size: int) -> np.ndarray:
    """The smallest free buffer that is large enough and not twice as large; else a new one."""
    unused = _references(_unreferenced, 0)  # interpreters differ in how many references this call itself adds
    free = [place for place in range(len(_buffers)) if _references(_buffers, place) == unused]
    fitting = [place for place in free if size <= len(_buffers[place]) <= 2 * size]
    if fitting:
        return _buffers[min(fitting, key=lambda place: len(_buffers[place]))]
    made = np.empty(size + size // SPARE, np.uint8)
    _buffers.append(made)
    while len(_buffers) > MOST or sum(map(len, _buffers)) > BYTES:
        del _buffers[0]  # possibly the new one itself
    return made


def _references(buffers: list[np.ndarray], place: int) -> int:
    return sys.getrefcount(buffers[place])


def _counts_references() -> bool:
    """Whether this interpreter's reference counts are exact; without a global lock they are not."""
    return sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()
