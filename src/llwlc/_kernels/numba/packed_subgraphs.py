"""Subgraphs that the counting pass found, packed for the filling pass: most of the time of an extraction goes into
looking up neighbours, and packed subgraphs, where memory allows them, spare the second look-up.

A run of links is a slice of an array of 32-bit words. Each link has n; the ids of its nodes; the lengths of their rows
with the hop in the top bits; then all rows, padded to fours, as positions.
"""

from __future__ import annotations

import numpy as np

from llwlc._kernels.numba.enclosing_subgraph import FOUR, ExtractionScratch, in_fours
from llwlc._support.compiler import U, compiled

HOP_SHIFT = 28  # rows shorter than 2²⁸, hops below 16
WORDS = 1 << 21  # of one array; a run that needs more is looked up twice
BUDGET = 1 << 28  # bytes of all arrays together


@compiled
def fits(n: int, length: np.uint64, words: np.ndarray, used: int) -> bool:
    """Whether a link of n nodes, whose rows have at most this total length inside the subgraph, is sure to fit behind
    the `used` words.
    """
    return bool(length + U((2 + FOUR) * n + 8 + used) < U(len(words)))


@compiled
def packed_rows(words: np.ndarray, at: int, n: int) -> np.ndarray:
    """The words from the rows on, of a link of n nodes whose words begin at `at`."""
    return words[at + 1 + 2 * n :]


@compiled
def words_of(n: int, scratch: ExtractionScratch) -> int:
    """The number of words that the subgraph in `scratch` takes."""
    return 1 + 2 * n + int(scratch.start[n])


@compiled
def pack_subgraph(n: int, scratch: ExtractionScratch, words: np.ndarray, used: int) -> int:
    """Packs the subgraph in `scratch`, whose rows stand in `words` already; returns the new number of used words."""
    words[used] = n
    at = used + 1
    for i in range(n):
        words[at + i] = scratch.node[i]
        words[at + n + i] = U(scratch.size[i]) | (U(scratch.hop[i]) << U(HOP_SHIFT))
    return used + words_of(n, scratch)


@compiled
def unpack_subgraph(words: np.ndarray, at: int, scratch: ExtractionScratch) -> int:
    """Unpacks the subgraph that begins at a word to `scratch`, except for its rows; returns its number of nodes."""
    n = np.int64(words[at])
    at = at + 1
    e = U(0)
    for i in range(n):
        word = U(words[at + n + i])
        scratch.node[i] = U(words[at + i])
        scratch.hop[i] = np.int8(word >> U(HOP_SHIFT))
        scratch.start[i] = e
        scratch.size[i] = word & U((1 << HOP_SHIFT) - 1)
        e += in_fours(U(scratch.size[i]))
    scratch.start[n] = e
    return int(n)
