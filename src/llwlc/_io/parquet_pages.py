"""The sizes that the headers of Parquet pages state: a reader allocates and unpacks by these, whatever the footer says.

The footer is read here too: arrow's own view of a column chunk aborts the process where the chunk's statistics are
damaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

DEEPEST = 16
"""Structures inside each other; a footer has seven."""
ROW_GROUPS, CHUNKS, CHUNK = 4, 1, 3
"""Numbers of fields: the row groups of a file, the column chunks of a row group, the metadata of a chunk."""
COMPRESSED, DATA_PAGE, DICTIONARY_PAGE = 7, 9, 11
"""Numbers of fields of a chunk's metadata: the compressed size of all its pages, the offsets of its first pages."""
PAGE_UNPACKED, PAGE_PACKED = 2, 3
"""Numbers of fields of a page header."""


def page_bytes(data: bytes) -> list[int]:
    """The unpacked size of all pages of each row group of a file."""
    end = len(data) - 8
    begin = end - int.from_bytes(data[end : end + 4], "little")
    if not 0 < begin < end:
        raise ValueError("the footer states no size")
    groups = _Compact(data, begin, end).structure().get(ROW_GROUPS) or []
    return [sum(_chunk_bytes(data, chunk[CHUNK], begin) for chunk in group[CHUNKS]) for group in groups]


def _chunk_bytes(data: bytes, chunk: dict[int, Any], footer: int) -> int:
    start = chunk[DATA_PAGE]
    if 0 < (chunk.get(DICTIONARY_PAGE) or 0) < start:
        start = chunk[DICTIONARY_PAGE]
    return sum(_pages(data, start, min(start + chunk[COMPRESSED], footer)))


def _pages(data: bytes, at: int, end: int) -> Iterator[int]:
    """The unpacked size of each page between two places."""
    while 0 < at < end:
        header = _Compact(data, at, len(data))
        page = header.structure()
        sizes = page.get(PAGE_UNPACKED), page.get(PAGE_PACKED)
        if not all(isinstance(size, int) and size >= 0 for size in sizes):
            raise ValueError("a page header states no size")
        yield page[PAGE_UNPACKED]
        at = header.at + page[PAGE_PACKED]


class _Compact:
    """Thrift's compact protocol, as far as Parquet needs it: integers, lists and structures; texts and numbers of other
    types are passed over.
    """

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.data, self.at, self.end = data, at, end

    def structure(self, depth: int = 0) -> dict[int, Any]:
        """The values of a structure by the numbers of their fields."""
        if depth == DEEPEST:
            raise ValueError("its structures are nested too deep")
        values: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            step, kind = divmod(head, 16)
            field = field + step if step else self._integer()
            # a boolean field is in the head itself
            values[field] = None if kind in (1, 2) else self._value(kind, depth)
        return values

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (4, 5, 6):
            return self._integer()
        if kind in (1, 2, 3, 7, 8):  # one byte, a double, a text
            length = self._varint() if kind == 8 else 8 if kind == 7 else 1  # which moves on itself, so not in one line
            self.at += length
            return None
        if kind in (9, 10):
            size, inner = divmod(self._byte(), 16)
            size = self._varint() if size == 15 else size
            if size > self.end - self.at:  # each element has a byte at least
                raise ValueError("a list in it is longer than the file")
            return [self._value(inner, depth) for _ in range(size)]
        if kind == 12:
            return self.structure(depth + 1)
        raise ValueError("a value in it has no known type")

    def _byte(self) -> int:
        if not 0 <= self.at < self.end:
            raise ValueError("it is truncated")
        self.at += 1
        return self.data[self.at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
        raise ValueError("a number in it has no end")

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
