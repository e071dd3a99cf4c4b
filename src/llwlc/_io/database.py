"""Tables in databases: the rows of a query as arrow batches, and a table written back in one transaction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import pyarrow as pa

from llwlc._io.database_url import DatabaseUrl, redact
from llwlc._support.registry import Record, Registry
from llwlc._support.text import describe_error, quote_text
from llwlc.errors import InputError

ROWS = 1 << 16
"""Rows of a batch."""
IF_EXISTS = ("fail", "append")
MOST_BYTES = 63
"""Bytes of a table's name: PostgreSQL would cut a longer one."""


class TableName(NamedTuple):
    """A table, and the schema that it is in where that was stated."""

    schema: str | None
    table: str

    @classmethod
    def parse(cls, text: str) -> TableName:
        """The table of a name, `links` or `public.links`.

        >>> TableName.parse("public.links")
        TableName(schema='public', table='links')
        """
        parts = text.split(".")
        bad = any(not part.strip() or "\0" in part or len(part.encode()) > MOST_BYTES for part in parts)
        if bad or len(parts) > 2:
            raise InputError(
                f"{quote_text(text)} names no table: write links, or schema.links, each of at most {MOST_BYTES} bytes"
            )
        return cls(parts[0] if len(parts) == 2 else None, parts[-1])

    @property
    def quoted(self) -> str:
        """The name in SQL, where a quote in it is doubled: no name can end its quotes.

        >>> TableName(None, 'a"b').quoted
        '"a""b"'
        """
        return ".".join(quote_identifier(part) for part in self if part is not None)


def quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class Database(ABC):
    """One database: its URL, and how rows are read and written there."""

    def __init__(self, url: DatabaseUrl) -> None:
        self.url = url

    @abstractmethod
    def batches(self, sql: str, rows: int) -> Generator[pa.RecordBatch]:
        """The rows of a query in batches of `rows`, on a connection that cannot write; one empty batch if there is no
        row. All batches have the same columns of the same types.
        """

    def tables(self) -> list[str]:
        """The tables that a query may name, for a hint."""
        return []

    def check_target(self, name: TableName, columns: Sequence[str], if_exists: str) -> None:
        """Raises an error where `write` could not begin."""
        raise InputError(f"{self.url.place} can be read, not written: name a SQLite, DuckDB or PostgreSQL database")

    def write(self, name: TableName, table: pa.Table, if_exists: str) -> None:
        """Writes the rows in one transaction: all of them or none."""
        raise NotImplementedError

    def explain(self, error: BaseException) -> str:
        """The first line of a driver's error, without secrets."""
        return describe_error(ValueError(self.url.hide(str(error))))

    def distinct(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The columns of a query, which must have different names."""
        twice = sorted({name for name in columns if columns.count(name) > 1})
        if twice:
            raise InputError(
                f"the query of {self.url.place} has two columns called {quote_text(twice[0])}: name one by AS"
            )
        return tuple(columns)


def check_existing(name: TableName, columns: Sequence[str], known: Sequence[str], if_exists: str) -> None:
    """Raises an error for a table that is there, unless it is to be appended to and has the columns."""
    where = ".".join(part for part in name if part is not None)
    if if_exists == "fail":
        raise InputError(
            f"there is a table {quote_text(where)} already: name another (--table), or append to it (--if-exists"
            " append)"
        )
    missing = [column for column in columns if column not in known]
    if missing:
        raise InputError(
            f"the table {quote_text(where)} has no column {quote_text(missing[0])}, so nothing can be appended: name"
            " another table"
        )


@dataclass(frozen=True)
class DatabaseKind(Record):
    """A kind of database: `target` is its `Database`, `schemes` are the beginnings of its URLs."""

    schemes: tuple[str, ...] = ()


DATABASES: Registry[DatabaseKind] = Registry("database")
_BOLT = tuple(f"{name}{secure}" for name in ("neo4j", "bolt") for secure in ("", "+s", "+ssc"))
for _record in (
    DatabaseKind("sqlite", "a SQLite file", "llwlc._io.sqlite_database:SqliteDatabase", ("sqlite",)),
    DatabaseKind("duckdb", "a DuckDB file", "llwlc._io.duckdb_database:DuckdbDatabase", ("duckdb",)),
    DatabaseKind(
        "postgresql",
        "a PostgreSQL server",
        "llwlc._io.postgresql_database:PostgresqlDatabase",
        ("postgresql", "postgres"),
    ),
    DatabaseKind("neo4j", "a Neo4j server", "llwlc._io.neo4j_database:Neo4jDatabase", _BOLT),
):
    DATABASES.add(_record)


def open_database(url: str | DatabaseUrl) -> Database:
    """The database of a URL; nothing is connected yet."""
    url = DatabaseUrl(url) if isinstance(url, str) else url
    for scheme in (url.scheme, url.scheme.partition("+")[0]):  # postgresql+psycopg:// is SQLAlchemy's way to write it
        for kind in DATABASES.records():
            if scheme in kind.schemes:
                database: Database = kind.load()(url)
                return database
    raise InputError(
        f"{url.scheme}:// is not a database that llwlc reads; it reads {DATABASES.list()}. Write the rows of another"
        " one to a CSV or Parquet file, or give a frame in Python"
    )


@dataclass(frozen=True)
class Query:
    """The rows of a query to a database, for every place that takes a table: `Graph.read`, its `features`,
    `score_table`, `updated_graph(add=)`.

    The connection is opened when the rows are read, cannot write, and is closed afterwards. Credentials are best left
    to the environment or the driver's own files (PGPASSWORD, ~/.pgpass); a password in the URL is used, but neither
    shown nor stored.

    Args:
        url: `sqlite:///shop.db`, `duckdb:///shop.duckdb`, `postgresql://host/shop` or `neo4j://host`; four slashes
            begin a path from the root.
        sql: one statement that returns rows; Cypher for Neo4j.

    >>> import sqlite3, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "shop.db"
    >>> with sqlite3.connect(file) as shop:
    ...     _ = shop.execute("CREATE TABLE orders (customer, item)")
    ...     _ = shop.execute("INSERT INTO orders VALUES ('Ada', 'tea'), ('Bob', 'tea')")
    >>> shop.close()
    >>> query = Query(f"sqlite:///{file}", "SELECT customer, item FROM orders")
    >>> query.read().to_pydict()
    {'customer': ['Ada', 'Bob'], 'item': ['tea', 'tea']}
    """

    url: str = field(repr=False)
    sql: str

    def __post_init__(self) -> None:
        if not isinstance(self.sql, str) or not self.statement or "\0" in self.sql:
            raise InputError(f"a query is a text such as 'select a, b from orders', got {quote_text(self.sql)}")
        open_database(self.url)

    def __repr__(self) -> str:
        return f"Query({redact(self.url)!r}, {self.sql!r})"

    @property
    def statement(self) -> str:
        """The query without the semicolon that ends it."""
        return self.sql.strip().rstrip("; \t\r\n")

    @property
    def name(self) -> Path:
        """What messages call it."""
        return Path(f"the query of {open_database(self.url).url.place}")

    def batches(self, rows: int = ROWS) -> Generator[pa.RecordBatch]:
        """The rows in batches, at least one.

        Args:
            rows: Rows of a batch, at most.
        """
        return open_database(self.url).batches(self.statement, rows)

    def read(self) -> pa.Table:
        """All rows, as an arrow table."""
        return pa.Table.from_batches(list(self.batches()))


def make_missing_query_error(url: str, option: str = "--query") -> InputError:
    """What to say where a database is named, and not what to read there; its tables, where they can be listed."""
    database = open_database(url)
    tables = database.tables()
    shown = ", ".join(quote_text(name) for name in tables[:10]) + (f" and {len(tables) - 10} more" * (len(tables) > 10))
    return InputError(
        f"{database.url.place} is a database: say what to read with {option} 'select a, b from ...'"
        f"{f'; it has the tables {shown}' if tables else ''}. In Python: llwlc.Query(url, sql)"
    )


def check_table_target(
    url: str, table: str, columns: Sequence[str], if_exists: Literal["fail", "append"] | str
) -> None:
    """Raises an error for a database or a table that `write_to_database` could not write: before a long job begins."""
    if if_exists not in IF_EXISTS:
        raise InputError(
            f"a table that is there already: --if-exists (if_exists=) is {' or '.join(IF_EXISTS)}, got"
            f" {quote_text(if_exists)}"
        )
    open_database(url).check_target(TableName.parse(table), columns, if_exists)


def write_to_database(url: str, name: str, table: pa.Table, if_exists: str = "fail") -> None:
    """Writes a table to a database in one transaction: an existing one is refused ("fail") or gets the rows ("append").
    A process that is killed leaves the database as it was.
    """
    check_table_target(url, name, table.column_names, if_exists)
    open_database(url).write(TableName.parse(name), table, if_exists)
