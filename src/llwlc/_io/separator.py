"""The separator of a text table, found in its first lines."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from llwlc._support.text import quote_text
from llwlc.errors import InputError

LONGEST_LINE = 1 << 24
"""Bytes of a line: a million columns of numbers."""
SEPARATORS = {",": "comma", "\t": "tab", ";": "semicolon", " ": "space"}
# "# " and not "#": a hashtag is a fine name for a node
_COMMENT = re.compile(r"\s*$|#\s|#$|%\s|%%|%$")


def first_lines(data: bytes, count: int = 50, skip: int = 0) -> tuple[int, list[str]]:
    """How many lines to skip at the top, `skip` or more, and the first lines after them."""
    lines: list[str] = []
    size = 0
    for number, raw in enumerate(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig")):
        line = raw.rstrip("\n")
        if number < skip:
            continue
        if not lines and _COMMENT.match(line):
            skip += 1
        elif line.strip():
            lines.append(line)
        size += len(line)
        if len(lines) == count or (size > LONGEST_LINE and len(lines) > 1):
            break
    return skip, lines


def find_separator(path: Path, lines: list[str]) -> str:
    """The first of tab, comma, semicolon and space that cuts these lines into equally many cells, two or more; if none
    does, the first that cuts the first of them.
    """
    ragged = None
    # by another separator, a line of many columns is one cell, too long for the csv module
    for separator in (mark for mark in ("\t", ",", ";", " ") if mark in lines[0]):
        widths = [len(row) for row in read_rows(path, [line.strip(" ") for line in lines], separator)]
        if widths[0] >= 2 and len(set(widths)) == 1:
            return separator
        if widths[0] >= 2 and ragged is None:
            ragged = separator
    if ragged is None:
        raise InputError(
            f"{path} has one column (its first line is {quote_text(lines[0])}): two are needed, "
            f"separated by a {', '.join(SEPARATORS.values())}"
        )
    return ragged


def read_rows(path: Path, lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    """The cells of these lines."""
    rows = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    try:
        yield from rows
    except csv.Error as error:
        what = f"an unreadable row ({error})"
        if "field limit" in str(error):
            what = "a quote that is not closed, or a cell of more than 131,072 characters"
        raise InputError(f"{path} has {what}, in or before line {rows.line_num}: fix it") from None
