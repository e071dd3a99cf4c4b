"""The columns of an edge list that no option takes, and those among them that look like times."""

from __future__ import annotations

import re
from collections.abc import Collection

import pyarrow as pa

from llwlc._io.table_file import TableFile
from llwlc.errors import InputError

_NAMES = re.compile(r"(?i)(^|[^a-z])(years?|dates?|times?|timestamp|days?|created|since|at|on)([^a-z]|$)")


def find_unused(file: TableFile, used: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the columns that are not used, and which of them hold dates, by their first rows."""
    unused = [name for name in file.columns if name and name not in used]
    if not unused:
        return (), ()
    try:
        rows = file.sample(unused)
    except (pa.ArrowException, InputError):  # a row beyond the sample may explain it: this is a hint, not a check
        return tuple(unused), ()
    return tuple(unused), tuple(name for name in unused if looks_like_time(name, rows[name]))


def looks_like_time(name: str, column: pa.ChunkedArray) -> bool:
    """Whether a column holds dates, or numbers under the name of a time.

    >>> looks_like_time("first met", pa.chunked_array([["2024-05-01", None]]))
    True
    >>> looks_like_time("year", pa.chunked_array([[2001]])), looks_like_time("count", pa.chunked_array([[3]]))
    (True, False)
    """
    column = column.drop_null()
    if not len(column):
        return False
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        return True
    if pa.types.is_string(column.type):
        try:
            column.cast(pa.timestamp("us"))
        except pa.ArrowInvalid:
            return False
        return True
    numbers = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    return numbers and _NAMES.search(name.replace("_", " ")) is not None
