"""DuckDB files, whose rows are arrow already."""

from __future__ import annotations

import secrets
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import pyarrow as pa

from llwlc._io.database import Database, TableName, check_existing, quote_identifier
from llwlc._support.files import check_parent_folder
from llwlc.errors import InputError, LLwLCError, MissingDependencyError, StorageError


class DuckdbDatabase(Database):
    """A DuckDB file."""

    def batches(self, sql: str, rows: int) -> Generator[pa.RecordBatch]:
        with self._connection() as base:
            import duckdb

            statements = base.extract_statements(sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise InputError(
                    f"the query of {self.url.place} must be one statement that returns rows: write one SELECT"
                )
            relation = base.sql(sql)
            self.distinct(relation.columns)
            reader = relation.to_arrow_reader(rows)
            schema, any_rows = reader.schema, False
            for batch in reader:
                any_rows = True
                yield batch
            if not any_rows:
                yield pa.RecordBatch.from_pylist([], schema=schema)

    def tables(self) -> list[str]:
        with self._connection() as base:
            query = "SELECT table_schema, table_name FROM information_schema.tables ORDER BY 1, 2"
            rows = base.execute(query).fetchall()
        return [table if schema == "main" else f"{schema}.{table}" for schema, table in rows]

    def check_target(self, name: TableName, columns: Sequence[str], if_exists: str) -> None:
        check_parent_folder(self.url.file)
        if self.url.file.exists():
            with self._connection() as base:
                self._begin(base, name, columns, if_exists)

    def write(self, name: TableName, table: pa.Table, if_exists: str) -> None:
        rows = f"rows_{secrets.token_hex(8)}"  # a name that no table has
        with self._connection(write=True) as base:
            base.register(rows, table)
            base.execute("BEGIN")
            listed = ", ".join(map(quote_identifier, table.column_names))
            if self._begin(base, name, table.column_names, if_exists):
                base.execute(f"INSERT INTO {name.quoted} ({listed}) SELECT {listed} FROM {rows}")
            else:
                base.execute(f"CREATE TABLE {name.quoted} AS SELECT {listed} FROM {rows}")
            base.execute("COMMIT")

    def _begin(self, base: Any, name: TableName, columns: Sequence[str], if_exists: str) -> bool:
        query = (
            "SELECT column_name FROM information_schema.columns WHERE lower(table_name) = lower(?)"
            " AND table_schema = coalesce(?, current_schema())"
        )
        known = [column for (column,) in base.execute(query, [name.table, name.schema]).fetchall()]
        if known:
            check_existing(name, columns, known, if_exists)
        return bool(known)

    @contextmanager
    def _connection(self, *, write: bool = False) -> Iterator[Any]:
        try:
            import duckdb
        except ImportError:
            raise MissingDependencyError("a DuckDB file needs duckdb: pip install 'llwlc[databases]'") from None
        path = self.url.file
        if not write and not path.is_file():
            raise InputError(
                f"there is no file {path}: check the name, and that four slashes begin a path from the root"
            )
        config = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
        try:
            with closing(duckdb.connect(str(path), read_only=not write, config=config)) as base:
                yield base
        except LLwLCError:
            raise
        except duckdb.IOException as error:
            what = self.explain(error)
            if "lock" in what.lower():
                raise StorageError(
                    f"{path} is locked by another program: wait until that has finished, then run this again"
                ) from None
            if not write and path.read_bytes()[:15] == b"SQLite format 3":
                raise InputError(f"{path} is a SQLite database: name it as sqlite:///{path}") from None
            raise InputError(f"{path} is not a DuckDB database, or cannot be opened ({what}): check the file") from None
        except duckdb.Error as error:
            what = self.explain(error)
            if write:
                raise StorageError(f"{path} cannot be written ({what}): nothing was changed") from None
            raise InputError(f"the query of {path} fails ({what}): correct it") from None
