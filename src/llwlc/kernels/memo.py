"""What the counting pass found, kept in brief for the filling pass: most of the time of an extraction is spent looking up neighbours, and
this spares the second look where the memory for it is at hand.

A run of links is one array of 32-bit words. Of each link: n; for each node its id, then the length of its row with the hop in the top
bits; then all rows as positions.
"""

from __future__ import annotations

import numpy as np

from llwlc.kernels.compiled import U, compiled
from llwlc.kernels.enclosing import Adjacency, Room

HOP_SHIFT = 28  # rows shorter than 2²⁸, hops below 16
MOST_HOPS = 15
WORDS = 1 << 21  # of one run; longer runs are looked up twice
BUDGET = 1 << 28  # bytes of all runs together


@compiled
def fits(graph: Adjacency, n: int, room: Room, used: int) -> bool:
    """Whether a link's rows are sure to fit behind the `used` words, and into the scratch that they are first written to."""
    rows = U(0)
    for i in range(n):
        rows += graph.indptr[room.node[i] + U(1)] - graph.indptr[room.node[i]]
    return bool(rows + U(2 * n + 2 + used) < U(min(WORDS, len(room.near))))


@compiled
def keep(n: int, room: Room, words: np.ndarray, used: int) -> int:
    """Writes the subgraph in `room` behind the `used` words, returns how many are used then."""
    words[used] = n
    at = used + 1
    for i in range(n):
        words[at + i] = room.node[i]
        words[at + n + i] = (room.start[i + 1] - room.start[i]) | (U(room.hop[i]) << U(HOP_SHIFT))
    at += 2 * n
    edges = np.int64(room.start[n])
    words[at : at + edges] = room.near[:edges]
    return int(at + edges)


@compiled
def recall(words: np.ndarray, at: np.int64, room: Room) -> int:
    """Brings the subgraph that begins at a word back to `room`, returns its number of nodes."""
    n = np.int64(words[at])
    at = at + np.int64(1)
    e = U(0)
    for i in range(n):
        word = U(words[at + n + i])
        room.node[i] = U(words[at + i])
        room.hop[i] = np.int8(word >> U(HOP_SHIFT))
        room.start[i] = e
        e += word & U((1 << HOP_SHIFT) - 1)
    room.start[n] = e
    at = at + np.int64(2) * n
    edges = np.int64(e)
    room.near[:edges] = words[at : at + edges]
    return int(n)
