"""Lists written to databases: all rows or none, and no name of a table is anything but a name."""

import subprocess
import sys

import pyarrow as pa
import pytest

from databases import run_sql
from llwlc import InputError, StorageError
from llwlc._io.database import check_table_target, write_to_database

LINKS = pa.table(
    {
        "source": ["Ada", 'B"ob', "C'; DROP TABLE links; --", "tab\tnewline\n\\N"],
        "score": [0.5, float("inf"), -1e-300, None],
        "n": pa.array([1, None, 2**62, 3]),
    }
)


def rows_of(url, table='"links"'):
    return run_sql(url, f"SELECT source, score, n FROM {table} ORDER BY source")


WANTED = sorted(zip(*(column.to_pylist() for column in LINKS.columns), strict=True))


def test_rows_arrive_as_they_are(database):
    write_to_database(database, "links", LINKS)
    assert rows_of(database) == WANTED


def test_an_existing_table_is_refused_or_appended_to_as_asked(database):
    write_to_database(database, "links", LINKS)
    with pytest.raises(InputError, match="a table 'links' already"):
        write_to_database(database, "links", LINKS)
    assert rows_of(database) == WANTED
    write_to_database(database, "links", LINKS, "append")
    assert len(rows_of(database)) == 8
    with pytest.raises(InputError, match="has no column 'other'"):
        write_to_database(database, "links", LINKS.append_column("other", LINKS["n"]), "append")
    with pytest.raises(InputError, match="fail or append, got 'replace'"):
        write_to_database(database, "links", LINKS, "replace")
    write_to_database(database, "fresh", LINKS, "append")  # a table that is not there is made
    assert len(rows_of(database, "fresh")) == 8 - 4


@pytest.mark.parametrize("name", ['a"; DROP TABLE kept; --', "sélection d'été", "select", "A b", "x" * 63])
def test_a_name_is_quoted_and_never_run(database, name):
    run_sql(database, "CREATE TABLE kept (a INTEGER)")
    write_to_database(database, name, LINKS)
    quoted = '"' + name.replace('"', '""') + '"'
    assert len(rows_of(database, quoted)) == 4
    assert run_sql(database, "SELECT count(*) FROM kept") == [(0,)]


@pytest.mark.parametrize("name", ["", " ", "a.b.c", "a.", "x" * 64, "a\0b"])
def test_names_that_are_none(database, name):
    with pytest.raises(InputError, match="names no table"):
        check_table_target(database, name, ["source"], "fail")


def test_links_are_written_to_a_table_in_a_schema(database):
    schema = "main" if not database.startswith("postgresql") else "other"
    if schema == "other":
        run_sql(database, "CREATE SCHEMA other")
    write_to_database(database, f"{schema}.links", LINKS)
    assert rows_of(database, f"{schema}.links") == WANTED
    with pytest.raises(InputError, match="already"):
        check_table_target(database, f"{schema}.links", ["source"], "fail")


def test_a_sqlite_file_has_one_schema(tmp_path):
    for schema in ("other", "temp"):
        with pytest.raises(InputError, match=f"no schema '{schema}': name the table alone"):
            write_to_database(f"sqlite:///{tmp_path}/new.db", f"{schema}.links", LINKS)
    assert not (tmp_path / "new.db").exists()
    with pytest.raises(InputError, match=r"--if-exists \(if_exists=\) is fail or append, got 'replace'"):
        write_to_database(f"sqlite:///{tmp_path}/new.db", "links", LINKS, "replace")


def test_what_the_database_refuses_leaves_it_as_it_was(database):
    run_sql(
        database,
        "CREATE TABLE links (source VARCHAR(40), score DOUBLE PRECISION, n BIGINT CHECK (n < 100))",
        "INSERT INTO links VALUES (?, ?, ?)",
        rows=[("old", 1.0, 1)],
    )
    with pytest.raises(StorageError, match=r"cannot be written.*nothing was changed"):
        write_to_database(database, "links", LINKS, "append")
    assert rows_of(database) == [("old", 1.0, 1)]


KILLED = """
import os, signal, sys
import pyarrow as pa
from llwlc._io import database, {module} as module
def end(*_):
    print("in the middle", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
{patch}
rows = pa.table({{"source": [str(i) for i in range(50_000)], "score": [0.5] * 50_000, "n": list(range(50_000))}})
database.write_to_database(sys.argv[1], "links", rows, "append")
"""
PATCHES = {
    "sqlite": """
def some_rows(*columns, strict):
    for i, row in enumerate(zip(*columns)):
        end() if i == 40_000 else None
        yield row
module.zip = some_rows""",
    "postgresql": """
import psycopg
write = psycopg.Copy.write_row
def some_rows(self, row):
    end() if row[2] == 40_000 else write(self, row)
psycopg.Copy.write_row = some_rows""",
    "duckdb": """
import duckdb
class Proxy:
    def __init__(self, base): self.base = base
    def __getattr__(self, name): return getattr(self.base, name)
    def execute(self, sql, *given): return end() if sql == "COMMIT" else self.base.execute(sql, *given)
connect = duckdb.connect
duckdb.connect = lambda *given, **named: Proxy(connect(*given, **named))""",
}


def test_a_kill_in_the_middle_leaves_nothing_behind(database):
    kind = database.partition(":")[0]
    write_to_database(database, "links", LINKS)
    code = KILLED.format(module=f"{kind}_database", patch=PATCHES[kind])
    done = subprocess.run([sys.executable, "-c", code, database], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("in the middle\n", -9), done.stderr
    assert rows_of(database) == WANTED
    write_to_database(database, "links", LINKS, "append")  # no lock is left either
    assert len(rows_of(database)) == 8


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_new_file_needs_its_folder(kind, tmp_path):
    with pytest.raises(InputError, match="no folder"):
        check_table_target(f"{kind}:///{tmp_path}/none/x.db", "links", ["source"], "fail")
    check_table_target(f"{kind}:///{tmp_path}/x.db", "links", ["source"], "fail")
    assert not any(tmp_path.iterdir())
