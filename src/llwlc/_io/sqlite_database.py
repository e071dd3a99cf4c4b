"""SQLite files, by Python's own module."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager

import pyarrow as pa

from llwlc._io.database import Database, TableName, check_existing, quote_identifier
from llwlc._io.row_batches import make_batches
from llwlc._support.files import check_parent_folder
from llwlc._support.text import quote_text
from llwlc.errors import InputError, LLwLCError, StorageError

WAIT = 5.0
"""Seconds that a locked file is waited for."""
STEPS = 100_000
"""Steps of SQLite after which Python may handle a signal: Ctrl-C ends a long query."""
TYPES = {frozenset({"integer"}): pa.int64(), frozenset({"blob"}): pa.binary()}


class SqliteDatabase(Database):
    """A SQLite file. Its cells have a type each, so those of a column are looked through first: integers and text
    together are text.
    """

    def batches(self, sql: str, rows: int) -> Generator[pa.RecordBatch]:
        with self._connection() as base:
            description = base.execute(sql).description
            if description is None:
                raise InputError(f"the query of {self.url.place} returns no rows: write one that begins with SELECT")
            columns = self.distinct([column[0] for column in description])
            schema = pa.schema(list(zip(columns, self._types(base, sql, len(columns)), strict=True)))
            yield from make_batches(base.execute(sql), schema, rows, where=f"the query of {self.url.place}")

    def _types(self, base: sqlite3.Connection, sql: str, width: int) -> list[pa.DataType]:
        names = [f"c{i}" for i in range(width)]
        kinds = ", ".join(f"group_concat(DISTINCT typeof({name}))" for name in names)
        seen = base.execute(f"WITH q({', '.join(names)}) AS ({sql}\n) SELECT {kinds} FROM q").fetchone()
        kinds_by_column = [frozenset((text or "").split(",")) - {"null", ""} for text in seen]
        return [
            TYPES.get(kind) or (pa.binary() if "blob" in kind else pa.string() if "text" in kind else pa.float64())
            for kind in kinds_by_column
        ]

    def tables(self) -> list[str]:
        with self._connection() as base:
            query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
            return sorted(name for (name,) in base.execute(query))

    def check_target(self, name: TableName, columns: Sequence[str], if_exists: str) -> None:
        if name.schema not in (None, "main"):
            raise InputError(f"a SQLite file has no schema {quote_text(name.schema)}: name the table alone")
        check_parent_folder(self.url.file)
        if self.url.file.exists():
            with self._connection() as base:
                self._begin(base, name, columns, if_exists)

    def write(self, name: TableName, table: pa.Table, if_exists: str) -> None:
        with self._connection(write=True) as base:
            base.execute("BEGIN IMMEDIATE")
            if not self._begin(base, name, table.column_names, if_exists):
                kinds = [f"{quote_identifier(field.name)} {_sql_type(field.type)}" for field in table.schema]
                base.execute(f"CREATE TABLE {name.quoted} ({', '.join(kinds)})")
            listed = ", ".join(map(quote_identifier, table.column_names))
            marks = ", ".join("?" * table.num_columns)
            values = zip(*(column.to_pylist() for column in table.columns), strict=True)
            base.executemany(f"INSERT INTO {name.quoted} ({listed}) VALUES ({marks})", values)
            base.execute("COMMIT")

    def _begin(self, base: sqlite3.Connection, name: TableName, columns: Sequence[str], if_exists: str) -> bool:
        """Whether the table is there, to be appended to; an error where it must not be, or lacks a column."""
        query = "SELECT count(*) FROM main.sqlite_master WHERE lower(name) = lower(?)"
        if not base.execute(query, [name.table]).fetchone()[0]:
            return False
        # the pragma as a function takes names as values
        known = [row[0] for row in base.execute("SELECT name FROM pragma_table_info(?, 'main')", [name.table])]
        check_existing(name, columns, known, if_exists)
        return True

    @contextmanager
    def _connection(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        path = self.url.file
        if not write and not path.is_file():
            raise InputError(
                f"there is no file {path}: check the name, and that four slashes begin a path from the root"
            )
        uri = f"{path.absolute().as_uri()}?mode={'rwc' if write else 'ro'}"
        try:
            # batches may be asked for by another thread: duckdb's, when a graph is packed
            opened = sqlite3.connect(uri, uri=True, timeout=WAIT, isolation_level=None, check_same_thread=False)
            with closing(opened) as base:
                base.set_progress_handler(lambda: 0, STEPS)
                if not write:
                    base.execute("PRAGMA query_only = ON")
                    base.execute("SELECT 1 FROM sqlite_master")  # looks into the file, whatever the query does
                yield base
        except LLwLCError:
            raise
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise self._clear(error, write=write) from None

    def _clear(self, error: Exception, *, write: bool) -> LLwLCError:
        place, what = self.url.place, self.explain(error)
        if "locked" in what or "busy" in what:
            return StorageError(
                f"{place} is locked by another program: wait until that has finished, then run this again"
            )
        if "not a database" in what or "malformed" in what:
            return InputError(f"{place} is not a SQLite database, or a damaged one ({what}): check the file")
        if "readonly" in what and not write:
            return InputError(f"the query of {place} would write ({what}): write one that begins with SELECT")
        if write:
            return StorageError(f"{place} cannot be written ({what}): nothing was changed; check the file and the disk")
        return InputError(f"the query of {place} fails ({what}): correct it")


def _sql_type(kind: pa.DataType) -> str:
    return "INTEGER" if pa.types.is_integer(kind) else "REAL" if pa.types.is_floating(kind) else "TEXT"
