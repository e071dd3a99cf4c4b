"""An edge list in batches: what `edge_file` reads at once, for files that are larger than memory."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from llwlc._io.database import Query, make_missing_query_error
from llwlc._io.database_url import restore_url
from llwlc._io.file_bytes import UserFile
from llwlc._io.table_file import TableFile, arrow_errors, table_of
from llwlc._support.text import quote_text
from llwlc.errors import InputError
from llwlc.graph._edge_file import EndColumns, choose_column, find_ends, read_times, read_weights
from llwlc.graph._names import as_names

HEAD = 1 << 20
"""Bytes at the beginning of a file from which the separator and the columns are found."""
BLOCK, ROWS = 16 << 20, 1 << 20
"""Bytes of text and rows of Parquet in a batch."""


class StreamOptions(TypedDict, total=False):
    """How to read an edge list in batches; see `llwlc.graph._edge_file.read_graph`."""

    source: str | None
    target: str | None
    weight: str | None
    time: str | None
    header: bool | None
    separator: str | None


@dataclass(frozen=True)
class EdgeStream:
    """An edge list whose columns are known: `ends`, and the columns of weights and times, None for none. `query`: where
    the rows come from a database; `file` then has their columns alone.
    """

    file: TableFile
    ends: EndColumns
    weight: str | None
    time: str | None
    query: Query | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Columns `source` and `target`, names as text; `weight` and `time` where there are any. Bad rows are refused
        by their number.
        """
        done = 0
        with arrow_errors(self.file.path):
            for batch in self._read():
                yield self._checked(batch, done)
                done += batch.num_rows

    @property
    def header_may_be_an_edge(self) -> bool:
        return self.file.has_header and self.file.separator is not None and not self.ends.certain

    def _read(self) -> Iterator[pa.RecordBatch]:
        file = self.file
        columns = list(
            dict.fromkeys([*self.ends[:2], *(name for name in (self.weight, self.time) if name is not None)])
        )
        if self.query is not None:
            yield from (batch.select(columns) for batch in self.query.batches(ROWS))
            return
        if file.separator is None:
            yield from pa.parquet.ParquetFile(file.path).iter_batches(ROWS, columns=columns)
            return
        types = {name: pa.string() for name in self.ends[:2]} | (
            {} if self.weight is None else {self.weight: pa.float64()}
        )
        yield from pa.csv.open_csv(
            pa.input_stream(str(file.path), compression="gzip" if _is_gzip(file.path) else None),
            read_options=pa.csv.ReadOptions(
                block_size=BLOCK, skip_rows=file.skip + file.has_header, column_names=list(file.columns)
            ),
            parse_options=pa.csv.ParseOptions(delimiter=file.separator, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(include_columns=columns, column_types=types),
        )

    def _checked(self, batch: pa.RecordBatch, done: int) -> pa.RecordBatch:
        after = f", after row {done:,}" if done else ""
        columns: dict[str, pa.Array] = {}
        for name, column in zip(("source", "target"), self.ends[:2], strict=True):
            columns[name] = as_names(batch[column], where=f"{self.file.path}: column {quote_text(column)}{after}")
        if self.weight is not None:
            where = f"{self.file.path}: weight column {quote_text(self.weight)}{after}"
            columns["weight"] = pa.array(read_weights(pa.chunked_array([batch[self.weight]]), where=where))
        if self.time is not None:
            where = f"{self.file.path}: time column {quote_text(self.time)}{after}"
            columns["time"] = pa.array(read_times(pa.chunked_array([batch[self.time]]), where=where))
        return pa.RecordBatch.from_pydict(columns)


def open_stream(
    path: str | Path | Query,
    *,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = "auto",
    time: str | None = "auto",
    header: bool | None = None,
    separator: str | None = None,
) -> EdgeStream:
    """Looks at the beginning of a file or a query, and finds its columns as `read_graph` does."""
    if isinstance(path, Query):
        return _open_query(path, source, target, weight, time)
    path = Path(path)
    head, whole = _head(path)
    if head[:4] == b"PAR1":
        with arrow_errors(path):
            columns = tuple(pa.parquet.ParquetFile(path).schema_arrow.names)
        file = TableFile(path, b"", columns)
    else:
        head = head if whole or b"\n" not in head else head[: head.rfind(b"\n") + 1]
        file = table_of(UserFile(path, io.BytesIO(head)), header=header, separator=separator)
        spaced = re.search(rb"(?m)^ |[ \t]{2}| \r?$", head) if file.separator == " " else None
        if spaced or (file.separator not in (None, " ") and re.search(rb'[,;\t] +"', head)):
            raise InputError(
                f"{path} has spaces around its cells, which is not supported when a file is read in batches: write"
                " single separators"
            )
    ends = find_ends(file, source, target)
    return EdgeStream(file, ends, choose_column(file, "weight", weight), choose_column(file, "time", time))


def _open_query(
    query: Query, source: str | None, target: str | None, weight: str | None, time: str | None
) -> EdgeStream:
    batches = query.batches(1)
    columns = tuple(next(batches).schema.names)
    batches.close()
    file = TableFile(query.name, b"", columns)
    return EdgeStream(
        file,
        find_ends(file, source, target),
        choose_column(file, "weight", weight),
        choose_column(file, "time", time),
        query,
    )


def _head(path: Path) -> tuple[bytes, bool]:
    """The first bytes of a file, unzipped where it is gzip, and whether the file ends there."""
    try:
        if not path.is_file():
            if (url := restore_url(path)) is not None:
                raise make_missing_query_error(url)
            raise InputError(f"there is no file {path} to read in batches: name a CSV, TSV or Parquet file")
        with gzip.open(path) if _is_gzip(path) else path.open("rb") as file:
            head = file.read(HEAD)
            return head, not file.read(1)
    except (OSError, EOFError) as error:
        raise InputError(f"{path} cannot be read ({error}): copy or download it again") from error


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"
