"""The column of a features table that names the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from llwlc._support.text import quote_text
from llwlc.errors import InputError

ID_COLUMNS = ("node", "id", "name", "nodeid", "node_id", "index")


def guess_id_column(table: pa.Table, first: str, nodes: pa.Array) -> str:
    """The column that names the nodes of a graph: the `first` choice where it names half of them, else the one that
    names most, if that is half.

    >>> table = pa.table({"name": ["Ada", "Bob"], "key": ["a", "b"]})
    >>> guess_id_column(table, "name", pa.array(["a", "b"]))
    'key'
    """

    def share(name: str) -> float:
        column = table[name]
        if not (
            pa.types.is_integer(column.type) or pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        ):
            return 0.0
        texts = pc.unique(pc.utf8_trim_whitespace(column.combine_chunks().cast(pa.string())))
        # ids are distinct; a column of ages may hold the numbers of all nodes too
        if len(texts) < table.num_rows:
            return 0.0
        return float(pc.sum(pc.is_in(nodes, value_set=texts)).as_py() or 0) / max(len(nodes), 1)

    if not len(nodes) or share(first) >= 0.5:
        return first
    best = max((name for name in table.column_names if name != first), key=share, default=first)
    return best if best != first and share(best) >= 0.5 else first


def find_id_column(path: Path, columns: Sequence[str], node: str | None, others: Sequence[str] = ()) -> str:
    """The column of node ids: the one that was named, else one with a usual name, else the first; a column that is not
    there is an error.
    """
    for name in (*others, *([] if node is None else [node])):
        if name not in columns:
            raise InputError(
                f"{path} has no column {quote_text(name)}: it has {', '.join(map(quote_text, columns[:20]))}"
            )
    if node is not None:
        return node
    lower = {name.lower(): name for name in reversed(columns)}
    return next((lower[name] for name in ID_COLUMNS if name in lower), columns[0])
