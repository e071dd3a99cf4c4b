"""The same tables in each kind of database, for tests."""

import os
import sqlite3
import uuid

import pytest

SERVER = os.environ.get("LLWLC_TEST_POSTGRESQL")
KINDS = ("sqlite", "duckdb", "postgresql")


def postgresql_server() -> str:
    if not SERVER:
        pytest.skip("needs a PostgreSQL server: LLWLC_TEST_POSTGRESQL=postgresql://… (.ci/run starts one)")
    return SERVER


def run_sql(url: str, *statements: str, rows=()):
    """Runs statements by the database's own driver, the last one with each of the `rows`; returns what it finds."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        base = sqlite3.connect(rest[1:])
    elif scheme == "duckdb":
        import duckdb

        base = duckdb.connect(rest[1:])
    else:
        import psycopg

        base = psycopg.connect(url)
        statements = tuple(statement.replace("?", "%s") for statement in statements)
    try:
        cursor = base.cursor()
        for statement in statements[: len(statements) - bool(rows)]:
            cursor.execute(statement)
        if rows:
            cursor.executemany(statements[-1], rows)
        found = cursor.fetchall() if cursor.description and not rows else []
        base.commit()
        return found
    finally:
        base.close()


@pytest.fixture(params=KINDS)
def database(request, tmp_path):
    """The URL of an empty database of each kind."""
    yield from make_database(request.param, tmp_path)


def make_database(kind, tmp_path):
    if kind != "postgresql":
        yield f"{kind}:///{tmp_path}/shop.{kind}"
        return
    server, name = postgresql_server(), f"t{uuid.uuid4().hex[:12]}"
    import psycopg

    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
    yield server.rpartition("/")[0] + f"/{name}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
