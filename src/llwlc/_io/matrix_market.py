"""Matrix Market: a sparse adjacency matrix as text; the sizes in its header are checked before memory is allocated for
them.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from llwlc._io.edge_source import EdgeSource, make_bipartite_note, make_side_names
from llwlc._io.file_bytes import UserFile, make_size_error
from llwlc._io.memory_table import make_memory_table
from llwlc._io.text_check import TextCheck
from llwlc._support.text import describe_error
from llwlc.errors import InputError

NODE_BYTES = 64
"""Bytes that a node without an edge takes here, its name included."""


def read_matrix_market(file: UserFile) -> EdgeSource:
    """Entry (i, j) is an edge between nodes i and j, called by their numbers from 1 as in the file; values are weights
    unless all are 1, zeros are not edges. Of a matrix that is not square, rows are nodes L1, L2, … and columns R1, R2,
    … Of a symmetric one the stored triangle is taken: links are undirected.

    scipy's compiled reader is not used: some damaged files make it crash the process.
    """
    path = file.path
    header = _header(path, file.read(TextCheck(path, b" \t", encoded=False)), file.limit)
    try:
        row, column, values = _entries(header)
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"{path} is a broken Matrix Market file ({describe_error(error)}): fix it, or write it again"
        ) from None
    there = values != 0
    row, column, values = row[there], column[there], values[there]
    square = header.rows == header.columns
    sides = ("", "") if square else ("L", "R")
    ends = [make_side_names(axis, side) for axis, side in zip((row, column), sides, strict=True)]
    weight = {} if (values == 1).all() else {"weight": pa.array(values)}
    counts = zip(sides, (header.rows,) if square else (header.rows, header.columns), strict=False)
    nodes = pa.concat_arrays([make_side_names(np.arange(1, count + 1), side) for side, count in counts])
    table = pa.table({"source": ends[0], "target": ends[1], **weight})
    notes = () if square else (make_bipartite_note(path),)
    return EdgeSource(
        make_memory_table(table, path), nodes, None if square and header.symmetry == "general" else False, notes
    )


class Header(NamedTuple):
    """What the first lines state, and the text after them. `entries`: None for a dense matrix."""

    pattern: bool
    symmetry: str
    rows: int
    columns: int
    entries: int | None
    body: bytes


def _header(path: Path, data: bytes, limit: int | None) -> Header:
    """The header; kinds of matrices that are not read, and sizes that the file is too short for, are refused."""
    lines = io.BytesIO(data)
    kind = lines.readline(200).decode(errors="replace").lower().split()
    wanted = "a matrix of real, integer or pattern entries"
    if len(kind) != 5 or kind[0] != "%%matrixmarket" or kind[1] != "matrix" or kind[2] not in ("coordinate", "array"):
        raise InputError(f"{path} has no Matrix Market header of {wanted}: its first line must say so")
    if kind[3] not in ("real", "double", "integer", "unsigned-integer", "pattern"):
        raise InputError(f"{path} is a matrix of {kind[3]} entries, which are not weights: give {wanted}")
    size = next((line for line in lines if line.strip() and not line.lstrip().startswith(b"%")), b"")
    numbers = [int(number) for number in size.split() if re.fullmatch(rb"[0-9]{1,18}", number)]
    if len(numbers) != len(size.split()) or len(numbers) != (3 if kind[2] == "coordinate" else 2):
        raise InputError(f"{path} has no line with its numbers of rows, columns and entries behind the header: fix it")
    rows, columns, *entries = numbers
    room = data.count(b"\n") + 1
    if (entries[0] if entries else rows * columns // 2) > room:
        raise InputError(f"{path} declares more entries than it has lines: it is truncated; copy or download it again")
    if limit is not None and (rows + columns) * NODE_BYTES > limit:
        raise make_size_error(path, limit)
    return Header(kind[3] == "pattern", kind[4], rows, columns, entries[0] if entries else None, lines.read())


def _entries(header: Header) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Row, column and value of each entry, counted from 1."""
    if not header.body.strip():
        table = np.zeros((0, 1 if header.entries is None else 2 if header.pattern else 3))
    else:
        table = np.loadtxt(io.TextIOWrapper(io.BytesIO(header.body), "utf-8", "replace"), comments="%", ndmin=2)
    if header.entries is None:
        return _dense_entries(header, table)
    if len(table) != header.entries or table.shape[1] != (2 if header.pattern else 3):
        raise ValueError(f"{len(table)} rows of {table.shape[1]} numbers where {header.entries} entries are promised")
    place = table[:, :2]
    if not ((place >= 1) & (place <= [header.rows, header.columns]) & (place == np.floor(place))).all():
        raise ValueError("an entry lies outside the matrix")
    row, column = place.astype(np.int64).T
    return row, column, np.ones(len(table)) if header.pattern else table[:, 2]


def _dense_entries(
    header: Header, table: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """All values, column by column; of a symmetric matrix those on and below the diagonal."""
    column, row = np.divmod(np.arange(header.rows * header.columns), max(header.rows, 1))
    if header.symmetry == "symmetric":
        row, column = row[row >= column], column[row >= column]
    elif header.symmetry == "skew-symmetric":
        row, column = row[row > column], column[row > column]
    if header.pattern or table.shape[1] != 1 or len(table) != len(row):
        raise ValueError(f"{table.size} numbers where {len(row)} are promised")
    return row + 1, column + 1, table[:, 0]
