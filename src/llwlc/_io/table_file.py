"""Tables from files: CSV and its relatives, Parquet, either of them gzipped."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from llwlc._io.file_bytes import UNZIPPED_LIMIT, UserFile, make_size_error, open_file
from llwlc._io.parquet_size import copy_to_arrow, unpacked_bytes
from llwlc._io.separator import SEPARATORS, find_separator, first_lines, read_rows
from llwlc._io.text_check import TextCheck
from llwlc._support.text import describe_error, quote_text
from llwlc.errors import InputError, LLwLCError

MOST_COLUMNS = 1 << 18
"""Columns of a table in text: each takes some kilobytes while it is read. A sparse matrix (npz) may have more."""
DATABASE_FILES = {"sqlite": (0, b"SQLite format 3\0"), "duckdb": (8, b"DUCK")}
"""How the files of databases begin, and where."""
SAMPLE_ROWS, SAMPLE_BYTES = 100, 1 << 15


@dataclass(frozen=True)
class TableFile:
    """A table whose columns are known and whose rows are still to be read; `separator` is None for Parquet.

    Without a header the columns are called "1", "2", ...
    """

    path: Path
    data: bytes
    columns: tuple[str, ...]
    separator: str | None = None
    has_header: bool = True
    skip: int = 0

    def read(self, *, columns: Sequence[str] | None = None, text: Collection[str] = ()) -> pa.Table:
        """These columns (all of them if None), those of `text` as strings just as they are written."""
        wanted = list(self.columns if columns is None else columns)
        with arrow_errors(self.path):
            if self.separator is not None:
                return self._read_text(wanted, text)
            table = pa.parquet.read_table(copy_to_arrow(self.data), columns=wanted)
            table.validate(full=True)  # a damaged file may declare bytes as text that are not UTF-8
            return table

    def sample(self, columns: Sequence[str]) -> pa.Table:
        """These columns of the first rows, a hundred or so."""
        if self.separator is None:
            file = pa.parquet.ParquetFile(copy_to_arrow(self.data) if self.data else self.path)
            batch = next(file.iter_batches(SAMPLE_ROWS, columns=list(columns)), None)
            return file.schema_arrow.empty_table() if batch is None else pa.Table.from_batches([batch])
        head = b"".join(io.BytesIO(self.data).readlines(SAMPLE_BYTES))
        return replace(self, data=head)._read_text(list(columns), ())

    def without_header(self) -> TableFile:
        """The same file, its first line a row."""
        return _text_table(self.path, self.data, self.skip, header=False, separator=self.separator)

    def _read_text(self, wanted: list[str], text: Collection[str]) -> pa.Table:
        return pa.csv.read_csv(
            copy_to_arrow(self.data),
            # one block: arrow infers a column's type from its first block only
            read_options=pa.csv.ReadOptions(
                block_size=min(len(self.data) + 1, 1 << 30),
                skip_rows=self.skip + self.has_header,
                column_names=list(self.columns),
            ),
            parse_options=pa.csv.ParseOptions(delimiter=self.separator, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                include_columns=wanted, column_types={name: pa.string() for name in text}
            ),
        )


@contextmanager
def arrow_errors(path: Path) -> Iterator[None]:
    """Turns arrow's errors about a file into an `InputError` of one sentence."""
    try:
        yield
    except LLwLCError:  # a database that does not answer is an OSError too
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        what = describe_error(error).removeprefix("CSV parse error: ")
        raise InputError(f"{path} cannot be read as a table: {what}. Fix or remove that row") from error


def open_table(
    path: str | Path,
    *,
    header: bool | None = None,
    separator: str | None = None,
    unzipped_limit: int | None = UNZIPPED_LIMIT,
) -> TableFile:
    """Looks into a file and finds out its kind, separator and columns.

    Parquet is known by its first bytes. In text, leading lines that start with "# " or "%" are skipped; the separator
    is the first of tab, comma, semicolon and space that cuts the first lines into equally many fields; with `header`
    None, a first line whose first two fields are numbers is data. A compressed file that unpacks to more than
    `unzipped_limit` bytes is refused.
    """
    with open_file(Path(path), unzipped_limit) as file:
        return table_of(file, header=header, separator=separator)


def table_of(file: UserFile, *, header: bool | None = None, separator: str | None = None) -> TableFile:
    """`open_table` for a file that is open already."""
    path = file.path
    if separator is not None and (len(separator) != 1 or separator in '"\r\n' or not separator.isascii()):
        raise InputError(f"the separator must be one character, no quote and no line end, got {quote_text(separator)}")
    scheme = next((name for name, (at, mark) in DATABASE_FILES.items() if file.head.startswith(mark, at)), None)
    if scheme is not None:
        raise InputError(
            f"{path} is a {scheme} database: name it as {scheme}:///{path}, with what to read (--query 'select a, b"
            " from ...'; in Python llwlc.Query(url, sql))"
        )
    if file.head[:4] == b"PAR1":
        data = file.read()
        return TableFile(path, data, check_distinct_columns(path, _parquet_columns(path, data, file.limit)))
    if {".parquet", ".pq"} & set(path.suffixes):
        raise InputError(f"{path} is not a Parquet file, whatever its name says: check what wrote it")
    data = file.read(TextCheck(path, None if separator is None else separator.encode()))
    data = (
        data if data.endswith((b"\n", b"\r")) else data + b"\n"
    )  # arrow finds no header in a file of one line without an end
    skip, lines = first_lines(data)
    if not lines:
        raise InputError(f"{path} is empty: there is no row to read")
    if max(map(lines[0].count, SEPARATORS if separator is None else [separator])) >= MOST_COLUMNS:
        raise InputError(f"{path} has more than {MOST_COLUMNS:,} columns: check what wrote it, and the separator")
    if separator is None:
        separator = find_separator(path, lines)
    if separator == " ":
        data = _single_spaces(data)
    elif _has_spaced_quotes(data, re.escape(separator.encode())):
        data, skip = _unspaced_quotes(path, data, skip, separator), 0
    return _text_table(path, data, skip, header=header, separator=separator)


def _text_table(path: Path, data: bytes, skip: int, *, header: bool | None, separator: str | None) -> TableFile:
    """A text file after its first look: finds the names of its columns."""
    assert separator is not None
    lines = first_lines(data, skip=skip)[1]
    fields = [field.strip() for field in next(read_rows(path, lines, separator))]
    if separator == " ":
        fields = [field for field in fields if field]
    if header is None:
        header = not (len(fields) >= 2 and all(_is_number(field) for field in fields[:2]))
    columns = check_distinct_columns(path, fields) if header else tuple(str(i + 1) for i in range(len(fields)))
    return TableFile(path, data, columns, separator, header, skip)


def _parquet_columns(path: Path, data: bytes, limit: int | None) -> list[str]:
    try:
        found = pa.parquet.read_metadata(copy_to_arrow(data))
        names: list[str] = found.schema.to_arrow_schema().names
        if limit is not None and unpacked_bytes(data, found, limit) > limit:
            raise make_size_error(path, limit)
    except (pa.ArrowException, OSError, UnicodeDecodeError, ValueError, LookupError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path} is a broken Parquet file ({describe_error(error)}): write or download it again"
        ) from error
    return names


def as_numbers(column: pa.ChunkedArray) -> np.ndarray | None:
    """A numeric or boolean column as float64, NaN where a value is missing; None for a column of any other type."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return None
    values: np.ndarray = column.to_numpy()
    return values.astype(np.float64)


def _single_spaces(data: bytes) -> bytes:
    """Columns padded with several spaces, cut back to one."""
    return re.sub(rb"(?m)^ +| +(?=\r?$)", b"", re.sub(rb"[ \t]{2,}|\t", b" ", data))


def _has_spaced_quotes(data: bytes, separator: bytes) -> bool:
    """Whether spaces stand between a separator and a quote, outside of quoted cells: the cell ", " has such a sequence
    inside.
    """
    spaced = separator + rb' +"'
    if not re.search(spaced, data):
        return False
    quoted_cell = rb'(?m)(^|%b)"(?:[^"]|"")*+"(?=%b|\r?$)' % (separator, separator)
    return re.search(spaced, re.sub(quoted_cell, rb"\1", data)) is not None


def _unspaced_quotes(path: Path, data: bytes, skip: int, separator: str) -> bytes:
    """The table after its first `skip` lines, without spaces between a separator and a quote: arrow would read such
    quotes as part of a name.
    """
    text = io.StringIO(data.decode("utf-8-sig"), newline="")
    for _ in range(skip):
        text.readline()
    tidy = io.StringIO()
    csv.writer(tidy, delimiter=separator, lineterminator="\n").writerows(read_rows(path, text, separator))
    return tidy.getvalue().encode()


def check_distinct_columns(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise InputError(
            f"{path} has two columns called {quote_text(twice[0])}: rename one, or use --no-header if there is no"
            " header"
        )
    return tuple(names)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
