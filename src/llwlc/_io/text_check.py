"""Text of rows and cells, checked piece by piece as it is read, so that a line without an end is refused at its first
megabytes and not when it fills the memory.
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from llwlc._io.row_check import LONGEST_CELL, RowCheck, count_lines
from llwlc._io.separator import LONGEST_LINE, SEPARATORS, find_separator, first_lines
from llwlc.errors import InputError

_ALL = "".join(SEPARATORS).encode()
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
        self._rows = RowCheck(path)
        self._lines = 0
        self._line = self._cell = 0  # bytes since the last line and cell began
        self._leading = 0  # bytes of blank lines and comments at the top, while nothing else has been seen
        self._top = b""  # of these, what tells whether the last line, which may go on, is one
        self._blank = 0  # bytes of blank lines since anything else was seen
        self._started = self._returned = False  # rows have begun; the last piece ended with a carriage return

    def __call__(self, chunk: bytes) -> None:
        if not self._lines and not self._line:
            chunk = chunk.removeprefix(codecs.BOM_UTF8)
        self._lines -= self._returned and chunk.startswith(b"\n")  # counted with the last piece
        if self._decoder is not None:
            self._require_text(self._decoder, chunk)
        rows = self._find_rows(chunk)
        if rows is not None and self.separators is None:
            self.separators = _find_separators(self.path, rows)
        separators = _ALL if self.separators is None else self.separators
        self._require_few_blanks(chunk)
        self._require_ends(chunk, separators)
        if rows is not None:
            self._rows(rows, separators, line=self._lines + count_lines(chunk[: len(chunk) - len(rows)]) + 1)
        self._lines += count_lines(chunk)
        self._returned = chunk.endswith(b"\r") or (self._returned and not chunk)

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

    def _find_rows(self, chunk: bytes) -> bytes | None:
        """The piece without blank lines and comments at the top; None before there is anything else."""
        if self._started:
            return chunk
        text = self._top + chunk
        row = _NO_COMMENT.search(text)
        if row is not None:
            self._started = True
            return chunk[max(row.start() - len(self._top), 0) :]
        last = text[text.rfind(b"\n") + 1 :]
        self._top = last[:2] if last.strip() else last[:1]
        self._leading += len(chunk)
        if self._leading > LONGEST_LINE:
            raise InputError(
                f"{self.path} begins with {self._leading:,} bytes of blank lines and comments: remove them, or check"
                " what wrote it"
            )
        return None

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


def _each(marks: bytes) -> list[bytes]:
    return [bytes([mark]) for mark in marks]


def _find_separators(path: Path, rows: bytes) -> bytes:
    """The separator, by the lines that end among these rows; if none does, all that it may be."""
    lines = first_lines(rows[: max(rows.rfind(b"\n"), rows.rfind(b"\r")) + 1])[1]
    if lines:
        return find_separator(path, lines).encode()
    return bytes(mark for mark in _ALL if mark in rows[:LONGEST_CELL] and mark != ord(" ")) or b" "
