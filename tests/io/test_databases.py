"""Queries to databases: the same graph as from a file, clear errors, and nothing written where rows are read."""

import hashlib
import os
import re
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import networkx
import numpy as np
import pyarrow as pa
import pytest
import torch

import llwlc
from databases import make_database, postgresql_server, run_sql
from llwlc import Graph, InputError, MissingDependencyError, Query, StorageError
from llwlc._io.database import DATABASES
from llwlc._io.database_url import DatabaseUrl
from llwlc.graph._packing import pack

pytestmark = pytest.mark.filterwarnings("ignore::llwlc.graph.GraphWarning")

CREATE = "CREATE TABLE orders (customer TEXT, item TEXT, weight DOUBLE PRECISION, time BIGINT)"
INSERT = "INSERT INTO orders VALUES (?, ?, ?, ?)"
ALL = "SELECT customer, item, weight, time FROM orders"


def orders(count=300, seed=0):
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, 40, (count, 2)))  # one direction
    return [
        (f"c {a} ü", f"c {b} ü", float(w), int(t))
        for (a, b), w, t in zip(ends, rng.random(count) + 0.5, rng.integers(0, 2**40, count), strict=True)
    ]


def assert_same_graph(found, wanted):
    assert list(found.names) == list(wanted.names)
    assert torch.equal(found.edge_index, wanted.edge_index)
    for name in ("weight", "time"):
        a, b = getattr(found, name), getattr(wanted, name)
        assert (a is None) == (b is None)
        assert a is None or torch.equal(a, b)


def test_a_query_gives_the_graph_of_the_same_rows_in_a_file_and_packs_to_it(database, tmp_path):
    rows = orders()
    run_sql(database, CREATE, INSERT, rows=rows)
    columns = dict(zip(("customer", "item", "weight", "time"), zip(*rows, strict=True), strict=True))
    pa.parquet.write_table(pa.table(columns), tmp_path / "orders.parquet")
    wanted = Graph.read(tmp_path / "orders.parquet")
    assert_same_graph(Graph.read(Query(database, ALL)), wanted)
    pack(Query(database, f"-- a comment\nWITH q AS ({ALL}) SELECT * FROM q -- ends here\n ; "), tmp_path / "packed")
    assert_same_graph(Graph.open(tmp_path / "packed"), wanted)
    with pytest.raises(InputError, match="is there already"):  # its content cannot be compared
        pack(Query(database, ALL), tmp_path / "packed")


def test_batches_hold_so_many_rows_and_one_is_there_without_any(database):
    run_sql(database, CREATE, INSERT, rows=orders(10))
    query = Query(database, ALL)
    assert sum(batch.num_rows for batch in query.batches(4)) == 10
    if not database.startswith("duckdb"):  # whose batches are whole vectors
        assert [batch.num_rows for batch in query.batches(4)] == [4, 4, 2]
    empty = Query(database, f"{ALL} WHERE 1 = 0")
    assert [batch.num_rows for batch in empty.batches()] == [0]
    with pytest.raises(InputError, match="no edges"):
        Graph.read(empty)


def test_pairs_features_new_links_and_node_lists_come_from_queries(database):
    run_sql(database, CREATE, INSERT, rows=orders())
    names = Graph.read(Query(database, ALL)).names
    run_sql(
        database,
        "CREATE TABLE people (id TEXT, age INTEGER, town TEXT)",
        "INSERT INTO people VALUES (?, ?, ?)",
        rows=[(name, i, "Graz" if i % 2 else "Linz") for i, name in enumerate(names)],
    )
    graph = Graph.read(
        Query(database, "SELECT customer, item FROM orders"),
        features=Query(database, "SELECT * FROM people"),
        node_list=Query(database, "SELECT id FROM people"),
    )
    assert graph.x.shape == (len(names), 3)
    model = llwlc.LinkPredictor(model="adamic-adar").fit(graph)
    pairs = Query(database, "SELECT customer AS a, item AS b, time FROM orders WHERE customer <> item")
    found = model.score_table(pairs).table
    assert found.column_names == ["a", "b", "time", "score", "probability"]
    assert found["score"].to_pylist() == model.score(pairs).score.tolist()
    now = model.updated_graph(add=Query(database, f"SELECT '{names[0]}' AS a, '{names[7]}' AS b"))
    assert bool(now.has_edges(torch.tensor([[0, 7]])))


HOSTILE = {
    "numbers of more than 64 bits": (
        "SELECT 170141183460469231731687303715884105727::numeric a, 170141183460469231731687303715884105726::numeric b",
        "SELECT 170141183460469231731687303715884105727::hugeint a, 170141183460469231731687303715884105726::hugeint b",
        None,
        ["170141183460469231731687303715884105726", "170141183460469231731687303715884105727"],
    ),
    "numbers that floats would merge": ("SELECT 9007199254740993 a, 9007199254740992 b",) * 3
    + (["9007199254740992", "9007199254740993"],),
    "integers and text in one column": (
        "SELECT '7' a, 'x' b",
        "SELECT '7' a, 'x' b",
        "SELECT 7 a, 'x' b UNION ALL SELECT 'x', 8.0",
        ["7", "8", "x"],
    ),
    "uuids": (
        "SELECT '00000000-0000-0000-0000-00000000000a'::uuid a, 'b'::text b",
        "SELECT '00000000-0000-0000-0000-00000000000a'::uuid a, 'b' b",
        None,
        ["00000000-0000-0000-0000-00000000000a", "b"],
    ),
    "a quote and a line end": ("SELECT 'a''\"' || chr(10) || ';' a, 'b' b",) * 2
    + ("SELECT 'a''\"' || char(10) || ';' a, 'b' b", ["a'\"\n;", "b"]),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_ids_of_any_type_are_kept_exactly(database, case):
    postgresql, duckdb, sqlite, wanted = HOSTILE[case]
    sql = {"postgresql": postgresql, "duckdb": duckdb, "sqlite": sqlite}[database.partition(":")[0]]
    run_sql(database, CREATE)
    if sql is not None:
        kept = Graph.read(Query(database, sql)).names
        assert [name for name in wanted if name in kept] == kept


REFUSED = {
    "selec 1": "the query of .* fails .*syntax",
    "SELECT a, b FROM nowhere": "the query of .* fails .*nowhere",
    "SELECT nothing, customer FROM orders": "the query of .* fails .*nothing",
    "SELECT customer, customer FROM orders": "two columns called 'customer'",
    "SELECT NULL AS a, 'x' AS b": "names no node in row 1",
    "SELECT 'a' AS a, 'b' AS b, NULL AS weight": "weight",
    "SELECT 1.5 AS a, 'x' AS b": "fractions",
    "SELECT 'only one column'": "two are needed",
    "DROP TABLE orders": "query of .* (returns no rows|would write|must be one statement)",
    "INSERT INTO orders VALUES ('a', 'b', 1, 1)": "query of .* (returns no rows|would write|must be one statement)",
    "SELECT 1 AS a, 2 AS b; DROP TABLE orders": "one statement|one SELECT|multiple commands",
    " ; ": "a query is a text",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_an_unreadable_database_is_refused_in_a_sentence_and_unchanged(database, sql):
    run_sql(database, CREATE, INSERT, rows=orders(5))
    with pytest.raises(llwlc.LLwLCError, match=REFUSED[sql]) as caught:
        Graph.read(Query(database, sql))
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert run_sql(database, "SELECT count(*) FROM orders") == [(5,)]


def test_blobs_name_no_nodes_and_are_no_weights_but_may_stand_beside(tmp_path):
    url = f"sqlite:///{tmp_path}/shop.db"
    run_sql(url, "CREATE TABLE t (a, b, photo)", "INSERT INTO t VALUES (?, ?, ?)", rows=[("x", "y", b"\xff\0")])
    assert Graph.read(Query(url, "SELECT * FROM t")).names == ["x", "y"]
    with pytest.raises(InputError, match=r"binary, which names no nodes"):
        Graph.read(Query(url, "SELECT photo, b FROM t"))
    with pytest.raises(InputError, match=r"not numeric|binary"):
        Graph.read(Query(url, "SELECT a, b, photo AS weight FROM t"))


def test_dates_that_sqlite_keeps_as_text_are_times(tmp_path):
    url = f"sqlite:///{tmp_path}/shop.db"
    rows = [("x", "y", "2024-05-01"), ("y", "z", "2024-05-02 12:00:00")]
    run_sql(url, "CREATE TABLE t (a, b, time)", "INSERT INTO t VALUES (?, ?, ?)", rows=rows)
    assert sorted(set(Graph.read(Query(url, "SELECT * FROM t")).time.tolist())) == [1714521600, 1714651200]


def test_text_that_is_not_utf8(tmp_path):
    with sqlite3.connect(tmp_path / "shop.db") as base:
        base.execute("CREATE TABLE t AS SELECT CAST(x'ff' AS TEXT) AS a, 'b' AS b")
    base.close()
    with pytest.raises(InputError, match="UTF-8"):
        Graph.read(Query(f"sqlite:///{tmp_path}/shop.db", "SELECT * FROM t"))


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_files_that_are_none(tmp_path, kind):
    (tmp_path / "text.db").write_text("customer,item\n" * 100)
    for name, wanted in (("none.db", "there is no file"), ("text.db", "is not a (SQLite|DuckDB) database")):
        with pytest.raises(InputError, match=wanted):
            Graph.read(Query(f"{kind}:///{tmp_path}/{name}", "SELECT 1"))
    assert not (tmp_path / "none.db").exists()
    for url in (f"{kind}://", f"{kind}:///", f"{kind}://shop.db", f"{kind}:///:memory:"):
        with pytest.raises(InputError, match="names no file"):
            Query(url, "SELECT 1").read()


def test_a_database_locked_by_another_program_is_a_storage_error(tmp_path, monkeypatch):
    monkeypatch.setattr("llwlc._io.sqlite_database.WAIT", 0.1)
    url = f"sqlite:///{tmp_path}/shop.db"
    run_sql(url, CREATE)
    base = sqlite3.connect(tmp_path / "shop.db")
    base.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(StorageError, match="locked by another program"):
            Query(url, ALL).read()
    finally:
        base.close()
    assert Query(url, ALL).read().num_rows == 0


def test_a_duckdb_file_that_another_process_writes(tmp_path):
    url = f"duckdb:///{tmp_path}/shop.duckdb"
    run_sql(url, CREATE)
    code = f"import duckdb; c = duckdb.connect({str(tmp_path / 'shop.duckdb')!r}); print(1, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        with pytest.raises(StorageError, match="locked by another program"):
            Query(url, ALL).read()
        other.kill()


def test_a_server_that_is_down_or_silent():
    pytest.importorskip("psycopg")
    with pytest.raises(StorageError, match=r"does not answer.*refused"):
        Query("postgresql://ann:hunter2@127.0.0.1:1/shop", "SELECT 1").read()
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes connections and says nothing
        port = silent.getsockname()[1]
        with pytest.raises(StorageError, match=r"does not answer.*timeout"):
            Query(f"postgresql://ann@127.0.0.1:{port}/shop?connect_timeout=2", "SELECT 1").read()
    with pytest.raises(InputError, match="not a usable URL"):
        Query("postgresql://ann:hunter2@127.0.0.1/shop?nonsense=1", "SELECT 1").read()


def test_a_query_that_takes_too_long_for_the_server():
    server = postgresql_server()
    slow = f"{server}?options=-c%20statement_timeout%3D100"
    with pytest.raises(InputError, match="statement timeout"):
        Query(slow, "SELECT pg_sleep(5)").read()


def test_credentials_come_from_the_environment_pgpass_and_service_files(tmp_path, monkeypatch):
    server = DatabaseUrl(postgresql_server())
    user, password = server.credentials
    host, _, port = server.text.rpartition("@")[2].partition("/")[0].partition(":")
    bare = f"postgresql://{user}@{host}:{port}/postgres"
    with pytest.raises(StorageError, match="password"):
        Query(bare, "SELECT 1 AS a").read()
    monkeypatch.setenv("PGPASSWORD", password)
    assert Query(bare, "SELECT 1 AS a").read().num_rows == 1
    monkeypatch.delenv("PGPASSWORD")
    (tmp_path / "pgpass").write_text(f"{host}:{port}:*:{user}:{password}\n")
    (tmp_path / "pgpass").chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pgpass"))
    assert Query(bare, "SELECT 1 AS a").read().num_rows == 1
    (tmp_path / "services").write_text(f"[shop]\nhost={host}\nport={port}\nuser={user}\ndbname=postgres\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    assert Query("postgresql://?service=shop", "SELECT 1 AS a").read().num_rows == 1


def test_a_url_without_a_query_lists_the_tables(database):
    run_sql(database, CREATE)
    with pytest.raises(InputError, match=r"--query .*'orders'"):
        Graph.read(database)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_the_file_of_a_database_without_its_url(kind, tmp_path):
    url = next(make_database(kind, tmp_path))
    run_sql(url, CREATE)
    with pytest.raises(InputError, match=f"is a {kind} database: name it as {kind}:///"):
        Graph.read(DatabaseUrl(url).file)


def test_urls_that_are_none():
    with pytest.raises(InputError, match=r"mysql:// is not a database.*sqlite, duckdb, postgresql or neo4j"):
        Query("mysql://ann:hunter2@host/shop", "SELECT 1")
    with pytest.raises(InputError, match="not the URL"):
        Query("shop.db", "SELECT 1")


def test_drivers_that_are_not_installed(monkeypatch, tmp_path):
    for module in ("psycopg", "duckdb", "neo4j"):
        monkeypatch.setitem(sys.modules, module, None)
    for url in ("postgresql://h/x", f"duckdb:///{tmp_path}/x.duckdb", "neo4j://h"):
        with pytest.raises(MissingDependencyError, match=r"pip install 'llwlc\[databases\]'"):
            Query(url, "SELECT 1").read()


def test_every_kind_of_database_is_in_the_registry_and_knows_its_urls():
    assert list(DATABASES) == ["sqlite", "duckdb", "postgresql", "neo4j"]
    schemes = [scheme for kind in DATABASES.records() for scheme in kind.schemes]
    assert len(set(schemes)) == len(schemes)
    assert repr(Query("postgresql+psycopg://ann:hunter2@h/x", "SELECT 1")) == (
        "Query('postgresql+psycopg://ann:***@h/x', 'SELECT 1')"
    )


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:hunter2@h:5432/shop",
        "postgresql://ann:hunter%32@h/shop",
        "postgresql://ann:hunter2@more@h/shop",
        "postgresql://:hunter2@/shop",
        "postgresql://h/shop?user=ann&password=hunter2",
        "postgresql://h/shop?sslpassword=hunter2&sslmode=require",
        "neo4j+s://neo4j:hunter2@h:7687/shop",
        "mysql://ann:hunter2/@h/shop",
    ],
)
def test_no_form_of_a_password_is_shown(url):
    found = DatabaseUrl(url)
    shown = [repr(found), found.place, found.hide(f"bad {url} (hunter2, {url})"), str(llwlc.InputError(repr(found)))]
    assert not [text for text in shown if re.search("hunter", text)], shown


@pytest.mark.parametrize("url", ["postgresql://ann:hun@ter2@h/shop", "postgresql://ann:hun/ter2@h:5432/shop"])
def test_a_bare_separator_in_a_password_is_refused_before_a_driver_prints_what_follows(url):
    pytest.importorskip("psycopg")
    with pytest.raises(InputError, match=r"postgresql at h.*%40 and %2F") as error:
        Query(url, "SELECT 1").read()
    assert not re.search("hun|ter2", str(error.value))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:hunter%402@h:5432/shop",
        "postgresql://h:5432/shop?user=ann@example",
        "postgresql://h:1,i:2/shop?options=a@b",
        "postgresql://h/shop?options=a:b@c/d",
        "postgresql://[::1]:5432/shop?user=ann@b",
        "postgresql://ann@h/shop",
    ],
)
def test_urls_without_a_bare_separator_in_a_password(url):
    DatabaseUrl(url).check_password()


def test_a_sqlite_file_named_as_one_of_duckdb(tmp_path):
    pytest.importorskip("duckdb")
    with closing(sqlite3.connect(tmp_path / "shop.db")) as base:
        base.execute("CREATE TABLE a (b)")
    with pytest.raises(InputError, match=r"is a SQLite database: name it as sqlite:///"):
        Query(f"duckdb:///{tmp_path}/shop.db", "SELECT 1").read()


def test_a_server_that_is_down_is_not_a_bad_row():
    pytest.importorskip("psycopg")
    down = Query("postgresql://ann:hunter2@127.0.0.1:1/shop", "SELECT 1")
    with pytest.raises(StorageError, match="does not answer") as error:
        Graph.read([(0, 1), (1, 2)], features=down)
    assert "row" not in str(error.value)


@pytest.mark.parametrize("option", ["exclude", "negatives", "among"])
def test_pairs_and_nodes_come_from_files_or_queries_not_from_a_url_alone(option, tmp_path):
    with closing(sqlite3.connect(tmp_path / "shop.db")) as base:
        base.execute("CREATE TABLE pairs (a, b)")
        base.execute("INSERT INTO pairs VALUES ('2', '33')")
        base.commit()
    url = f"sqlite:///{tmp_path}/shop.db"
    graph = Graph.from_networkx(networkx.karate_club_graph())
    model = llwlc.LinkPredictor(model="adamic-adar")

    def links(given):
        if option == "negatives":
            return model.fit(graph, negatives=given).recommend(top=3)
        return model.fit(graph).recommend(top=3, **{option: given})

    with pytest.raises(InputError, match=r"is a URL, which cannot be used here: write the"):
        links(Path(url))
    if option == "among":
        found = links(Query(url, "SELECT a AS node FROM pairs UNION SELECT b FROM pairs"))
        assert [{link.source, link.target} for link in found] == [{"2", "33"}]
    else:
        found = links(Query(url, "SELECT a, b FROM pairs"))
        assert len(found) == 3
        assert {"2", "33"} not in [{link.source, link.target} for link in found]


def test_threads_read_at_once(database):
    run_sql(database, CREATE, INSERT, rows=orders(50))
    found = []
    threads = [threading.Thread(target=lambda: found.append(Query(database, ALL).read().num_rows)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [50] * 4


def test_reading_leaves_the_file_as_it_is(tmp_path):
    for kind in ("sqlite", "duckdb"):
        url = next(make_database(kind, tmp_path))
        run_sql(url, CREATE, INSERT, rows=orders(5))
        path = DatabaseUrl(url).file
        before = hashlib.sha256(path.read_bytes()).digest(), sorted(os.listdir(tmp_path))
        Query(url, ALL).read()
        assert (hashlib.sha256(path.read_bytes()).digest(), sorted(os.listdir(tmp_path))) == before


def test_neo4j_rows_become_columns_of_one_type():
    neo4j = pytest.importorskip("neo4j")
    from llwlc._io.neo4j_database import Neo4jDatabase

    base = Neo4jDatabase(DatabaseUrl("neo4j://ann:hunter2@127.0.0.1:1/shop"))
    when = neo4j.time.DateTime(2024, 5, 1, 12, 0, 0)
    rows = [["Ada", 1, 0.5, when, None], ["Bob", 2, 1, when, "x"]]
    table = pa.Table.from_batches(list(base.convert(["a", "n", "weight", "time", "e"], iter(rows), 10)))
    assert [str(kind) for kind in table.schema.types] == ["string", "int64", "double", "timestamp[us]", "string"]
    assert (base.address, base.database, base.find_credentials()) == ("neo4j://127.0.0.1:1", "shop", ("ann", "hunter2"))
    with pytest.raises(InputError, match="not of one type"):
        list(base.convert(["n"], iter([[1], ["x"]]), 1))
    node = neo4j.graph.Node(neo4j.graph.Graph(), "1", 1, ["Person"], {})
    with pytest.raises(InputError, match="holds nodes or relationships"):
        list(base.convert(["n"], iter([[node]]), 1))


def test_neo4j_credentials_of_the_environment_and_a_server_that_is_down(monkeypatch):
    pytest.importorskip("neo4j")
    from llwlc._io.neo4j_database import Neo4jDatabase

    monkeypatch.setenv("NEO4J_USERNAME", "ann")
    monkeypatch.setenv("NEO4J_PASSWORD", "hunter2")
    monkeypatch.setenv("NEO4J_DATABASE", "shop")
    base = Neo4jDatabase(DatabaseUrl("bolt://127.0.0.1:1"))
    assert (base.find_credentials(), base.database) == (("ann", "hunter2"), "shop")
    with pytest.raises(StorageError, match="does not answer") as caught:
        Query("bolt://127.0.0.1:1", "MATCH (a)-->(b) RETURN a.name, b.name").read()
    assert "hunter2" not in str(caught.value)
    with pytest.raises(InputError, match="read, not written"):
        llwlc._io.database.write_to_database("bolt://127.0.0.1:1", "links", pa.table({"a": [1]}))


def test_decimals_of_a_table_in_memory_name_nodes():
    table = pa.table({"source": [Decimal(10**25), Decimal(2)], "target": [Decimal(2), Decimal(0)]})
    assert sorted(Graph.read(table).names) == ["0", "10000000000000000000000000", "2"]
    with pytest.raises(InputError, match="fractions for node ids"):
        Graph.read(pa.table({"source": [Decimal("1.5")], "target": [Decimal(1)]}))
