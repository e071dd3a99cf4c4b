"""The k-subsets of deleted vertices: all of them in chunks, or a sample."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

import numpy as np
from numpy.typing import NDArray

from llwlc._support.compiler import compiled
from llwlc.errors import InputError

Subsets = NDArray[np.int64]
CHUNK = 1 << 14  # subsets held at once: 25 MB of node views at n = 198


def iterate_chunks(n: int, k: int, *, size: int = CHUNK) -> Iterator[Subsets]:
    """All k-subsets of 0 … n − 1 in lexicographic order, `[≤ size, k]` at a time.

    >>> [c.tolist() for c in iterate_chunks(4, 2, size=4)]
    [[[0, 1], [0, 2], [0, 3], [1, 2]], [[1, 3], [2, 3]]]
    """
    if not 0 <= k <= n:
        raise InputError(f"k: a graph of {n} nodes has no subset of {k} vertices to delete; take k from 0 to {n}")
    left, last = comb(n, k), np.arange(k)
    last[-1:] -= 1
    while left:
        out = np.empty((min(left, size), k), dtype=np.int64)
        _advance(last, n, out)
        left -= len(out)
        yield out


def sample_subsets(n: int, k: int, count: int, *, seed: int) -> Subsets:
    """`count` k-subsets drawn uniformly and independently, `[count, k]`.

    >>> sample_subsets(5, 2, 3, seed=0).shape
    (3, 2)
    """
    if not 0 <= k <= n:
        raise InputError(f"k: a graph of {n} nodes has no subset of {k} vertices to delete; take k from 0 to {n}")
    # the k smallest of n uniforms are a uniform k-subset
    draws = np.random.default_rng(seed).random((count, n))
    return np.sort(np.argpartition(draws, k - 1, axis=1)[:, :k], axis=1) if k else np.empty((count, 0), dtype=np.int64)


@compiled
def _advance(last: Subsets, n: int, out: Subsets) -> None:
    """Fill `out` with the subsets that follow `last`, and leave the final one there."""
    k = len(last)
    for t in range(len(out)):
        a = k - 1
        while a >= 0 and last[a] == n - k + a:
            a -= 1
        if a >= 0:
            last[a] += 1
            for b in range(a + 1, k):
                last[b] = last[b - 1] + 1
        out[t] = last
