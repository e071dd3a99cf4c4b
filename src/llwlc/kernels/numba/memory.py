"""Large arrays that are used again: the system clears every page that it hands out, which for a batch of links can take as long as a third of
the work on them.

A buffer is free again when nobody but the pool refers to it: arrays and tensors made from it do, for as long as they live.
"""

from __future__ import annotations

import sys
from threading import Lock

import numpy as np

SMALL = 1 << 16  # bytes; less than this is not worth it
SPARE = 4  # a buffer is made a quarter larger than asked for: the next batch will not be of quite the same size
# The pool knows of so many buffers, and bytes, at most, in use or free; of the oldest it forgets. So this much memory may stay with the process
# that nobody uses any more
MOST, BYTES = 32, 1 << 29

_buffers: list[np.ndarray] = []
_unreferenced = [np.empty(0, np.uint8)]
_lock = Lock()


def empty(count: int, dtype: type[np.generic]) -> np.ndarray:
    """`np.empty(count, dtype)`, from memory that was in use before where there is some."""
    size = count * np.dtype(dtype).itemsize
    # who would have to wait, in another thread, or for ever in a process forked at a bad moment, goes without
    if size < SMALL or not _counts_references() or not _lock.acquire(blocking=False):
        return np.empty(count, dtype)
    try:
        return _take(size)[:size].view(dtype)
    finally:
        _lock.release()


def _take(size: int) -> np.ndarray:
    """The smallest free buffer that is large enough and not twice as large; else a new one."""
    unused = _references(_unreferenced, 0)  # interpreters differ in what they count on the way
    free = [place for place in range(len(_buffers)) if _references(_buffers, place) == unused]
    fitting = [place for place in free if size <= len(_buffers[place]) <= 2 * size]
    if fitting:
        return _buffers[min(fitting, key=lambda place: len(_buffers[place]))]
    made = np.empty(size + size // SPARE, np.uint8)
    _buffers.append(made)
    while len(_buffers) > MOST or sum(map(len, _buffers)) > BYTES:
        del _buffers[0]  # the new one itself where it is that large
    return made


def _references(buffers: list[np.ndarray], place: int) -> int:
    return sys.getrefcount(buffers[place])


def _counts_references() -> bool:
    """Whether this interpreter counts references as they are; without a global lock it does not."""
    return sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()
