"""PackedNames: the names of the nodes of a packed graph, sorted, in mapped files: found by binary search, never all in
memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from torch import Tensor

from llwlc.graph._sorted_search import find_texts

AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class PackedNames(Sequence[str]):
    """Names that are all integers as `value [n]`, any others as UTF-8 `text` with `end [n + 1]`, node i the bytes from
    `end[i]` to `end[i + 1]`; sorted as `number_nodes` sorts them. `identity [n]`: the number by which random draws
    identify each node."""

    identity: Tensor
    value: Tensor | None = None
    text: Tensor | None = None
    end: Tensor | None = None

    def __len__(self) -> int:
        return len(self.identity)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            begin, end, step = at.indices(len(self))
            return self._between(begin, end) if step == 1 else [self[i] for i in range(begin, end, step)]
        at = int(at)
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        at %= len(self)
        if self.value is not None:
            return str(int(self.value[at]))
        assert self.text is not None
        assert self.end is not None
        return bytes(self.text[int(self.end[at]) : int(self.end[at + 1])].numpy()).decode()

    def _between(self, begin: int, end: int) -> list[str]:
        """The names from `begin` to `end`, decoded together: one by one takes a hundred times as long."""
        if begin >= end:
            return []
        if self.value is not None:
            return list(map(str, self.value[begin:end].tolist()))
        assert self.text is not None
        assert self.end is not None
        ends = self.end[begin : end + 1]
        offsets, text = (ends - ends[0]).numpy(), self.text[int(ends[0]) : int(ends[-1])].numpy()
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
        decoded: list[str] = pa.Array.from_buffers(pa.large_string(), end - begin, buffers).to_pylist()
        return decoded

    def __iter__(self) -> Iterator[str]:
        for begin in range(0, len(self), AT_ONCE):
            yield from self[begin : begin + AT_ONCE]

    def find(self, wanted: pa.Array) -> NDArray[np.int64]:
        """The number of each name, −1 where there is no such node."""
        if self.value is not None:
            asked, is_integer = parse_integers(wanted)
            values = self.value.numpy()
            at = np.searchsorted(values, asked)
            at[at == len(values)] = 0
            return np.where(is_integer & (len(values) > 0) & (values[at] == asked), at, -1)
        assert self.text is not None
        assert self.end is not None
        texts = pa.array(wanted.cast(pa.large_string()))
        positions = np.empty(len(texts), dtype=np.int64)
        _, offsets, data = texts.buffers()
        ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1].copy()
        sought = np.zeros(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8).copy()
        find_texts(self.text.numpy(), self.end.numpy(), sought, ends, positions)
        return positions


# as Python and JSON write integers; "007" is a name, not a number
INTEGER = r"^(0|-?[1-9][0-9]*)$"


def parse_integers(names: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Names as integers `[m]`, and which of them are; 0 where one is not, or is longer than 64 bits.

    >>> parse_integers(pa.array(["7", "007", "-1", "Ada", "99999999999999999999"]))
    (array([ 7,  0, -1,  0,  0]), array([ True, False,  True, False, False]))
    """
    import pyarrow.compute as pc

    # nineteen digits may be one too many, so those are looked at one by one
    short = pc.fill_null(
        pc.and_(pc.match_substring_regex(names, INTEGER), pc.less_equal(pc.utf8_length(names), 18)), False
    )
    value = pc.if_else(short, names, "0").cast(pa.int64()).to_numpy(zero_copy_only=False).copy()
    is_integer = short.to_numpy(zero_copy_only=False).copy()
    long = pc.and_(pc.invert(short), pc.fill_null(pc.match_substring_regex(names, INTEGER), False))
    for i in np.flatnonzero(long.to_numpy(zero_copy_only=False)):
        number = int(names[int(i)].as_py()) if pc.utf8_length(names[int(i)]).as_py() < 21 else 1 << 64
        if -(1 << 63) <= number < 1 << 63:
            value[i], is_integer[i] = number, True
    return value, is_integer
