"""Whether arrays are an undirected graph in CSR, looked at part by part: in memory that does not grow with the
graph.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from llwlc.graph._sorted_search import INDPTR_FAULT, check_rows

SYMMETRY_FAULT = 4
"""The fault of a graph that has a link in one direction only, or with another value in the other."""
AT_ONCE = 1 << 22
"""Entries that are checked at a time."""
Values = Callable[[int, int], NDArray[np.uint64]]
"""64 bits for each entry from one number to another, which must be the same in both directions; or none at all."""


def _no_values(first: int, last: int) -> NDArray[np.uint64]:
    return np.zeros(0, dtype=np.uint64)


def find_csr_fault(indptr: NDArray[np.int64], indices: NDArray[np.int64], values: Values = _no_values) -> int:
    """`INDPTR_FAULT`, `RANGE_FAULT`, `ORDER_FAULT` or `SYMMETRY_FAULT`; 0 where rows are sorted and every link is there
    in both directions with the same value. The two directions are compared by a sum of salted hashes, which is zero if
    they agree, so that nothing has to be transposed."""
    n, salt, total, begin = len(indptr) - 1, np.uint64(secrets.randbits(64)), 0, 0
    while begin < n:
        end = max(begin + 1, int(np.searchsorted(indptr, indptr[begin] + AT_ONCE, side="right")) - 1)
        end = min(end, n, begin + AT_ONCE)
        first, last = int(indptr[begin]), int(indptr[end])
        if not 0 <= first <= last <= len(indices):
            return INDPTR_FAULT
        # `values` are those of the entries from `first` to `last` only
        fault, part = check_rows(indptr, indices, values(first, last), begin, end, salt, first)
        if fault:
            return fault
        total, begin = (total + int(part)) % (1 << 64), end
    return SYMMETRY_FAULT if total else 0
