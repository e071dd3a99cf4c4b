"""Binary search in a part of a sorted array."""

from __future__ import annotations

import numpy as np

from llwlc._support.compiler import U, compiled


@compiled
def lower_bound(values: np.ndarray, begin: np.uint64, end: np.uint64, wanted: np.uint64) -> np.uint64:
    """The first place in the sorted `values[begin:end]` that is not below `wanted`."""
    while begin < end:
        middle = (begin + end) >> U(1)
        if values[middle] < wanted:
            begin = middle + U(1)
        else:
            end = middle
    return begin


@compiled
def has(values: np.ndarray, begin: np.uint64, end: np.uint64, wanted: np.uint64) -> bool:
    """Whether `wanted` is in the sorted `values[begin:end]`."""
    p = lower_bound(values, begin, end, wanted)
    return bool(p < end and values[p] == wanted)
