"""Typed links to score, from a table that names them, with all its columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import torch

from llwlc._io.file_bytes import UNZIPPED_LIMIT
from llwlc._io.memory_table import TableSource, open_source
from llwlc._io.table_file import arrow_errors
from llwlc._support.text import quote_text
from llwlc.errors import InputError
from llwlc.graph._edge_file import find_ends, require_column
from llwlc.graph._names import as_names, find_nodes, suggest_name
from llwlc.graph._pair_file import (
    MOST_UNKNOWN,
    RESERVED_COLUMNS,
    UNKNOWN_POLICIES,
    PairTable,
    find_codes,
    rename_reserved,
)
from llwlc.relations._triples import Triples, without_column

WRITTEN = ("source", "type", "target")
"""The columns of links in a list that `recommend` writes, whatever those of the fit are called."""


def read_triple_table(
    path: TableSource,
    known: Triples,
    relation: str = "type",
    *,
    source: str | None = None,
    target: str | None = None,
    header: bool | None = None,
    separator: str | None = None,
    unknown: str = "error",
    verbatim: bool = False,
    unzipped_limit: int | None = UNZIPPED_LIMIT,
) -> PairTable:
    """The typed links of a table, `pairs [k, 3]` in the numbers of `known`; all columns are kept as `read_pairs` keeps
    them. A row with an unknown node or type cannot be scored; `unknown` says what becomes of it.
    """
    if unknown not in UNKNOWN_POLICIES:
        raise InputError(f"unknown is one of {', '.join(map(quote_text, UNKNOWN_POLICIES))}, got {quote_text(unknown)}")
    file = open_source(path, header=header, separator=separator, unzipped_limit=unzipped_limit)
    if relation not in file.columns and {*WRITTEN} <= {*file.columns}:
        relation = WRITTEN[1]
    with arrow_errors(file.path):
        require_column(file, relation)
        ends = find_ends(without_column(file, relation), source, target)
        columns = [ends.source, relation, ends.target]
        table = file.read(text=file.columns if verbatim else columns)
        if not verbatim and (codes := find_codes(file, table)):
            table = file.read(text=[*columns, *codes])
        if not table.num_rows:
            raise InputError(f"{file.path} has no rows: typed links need at least one")
        names = [as_names(table[name], where=f"{file.path}: column {quote_text(name)}", gaps=True) for name in columns]
    given = (known.names, known.types, known.names)
    at = np.stack([find_nodes(column, names_, len(names_)) for column, names_ in zip(names, given, strict=True)], 1)
    rows = np.flatnonzero((at >= 0).all(1))
    note = "" if len(rows) == len(at) else f"{file.path}: {_complaint(at, names, given)}"
    if note and unknown == "error":
        raise InputError(
            f"{note} Correct these rows, or leave them out (--unknown skip) or without a score (--unknown blank); nodes"
            " that are new need links (--add)"
        )
    titles = list(table.column_names)
    if not file.has_header:
        called = dict(zip(columns, WRITTEN, strict=True))
        titles = [called.get(name, name) for name in titles]
    renamed = rename_reserved(titles, RESERVED_COLUMNS)
    table = table.rename_columns([renamed.get(name, name) for name in titles])
    return PairTable(torch.from_numpy(at[rows]), rows, table, renamed, note)


def _complaint(at: np.ndarray, names: list[pa.Array], given: tuple[Any, ...]) -> str:
    """How many rows cannot be scored, and the first few unknown types and nodes."""
    wrong: dict[tuple[bool, str], int] = {}
    for row, place in np.argwhere(at < 0).tolist():
        wrong.setdefault((place == 1, names[place][row].as_py()), row + 1)
    listed = ""
    for (is_type, name), row in list(wrong.items())[:MOST_UNKNOWN]:
        known = given[1 if is_type else 0]
        what = f"{'type of links' if is_type else 'node'} {quote_text(name)}" if name else "name"
        hint = suggest_name(name, known, len(known)) if name else ""
        listed += f" {'There' if listed else 'there'} is no {what} (row {row}).{hint}"
    more = f" {len(wrong) - MOST_UNKNOWN:,} more names are unknown." if len(wrong) > MOST_UNKNOWN else ""
    return f"{int((at < 0).any(1).sum()):,} of {len(at):,} typed links cannot be scored:{listed}{more}"
