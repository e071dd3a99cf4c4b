"""Pairs of a Parquet file, read in ranges of rows: each worker reads its own range."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from llwlc._io.table_file import TableFile, arrow_errors
from llwlc.graph._edge_file import find_ends


@dataclass(frozen=True)
class PairShards:
    """The pairs of a Parquet file, whose columns are found as `score` finds them."""

    path: Path
    source: str | None = None
    target: str | None = None

    @cached_property
    def _file(self) -> pa.parquet.ParquetFile:
        with arrow_errors(self.path):
            return pa.parquet.ParquetFile(self.path, memory_map=True)

    @property
    def rows(self) -> int:
        return int(self._file.metadata.num_rows)

    @cached_property
    def ends(self) -> tuple[str, str]:
        return find_ends(TableFile(self.path, b"", tuple(self._file.schema_arrow.names)), self.source, self.target)[:2]

    @cached_property
    def _first_rows(self) -> list[int]:
        """The first row of each row group, and the number of all rows."""
        sizes = [self._file.metadata.row_group(i).num_rows for i in range(self._file.num_row_groups)]
        return [0, *np.cumsum(sizes).tolist()]

    def read(self, begin: int, end: int) -> pa.Table:
        """Rows `begin` to `end`."""
        first = self._first_rows
        groups = [i for i in range(len(first) - 1) if first[i] < end and first[i + 1] > begin]
        with arrow_errors(self.path):
            parts = [
                self._group(i).slice(max(begin - first[i], 0), min(end, first[i + 1]) - max(begin, first[i]))
                for i in groups
            ]
            table = pa.concat_tables(parts)
            table.validate(full=True)
        return table

    def _group(self, number: int) -> pa.Table:
        """A row group, kept until another is read: shards are smaller than row groups."""
        cached: dict[int, pa.Table] = self.__dict__.setdefault("_kept", {})
        if number not in cached:
            cached.clear()
            cached[number] = self._file.read_row_group(number)
        return cached[number]
