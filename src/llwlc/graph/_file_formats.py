"""File formats of a user's own, beside those of `_io/edge_source.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from llwlc._io.edge_source import FORMATS, GraphFormat
from llwlc._io.memory_table import TableSource
from llwlc._support.registry import first_line

F = TypeVar("F", bound=Callable[[bytes], TableSource])


def register(
    name: str, *, about: str = "", endings: tuple[str, ...] = (), begins: str | None = None
) -> Callable[[F], F]:
    """Registers a function as the reader of a file format: from the bytes of a file, unzipped, to a table of its edges.
    Whatever reads a graph then reads such a file.

    The table is one that `Graph.read` takes in memory: a list of pairs, a mapping from names to columns, a pandas or
    polars frame or an arrow table, with columns `source` and `target`, and `weight` and `time` where there are any. A
    row with the same node twice makes a node that may have no edge. Of a file that is not as it should be, raise a
    `ValueError` that says what is wrong.

    Args:
        name: the name of the format.
        about: one line for lists; by default the first of the docstring.
        endings: how names of its files end, as in `(".adj",)`; `.gz` may follow.
        begins: a regular expression that the first bytes match, where files are known by them.

    >>> import tempfile, llwlc
    >>> from pathlib import Path
    >>> @register("adjacency", about="a node and its neighbours in each line", endings=(".adj",))
    ... def read_adjacency(content):
    ...     rows = [line.split() for line in content.decode().splitlines()]
    ...     return [(row[0], other) for row in rows for other in row[1:]]
    >>> path = Path(tempfile.mkdtemp()) / "friends.adj"
    >>> _ = path.write_text("Ada Bob Cleo\\nBob Cleo\\n")
    >>> llwlc.Graph.read(path)
    Graph(num_nodes=3, num_edges=3, names)
    >>> FORMATS.remove("adjacency")
    """

    def add(read: F) -> F:
        FORMATS.add(GraphFormat(name, about or first_line(read), read, begins, endings, from_bytes=True))
        return read

    return add
