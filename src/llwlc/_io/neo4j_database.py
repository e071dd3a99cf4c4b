"""Neo4j, by its own driver. User and password that the URL leaves out are those of NEO4J_USERNAME and NEO4J_PASSWORD,
the database that of NEO4J_DATABASE.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from itertools import chain, islice
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from llwlc._io.database import Database
from llwlc._io.row_batches import make_batches
from llwlc._support.text import quote_text
from llwlc.errors import InputError, LLwLCError, MissingDependencyError, StorageError

WAIT = 10.0
"""Seconds that a server may take to answer."""
TYPES: dict[type, pa.DataType] = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}


class Neo4jDatabase(Database):
    """A Neo4j server: rows come from a Cypher query such as `MATCH (a)-[:KNOWS]->(b) RETURN a.name, b.name`."""

    def batches(self, sql: str, rows: int) -> Generator[pa.RecordBatch]:
        try:
            import neo4j
            from neo4j.exceptions import AuthError, ConfigurationError, DriverError, Neo4jError, ServiceUnavailable
        except ImportError:
            raise MissingDependencyError("Neo4j needs its driver: pip install 'llwlc[databases]'") from None
        place = self.url.place
        try:
            with (
                neo4j.GraphDatabase.driver(
                    self.address, auth=self.find_credentials(), connection_timeout=WAIT, user_agent="llwlc"
                ) as driver,
                driver.session(
                    database=self.database, default_access_mode=neo4j.READ_ACCESS, fetch_size=rows
                ) as session,
            ):
                found = session.run(sql)  # type: ignore[arg-type,unused-ignore]  # typed for literal text only
                yield from self.convert(found.keys(), (record.values() for record in found), rows)
        except LLwLCError:
            raise
        except (ServiceUnavailable, AuthError, OSError) as error:
            raise StorageError(
                f"{place} does not answer, or does not let this user in ({self.explain(error)}): check host, port,"
                " NEO4J_USERNAME and NEO4J_PASSWORD"
            ) from None
        except (ConfigurationError, ValueError) as error:
            raise InputError(f"{place} is not a usable URL ({self.explain(error)}): correct it") from None
        except (Neo4jError, DriverError) as error:
            raise InputError(f"the query of {place} fails ({self.explain(error)}): correct it") from None

    def convert(self, keys: Sequence[str], rows: Iterator[Sequence[Any]], size: int) -> Iterator[pa.RecordBatch]:
        """Rows of the driver's values as batches; a column has the type of its first values."""
        columns = self.distinct(list(keys))
        first = list(islice(rows, size))
        kinds = [self._type(name, [row[i] for row in first]) for i, name in enumerate(columns)]
        schema = pa.schema(list(zip(columns, kinds, strict=True)))
        plain = ([_plain(value) for value in row] for row in chain(first, rows))
        yield from make_batches(plain, schema, size, where=f"the query of {self.url.place}")

    def _type(self, name: str, values: Sequence[Any]) -> pa.DataType:
        seen = {type(_plain(value)) for value in values if value is not None}
        if any(kind.__module__.startswith("neo4j.graph") for kind in seen):
            raise InputError(
                f"the query of {self.url.place}: column {quote_text(name)} holds nodes or relationships, not values:"
                " return a property, as in n.name, or elementId(n)"
            )
        if seen == {int, float}:
            return pa.float64()
        if len(seen) == 1:
            kind = next(iter(seen))
            if kind.__name__ == "datetime":
                zoned = any(value is not None and _plain(value).tzinfo is not None for value in values)
                return pa.timestamp("us", "UTC") if zoned else pa.timestamp("us")
            return pa.date32() if kind.__name__ == "date" else TYPES.get(kind, pa.string())
        return pa.string()

    @property
    def address(self) -> str:
        """The URL without what the driver takes separately."""
        parts = urlsplit(self.url.text)
        query = f"?{parts.query}" if parts.query else ""
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{query}"

    @property
    def database(self) -> str | None:
        """The name behind the host, else NEO4J_DATABASE, else the server's own choice."""
        return urlsplit(self.url.text).path.strip("/") or os.environ.get("NEO4J_DATABASE") or None

    def find_credentials(self) -> tuple[str, str] | None:
        """User and password of the URL, else of the environment, else none."""
        user = urlsplit(self.url.text).username or os.environ.get("NEO4J_USERNAME")
        password = os.environ.get("NEO4J_PASSWORD")
        return self.url.credentials or (None if user is None or password is None else (user, password))


def _plain(value: Any) -> Any:
    """A value of the driver's own types for dates and times as Python's."""
    return value.to_native() if hasattr(value, "to_native") else value
