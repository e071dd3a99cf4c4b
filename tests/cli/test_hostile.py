"""Names that are markup, escape sequences or formulas; arguments that are not text; disks that are full: text stays
text, and all ends in one line.
"""

import csv
import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
import torch
from rich.console import Console
from typer.testing import CliRunner

from llwlc._cli import console, tables
from llwlc._cli.app import app
from llwlc._cli.graph_options import gigabytes_to_bytes
from llwlc._predictor import LinkPredictor
from llwlc._support import files
from llwlc._support.lock import hold_lock
from llwlc._support.progress import track
from llwlc._support.text import escape_controls
from llwlc.bases._config import BasisConfig
from llwlc.bases._encoded_links import encode_pairs
from llwlc.errors import InputError
from llwlc.graph._clean import MAX_WEIGHT, MIN_WEIGHT
from llwlc.graph._graph import Graph
from llwlc.models._llwlc.model import LLwLC
from llwlc.ranking._recommendations import Recommendation, Recommendations
from people import QUICK, people

HOSTILE = [
    "[/x]",
    "[bold]",
    "\x1b]0;owned\x07",
    "\x1b[31mred",
    "=HYPERLINK(1)",
    "a\nb",
    "c\rd",
    "\u202egnp.exe",
    "]",
    "[",
    "\\",
]
FAST = [text for name, value in QUICK.items() for text in ("--set", f"{name}={value}")]


def llwlc(*arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def one_line(result, *, match: str) -> None:
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert match in result.stderr
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert result.stderr.rstrip("\n").endswith(errors[0])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run whose nodes have the worst names."""
    graph = people(features=False)
    names = [f"{HOSTILE[i % len(HOSTILE)]}{i}" for i in range(90)]
    graph = Graph.from_edges(graph.edges, num_nodes=90, names=names)
    folder = tmp_path_factory.mktemp("hostile") / "run"
    LinkPredictor(cache=None, minutes=None, **QUICK).fit(graph, out=folder)
    return folder


@pytest.fixture
def screen(monkeypatch):
    """What a terminal would be sent."""
    shown = io.StringIO()
    for module in (console, tables):
        monkeypatch.setattr(module, "OUT", Console(file=shown, force_terminal=True, width=200), raising=False)
    monkeypatch.setattr(console, "ERR", Console(file=shown, force_terminal=True, width=200))
    return shown


def link(source: str, target: str) -> Recommendation:
    return Recommendation(source, target, 1.0, 0.5, 0.4, 0.6, 0.3, 2, 2)


def test_every_name_is_shown_as_it_is_and_moves_no_cursor(screen):
    tables.show_links(
        Recommendations(tuple(link(a, b) for a in HOSTILE for b in HOSTILE)),
        f"The likeliest of {HOSTILE[0]}{HOSTILE[2]}",
    )
    console.print_rows(f"{HOSTILE[0]}{HOSTILE[2]}", [(name, name) for name in HOSTILE])
    for name in HOSTILE:
        console.print_status(name, style="red")
        assert screen.getvalue().count(escape_controls(name)) >= 2 * len(HOSTILE)
    for code in ("\x1b]", "\x1b[2J", "\x07", "\r", "\u202e"):
        assert code not in screen.getvalue()
    assert "\x1b[31mred" not in screen.getvalue().replace("\x1b[31m\\x1b", "")


def test_a_bar_takes_its_text_as_it_is():
    shown = io.StringIO()
    console_ = Console(file=shown, force_terminal=True, width=120)
    assert list(track([1, 2], "[/x] [bold]", console=console_)) == [1, 2]
    assert "[/x] [bold]" in shown.getvalue()


def test_recommend_and_score_of_hostile_names(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = llwlc("recommend", run, "--top", 50)
    assert shown.exit_code == 0, shown.output
    assert "\x1b]" not in shown.stderr
    names = LinkPredictor.load(run).graph_.names
    with Path("pairs.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [("source", "target", "score"), *[(a, b, 7) for a, b in zip(names[:20], names[20:], strict=False)]]
        )
    scored = llwlc("score", run, "pairs.csv", "-o", "plain.csv")
    assert scored.exit_code == 0, scored.output
    assert "the column 'score' of pairs.csv is kept as 'score_given'" in scored.stderr
    plain = rows("plain.csv")
    assert [row["source"] for row in plain] == names[:20]
    assert {row["score_given"] for row in plain} == {"7"}
    assert llwlc("score", run, "pairs.csv", "-o", "safe.csv", "--spreadsheet-safe").exit_code == 0
    safe = rows("safe.csv")
    assert [row["source"] for row in safe] == [f"'{name}" if name.startswith("=") else name for name in names[:20]]
    assert [row["score"] for row in safe] == [row["score"] for row in plain]
    assert {p.name for p in tmp_path.iterdir()} == {"pairs.csv", "plain.csv", "safe.csv"}


def rows(name: str) -> list[dict[str, str]]:
    with Path(name).open(newline="") as file:
        return list(csv.DictReader(file))


def test_on_a_terminal_cells_are_visible_and_in_a_file_whole(monkeypatch):
    table = pa.table({"source": ["\x1b[2J"], "score": [0.5]})
    for terminal, cell in ((True, "\\x1b[2J"), (False, "\x1b[2J")):
        out = io.StringIO()
        monkeypatch.setattr(out, "isatty", lambda terminal=terminal: terminal)
        monkeypatch.setattr(sys, "stdout", out)
        tables.TableOutput.of(None, None).write_out(table)
        assert out.getvalue() == f"source,score\n{cell},0.5\n"


BAD = {
    "a long name": (["data", "show", "x" * 300], "too long"),
    "a long path": (["data", "show", "x/" * 3000], "too long"),
    "a long run": (["recommend", "x" * 300], "too long"),
    "a long --out": (["fit", "cora", "--out", "x" * 300], "too long"),
    "an undecodable graph": (["data", "show", "\udcff"], "neither a dataset nor a file"),
    "an undecodable file": (["data", "show", "\udcff.csv"], "no file"),
    "an undecodable run": (["recommend", "\udcff"], "run folder"),
    "an unknown device": (["fit", "cora", "--device", "gpu"], "no device is called 'gpu'"),
    "another device": (["fit", "cora", "--device", "meta"], "no device is called 'meta'"),
    "a device beyond": (["fit", "cora", "--device", "cuda:99"], "cuda"),
    "a negative device": (["fit", "cora", "--device", "cpu:-1"], "no device is called 'cpu:-1'"),
    "a billion hops": (["fit", "cora", "--set", "hops=1000000000"], "hops must be"),
    "negative features": (["fit", "cora", "--set", "features=-1"], "--set features=-1: an option is a number from 0"),
    "negative channels": (["fit", "cora", "--set", "filtered_channels=-3"], "an option is a number from 0"),
    "a number of many digits": (["fit", "cora", "--set", f"filters={'9' * 25}"], "an option is a number from 0"),
    "a tiny share": (["fit", "cora", "--val", "1e-9"], "too few to split"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_end_in_one_line(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    arguments, message = BAD[name]
    one_line(llwlc(*arguments), match=message)
    assert not any(tmp_path.iterdir())


def test_what_does_not_fit_the_memory_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLWLC_CACHE", str(tmp_path / "cache"))
    people(features=False).to_csv("edges.csv")
    # options have ranges now, so the network is made to ask for more than any machine has
    monkeypatch.setattr(LLwLC, "network", staticmethod(lambda config: torch.empty(1 << 58)))
    one_line(llwlc("fit", "edges.csv", *FAST), match="not enough memory")


def test_a_folder_of_a_hostile_name_is_shown_as_text(screen):
    console.PlainConsole(file=screen, width=200).print("The run is in \x1b[2J.\nMore", markup=False)
    assert "The run is in \\x1b[2J.\nMore" in screen.getvalue()


def test_an_undecodable_node_is_one_line(run):
    one_line(llwlc("recommend", run, "--node", "caf\udce9"), match="not valid text")


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EFBIG])
def test_a_disk_that_is_full_in_the_middle_is_one_line_and_the_same_command_goes_on(tmp_path, monkeypatch, code):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLWLC_CACHE", str(tmp_path / "cache"))
    people().to_csv("edges.csv")
    real, done = os.fsync, []

    def full(handle: int) -> None:
        done.append(handle)
        if "checkpoint" in os.readlink(f"/proc/self/fd/{handle}") and len(done) > 3:
            raise OSError(code, os.strerror(code))
        real(handle)

    monkeypatch.setattr(files.os, "fsync", full)
    command = ["fit", "edges.csv", "--out", "run", *FAST]
    one_line(llwlc(*command), match="checkpoint.safetensors cannot be written")
    assert not any(p.name.endswith(files.PARTIAL) for p in tmp_path.rglob("*"))
    monkeypatch.setattr(files.os, "fsync", real)
    again = llwlc(*command)
    assert again.exit_code == 0, again.output


def test_output_that_cannot_be_written_is_one_line(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    one_line(llwlc("recommend", run, "-o", "top.csv"), match="top.csv cannot be written (No space left on device)")
    assert not any(tmp_path.iterdir())


def test_two_fits_into_one_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().to_csv("edges.csv")
    Path("run").mkdir()
    with hold_lock(Path("run"), "a fit"):
        one_line(llwlc("fit", "edges.csv", "--out", "run", *FAST), match=f"under way in process {os.getpid()}")


def test_the_same_links_under_other_names_are_another_run(tmp_path):
    graph = people()
    fit = LinkPredictor(cache=None, minutes=None, **QUICK).fit(graph, out=tmp_path / "run")
    other = Graph.from_edges(graph.edges, num_nodes=90, x=graph.x, names=[f"Someone {i:02d}" for i in range(90)])
    with pytest.raises(ValueError, match="another run"):
        LinkPredictor(cache=None, minutes=None, **QUICK).fit(other, split=fit.run_.split, out=tmp_path / "run")


def test_bytes_that_are_no_text_end_with_code_2(tmp_path):
    """As a process: a test runner's arguments are text."""
    done = subprocess.run(
        [sys.executable, "-m", "llwlc", "data", b"\xff\xfe"], capture_output=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_weights_stay_finite_at_both_ends_of_what_is_allowed():
    graph = people(features=False)
    for weight in (MIN_WEIGHT, MAX_WEIGHT):
        weights = torch.full((graph.num_edges,), weight)
        weights[::2] = 1.0
        heavy = Graph.from_edges(graph.edges, num_nodes=90, weight=weights)
        for laplacian in ("normalized", "combinatorial"):
            found = encode_pairs(heavy, heavy.edges[:30], BasisConfig(laplacian=laplacian), about="")
            assert torch.isfinite(found.values).all()
            assert torch.isfinite(found.vectors).all()


@pytest.mark.parametrize(
    "words", [["data", "show", "edges.csv", "\x1b[2J"], ["\x1b[2J"], ["data", "\x1b[2J"], ["fit", "--\x1b[2J"]]
)
def test_an_argument_that_cannot_be_read_is_quoted_as_text(words):
    """By the error itself, not only by the panel that some versions of typer draw around it."""
    with pytest.raises(Exception, match=r"x1b\[2J") as caught:
        app_command().main(words, standalone_mode=False)
    assert "\x1b" not in caught.value.message


def app_command():
    from typer.main import get_command

    return get_command(app)


def test_a_limit_that_is_no_number_is_refused():
    """Newer versions of typer refuse it themselves, by the range of the option."""
    with pytest.raises(InputError, match="got nan"):
        gigabytes_to_bytes(float("nan"))
