"""What the counting pass found, kept in brief for the filling pass: most of the time of an extraction is spent looking up neighbours, and
this spares the second look where the memory for it is at hand.

A run of links is a piece of an array of 32-bit words. Of each link: n; for each node its id, then the length of its row with the hop in the
top bits; then all rows in fours, as positions.
"""

from __future__ import annotations

import numpy as np

from llwlc.kernels.numba.enclosing import FOUR, ExtractionScratch, in_fours
from llwlc.support.compiler import U, compiled

HOP_SHIFT = 28  # rows shorter than 2²⁸, hops below 16
WORDS = 1 << 21  # of one array; runs that are longer by themselves are looked up twice
BUDGET = 1 << 28  # bytes of all arrays together


@compiled
def fits(n: int, length: np.uint64, words: np.ndarray, used: int) -> bool:
    """Whether a link of n nodes whose rows have at most this length together is sure to fit behind the `used` words."""
    return bool(length + U((2 + FOUR) * n + 8 + used) < U(len(words)))


@compiled
def rows_of(words: np.ndarray, at: int, n: int) -> np.ndarray:
    """Where the rows of a link of n nodes stand whose words begin at `at`, and all that follows."""
    return words[at + 1 + 2 * n :]


@compiled
def words_of(n: int, room: ExtractionScratch) -> int:
    """How many words the subgraph in `room` takes."""
    return 1 + 2 * n + int(room.start[n])


@compiled
def keep(n: int, room: ExtractionScratch, words: np.ndarray, used: int) -> int:
    """Writes what `room` has of the subgraph before its rows, which are there already; returns how many words are used then."""
    words[used] = n
    at = used + 1
    for i in range(n):
        words[at + i] = room.node[i]
        words[at + n + i] = U(room.size[i]) | (U(room.hop[i]) << U(HOP_SHIFT))
    return used + words_of(n, room)


@compiled
def recall(words: np.ndarray, at: int, room: ExtractionScratch) -> int:
    """Brings the subgraph that begins at a word back to `room`, but for its rows; returns its number of nodes."""
    n = np.int64(words[at])
    at = at + 1
    e = U(0)
    for i in range(n):
        word = U(words[at + n + i])
        room.node[i] = U(words[at + i])
        room.hop[i] = np.int8(word >> U(HOP_SHIFT))
        room.start[i] = e
        room.size[i] = word & U((1 << HOP_SHIFT) - 1)
        e += in_fours(U(room.size[i]))
    room.start[n] = e
    return int(n)
