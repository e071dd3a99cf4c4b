"""graph6: one undirected graph as a line of printable characters, six bits of the adjacency matrix each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from llwlc.errors import InputError
from llwlc.graph.edge_source import EdgeSource
from llwlc.graph.file_bytes import too_large
from llwlc.graph.memory_table import memory_table

HEADER = b">>graph6<<"
CHUNK = 1 << 20
EDGE_BYTES = 64
"""Bytes that an edge takes while it is read: two numbers and two names."""


def read_graph6(path: Path, data: bytes, limit: int | None) -> EdgeSource:
    """Nodes are called 0 to n − 1; the format has neither names nor weights."""
    lines = data.removeprefix(HEADER).split()
    if not lines:
        raise InputError(f"{path} is empty: there is no graph in it")
    if len(lines) > 1:
        raise InputError(f"{path} holds {len(lines):,} graphs, one a line: keep one")
    values = np.frombuffer(lines[0], np.uint8)
    if values[0] in (ord(":"), ord(";"), ord("&")):
        raise InputError(f"{path} is sparse6 or digraph6, which is not read: write graph6, or an edge list")
    if values.min() < 63 or values.max() > 126:
        raise InputError(f"{path} is no graph6 file: a character of it is outside ? to ~")
    nodes, bits = _size(path, values - 63)
    if len(bits) != (nodes * (nodes - 1) // 2 + 5) // 6:
        raise InputError(
            f"{path} has {len(bits):,} characters for {nodes:,} nodes: it is truncated or damaged; write it again"
        )
    found: list[np.ndarray] = [np.zeros(0, np.int64)]
    for at in range(0, len(bits), CHUNK):
        found.append(_positions(bits[at : at + CHUNK]) + 6 * at)
        if limit is not None and sum(map(len, found)) * EDGE_BYTES > limit:
            raise too_large(path, limit)
    place = np.concatenate(found)
    # the upper triangle column by column: pair (i, j), i < j, has place j (j − 1) / 2 + i
    j = ((1 + np.sqrt(1 + 8 * place.astype(np.float64))) / 2).astype(np.int64)
    j -= j * (j - 1) // 2 > place
    j += (j + 1) * j // 2 <= place
    i = place - j * (j - 1) // 2
    inside = j < nodes  # the last character is padded with bits
    columns = {"source": i[inside], "target": j[inside]}
    table = pa.table({name: pa.array(numbers).cast(pa.string()) for name, numbers in columns.items()})
    return EdgeSource(memory_table(table, path), pa.array(np.arange(nodes)).cast(pa.string()), directed=False)


def _size(path: Path, values: np.ndarray) -> tuple[int, np.ndarray]:
    """The number of nodes, in one, three or six characters, and what follows it."""
    start, width = (0, 1) if values[0] < 63 else (1, 3) if len(values) > 1 and values[1] < 63 else (2, 6)
    if len(values) < start + width:
        raise InputError(f"{path} ends before it says how many nodes there are: write it again")
    number = 0
    for value in values[start : start + width].tolist():
        number = number * 64 + value
    return number, values[start + width :]


def _positions(values: np.ndarray) -> np.ndarray:
    """Where the bits of six-bit values are set, the first bit of a value being its highest."""
    bits = np.unpackbits(values[:, None], axis=1)[:, 2:]
    return np.flatnonzero(bits)
