"""How the commands talk to people, and how scoring takes files and graphs as they have become since a run was
fitted.
"""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch
from rich.console import Console
from typer.testing import CliRunner

import llwlc
from llwlc._cli.app import app
from llwlc._cli.options import get_option_help, get_settable_options
from llwlc._support import progress
from llwlc._support.repeated_warnings import deduplicate_warnings, warn
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.models._llwlc.presets import PRESETS
from people import QUICK, people

SETS = [word for name, value in QUICK.items() for word in ("--set", f"{name}={value}")]


def run_llwlc(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with a run of 90 people, whose table of features has gaps."""
    folder = tmp_path_factory.mktemp("people")
    graph = people()
    graph.to_csv(folder / "edges.csv")
    rows = [
        f"{name},{'' if i % 9 == 0 else f'{graph.x[i, 0]:.2f}'},{'ab'[i % 2]}" for i, name in enumerate(graph.names)
    ]
    (folder / "people.csv").write_text("person,height,club\n" + "\n".join(rows[:-2]) + "\n")
    os.environ["LLWLC_CACHE"] = str(folder / "cache")
    done = run_llwlc(
        "fit",
        folder / "edges.csv",
        "--features",
        folder / "people.csv",
        "--out",
        folder / "run",
        "--plan",
        "full",
        *SETS,
    )
    assert done.exit_code == 0, done.output
    assert "missing values" in done.stderr
    assert "no row for 2 of 90 nodes" in done.stderr
    yield folder
    del os.environ["LLWLC_CACHE"]


@pytest.fixture(scope="module")
def model(home):
    return llwlc.LinkPredictor.load(home / "run")


def test_the_run_remembers_how_its_features_were_read(model):
    assert model.graph_.encoding.titles == ("height", "height missing", "club=a", "club=b", "no row")
    assert model.graph_.x.shape == (90, 5)
    assert model.graph_.x[-1, -1] == 1


PAIRS = (
    "id,to,from,score\n007,Person 01,Person 40,a\n008,Person 02,Nobody,b\n009,Person 03,Person 03,c\n010,,Person 04,d\n"
)


def test_one_bad_row_costs_one_row(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text(PAIRS)
    refused = run_llwlc("score", home / "run", "pairs.csv", "-o", "out.csv")
    assert refused.exit_code == 2
    assert "3 of 4 pairs cannot be scored" in refused.stderr
    assert not (tmp_path / "out.csv").exists()
    blank = run_llwlc("score", home / "run", "pairs.csv", "--unknown", "blank")
    assert blank.exit_code == 0, blank.output
    assert "3 of 4 pairs cannot be scored" in blank.stderr
    assert "'Nobody' in row 2; no name in row 4" in blank.stderr
    assert "--graph" in blank.stderr
    lines = blank.stdout.splitlines()
    assert lines[0] == "id,to,from,score_given,score,probability"
    assert lines[1].startswith("007,Person 01,Person 40,a,")
    assert lines[2:] == ["008,Person 02,Nobody,b,,", "009,Person 03,Person 03,c,,", "010,,Person 04,d,,"]
    skip = run_llwlc("score", home / "run", "pairs.csv", "--unknown", "skip", "-o", "-", "--format", "jsonl")
    assert [json.loads(line)["id"] for line in skip.stdout.splitlines()] == ["007"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "jsonl", "jsonl.gz"])
def test_recommend_writes_every_format(home, tmp_path, ending):
    assert run_llwlc("recommend", home / "run", "--top", 2, "-o", tmp_path / f"top.{ending}").exit_code == 0
    piped = run_llwlc("recommend", home / "run", "--top", 2).stdout.splitlines()
    assert piped[0].startswith("source,target,score,probability,")
    assert len(piped) == 3
    if ending == "parquet":
        assert pa.parquet.read_table(tmp_path / "top.parquet").num_rows == 2


def test_new_links_and_new_nodes_without_a_new_fit(home, model, tmp_path):
    (tmp_path / "since.csv").write_text("a,b\nNewcomer,Person 01\nNewcomer,Person 02\n")
    (tmp_path / "pairs.csv").write_text("a,b\nNewcomer,Person 03\nLoner,Person 01\nPerson 05,Person 60\n")
    (tmp_path / "names.txt").write_text("Loner\n")
    options = ("--add", tmp_path / "since.csv", "--node-list", tmp_path / "names.txt")
    done = run_llwlc("score", home / "run", tmp_path / "pairs.csv", *options)
    assert done.exit_code == 0, done.output
    assert "92 nodes" in done.stderr
    assert "+2 against the run" in done.stderr
    # the same in Python, and the same as on the whole graph in one file
    added = model.updated_graph(add=tmp_path / "since.csv", node_list=["Loner"])
    rows = (home / "edges.csv").read_text() + "Newcomer,Person 01,1\nNewcomer,Person 02,1\n"
    width = rows.splitlines()[0].count(",")
    (tmp_path / "now.csv").write_text(
        "\n".join(",".join(row.split(",")[: width + 1]) for row in rows.splitlines()) + "\n"
    )
    whole = model.updated_graph(graph=tmp_path / "now.csv", node_list=tmp_path / "names.txt")
    assert added.names == whole.names
    assert torch.equal(added.indices, whole.indices)
    pairs = [("Newcomer", "Person 03"), ("Loner", "Person 01"), ("Person 05", "Person 60")]
    score = model.score(pairs, graph=added).score
    assert torch.equal(score, model.score(pairs, graph=whole).score)
    assert [float(line.split(",")[2]) for line in done.stdout.splitlines()[1:]] == pytest.approx(score.tolist())
    found = model.recommend(node="Newcomer", top=3, graph=added)
    assert {link.source for link in found} == {"Newcomer"}
    given = tmp_path / "more.csv"
    given.write_text("person,height,club\nNewcomer,1.5,b\n")
    x = model.updated_graph(add=tmp_path / "since.csv", features=given).x
    assert x[added.names.index("Newcomer") - 1].tolist() == [1.5, 0, 0, 1, 0]
    given.write_text("person,height\nNewcomer,1.5\n")
    with pytest.raises(InputError, match="no column 'club'"):
        model.updated_graph(add=tmp_path / "since.csv", features=given)


def test_frames_and_arrays_of_names(model):
    rows = {"mine": [1, 2], "from": ["Person 01", "Person 02"], "to": ["Person 40", "Nobody"], "score": [0, 0]}
    frame = pd.DataFrame(rows, index=[10, 20])
    with pytest.raises(InputError, match="'Nobody' in row 2"):
        model.score(frame)
    wanted = model.score([("Person 01", "Person 40")]).score.item()
    blank = model.score_table(frame, unknown="blank").table
    assert list(blank.columns) == ["mine", "from", "to", "score_given", "score", "probability"]
    assert list(blank.index) == [10, 20]
    assert blank["score"].iloc[0] == wanted
    assert blank["score"].isna().tolist() == [False, True]
    skip = model.score_table(pl.DataFrame(rows), unknown="skip").table
    assert isinstance(skip, pl.DataFrame)
    assert skip["score"].to_list() == [wanted]
    names = pd.DataFrame(rows)[["from", "to"]].to_numpy()
    assert model.score(names[:1]).score.item() == wanted
    assert model.score(names, unknown="blank").score.isnan().tolist() == [False, True]
    ends = pd.DataFrame({"u": ["a", "b", "c"], "v": ["b", "c", "a"]})
    assert Graph.read(ends).num_edges == Graph.read(pl.from_pandas(ends)).num_edges == 3


def test_audit_and_protocols_from_the_command_line(home, model, tmp_path):
    good = run_llwlc("data", "audit", home / "run")
    assert (good.exit_code, good.stdout.splitlines()[0]) == (0, "audit: no leak found")
    split = model.run_.split
    leak = torch.cat([split.train_pos, split.test_pos[:1]])
    llwlc.LinkSplit(**{**vars(split), "train_pos": leak}).save(tmp_path / "leak.safetensors")
    bad = run_llwlc("data", "audit", tmp_path / "leak.safetensors", "--graph", home / "edges.csv")
    assert bad.exit_code == 1
    assert "FAULT train_pos & test_pos: 1" in bad.stdout
    (tmp_path / "junk.safetensors").write_bytes(b"junk")
    junk = run_llwlc("data", "audit", tmp_path / "junk.safetensors", "--graph", home / "edges.csv")
    assert junk.exit_code == 2
    table = run_llwlc("data", "protocols", "cora").stdout
    assert "3,696" in table
    assert "500 × 263" in table


def test_every_option_is_explained():
    explained = get_option_help(PRESETS["anchored"])
    assert {name for preset in PRESETS.values() for name in get_settable_options(preset)} <= set(explained)
    text = " ".join(CliRunner().invoke(app, ["fit", "--help-all"], env={"COLUMNS": "300"}).stdout.split())
    for name in get_settable_options(PRESETS["anchored"]):
        values, meaning = explained[name]
        assert meaning
        assert f"({values}): {meaning}" in text


def test_without_a_terminal_a_line_says_how_far_it_is(monkeypatch):
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.05)
    console = Console(file=io.StringIO(), width=200)
    for step in progress.track(range(4), "counting", total=10, completed=6, console=console):
        end = time.monotonic() + 60
        while f"counting: {6 + step} of 10" not in console.file.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
    lines = console.file.getvalue().splitlines()
    assert lines[0].startswith("counting: 6 of 10")
    assert any(line.startswith("counting: 8 of 10, ") for line in lines)


def test_one_warning_instead_of_fourteen(capsys):
    with warnings.catch_warnings(record=True) as seen, deduplicate_warnings():
        warnings.simplefilter("always")
        for i in range(14):
            warn(f"{i} of 14 pairs reach 10,000 nodes")
        warn("something else")
    assert [str(w.message) for w in seen] == ["0 of 14 pairs reach 10,000 nodes", "something else"]


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on_and_the_bar_begins_where_it_was(home, tmp_path):
    shutil.copy(home / "edges.csv", tmp_path)
    slow = ["--set", "epochs=500", "--set", "patience=500", *SETS[2:]]
    command = [sys.executable, "-m", "llwlc", "fit", "edges.csv", "--out", "new", *slow]
    where = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}

    def stopped_after(epochs: int) -> str:
        process = subprocess.Popen(
            command, cwd=tmp_path, env=where, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        end = time.monotonic() + 600
        from llwlc.training._checkpoint import count_epochs

        while count_epochs(tmp_path / "new" / "checkpoint.safetensors") < epochs and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said = process.communicate()[0]
        assert process.returncode == 130, said
        return said

    assert "Run the same command to go on where it was." in stopped_after(2)
    assert "going on after epoch" in stopped_after(4)
