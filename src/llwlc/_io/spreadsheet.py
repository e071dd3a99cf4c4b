"""Tables that a spreadsheet opens without running any cell as a formula."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

# what Excel, LibreOffice and Google Sheets take for the beginning of a formula
_FORMULA = "^[=+\\-@\t\r\n＝＋－＠]"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def escape_formulas(table: pa.Table) -> pa.Table:
    """The table with ' before every text, column names too, that a spreadsheet would take for a formula; plain numbers
    stay.

    >>> escape_formulas(pa.table({"source": ["=HYPERLINK(1)", "-3", "Ada"]}))["source"].to_pylist()
    ["'=HYPERLINK(1)", '-3', 'Ada']
    """
    columns = [_guarded(column) if _is_text(column.type) else column for column in table.columns]
    names = _guarded(pa.chunked_array([pa.array(table.column_names, pa.string())])).to_pylist()
    return pa.table(columns, names=names)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _guarded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    danger = pc.and_not(pc.match_substring_regex(column, _FORMULA), pc.match_substring_regex(column, _NUMBER))
    return pc.if_else(danger, pc.binary_join_element_wise("'", column, ""), column)
