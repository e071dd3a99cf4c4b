"""Matrix Market: a sparse adjacency matrix as text; its header is looked at before memory is given to what it promises."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import scipy.io
import scipy.sparse

from llwlc.errors import InputError
from llwlc.graph.edge_source import EdgeSource, side_names, two_sides_note
from llwlc.graph.file_bytes import too_large
from llwlc.graph.memory_table import memory_table
from llwlc.support.text import reason

NODE_BYTES = 64
"""Bytes that a node without an edge takes here, its name included."""


def read_matrix_market(path: Path, data: bytes, limit: int | None) -> EdgeSource:
    """Entry (i, j) is an edge between nodes i and j, called by their numbers from 1 as in the file; values are weights unless all are 1, zeros are no edges. Of a matrix that is not
    square, rows are nodes L1, L2, … and columns R1, R2, …"""
    _check_header(path, data, limit)
    try:
        matrix = scipy.sparse.coo_array(scipy.io.mmread(io.BytesIO(data)))
    except (ValueError, TypeError, OverflowError, IndexError, OSError, StopIteration, MemoryError) as error:
        raise InputError(
            f"{path} is a broken Matrix Market file ({reason(error)}): mend it, or write it again"
        ) from None
    there = matrix.data != 0
    row, column = (axis[there].astype(np.int64) + 1 for axis in matrix.coords)
    rows, columns = matrix.shape
    square = rows == columns
    sides = ("", "") if square else ("L", "R")
    ends = [side_names(axis, side) for axis, side in zip((row, column), sides, strict=True)]
    values = matrix.data[there]
    weight = {} if (values == 1).all() else {"weight": pa.array(values.astype(np.float64))}
    counts = zip(sides, (rows,) if square else (rows, columns), strict=False)
    nodes = pa.concat_arrays([side_names(np.arange(1, count + 1), side) for side, count in counts])
    # one triangle is how an undirected graph is written
    one_triangle = bool((row <= column).all() or (row >= column).all())
    table = pa.table({"source": ends[0], "target": ends[1], **weight})
    notes = () if square else (two_sides_note(path),)
    return EdgeSource(memory_table(table, path), nodes, square and not one_triangle, notes)


def _check_header(path: Path, data: bytes, limit: int | None) -> None:
    """The kinds of matrices that are read, and a size that its lines can hold."""
    lines = io.BytesIO(data)
    kind = lines.readline(200).decode(errors="replace").lower().split()
    wanted = "a matrix of real, integer or pattern entries"
    if len(kind) != 5 or kind[0] != "%%matrixmarket" or kind[1] != "matrix" or kind[2] not in ("coordinate", "array"):
        raise InputError(f"{path} has no Matrix Market header of {wanted}: its first line must say so")
    if kind[3] not in ("real", "double", "integer", "unsigned-integer", "pattern"):
        raise InputError(f"{path} is a matrix of {kind[3]} entries, which are no weights: give {wanted}")
    size = next((line for line in lines if line.strip() and not line.lstrip().startswith(b"%")), b"")
    numbers = [int(number) for number in size.split() if re.fullmatch(rb"[0-9]{1,18}", number)]
    if len(numbers) != len(size.split()) or len(numbers) != (3 if kind[2] == "coordinate" else 2):
        raise InputError(f"{path} has no line with its numbers of rows, columns and entries behind the header: mend it")
    rows, columns, *entries = numbers
    room = data.count(b"\n") + 1
    if (entries[0] if entries else rows * columns // 2) > room:
        raise InputError(f"{path} promises more entries than it has lines: it is truncated; copy or download it again")
    if limit is not None and (rows + columns) * NODE_BYTES > limit:
        raise too_large(path, limit)
