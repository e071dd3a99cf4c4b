"""The command line as a user meets it: what it prints, how it fails, what it leaves behind."""

import gzip
import io
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from llwlc._cli.app import app
from llwlc._support.progress import make_progress, track

GOOD = "source,target\n" + "".join(f"n{i},n{j}\n" for i in range(12) for j in range(i)) + "x,n1\n"
NODES = "node,age\n" + "".join(f"n{i},{i}\n" for i in range(12)) + "x,5\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to stand in, and a function that fills it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def put(name: str, content: str | bytes) -> None:
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)

    return put


def llwlc(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def test_list_names_every_dataset():
    result = llwlc("data", "list")
    assert result.exit_code == 0
    assert "cora " in result.stdout
    assert "5,278 edges" in result.stdout


def test_get_and_show_the_embedded_graph():
    assert "cora is ready: 2,708 nodes, 5,278 edges" in llwlc("data", "get", "cora").stdout
    shown = llwlc("data", "show", "cora")
    assert shown.exit_code == 0
    for text in ("2,708", "5,278", "78", "2,485", "168", "1,433"):
        assert text in shown.stdout


def test_show_a_file_with_its_report_and_warnings(folder):
    folder("e.csv", "from;to;w\n1;a;2\n1;b;1\n2;b;1\n2;2;1\n1;a;1\n")
    result = llwlc("data", "show", "e.csv", "--weight", "w")
    assert result.exit_code == 0
    assert (
        "5 rows gave 4 nodes and 3 edges: 1 self-loop dropped, 1 duplicate merged (weights added up)." in result.stderr
    )
    assert "bipartite" in result.stderr
    assert "GraphWarning" not in result.stderr


def test_no_header_columns_by_number(folder):
    folder("e.tsv.gz", gzip.compress("".join(f"n{i}\tn{j}\t{i + 1}\n" for i in range(9) for j in range(i)).encode()))
    result = llwlc("data", "show", "e.tsv.gz", "--no-header", "--weight", "3")
    assert result.exit_code == 0
    assert "36 rows gave 9 nodes and 36 edges" in result.stderr


@pytest.mark.parametrize(
    "command",
    [("fit",), ("score",), ("recommend",), ("evaluate",), ("data", "show"), ("data", "get"), ("data", "list"), ()],
)
def test_help_teaches_with_examples(command):
    result = llwlc(*command, "--help")
    assert result.exit_code == 0
    assert "llwlc " in result.stdout


BAD_EDGES = {
    "truncated.csv.gz": (gzip.compress(GOOD.encode())[:-20], "truncated"),
    "damaged.csv.gz": (b"\x1f\x8b\x08\x00" + b"\0" * 30, "damaged"),
    "notgzip.csv.gz": (GOOD, "not a gzip file"),
    "onecolumn.csv": ("source\na\nb\n", "one column"),
    "nothing.csv": ("", "empty"),
    "headeronly.csv": ("source,target\n", "no edges"),
    "loops.csv": ("source,target\na,a\nb,b\n", "no edges"),
    "ragged.csv": ("source,target\na,b\nb,c,d\nc,a\n", "Expected 2 columns, got 3"),
    "binary.csv": (bytes(range(256)) * 4, "binary"),
    "latin.csv": ("source,target\nZoé,Bob\n".encode("latin-1"), "not UTF-8"),
    "utf16.csv": (GOOD.encode("utf-16"), "UTF-16"),
    "broken.parquet": (b"PAR1 and then nothing", "broken Parquet"),
    "text.parquet": (GOOD, "not a Parquet file"),
    "missing-end.csv": ("source,target\na,b\nb,\n", "names no node in row 2"),
    "words.csv": ("source,target,weight\na,b,1\nb,c,heavy\n", "row 2 says 'heavy'"),
    "negative.csv": ("source,target,weight\na,b,1\nb,c,-2\n", "-2 in row 2"),
    "nan.csv": ("source,target,weight\na,b,1\nb,c,nan\n", "nothing or NaN in row 2"),
    "sometime.csv": ("source,target,time\na,b,1\nb,c,later\n", "neither numbers nor dates"),
    "twice.csv": ("source,source\na,b\n", "two columns called 'source'"),
    "small.csv": ("source,target\na,b\nb,c\n", "split"),
}


def refused(result, tmp_path, before: set[str], message: str) -> None:
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert {p.name for p in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", BAD_EDGES)
def test_bad_edge_lists_end_with_code_2(folder, tmp_path, name):
    content, message = BAD_EDGES[name]
    folder(name, content)
    refused(llwlc("fit", name, "--out", "run"), tmp_path, {name}, message)


BAD_NODES = {
    "nan.csv": (NODES.replace("n3,3", "n3,nan"), "column 'age' is empty for node 'n3'"),
    "extra.csv": (NODES + "stranger,1\n", "'stranger'"),
    "few.csv": (NODES.replace("n3,3\n", ""), "no features for 1 of 13 nodes: 'n3'"),
    "one.csv": ("node\nn1\n", "one column"),
    "cut.csv.gz": (gzip.compress(NODES.encode())[:-12], "truncated"),
    "broken.npz": (b"PK\x03\x04", "damaged"),
    "absent.npz": (None, "there is no file absent.npz"),
}


@pytest.mark.parametrize("name", BAD_NODES)
def test_bad_features_end_with_code_2(folder, tmp_path, name):
    content, message = BAD_NODES[name]
    folder("e.csv", GOOD)
    if content is not None:
        folder(name, content)
    before = {p.name for p in tmp_path.iterdir()}
    strict = ("--missing-values", "error")
    refused(llwlc("fit", "e.csv", "--features", name, *strict, "--out", "run"), tmp_path, before, message)


def test_a_feature_row_too_many_in_an_npz(folder, tmp_path):
    folder("e.csv", GOOD)
    buffer = io.BytesIO()
    np.savez(buffer, x=np.ones((14, 2)))
    folder("n.npz", buffer.getvalue())
    refused(llwlc("fit", "e.csv", "--features", "n.npz"), tmp_path, {"e.csv", "n.npz"}, "14 feature rows")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nope.csv"], "there is no file nope.csv"),
        (["corra"], "Did you mean cora?"),
        (["."], "folder"),
        (["e.csv", "--source", "sauce"], "no column 'sauce'"),
        (["e.csv", "--weight", "kilo"], "no column 'kilo'"),
        (["e.csv", "--protocol", "guess"], "no protocol is called 'guess'"),
        (["e.csv", "--isolated", "maybe"], "'error', 'keep' or 'drop'"),
        (["e.csv", "--source", "source", "--target", "source"], "name two columns"),
        (["cora", "--source", "from"], "cora is a dataset"),
        (["e.csv", "--bogus"], "No such option"),
        ([], "Missing argument"),
    ],
)
def test_wrong_arguments_end_with_code_2(folder, tmp_path, arguments, message):
    folder("e.csv", GOOD)
    refused(llwlc("fit", *arguments), tmp_path, {"e.csv"}, message)


def test_unknown_dataset_ends_with_code_2():
    result = llwlc("data", "get", "nope")
    assert result.exit_code == 2
    assert "nope" in result.stderr


def test_the_installed_command_prints_no_traceback(folder, tmp_path):
    folder("cut.csv.gz", gzip.compress(GOOD.encode())[:-20])
    code = "from llwlc._cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", code, "fit", "cut.csv.gz"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert result.stderr.startswith("Error: cut.csv.gz is truncated or damaged gzip")
    assert "Traceback" not in result.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["cut.csv.gz"]


def test_an_interrupt_ends_with_code_130(monkeypatch):
    monkeypatch.setattr("llwlc.datasets.names", lambda: os.kill(os.getpid(), signal.SIGINT))
    assert llwlc("data", "list").exit_code == 130


def test_version_is_printed():
    assert llwlc("--version").stdout.startswith("llwlc ")


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_shows_only_on_a_terminal(terminal):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=terminal, width=100)
    assert list(track(range(5), "counting", console=console)) == list(range(5))
    assert ("counting" in screen.getvalue()) == terminal


def test_nested_bars_share_one_display():
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    with make_progress(console) as outer:
        outer.add_task("training", total=2)
        for _ in range(2):
            assert list(track(range(3), "eigenbases")) == [0, 1, 2]
        with make_progress() as inner:
            assert inner is outer
        assert [task.description for task in outer.tasks] == ["training"]  # what is done below is gone
    assert "eigenbases" in screen.getvalue()
    with make_progress(console) as after:
        assert after is not outer
