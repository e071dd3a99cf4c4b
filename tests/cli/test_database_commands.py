"""Databases on the command line: a whole way from a query to a list in a table, and no password anywhere."""

import re
import subprocess
import sys
import traceback

import pytest
from typer.testing import CliRunner

import llwlc
from databases import run_sql
from llwlc._cli.app import app
from llwlc._io.database_url import DatabaseUrl
from people import people


def llwlc_says(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture
def shop(database):
    graph = people()
    ends = [(graph.name(int(a)), graph.name(int(b))) for a, b in graph.edges]
    run_sql(database, 'CREATE TABLE meets ("from" TEXT, "to" TEXT)', "INSERT INTO meets VALUES (?, ?)", rows=ends)
    rows = [(graph.name(i), float(graph.x[i, 0]), "Graz" if i % 2 else None) for i in range(90)]
    run_sql(
        database, "CREATE TABLE people (id TEXT, age REAL, town TEXT)", "INSERT INTO people VALUES (?, ?, ?)", rows=rows
    )
    return database


@pytest.mark.parametrize(
    "words", [["fit", "edges.csv", "--model", "katz", "--out"], ["score", "run", "edges.csv", "-o"], ["evaluate"]]
)
def test_a_url_is_no_place_for_a_run_or_a_file(words, tmp_path, monkeypatch):
    """It would become folders whose names hold the password."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_text("\n".join(f"{i},{i + 1}" for i in range(60)))
    said = llwlc_says(*words, "postgresql://ann:hunter2@127.0.0.1:1/shop", code=2)
    assert "is a URL" in said
    assert "hunter2" not in said
    assert [file.name for file in tmp_path.iterdir()] == ["edges.csv"]


MEETS = 'SELECT "from", "to" FROM meets'


def test_from_a_query_to_a_table_and_no_password_on_the_way(shop, tmp_path):
    run = tmp_path / "run"
    output = llwlc_says(
        *("fit", shop, "--query", MEETS, "--features", shop, "--features-query", "SELECT * FROM people"),
        *("--model", "adamic-adar", "--out", run),
    )
    output += llwlc_says("data", "show", shop, "--query", MEETS)
    pairs = MEETS + " LIMIT 5"
    output += (scores := llwlc_says("score", run, shop, "--query", pairs, "-o", "-"))
    assert scores.count("Person") == 10
    update = ("--add", shop, "--add-query", "SELECT 'Person 01' AS a, 'Person 89' AS b")
    output += llwlc_says("recommend", run, "--top", 7, *update, "--to", shop, "--table", "links")
    assert "7 links written to table links of" in output
    again = ("recommend", run, "--top", 3, "--to", shop, "--if-exists", "append")
    output += llwlc_says(*again)
    assert run_sql(shop, "SELECT count(*), count(probability) FROM links") == [(10, 10)]
    output += llwlc_says("recommend", run, "--to", shop, code=2)
    output += llwlc_says("data", "pack", shop, "--query", MEETS, "-o", tmp_path / "packed")
    output += llwlc_says("evaluate", run)
    for bad in (("--query", "selec"), ("--query", "SELECT 1"), (), ("--no-such-option",), ("one", "more")):
        output += llwlc_says("fit", shop, *bad, code=2)
    output += llwlc_says("fit", "graph.csv", shop, code=2)  # wrong usage quotes the argument
    output += llwlc_says("recommend", run, "-o", shop, code=2)
    output += llwlc_says("data", "pack", shop.replace("5432", "x"), "-o", tmp_path / "other", code=2)
    found = DatabaseUrl(shop)
    password = found.credentials[1] if "@" in shop else None
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".sqlite"}
    assert (run / "config.json") in kept
    assert b"database" not in kept[run / "MODEL_CARD.md"] or password is None
    if password is not None:
        assert [path for path, data in kept.items() if password.encode() in data] == []
        assert password not in output
        assert ":***@" in kept[run / "config.json"].decode()


def test_no_traceback_or_name_of_a_graph_has_the_password(database, tmp_path):
    if "@" not in database:
        pytest.skip("a file has no password")
    password = DatabaseUrl(database).credentials[1]
    for query in ("selec", "SELECT 1", "SELECT a FROM nowhere"):
        try:
            llwlc.Graph.read(llwlc.Query(database, query))
        except llwlc.LLwLCError:
            assert password not in traceback.format_exc()
    code = (
        "import sys, llwlc; llwlc.Graph.read(llwlc.Query(sys.argv[1].replace('@127.0.0.1', '@127.0.0.2'), 'SELECT 1'))"
    )
    done = subprocess.run([sys.executable, "-c", code, database], capture_output=True, text=True, check=False)
    assert "StorageError" in done.stderr
    assert password not in done.stderr
    model = llwlc.LinkPredictor(model="adamic-adar").fit(people(), graph_name=database, out=tmp_path / "run")
    assert model.run_.info.graph_name == database.replace(password, "***")
    assert password not in (tmp_path / "run" / "config.json").read_text()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("fit", "sqlite:///none.db"), r"there is no file none\.db"),
        (("fit", "none.csv", "--query", "SELECT 1"), "--query is for a database"),
        (("fit", "cora", "--query", "SELECT 1"), "cora is a dataset"),
        (("fit", "e.csv", "--features-query", "SELECT 1"), "--features-query is for a database: name it too"),
        (("score", "run", "p.csv", "--query", "SELECT 1"), "--query is for a database"),
        (("recommend", "run", "--table", "x"), "--table has no effect without --to"),
        (("recommend", "run", "--to", "links.csv"), "no such file of nodes.*to a database by --to and its URL"),
        (("recommend", "run", "--to", "neo4j://h"), "can be read, not written"),
        (("recommend", "run", "--to", "mysql://h/x"), "not a database that llwlc reads"),
        (("recommend", "run", "--to", "sqlite:///x.db", "--if-exists", "replace"), "fail or append"),
    ],
)
def test_wrong_usage_is_one_sentence(words, wanted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.csv").write_text("a,b\n1,2\n")
    said = llwlc_says(*words, code=2)
    assert re.search(wanted, said), said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.csv"]
