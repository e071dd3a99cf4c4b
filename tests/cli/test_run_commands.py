"""fit, score, recommend and evaluate as a user meets them: from a CSV to ranked links, with no code; bad input changes
nothing.
"""

import csv
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from llwlc import datasets
from llwlc._cli import console
from llwlc._cli.app import app
from llwlc.graph._graph import Graph
from people import people

QUICK = ["--set", "epochs=2", "--set", "copies=0", "--set", "negative_pool=1"]
FIRST = ["source", "target", "score", "probability"]
RANGE = ["probability_low", "probability_high", "candidate_score"]


def llwlc(*arguments: str | Path):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def write_edges(path: Path, graph: Graph, called) -> None:
    rows = [("from", "to"), *[(called(u), called(v)) for u, v in graph.edges.tolist()]]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def name(i: int) -> str:
    return f"Doe, Person {i:02d}"  # a comma has to survive every file


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with the files of a user, and a run that was made of them."""
    folder = tmp_path_factory.mktemp("user")
    graph = people()
    write_edges(folder / "edges.csv", graph, name)
    lines = ["person,a,b,c", *[f'"{name(i)}",{",".join(f"{v:.3f}" for v in graph.x[i, :3])}' for i in range(90)]]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    os.environ["LLWLC_CACHE"] = str(folder / "cache")
    options = ("--features", folder / "people.csv", "--out", folder / "run", "--verbose")
    done = llwlc("fit", folder / "edges.csv", *options, *QUICK)
    yield folder, done
    del os.environ["LLWLC_CACHE"]


@pytest.fixture
def here(home, tmp_path, monkeypatch):
    """Stand in an empty folder with the files at hand."""
    monkeypatch.chdir(tmp_path)
    for file in ("edges.csv", "people.csv"):
        shutil.copy(home[0] / file, tmp_path)
    (tmp_path / "run").symlink_to(home[0] / "run")
    return tmp_path


def test_fit_says_what_it_will_do_and_what_came_of_it(home):
    folder, done = home
    assert done.exit_code == 0, done.output
    for text in ("90 nodes", "training, validation, test links", "enclosing subgraphs", "MB", "time expected"):
        assert text in done.stdout
    for text in ("llwlc", "common neighbours", "Adamic–Adar", "resource allocation", "cosine of Â²X", "HR@100", "AUC"):
        assert text in done.stdout
    for text in (
        "protocol random",
        "negatives",
        "too few negatives for HR@K",
        "calibration error",
        "parameters",
        "seconds",
    ):
        assert text in " ".join(done.stdout.split())
    assert "The 10 likeliest missing links" in done.stdout
    assert done.stdout.count("Doe, Person") >= 20
    assert json.loads((folder / "run" / "config.json").read_text())["graph_name"].endswith("edges.csv")


def test_the_list_comes_first_then_how_far_to_trust_it_then_where_the_rest_is(here):
    again = llwlc("fit", "edges.csv", "--features", "people.csv", "--out", "run", *QUICK)
    text = " ".join(again.stdout.split())
    assert text.startswith("The 10 likeliest missing links")
    parts = ("expect ", "How far to trust this: To test the list, ", "The run is in run", "llwlc evaluate run")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    for detail in ("HR", "MRR", "P@", "AUC"):
        assert detail not in text


def test_the_same_fit_again_reads_the_run(here, home):
    before = {p.name: p.stat().st_mtime_ns for p in (home[0] / "run").iterdir()}
    again = llwlc("fit", "edges.csv", "--features", "people.csv", "--out", "run", *QUICK)
    assert again.exit_code == 0
    assert "time expected" not in again.output  # nothing is ahead
    assert {p.name: p.stat().st_mtime_ns for p in (home[0] / "run").iterdir()} == before


def test_recommend_writes_ranked_links_that_are_missing(here):
    assert llwlc("recommend", "run", "--top", "30", "-o", "top.csv").exit_code == 0
    rows = read(here / "top.csv")
    assert list(rows[0]) == [*FIRST, *RANGE, "common_neighbors", "distance"]
    assert len(rows) == 30
    ranked = [float(r["candidate_score"]) for r in rows]
    assert ranked == sorted(ranked, reverse=True)
    known = {frozenset((r["from"], r["to"])) for r in read(here / "edges.csv")}
    assert not known & {frozenset((r["source"], r["target"])) for r in rows}


def test_recommend_for_a_node_on_screen_and_to_parquet(here, monkeypatch):
    with monkeypatch.context() as terminal:
        terminal.setattr(console.OUT, "_force_terminal", True)
        shown = llwlc("recommend", "run", "--node", name(5), "--top", "3")
    assert shown.exit_code == 0
    assert f"The 3 likeliest missing links of {name(5)}" in shown.stdout
    assert llwlc("recommend", "run", "--node", name(5), "--top", "3", "-o", "t.parquet").exit_code == 0
    table = pa.parquet.read_table(here / "t.parquet")
    assert table["source"].to_pylist() == [name(5)] * 3
    assert table.schema.field("distance").type == pa.int64()


def test_a_node_without_candidates_is_told_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLWLC_CACHE", str(tmp_path / "cache"))
    star = [(0, i) for i in range(1, 31)]
    (tmp_path / "star.csv").write_text("source,target\n" + "".join(f"n{u},n{v}\n" for u, v in star))
    done = llwlc("fit", "star.csv", *QUICK)
    assert done.exit_code == 0, done.output
    assert "…" not in done.stdout  # every number fits a terminal of 80 columns
    none = llwlc("recommend", "run", "--node", "n0")
    assert none.exit_code == 0
    assert "There are no candidates of n0" in none.stderr
    assert none.stdout == ",".join([*FIRST, *RANGE, "common_neighbors", "distance"]) + "\n"


def test_a_graph_without_candidates_is_told_so_instead_of_an_empty_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLWLC_CACHE", str(tmp_path / "cache"))
    complete = [(i, j) for i in range(12) for j in range(12, 24)]  # bipartite: no pair across its sides is left
    (tmp_path / "complete.csv").write_text("source,target\n" + "".join(f"n{u},n{v}\n" for u, v in complete))
    done = llwlc("fit", "complete.csv", *QUICK)
    assert done.exit_code == 0, done.output
    assert "likeliest" not in done.stdout
    assert "There are no candidates for missing links" in " ".join(done.stdout.split())
    none = llwlc("recommend", "run")
    assert none.exit_code == 0
    assert "There are no candidates for missing links" in none.stderr
    assert none.stdout == ",".join([*FIRST, *RANGE, "common_neighbors", "distance"]) + "\n"


def test_score_keeps_other_columns_and_gives_the_same_in_every_form(here):
    rows = [("id", "to", "from", "note", "score"), (7, name(1), name(2), "a, b", "old"), (8, name(3), name(4), "", "x")]
    with (here / "pairs.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    assert llwlc("score", "run", "pairs.csv", "-o", "s.csv").exit_code == 0
    found = read(here / "s.csv")
    assert list(found[0]) == ["id", "to", "from", "note", "score_given", "score", "probability"]
    assert [r["note"] for r in found] == ["a, b", ""]
    assert [r["score_given"] for r in found] == ["old", "x"]
    assert llwlc("score", "run", "pairs.csv", "-o", "s.parquet").exit_code == 0
    table = pa.parquet.read_table(here / "s.parquet")
    assert table.column_names == list(found[0])
    assert table["score"].to_pylist() == pytest.approx([float(r["score"]) for r in found], abs=1e-6)
    pa.parquet.write_table(table.select(["to", "from"]), here / "p.parquet")
    printed = llwlc("score", "run", "p.parquet").stdout
    on_screen = list(csv.DictReader(printed.splitlines()))
    assert [r["to"] for r in on_screen] == [r["to"] for r in found]
    assert [float(r["probability"]) for r in on_screen] == pytest.approx([float(r["probability"]) for r in found])


def test_score_with_a_prior_and_on_an_updated_graph(here):
    (here / "pairs.csv").write_text(f'source,target\n"{name(1)}","{name(70)}"\n')
    llwlc("score", "run", "pairs.csv", "-o", "even.csv")
    llwlc("score", "run", "pairs.csv", "-o", "rare.csv", "--prior", "0.01")
    even, rare = (float(read(here / f)[0]["probability"]) for f in ("even.csv", "rare.csv"))
    assert rare / (1 - rare) == pytest.approx(even / (1 - even) / 99)
    more = "".join(f'"{name(i)}","{name(j)}"\n' for i in (1, 70) for j in range(30, 45))
    (here / "new.csv").write_text((here / "edges.csv").read_text() + more)
    assert llwlc("score", "run", "pairs.csv", "-o", "new_scores.csv", "--graph", "new.csv").exit_code == 0
    assert read(here / "new_scores.csv")[0]["score"] != read(here / "even.csv")[0]["score"]


def test_score_on_a_graph_with_a_new_node_asks_for_features(here):
    (here / "pairs.csv").write_text(f'source,target\nNewcomer,"{name(70)}"\n')
    (here / "new.csv").write_text((here / "edges.csv").read_text() + f'Newcomer,"{name(3)}"\n')
    asked = llwlc("score", "run", "pairs.csv", "--graph", "new.csv")
    assert asked.exit_code == 2
    assert "without known features, such as 'Newcomer'" in asked.stderr
    (here / "more.csv").write_text("person,a,b,c\nNewcomer,1,0,0\n")  # known nodes keep their features
    given = llwlc("score", "run", "pairs.csv", "--graph", "new.csv", "--features", "more.csv")
    assert given.exit_code == 0, given.output
    assert "Newcomer" in given.stdout


def test_evaluate_shows_the_run_and_measures_anew(here):
    shown = llwlc("evaluate", "run")
    assert shown.exit_code == 0
    assert "resource allocation" in shown.stdout
    anew = llwlc("evaluate", "run", "--protocol", "ncn", "--seeds", "2")
    assert anew.exit_code == 0, anew.output
    assert "protocol ncn, 2 seeds" in anew.stdout
    assert "AUC" in anew.stdout


BAD = {
    "no run": (["recommend", "nowhere"], "there is no run folder nowhere"),
    "no run to score": (["score", "nowhere", "pairs.csv", "-o", "s.csv"], "there is no run folder nowhere"),
    "no run to evaluate": (["evaluate", "nowhere"], "there is no run folder nowhere"),
    "unknown node in pairs": (
        ["score", "run", "stranger.csv", "-o", "s.csv"],
        "does not have: 'Doe, Preson 02' in row 2",
    ),
    "a self-pair": (["score", "run", "self.csv", "-o", "s.csv"], "with itself"),
    "no pairs": (["score", "run", "nopairs.csv"], "there is no file nopairs.csv"),
    "a prior of 1": (["score", "run", "pairs.csv", "-o", "s.csv", "--prior", "1"], "prior"),
    "a prior below 0": (["recommend", "run", "--prior", "-0.5", "-o", "t.csv"], "prior"),
    "no links wanted": (["recommend", "run", "--top", "0"], "top is a whole number of at least 1"),
    "unknown node": (["recommend", "run", "--node", "Doe, Persn 05"], "Did you mean 'Doe, Person 05'?"),
    "an ending that says nothing": (["recommend", "run", "-o", "top.xls"], "top.xls"),
    "a folder that is not there": (["recommend", "run", "-o", "no/top.csv"], "no"),
    "weights without a graph": (
        ["score", "run", "pairs.csv", "--weight", "w"],
        "is for the updated graph: give --graph",
    ),
    "features without a graph": (
        ["score", "run", "pairs.csv", "--features", "people.csv"],
        "is for the updated graph: give --graph",
    ),
    "unknown option": (["fit", "edges.csv", "--out", "new", "--set", "epoch=3"], "no option is called 'epoch'"),
    "no equals sign": (["fit", "edges.csv", "--out", "new", "--set", "epochs"], "write it as name=value"),
    "text for a number": (
        ["fit", "edges.csv", "--out", "new", "--set", "epochs=many"],
        "epochs must be a whole number",
    ),
    "an option of its own": (["fit", "edges.csv", "--out", "new", "--set", "seed=3"], "use --seed"),
    "unknown preset": (["fit", "edges.csv", "--out", "new", "--preset", "best"], "no preset is called 'best'"),
    "unknown protocol": (
        ["fit", "edges.csv", "--out", "new", "--protocol", "guess"],
        "no protocol is called 'guess'",
    ),
    "unknown constraints": (["fit", "edges.csv", "--out", "new", "--set", "constraints=foo"], "unknown name 'foo'"),
    "unknown device": (["fit", "edges.csv", "--out", "new", "--device", "abacus"], "abacus"),
    "a fraction above 1": (["fit", "edges.csv", "--out", "new", "--fraction", "2"], "fraction"),
    "another run's folder": (["fit", "edges.csv", "--out", "run"], "another run"),
    "a foreign folder": (["fit", "edges.csv", "--out", "."], "not a run of llwlc"),
    "a file for a folder": (["fit", "edges.csv", "--out", "edges.csv"], "is a file"),
    "shares that the protocol fixes": (
        ["fit", "edges.csv", "--out", "new", "--protocol", "ncn", "--val", "0.1"],
        "fixes its ratios",
    ),
    "seeds without a protocol": (["evaluate", "run", "--seeds", "5"], "--seeds has no effect without --protocol"),
    "a device without a protocol": (
        ["evaluate", "run", "--device", "cpu"],
        "--device has no effect without --protocol",
    ),
    "no splits": (["evaluate", "run", "--protocol", "ncn", "--seeds", "0"], "--seeds is a number of trainings, 1"),
    "a billion splits": (
        ["evaluate", "run", "--protocol", "ncn", "--seeds", "1000000000"],
        "1 to 1,000, or a range",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_ends_with_code_2_and_writes_nothing(here, case):
    arguments, message = BAD[case]
    (here / "pairs.csv").write_text(f'source,target\n"{name(1)}","{name(2)}"\n')
    (here / "stranger.csv").write_text(f'source,target\n"{name(1)}","{name(2)}"\n"{name(1)}","Doe, Preson 02"\n')
    (here / "self.csv").write_text(f'source,target\n"{name(1)}","{name(1)}"\n')
    before = {p: p.stat().st_mtime_ns for p in here.rglob("*")}
    result = llwlc(*arguments)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert "time expected" not in result.output  # refused before anything is forecast
    assert "Traceback" not in result.output
    assert isinstance(result.exception, SystemExit)
    assert {p: p.stat().st_mtime_ns for p in here.rglob("*")} == before


def heard(screen: int) -> bytes:
    """What a terminal was sent next; nothing once the other side has closed."""
    try:
        return os.read(screen, 65536)
    except OSError:
        return b""


def test_ctrl_c_in_a_terminal_of_80_columns_leaves_a_run_to_go_on_with(here):
    """A real terminal: one display, no line beyond its width, code 130, and a checkpoint (`test_rundir` goes on from
    one).
    """
    screen, side = pty.openpty()
    command = "from llwlc._cli import main; main()"
    arguments = [
        "fit",
        "edges.csv",
        "--out",
        "new",
        "--set",
        "epochs=400",
        "--set",
        "patience=400",
        "--seed",
        "3",
        *QUICK[2:],
    ]
    where = os.environ | {"COLUMNS": "80", "TERM": "xterm", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", command, *arguments], stdin=side, stdout=side, stderr=side, env=where
    )
    os.close(side)
    seen, end = b"", time.monotonic() + 600
    while not re.search(rb"training, loss.*[3-9]/400", seen) and time.monotonic() < end:
        seen += heard(screen)
    process.send_signal(signal.SIGINT)
    while more := heard(screen):
        seen += more
    process.wait()
    os.close(screen)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen.decode())
    assert process.returncode == 130, text[-500:]
    assert "Traceback" not in text
    assert "eigenbases, train" in text
    assert max(len(line) for line in re.split(r"[\r\n]", text)) <= 80
    left = {p.name for p in (here / "new").iterdir()}
    assert (
        {"checkpoint.safetensors", "plan.json"} <= left <= {"checkpoint.safetensors", "checkpoint.partial", "plan.json"}
    )
    refused = llwlc("recommend", "new")
    assert refused.exit_code == 2
    assert "run the same llwlc fit again" in refused.stderr


@pytest.mark.data
@pytest.mark.parametrize(("data", "file", "kind"), [("usair", "USAir", "Airport"), ("celegans", "Celegans", "Neuron")])
def test_a_users_own_graph_end_to_end(data_root, home, tmp_path, monkeypatch, data, file, kind):
    data_root(f"seal/{file}.mat")
    monkeypatch.chdir(tmp_path)
    graph = datasets.load(data)
    write_edges(tmp_path / "edges.csv", graph, lambda i: f"{kind} {i:03d}")
    few = [*QUICK, "--set", "hops=1", "--set", "steps=4", "--set", "channels=8"]
    assert llwlc("fit", "edges.csv", "--out", "run", *few).exit_code == 0
    assert llwlc("recommend", "run", "--node", f"{kind} 007", "--top", "20", "-o", "top.csv").exit_code == 0
    assert llwlc("score", "run", "top.csv", "-o", "scores.csv").exit_code == 0
    top, scored = read(tmp_path / "top.csv"), read(tmp_path / "scores.csv")
    assert [r["score_given"] for r in scored] == [r["score"] for r in top]
    given = ["source", "target", "score_given", "probability_given", *RANGE, "common_neighbors", "distance"]
    assert list(scored[0]) == [*given, "score", "probability"]
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["auc"] > 0.75  # two epochs on one hop; benchmarks/own_graph.py has the real figures
