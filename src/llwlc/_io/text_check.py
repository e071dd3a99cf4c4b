"""Text of rows and cells, checked piece by piece as it is read, so that a line without an end is refused at its first
megabytes and not when it fills the memory.
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from llwlc.errors import InputError

LONGEST_CELL = 1 << 17
"""Bytes of a cell, which is also the limit of Python's csv module."""
LONGEST_LINE = 1 << 24
"""Bytes of a line: a million columns of numbers."""
LARGE = 1 << 24
"""Bytes after which rows are counted as they are read; of a smaller file, arrow names the row that differs."""
SEPARATORS = b",\t; "
_NO_COMMENT = re.compile(rb"(?m)^(?![^\S\n]*$|#\s|#$|%\s|%%|%$).")


class TextCheck:
    """Called with one piece of a file after the other, an empty one at the end.

    It raises an error for a line, a cell or a quoted cell without an end, for a beginning without rows, for blank lines
    without an end, for text that is not UTF-8, and in a large table for a row of more or fewer cells than the first.

    Args:
        path: the file, for messages.
        separators: the characters that may stand between cells; None where the first row says.
        encoded: whether the text must be UTF-8.
    """

    def __init__(self, path: Path, separators: bytes | None = None, *, encoded: bool = True) -> None:
        self.path, self.separators = path, separators
        self._decoder = codecs.getincrementaldecoder("utf-8")() if encoded else None
        self._lines = 0
        self._line = self._cell = self._quoted = 0  # bytes since the last line, cell and quoted cell began
        self._leading = 0  # bytes of blank lines and comments at the top, while nothing else has been seen
        self._blank = 0  # bytes of blank lines since anything else was seen
        self._size = 0
        self._width: int | None = None  # separators of the first row, where it has one kind and no quotes
        self._row: tuple[int, int] | None = None  # separators and bytes since the last line began, where they are known
        self._started = self._inside = False
        self._before, self._quotes = b"\n", b""  # the last character before the piece, and the quotes that follow it

    def __call__(self, chunk: bytes) -> None:
        if self.separators is None:
            self.separators = _separators(chunk)
        if not self._size and len(self.separators) == 1 and self.separators != b" ":
            self._width = _first_width(chunk, self.separators)
        self._size += len(chunk)
        if self._decoder is not None:
            self._require_text(self._decoder, chunk)
        self._require_rows(chunk)
        self._require_few_blanks(chunk)
        self._require_ends(chunk, self.separators)
        self._require_equal_rows(chunk, self.separators)
        self._require_closed_quotes(chunk, self.separators)
        self._lines += chunk.count(b"\n")

    def _require_text(self, decoder: codecs.IncrementalDecoder, chunk: bytes) -> None:
        if not self._lines and not self._line and chunk[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError(f"{self.path} is UTF-16 text: save it as UTF-8")
        if b"\0" in chunk:
            raise InputError(f"{self.path} is a binary file: give a CSV, TSV or Parquet file")
        if chunk.isascii() and decoder.getstate()[0] == b"":
            return
        try:
            decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            line = self._lines + error.object.count(b"\n", 0, error.start) + 1
            raise InputError(
                f"{self.path} is not UTF-8 text (byte 0x{error.object[error.start]:02x} in line {line}): save it as"
                " UTF-8, for example with iconv -f latin1 -t utf-8"
            ) from None

    def _require_rows(self, chunk: bytes) -> None:
        if self._started:
            return
        start = chunk.find(b"\n") + 1 if self._line else 0
        self._started = (start > 0 or not self._line) and _NO_COMMENT.search(chunk, start) is not None
        self._leading += len(chunk)
        if not self._started and self._leading > LONGEST_LINE:
            raise InputError(
                f"{self.path} begins with {self._leading:,} bytes of blank lines and comments: remove them, or check"
                " what wrote it"
            )

    def _require_few_blanks(self, chunk: bytes) -> None:
        """Blank lines are no rows, and gzip makes a thousandth of them."""
        blank = len(chunk) - len(chunk.rstrip())
        self._blank = self._blank + blank if blank == len(chunk) else blank
        if self._blank > LONGEST_LINE:
            raise InputError(
                f"{self.path} has {self._blank:,} bytes of blank lines in a row, in or after line {self._lines + 1:,}:"
                " remove them, or check what wrote it"
            )

    def _require_ends(self, chunk: bytes, separators: bytes) -> None:
        """Every `LONGEST_CELL` bytes there is the end of a cell, every `LONGEST_LINE` bytes that of a line."""
        at, size = -self._cell, len(chunk)  # where the cell began, as a position of this chunk
        while size - at > LONGEST_CELL:
            low, high = max(at, 0), at + LONGEST_CELL + 1
            last = max(chunk.rfind(mark, low, high) for mark in (b"\n", b"\r"))
            if last < 0:
                last = max(chunk.rfind(mark, low, high) for mark in _each(separators))
            if last < 0:
                raise self._too_long("a cell", LONGEST_CELL)
            at = last + 1
        last = max(chunk.rfind(mark, max(at, 0)) for mark in _each(separators + b"\n\r"))
        self._cell = size - (last + 1 if last >= 0 else at)
        # a chunk is shorter than the longest line: only lines that cross its borders can be too long
        first = min((place for mark in (b"\n", b"\r") if (place := chunk.find(mark)) >= 0), default=size)
        if self._line + first > LONGEST_LINE:
            raise self._too_long("a line", LONGEST_LINE)
        self._line = size - 1 - max(chunk.rfind(mark) for mark in (b"\n", b"\r")) if first < size else self._line + size

    def _too_long(self, what: str, longest: int) -> InputError:
        return InputError(
            f"{self.path} has {what} of more than {longest:,} characters, in or after line {self._lines + 1:,}: check"
            " what wrote it, and the separator"
        )

    def _require_equal_rows(self, chunk: bytes, separators: bytes) -> None:
        """Rows without quotes, in a file of which arrow would first keep all that is there."""
        if self._width is None or self._size <= LARGE:
            return
        if self._inside or b'"' in chunk or (b"\r" in chunk and b"\n" not in chunk):
            self._row = None
            return
        values = np.frombuffer(chunk, np.uint8)
        ends, marks = np.flatnonzero(values == ord("\n")), np.flatnonzero(values == separators[0])
        if not len(ends):
            self._row = None if self._row is None else (self._row[0] + len(marks), self._row[1] + len(chunk))
            return
        counts = np.diff(np.searchsorted(marks, ends), prepend=0)
        lengths = np.diff(ends, prepend=-1) - 1
        if self._row is not None:
            counts[0], lengths[0] = counts[0] + self._row[0], lengths[0] + self._row[1]
        blank = (lengths == 0) | ((lengths == 1) & (values[ends - 1] == ord("\r")))
        differs = (counts != self._width) & ~blank
        differs[0] &= self._row is not None
        if differs.any():
            at = int(differs.argmax())
            raise InputError(
                f"{self.path} has {counts[at] + 1:,} cells in line {self._lines + at + 1:,}, and {self._width + 1:,} in"
                " its first row: fix or remove that row"
            )
        self._row = len(marks) - int(np.searchsorted(marks, ends[-1])), len(chunk) - 1 - int(ends[-1])

    def _require_closed_quotes(self, chunk: bytes, separators: bytes) -> None:
        """Follows quoted cells from piece to piece, as they may hold the ends of lines."""
        # a run of quotes, and spaces before a quote, may go on in the next piece
        data = self._before + self._quotes + chunk
        body = data.rstrip(b'"')
        quotes = len(data) - len(body)
        self._quotes = b'"' * (quotes if quotes < 3 else 2 - quotes % 2)
        self._before = body.rstrip(b" ")[-1:].replace(b'"', b"x") or self._before
        if not self._inside and b'"' not in body:
            return
        begin, end, inside = _quoted_cells(np.frombuffer(body, np.uint8), separators, self._inside)
        begin = np.r_[-self._quoted, begin] if self._inside else begin
        lengths = np.r_[end, len(body)][: len(begin)] - begin
        if len(lengths) and lengths.max() > LONGEST_CELL:
            raise InputError(
                f"{self.path} has a quote that is not closed, or a cell of more than {LONGEST_CELL:,} characters, in or"
                f" after line {self._lines + 1:,}: fix it"
            )
        self._inside, self._quoted = inside, int(lengths[-1]) if inside else 0


def _first_width(chunk: bytes, separators: bytes) -> int | None:
    """The separators of the first row; None where it has a quote, or no end."""
    match = _NO_COMMENT.search(chunk)
    line, end, _ = chunk[match.start() :].partition(b"\n") if match else (b"", b"", b"")
    return line.count(separators) if end and b'"' not in line and separators in line else None


def _quoted_cells(
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
    before = runs - 1
    for _ in range(8):
        spaces = (values[before] == ord(" ")) & (before > 0)
        if not spaces.any():
            break
        before = before - spaces
    ends = np.zeros(256, bool)
    ends[list(separators + b"\n\r")] = True
    opening = ends[values[before]]
    if opening[int(inside) :: 2].all() and not opening[1 - int(inside) :: 2].any():  # the usual file
        return runs[int(inside) :: 2], runs[1 - int(inside) :: 2], (len(runs) + inside) % 2 == 1
    # the cell is open after each second run since the latest one that cannot open it
    count = np.cumsum(opening)
    latest = np.maximum.accumulate(np.where(opening, -1, np.arange(len(runs))))
    base = np.where(latest < 0, -int(inside), count[latest])
    is_open = np.equal((count - base) % 2, 1)
    was_open = np.r_[inside, is_open[:-1]]
    return runs[is_open & ~was_open], runs[was_open & ~is_open], bool(is_open[-1])


def _each(marks: bytes) -> list[bytes]:
    return [bytes([mark]) for mark in marks]


def _separators(chunk: bytes) -> bytes:
    """Those that the first row has; the space where it has no other."""
    match = _NO_COMMENT.search(chunk)
    line = chunk[match.start() : match.start() + LONGEST_CELL].split(b"\n")[0] if match else b""
    return bytes(mark for mark in SEPARATORS[:-1] if mark in line) or SEPARATORS[-1:]
