"""Tables that are in memory already: pandas and polars frames, arrow tables, arrays of names, what a graph file says of
its edges; and the rows of a query to a database.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from llwlc._io.database import Query
from llwlc._io.file_bytes import UNZIPPED_LIMIT
from llwlc._io.table_file import SAMPLE_ROWS, TableFile, check_distinct_columns, open_table
from llwlc._support.text import describe_error, quote_text
from llwlc.errors import InputError

TableSource = Any
"""A path, or a table in memory: a pandas or polars frame, an arrow table, an array of names `[m, 2]`, a list of pairs,
a mapping from names to columns; or a `Query` to a database.
"""


@dataclass(frozen=True)
class MemoryTable(TableFile):
    """A table in memory; `path` is the name that messages use for it."""

    table: pa.Table | None = None

    def read(self, *, columns: Sequence[str] | None = None, text: Collection[str] = ()) -> pa.Table:
        """These columns, with the types that they already have."""
        assert self.table is not None
        return self.table.select(list(self.columns if columns is None else columns))

    def sample(self, columns: Sequence[str]) -> pa.Table:
        """These columns of the first rows."""
        assert self.table is not None
        return self.table.select(list(columns)).slice(0, SAMPLE_ROWS)


def make_memory_table(table: pa.Table, path: Path) -> MemoryTable:
    return MemoryTable(path, b"", check_distinct_columns(path, table.column_names), table=table)


def is_path(source: TableSource) -> bool:
    return isinstance(source, str | Path)


def get_source_name(source: TableSource) -> Path:
    """The name that messages use for a table: its file, or the type of the object.

    >>> get_source_name("edges.csv"), get_source_name([("Ada", "Bob")])
    (PosixPath('edges.csv'), PosixPath('the given list'))
    """
    if isinstance(source, Query):
        return source.name
    return Path(source) if is_path(source) else Path(f"the given {type(source).__name__}")


def open_source(
    source: TableSource,
    *,
    header: bool | None = None,
    separator: str | None = None,
    unzipped_limit: int | None = UNZIPPED_LIMIT,
) -> TableFile:
    """A table of a file or in memory, its columns found."""
    if is_path(source):
        return open_table(source, header=header, separator=separator, unzipped_limit=unzipped_limit)
    return make_memory_table(to_arrow(source), get_source_name(source))


def to_arrow(source: TableSource) -> pa.Table:
    """A table in memory as arrow has it, row for row.

    >>> to_arrow([("Ada", "Bob"), ("Bob", "Cleo")]).to_pydict()
    {'source': ['Ada', 'Bob'], 'target': ['Bob', 'Cleo']}
    """
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, Query):
        return source.read()
    try:
        if type(source).__module__.partition(".")[0] == "pandas":
            return pa.Table.from_pandas(source, preserve_index=False)
        if hasattr(source, "__arrow_c_stream__"):  # polars and others
            return _without_views(pa.table(source))
        if isinstance(source, dict):
            return pa.table(source)
        if isinstance(source, np.ndarray) and source.dtype.kind == "S":
            source = np.char.decode(source)
        rows = source.tolist() if isinstance(source, np.ndarray) else list(source)
        odd = next((row for row in rows if isinstance(row, str) or len(row) != 2), None)
        if odd is not None:
            raise InputError(
                f"a pair has two nodes, got {quote_text(odd)}: give a list of pairs, as in [('Ada', 'Bob')]"
            )
        return pa.table({name: pa.array([str(row[i]) for row in rows]) for i, name in enumerate(("source", "target"))})
    except (pa.ArrowException, TypeError, ValueError) as error:
        if isinstance(error, InputError | UnicodeError):
            raise
        raise InputError(
            "a table is a file, a pandas or polars frame, an arrow table or a list of pairs; this"
            f" {type(source).__name__} is not one ({describe_error(error)})"
        ) from error


def _without_views(table: pa.Table) -> pa.Table:
    """Text columns in arrow's usual form: many arrow functions do not support the view types that polars uses."""
    kinds = [pa.field(f.name, pa.string()) if pa.types.is_string_view(f.type) else f for f in table.schema]
    return table.cast(pa.schema(kinds))


def is_frame(source: TableSource) -> bool:
    """Whether it has named columns, so that the ends of pairs are looked for among them."""
    return isinstance(source, pa.Table | dict | Query) or hasattr(source, "__arrow_c_stream__")


def convert_like(source: TableSource, table: pa.Table, rows: np.ndarray, added: Collection[str]) -> Any:
    """`table` as the type of its `source`: a pandas or polars frame, or an arrow table. `rows` `[k]`: the source's rows
    that it holds; `added`: its columns that the source does not have.

    A pandas frame keeps its index.
    """
    kind = type(source).__module__.partition(".")[0]
    if kind == "polars":
        import polars

        return polars.from_arrow(table)
    if kind != "pandas":
        return table
    kept = source.iloc[rows].copy()
    kept.columns = [name for name in table.column_names if name not in added]
    for name in added:
        kept[name] = table[name].to_numpy()
    return kept
