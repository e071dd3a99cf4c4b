"""Binary search in arrays of mapped files: whether a pair is a link, which node has a name; and the check that a mapped
graph is valid.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from llwlc._support.compiler import exact

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]
GOLDEN, MIX_1, MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S27, S30, S31 = np.uint64(27), np.uint64(30), np.uint64(31)
INDPTR_FAULT, RANGE_FAULT, ORDER_FAULT = 1, 2, 3
"""Faults of a graph in CSR: `indptr` decreases; a node number is out of range; a row is unsorted, repeats a neighbour
or has a self-loop.
"""


@exact
def lower_bound(values: Integers, low: int, high: int, wanted: int) -> int:
    """The first position from `low` on whose value is not below the wanted one, among sorted values up to `high`;
    `high` where all are.
    """
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@exact
def are_linked(indptr: Integers, indices: Integers, pairs: Integers, found: NDArray[np.bool_]) -> None:
    """Whether v stands in the row of u, for pairs (u, v) `[m, 2]`."""
    for i in range(len(pairs)):
        u, v = pairs[i, 0], pairs[i, 1]
        at = lower_bound(indices, indptr[u], indptr[u + 1], v)
        found[i] = at < indptr[u + 1] and indices[at] == v


@exact
def find_texts(text: Bytes, end: Integers, wanted: Bytes, wanted_end: Integers, found: Integers) -> None:
    """The position of each wanted text among sorted ones, −1 where it is absent: text i is `text[end[i]:end[i + 1]]`,
    in the order of bytes, which in UTF-8 is that of code points.
    """
    for i in range(len(wanted_end) - 1):
        begin, length = wanted_end[i], wanted_end[i + 1] - wanted_end[i]
        low, high, found[i] = 0, len(end) - 1, -1
        while low < high:
            middle = (low + high) // 2
            first, size = end[middle], end[middle + 1] - end[middle]
            at, shared = 0, min(size, length)
            while at < shared and text[first + at] == wanted[begin + at]:
                at += 1
            order = size - length if at == shared else np.int64(text[first + at]) - np.int64(wanted[begin + at])
            if order == 0:
                found[i] = middle
                break
            if order < 0:
                low = middle + 1
            else:
                high = middle


@exact
def are_texts_sorted(text: Bytes, end: Integers, begin: int, last: int) -> bool:
    """Whether each of the texts from `begin` to `last` stands before the next."""
    for i in range(begin, last):
        first, size, second, length = end[i], end[i + 1] - end[i], end[i + 1], end[i + 2] - end[i + 1]
        at, shared = 0, min(size, length)
        while at < shared and text[first + at] == text[second + at]:
            at += 1
        if (at == shared and size >= length) or (at < shared and text[first + at] > text[second + at]):
            return False
    return True


@exact
def _mix(x: np.uint64) -> np.uint64:
    x = x + GOLDEN
    x = (x ^ (x >> S30)) * MIX_1
    x = (x ^ (x >> S27)) * MIX_2
    return x ^ (x >> S31)


@exact
def check_rows(
    indptr: Integers, indices: Integers, values: NDArray[np.uint64], begin: int, end: int, salt: np.uint64, first: int
) -> tuple[int, np.uint64]:
    """The fault of rows `begin` to `end` (0 for none), and a sum over their entries (u, v): a salted hash of link and
    value, added where u < v and subtracted where u > v. Over a whole graph the sum is zero if each link is there in
    both directions with the same value; the salt is random, so that no file can be made to cancel by design. `values`:
    one for each entry from number `first` on, or none."""
    n, total = len(indptr) - 1, np.uint64(0)
    for u in range(begin, end):
        if indptr[u] > indptr[u + 1] or indptr[u] < 0 or indptr[u + 1] > len(indices):
            return INDPTR_FAULT, total
        before = np.int64(-1)
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            if v < 0 or v >= n:
                return RANGE_FAULT, total
            if v <= before or v == u:
                return ORDER_FAULT, total
            before = v
            key = _mix(_mix(salt ^ np.uint64(min(u, v))) ^ np.uint64(max(u, v)))
            if len(values) > 0:
                key = _mix(key ^ values[e - first])
            total = total + key if u < v else total - key
    return 0, total
