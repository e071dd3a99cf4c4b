"""graph6: one undirected graph as a line of printable characters, six bits of the adjacency matrix each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import numpy as np
import pyarrow as pa

from llwlc._io.edge_source import EdgeSource
from llwlc._io.file_bytes import UserFile, make_size_error
from llwlc._io.memory_table import make_memory_table
from llwlc.errors import InputError

HEADER = b">>graph6<<"
EDGE_BYTES = 64
"""Bytes that an edge takes while it is read: two numbers and two names."""


def read_graph6(file: UserFile) -> EdgeSource:
    """Nodes are called 0 to n − 1; the format has neither names nor weights."""
    path = file.path
    start = len(HEADER) * file.head.startswith(HEADER)
    begin = file.head[start:].lstrip()
    if not begin:
        raise InputError(f"{path} is empty: there is no graph in it")
    if begin[0] in b":;&":
        raise InputError(f"{path} is sparse6 or digraph6, which is not read: write graph6, or an edge list")
    start = len(file.head) - len(begin)
    nodes, width = _size(path, np.frombuffer(begin[:8], np.uint8).astype(np.int64) - 63)
    wanted = (nodes * (nodes - 1) // 2 + 5) // 6
    # counted before any is kept: six bits of a character can become six edges
    edges = sum(int(np.unpackbits(values).sum()) for values in _values(file, start + width, wanted, nodes))
    if file.limit is not None and edges * EDGE_BYTES > file.limit:
        raise make_size_error(path, file.limit)
    places, at = [np.zeros(0, np.int64)], 0
    for values in _values(file, start + width, wanted, nodes):
        places.append(_positions(values) + 6 * at)
        at += len(values)
    place = np.concatenate(places)
    # the upper triangle column by column: pair (i, j), i < j, has place j (j − 1) / 2 + i
    j = ((1 + np.sqrt(1 + 8 * place.astype(np.float64))) / 2).astype(np.int64)
    j -= j * (j - 1) // 2 > place
    j += (j + 1) * j // 2 <= place
    i = place - j * (j - 1) // 2
    inside = j < nodes  # the last character is padded with bits
    columns = {"source": i[inside], "target": j[inside]}
    table = pa.table({name: pa.array(numbers).cast(pa.string()) for name, numbers in columns.items()})
    return EdgeSource(make_memory_table(table, path), pa.array(np.arange(nodes)).cast(pa.string()), directed=False)


def _size(path: Path, values: np.ndarray) -> tuple[int, int]:
    """The number of nodes, in one, three or six characters, and the width of what states it."""
    start, width = (0, 1) if values[0] < 63 else (1, 3) if len(values) > 1 and values[1] < 63 else (2, 6)
    stated = values[start : start + width].tolist()
    if len(stated) < width:
        raise InputError(f"{path} ends before it says how many nodes there are: write it again")
    if min(stated) < 0 or max(stated) > 63:
        raise InputError(f"{path} is not a graph6 file: a character of it is outside ? to ~")
    return reduce(lambda number, value: number * 64 + value, stated), start + width


def _values(file: UserFile, skip: int, wanted: int, nodes: int) -> Iterator[np.ndarray]:
    """The six-bit values behind the first `skip` characters, of which there must be as many as `wanted`, and no second
    graph.
    """
    count, ended = 0, False
    for chunk in file.chunks():
        data, skip = chunk[skip:], max(skip - len(chunk), 0)
        if not ended:
            end = 0 if data[:1].isspace() or not data else len(data.split(maxsplit=1)[0])
            values = np.frombuffer(data[:end], np.uint8)
            if end and (values.min() < 63 or values.max() > 126):
                raise InputError(f"{file.path} is not a graph6 file: a character of it is outside ? to ~")
            count, ended, data = count + end, end < len(data), data[end:]
            if count > wanted:
                break
            yield values - 63
        if ended and data.strip():
            raise InputError(f"{file.path} holds several graphs, one per line: keep one")
    if count != wanted:
        have = f"more than {wanted:,}" if count > wanted else f"{count:,}"
        raise InputError(
            f"{file.path} has {have} characters for {nodes:,} nodes: it is truncated or damaged; write it again"
        )


def _positions(values: np.ndarray) -> np.ndarray:
    """Where the bits of six-bit values are set, the first bit of a value being its highest."""
    bits = np.unpackbits(values[:, None], axis=1)[:, 2:]
    return np.flatnonzero(bits)
