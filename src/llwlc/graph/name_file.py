"""Names of nodes, one a row: those that a graph has whether they have a link or not."""

from __future__ import annotations

import csv
import io

import pyarrow as pa

from llwlc.errors import InputError
from llwlc.graph.file_bytes import UNZIPPED_LIMIT, read_bytes
from llwlc.graph.id_column import id_column
from llwlc.graph.memory_table import TableSource, called, is_path, open_source
from llwlc.graph.names import as_names
from llwlc.graph.table_file import arrow_errors, open_table, require_text
from llwlc.support.text import quoted

HEADERS = ("node", "id", "name", "nodeid", "node_id", "index", "names", "nodes")


def read_names(
    source: TableSource, *, node: str | None = None, unzipped_limit: int | None = UNZIPPED_LIMIT
) -> pa.Array:
    """The names in a file: one a line, with or without a header such as node or id; or the id column of a table with more columns; or a list of names.

    >>> read_names(["Ada", "Bob"]).to_pylist()
    ['Ada', 'Bob']
    """
    path = called(source)
    if not is_path(source) and not hasattr(source, "__arrow_c_stream__") and not isinstance(source, pa.Table | dict):
        names = [str(name) for name in source]
        return as_names(pa.array(names, pa.string()), where=str(path))
    with arrow_errors(path):
        if is_path(source):
            data = read_bytes(path, unzipped_limit)
            lines = _single_column(data) if data[:4] != b"PAR1" else None
            if lines is not None:
                require_text(path, data)
                return as_names(pa.array(lines, pa.string()), where=str(path))
            file = open_table(path, unzipped_limit=unzipped_limit, data=data)
        else:
            file = open_source(source)
        chosen = id_column(path, file.columns, node)
        names = file.read(columns=[chosen], text=[chosen])[chosen]
        if not len(names):
            raise InputError(f"{path} names no node: give one a row")
        return as_names(names, where=f"{path}: column {quoted(chosen)}")


def _single_column(data: bytes) -> list[str] | None:
    """The cells of a text of one column, without its header; None where a line has more."""
    try:
        rows = [row for row in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")) if row]
    except (UnicodeDecodeError, csv.Error):
        return None
    if (
        not rows
        or any(len(row) > 1 for row in rows[:1000])
        or any("\t" in row[0] or ";" in row[0] for row in rows[:1000])
    ):
        return None
    cells = [",".join(row).strip() for row in rows]
    return cells[1:] if cells[0].lower() in HEADERS else cells
