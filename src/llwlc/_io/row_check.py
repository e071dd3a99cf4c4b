"""The cells of a text table, counted row by row as it is read, so that ragged rows are refused before they fill the
memory.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from llwlc.errors import InputError

LONGEST_CELL = 1 << 17
"""Bytes of a cell, which is also the limit of Python's csv module."""
LARGE = 1 << 24
"""Bytes after which a ragged row is refused while the table is read; for a smaller table, arrow names the row."""


class RowCheck:
    """Checks a table that is passed in consecutive pieces, from its first row on.

    It raises an error for a quoted cell without an end and, in a large table, for a row of more or fewer cells than the
    first. Separators and ends of lines inside quotes are text.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._size = 0
        self._inside, self._quoted = False, 0  # whether a quoted cell is open, and bytes since it began
        self._before, self._quotes = b"\n", b""  # what precedes the piece: a character and a space, and quotes
        self._width: int | None = None  # separators in the first row; where columns are padded, cells
        self._marks = 0  # separators, or cells, since the last row ended
        self._ragged: str | None = None

    def __call__(self, chunk: bytes, separators: bytes, *, line: int) -> None:
        """`line`: the number of the first line of the piece. If there are several possible separators, cells are not
        counted.
        """
        padded = separators == b" "  # columns may then be padded by several spaces and tabs
        # a run of quotes, and spaces before a quote, may continue in the next piece
        data = self._before + self._quotes + chunk
        offset, body = len(data) - len(chunk), data.rstrip(b'"')
        quotes = len(data) - len(body)
        self._quotes = b'"' * (quotes if quotes < 3 else 2 - quotes % 2)
        last = body if b" " in separators else body.rstrip(b" ")
        self._before = last[-1:].replace(b'"', b"x") + body[len(last) :][:1]
        self._size += len(chunk)
        values = np.frombuffer(body, np.uint8)
        begin, end = self._follow_quotes(values, b" \t" if padded else separators, line)
        if len(separators) != 1:
            return
        breaks = (values == ord("\n")) | (values == ord("\r"))
        ends = np.flatnonzero(breaks[1:] & ~breaks[:-1]) + 1  # without those of blank lines, which are no rows
        marks = _cell_starts(values) if padded else np.flatnonzero(values == separators[0])
        ends, marks = _outside(ends, begin, end), _outside(marks[np.searchsorted(marks, 1) :], begin, end)
        cuts = np.r_[-self._marks, np.searchsorted(marks, ends)]
        self._marks = len(marks) - int(cuts[-1])
        counts = np.diff(cuts)
        if padded:  # a line of spaces is no row
            counts, ends = counts[counts > 0], ends[counts > 0]
        if self._width is None and len(counts):
            self._width = int(counts[0])
        differs = counts != self._width
        if self._ragged is None and differs.any():
            row = int(differs.argmax())
            cells, first = int(counts[row]) + (not padded), (self._width or 0) + (not padded)
            line += count_lines(chunk[: ends[row] - offset])
            self._ragged = (
                f"{self.path} has {cells:,} cells in line {line:,}, and {first:,} in its first row: fix or remove that"
                " row"
            )
        if self._ragged is not None and self._size > LARGE:
            raise InputError(self._ragged)

    def _follow_quotes(
        self, values: NDArray[np.uint8], separators: bytes, line: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where quoted cells begin and end; the first may have begun in an earlier piece."""
        begin, end, inside = find_quoted_cells(values, separators, self._inside)
        begin = np.r_[-self._quoted, begin] if self._inside else begin
        lengths = np.r_[end, len(values)][: len(begin)] - begin
        if len(lengths) and lengths.max() > LONGEST_CELL:
            raise InputError(
                f"{self.path} has a quote that is not closed, or a cell of more than {LONGEST_CELL:,} characters, in or"
                f" after line {line:,}: fix it"
            )
        self._inside, self._quoted = inside, int(lengths[-1]) if inside else 0
        return begin, end


def count_lines(chunk: bytes) -> int:
    r"""The number of line ends, each of them \n, \r or both."""
    return chunk.count(b"\n") + (chunk.count(b"\r") - chunk.count(b"\r\n") if b"\r" in chunk else 0)


def find_quoted_cells(
    values: NDArray[np.uint8], separators: bytes, inside: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    """Where quoted cells begin and end among these characters, and whether the last is still open; `inside`: whether
    one was at the first of them.

    A run of an even number of quotes changes nothing: the quotes are text, or an empty cell. One of an odd number ends
    a cell that is open; outside it begins one if a separator is before it, and is text if not.
    """
    runs: NDArray[np.int64] = np.flatnonzero(values == ord('"'))
    gaps = np.diff(runs)
    if len(gaps) and gaps.min() == 1:
        first = np.r_[0, np.flatnonzero(gaps > 1) + 1]
        runs = runs[first][np.diff(first, append=len(runs)) % 2 == 1]
    if not len(runs):
        return runs, runs, inside
    ends = np.zeros(256, bool)
    ends[list(separators + b"\n\r")] = True
    before = runs - 1
    opening = ends[values[before]]
    if (spaces := values == ord(" "))[before].any():  # they may stand between a separator and a quote
        solid = np.maximum.accumulate(np.where(spaces, np.int32(0), np.arange(len(values), dtype=np.int32)))
        opening |= ends[values[solid[before]]]
    if opening[int(inside) :: 2].all() and not opening[1 - int(inside) :: 2].any():  # the usual file
        return runs[int(inside) :: 2], runs[1 - int(inside) :: 2], (len(runs) + inside) % 2 == 1
    # the cell is open after each second run since the latest one that cannot open it
    count = np.cumsum(opening)
    latest = np.maximum.accumulate(np.where(opening, -1, np.arange(len(runs))))
    base = np.where(latest < 0, -int(inside), count[latest])
    is_open = np.equal((count - base) % 2, 1)
    was_open = np.r_[inside, is_open[:-1]]
    return runs[is_open & ~was_open], runs[was_open & ~is_open], bool(is_open[-1])


def _cell_starts(values: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Characters after a space, a tab or the end of a line that are none of these."""
    gap = np.isin(values, np.frombuffer(b" \t\r\n", np.uint8))
    return np.flatnonzero(gap[:-1] & ~gap[1:]) + 1


def _outside(places: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places outside quoted cells."""
    if not len(begin):
        return places
    outside: NDArray[np.int64] = places[np.searchsorted(begin, places) == np.searchsorted(end, places)]
    return outside
