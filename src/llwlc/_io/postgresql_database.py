"""PostgreSQL, by psycopg. Host, user and password that the URL leaves out come from libpq's own places: PGHOST,
PGPASSWORD, ~/.pgpass, service files.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from llwlc._io.database import Database, TableName, check_existing
from llwlc._io.row_batches import DECIMAL, make_batches
from llwlc.errors import InputError, LLwLCError, MissingDependencyError, StorageError

if TYPE_CHECKING:
    import psycopg

WAIT = 10
"""Seconds that a server may take to answer, unless the URL or PGCONNECT_TIMEOUT says otherwise."""
# by the numbers that PostgreSQL's catalogue gives its types; others are read as text
TYPES = {
    **dict.fromkeys((20, 21, 23, 26), pa.int64()),
    **dict.fromkeys((700, 701), pa.float64()),
    16: pa.bool_(),
    17: pa.binary(),
    1082: pa.date32(),
    1114: pa.timestamp("us"),
    1184: pa.timestamp("us", "UTC"),
    1700: DECIMAL,
}


class PostgresqlDatabase(Database):
    """A PostgreSQL server."""

    def batches(self, sql: str, rows: int) -> Generator[pa.RecordBatch]:
        with self._connection() as server:
            columns, kinds = self._describe(server, sql)
            types = [TYPES.get(kind, pa.string()) for kind in kinds]
            schema = pa.schema(list(zip(self.distinct(columns), types, strict=True)))
            where = f"the query of {self.url.place}"
            # rows arrive one by one and are never all in memory, on this side or in a cursor of the server
            yield from make_batches(server.cursor().stream(sql.encode()), schema, rows, where=where)

    def _describe(self, server: psycopg.Connection[Any], sql: str) -> tuple[list[str], list[int]]:
        """The columns of a query and the numbers of their types, before it is run; a prepared statement is one
        statement, never several.
        """
        import psycopg

        server.execute("SELECT 1")  # begins the transaction, which is read-only
        for result in (server.pgconn.prepare(b"", sql.encode()), server.pgconn.describe_prepared(b"")):
            if result.status != psycopg.pq.ExecStatus.COMMAND_OK:
                raise psycopg.errors.error_from_result(result)
        if not result.nfields:
            raise InputError(f"the query of {self.url.place} returns no rows: write one that begins with SELECT")
        names = [(result.fname(i) or b"").decode() for i in range(result.nfields)]
        return names, [result.ftype(i) for i in range(result.nfields)]

    def tables(self) -> list[str]:
        with self._connection() as server:
            query = (
                "SELECT table_schema, table_name FROM information_schema.tables"
                " WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"
            )
            rows = server.execute(query).fetchall()
        return [table if schema == "public" else f"{schema}.{table}" for schema, table in rows]

    def check_target(self, name: TableName, columns: Sequence[str], if_exists: str) -> None:
        with self._connection() as server:
            self._begin(server, name, columns, if_exists)

    def write(self, name: TableName, table: pa.Table, if_exists: str) -> None:
        with self._connection(write=True) as server, server.transaction():
            from psycopg.sql import SQL, Identifier

            place = Identifier(*(part for part in name if part is not None))
            if not self._begin(server, name, table.column_names, if_exists):
                kinds = [SQL("{} " + _sql_type(field.type)).format(Identifier(field.name)) for field in table.schema]
                server.execute(SQL("CREATE TABLE {} ({})").format(place, SQL(", ").join(kinds)))
            listed = SQL(", ").join(map(Identifier, table.column_names))
            with server.cursor().copy(SQL("COPY {} ({}) FROM STDIN").format(place, listed)) as copy:
                for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                    copy.write_row(row)

    def _begin(self, server: psycopg.Connection[Any], name: TableName, columns: Sequence[str], if_exists: str) -> bool:
        """Whether the table is there, to be appended to; an error where it must not be, or lacks a column."""
        query = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"
        known = [column for (column,) in server.execute(query, [name.quoted]).fetchall()]
        if known:
            check_existing(name, columns, known, if_exists)
        return bool(known)

    @contextmanager
    def _connection(self, *, write: bool = False) -> Iterator[psycopg.Connection[Any]]:
        try:
            import psycopg
        except ImportError:
            raise MissingDependencyError("PostgreSQL needs psycopg: pip install 'llwlc[databases]'") from None
        self.url.check_password()
        place, connected = self.url.place, False
        try:
            with psycopg.connect(**self._parameters()) as server:
                connected = True
                server.read_only = not write
                yield server
        except LLwLCError:
            raise
        except psycopg.Error as error:
            what = self.explain(error)
            if not connected and isinstance(error, psycopg.OperationalError):
                raise StorageError(
                    f"{place} does not answer, or does not let this user in ({what}): check host, port, user and"
                    " password (PGPASSWORD, ~/.pgpass)"
                ) from None
            if not connected:
                raise InputError(f"{place} is not a usable URL ({what}): correct it") from None
            if write:
                raise StorageError(f"{place} cannot be written ({what}): nothing was changed") from None
            raise InputError(f"the query of {place} fails ({what}): correct it, or ask for less") from None

    def _parameters(self) -> dict[str, Any]:
        from psycopg.conninfo import conninfo_to_dict

        text = f"postgresql://{self.url.text.partition('://')[2]}"
        wait = {} if "PGCONNECT_TIMEOUT" in os.environ else {"connect_timeout": WAIT}
        return {"application_name": "llwlc", **wait, **conninfo_to_dict(text)}


def _sql_type(kind: pa.DataType) -> str:
    return "bigint" if pa.types.is_integer(kind) else "double precision" if pa.types.is_floating(kind) else "text"
