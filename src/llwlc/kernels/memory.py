"""Large arrays that are used again: the system clears every page that it hands out, which for a batch of links takes as long as a third of the
work on them.

A buffer is free again when nobody but the pool refers to it: arrays and tensors made from it do, for as long as they live.
"""

from __future__ import annotations

import sys
from threading import Lock

import numpy as np

SMALL = 1 << 16  # bytes; less than this is not worth it
SPARE = 4  # a buffer is made a quarter larger than asked for: the next batch will not be of quite the same size
KEPT = 1 << 28  # bytes of all free buffers together that are kept for later
UNUSED = 2  # references to a buffer from the pool: its list, and the variable that looks at it

_buffers: list[np.ndarray] = []
_lock = Lock()


def empty(count: int, dtype: type[np.generic]) -> np.ndarray:
    """`np.empty(count, dtype)`, from memory that was in use before where there is some."""
    size = count * np.dtype(dtype).itemsize
    if size < SMALL or not _counts_references():
        return np.empty(count, dtype)
    with _lock:
        return _take(size)[:size].view(dtype)


def _take(size: int) -> np.ndarray:
    """The smallest free buffer that is large enough without being more than twice as large as a new one; else a new one."""
    best: np.ndarray | None = None
    kept = 0
    for place in range(len(_buffers) - 1, -1, -1):
        buffer = _buffers[place]
        if sys.getrefcount(buffer) > UNUSED + 1:  # one more for the call itself
            continue
        fits = size <= len(buffer) <= 2 * _with_spare(size)
        if fits and (best is None or len(buffer) < len(best)):
            best = buffer
        kept += len(buffer)
        if kept > KEPT and buffer is not best:
            del _buffers[place]
            kept -= len(buffer)
    if best is None:
        best = np.empty(_with_spare(size), np.uint8)
        _buffers.append(best)
    return best


def _with_spare(size: int) -> int:
    return size + size // SPARE


def _counts_references() -> bool:
    """Whether this interpreter counts references as they are; without a global lock it does not."""
    return sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()
