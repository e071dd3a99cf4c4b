"""A packed graph is the graph that reading the same file gives; a damaged or foreign folder is refused; nothing is left
of a failure.
"""

import gzip
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch
from typer.testing import CliRunner

from llwlc import Graph
from llwlc._cli.app import app
from llwlc._support.files import file_digest
from llwlc.errors import InputError
from llwlc.graph._names import find_nodes
from llwlc.graph._packed_folder import MANIFEST

duckdb = pytest.importorskip("duckdb", reason="packing needs duckdb: pip install 'llwlc[pack]'")
from llwlc.graph._packing import pack  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::llwlc.graph._report.GraphWarning")
SOME = ["Ada", "Bob", "Zoë", "émile", "007", "7", "-1", "a b", "Ada2", "🙂"]


def rows(names: list[str], count: int, seed: int = 0) -> list[tuple[str, str]]:
    rng = np.random.default_rng(seed)
    return [(names[a], names[b]) for a, b in rng.integers(0, len(names), (count, 2))]


def written(path: Path, pairs: list[tuple[str, str]], *columns: list[object], head: str = "from,to") -> Path:
    lines = [head] if head else []
    lines += [",".join(map(str, row)) for row in zip(*zip(*pairs, strict=True), *columns, strict=True)]
    data = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def same(packed: Graph, read: Graph) -> None:
    for name in ("indptr", "indices", "weight", "time", "identity"):
        a, b = getattr(packed, name), getattr(read, name)
        assert (a is None) == (b is None), name
        assert a is None or (a.dtype == b.dtype and torch.equal(a, b)), name
    assert (packed.names is None) == (read.names is None)
    assert packed.names is None or list(packed.names) == list(read.names)
    assert packed.digest == read.digest
    assert str(packed.report) == str(read.report)


NAMES = {
    "text": SOME,
    "contiguous": [str(i) for i in range(12)],
    "integers": ["3", "10", "9", "-4", "123456789012345678", "9223372036854775807"],
    "sparse": [str(7 * i) for i in range(20)],
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_a_packed_graph_is_the_graph_that_reading_the_file_gives(tmp_path, names, ending):
    pairs = rows(names, 60)
    if ending == ".parquet":
        pa.parquet.write_table(
            pa.table({"from": [a for a, _ in pairs], "to": [b for _, b in pairs]}), tmp_path / "e.parquet"
        )
        path = tmp_path / "e.parquet"
    else:
        path = written(tmp_path / f"e{ending}", pairs)
    pack(path, tmp_path / "g")
    same(Graph.open(tmp_path / "g"), Graph.read(path))


@pytest.mark.parametrize("mirrored", [False, True])
def test_weights_are_added_and_the_latest_time_is_kept_as_reading_does(tmp_path, mirrored):
    pairs = rows(SOME, 80, seed=1)
    weight = list(np.random.default_rng(2).integers(1, 40, 80) / 8)
    if mirrored:
        pairs = sorted({(min(p), max(p)) for p in pairs if p[0] != p[1]})
        weight = weight[: len(pairs)] * 2
        pairs += [(b, a) for a, b in pairs]
    time = list(range(len(pairs)))
    path = written(tmp_path / "e.csv", pairs, weight, time, head="from,to,weight,time")
    report = pack(path, tmp_path / "g")
    assert report.mirrored is mirrored
    same(Graph.open(tmp_path / "g"), Graph.read(path))


def test_a_file_without_a_header_and_times_that_are_no_integers(tmp_path):
    path = written(tmp_path / "e.csv", rows(NAMES["sparse"], 50), list(np.arange(50) / 3), head="")
    pack(path, tmp_path / "g", time="3")
    same(Graph.open(tmp_path / "g"), Graph.read(path, time="3"))


def test_little_memory_gives_the_same_graph_through_the_disk(tmp_path):
    pairs = rows([f"person {i}" for i in range(20_000)], 120_000)
    path = written(tmp_path / "e.csv", pairs)
    pack(path, tmp_path / "g", memory=0.15)
    same(Graph.open(tmp_path / "g"), Graph.read(path))


def test_names_are_found_as_in_a_table_of_all_of_them(tmp_path):
    wanted = pa.array([*SOME, "", "A", "Adb", "Zz", "ÿ", "07", "99999999999999999999999", "-0"])
    for names in NAMES.values():
        path = written(tmp_path / "e.csv", rows(names, 90))
        pack(path, tmp_path / "g")
        graph = Graph.open(tmp_path / "g")
        all_names = [graph.name(i) for i in range(graph.num_nodes)]
        asked = pa.concat_arrays([wanted, pa.array(all_names)])
        expected = [all_names.index(name) if name in all_names else -1 for name in asked.to_pylist()]
        assert find_nodes(asked, graph.names, graph.num_nodes).tolist() == expected
        shutil.rmtree(tmp_path / "g")


def test_links_are_looked_up_in_rows():
    graph = Graph.from_edges(torch.randint(0, 40, (120, 2), generator=torch.Generator().manual_seed(0)), num_nodes=41)
    pairs = torch.cartesian_prod(torch.arange(41), torch.arange(41))
    known = {tuple(edge) for edge in graph.edges.tolist()}
    assert graph.has_edges(pairs).tolist() == [(min(p), max(p)) in known for p in map(tuple, pairs.tolist())]


@pytest.fixture
def packed(tmp_path):
    pairs = sorted(set(rows(SOME, 60)))
    path = written(tmp_path / "e.csv", pairs, [1 + i % 7 for i in range(len(pairs))], head="from,to,weight")
    pack(path, tmp_path / "g")
    return tmp_path / "g"


FILES = ("indptr.i64", "indices.i64", "weight.f32", "name_text.u8", "name_end.i64", "name_identity.i64")


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_or_altered_file_is_refused(packed, name):
    file = packed / name
    whole = file.read_bytes()
    file.write_bytes(whole[:-8])
    with pytest.raises(InputError, match="bytes"):
        Graph.open(packed)
    with pytest.raises(InputError, match="bytes"):
        Graph.open(packed, verify=False)
    file.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    with pytest.raises(InputError, match="cannot be used"):
        Graph.open(packed)
    file.unlink()
    with pytest.raises(InputError, match="cannot be used"):
        Graph.open(packed)


def altered(packed: Path, name: str, change) -> None:
    """A file changed by somebody who also knows how to write a digest."""
    dtype = {"i64": np.int64, "f32": np.float32, "u8": np.uint8}[name.split(".")[1]]
    values = np.fromfile(packed / name, dtype)
    change(values)
    values.tofile(packed / name)
    about = json.loads((packed / MANIFEST).read_text())
    about["files"][name]["sha256"] = file_digest(packed / name)
    (packed / MANIFEST).write_text(json.dumps(about))


def put(at: int, value: float):
    def change(values: np.ndarray) -> None:
        values[at] = value

    return change


CHANGES = {
    "a node outside": ("indices.i64", put(0, 10**6)),
    "a negative node": ("indices.i64", put(0, -1)),
    "a row that names itself": ("indices.i64", put(0, 0)),
    "a pointer beyond": ("indptr.i64", put(3, 10**9)),
    "a pointer that falls": ("indptr.i64", put(3, 0)),
    "a weight of one direction": ("weight.f32", put(2, 77.0)),
    "no weight": ("weight.f32", put(2, float("nan"))),
    "names out of order": ("name_text.u8", put(0, 255)),
    "ends out of order": ("name_end.i64", put(2, 10**9)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_folder_whose_digests_fit_is_looked_at_before_a_kernel_does(packed, change):
    altered(packed, *change)
    with pytest.raises(InputError, match="cannot be used"):
        Graph.open(packed)


def test_a_link_in_one_direction_only_is_refused(tmp_path):
    path = written(tmp_path / "e.csv", [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")])
    pack(path, tmp_path / "g")
    altered(tmp_path / "g", "indices.i64", put(0, 2))  # a–b becomes a–c, in the row of a alone
    with pytest.raises(InputError, match="one direction"):
        Graph.open(tmp_path / "g")


def test_a_foreign_folder_is_refused_with_what_to_do(tmp_path, packed):
    for make in (
        lambda p: None,
        lambda p: p.mkdir(),
        lambda p: (p / MANIFEST).write_text('{"format": 2, "files": {}}'),
    ):
        make(tmp_path / "other")
        with pytest.raises(InputError, match="llwlc data pack"):
            Graph.open(tmp_path / "other")
    about = json.loads((packed / MANIFEST).read_text())
    (packed / MANIFEST).write_text(json.dumps(about | {"format": 9}))
    with pytest.raises(InputError, match="format 9"):
        Graph.open(packed)


BAD = {
    "an empty name": ("from,to\na,b\nc,\n", "names no node"),
    "a bad weight": ("from,to,weight\na,b,1\nb,c,-2\n", "weights must be"),
    "no number": ("from,to,weight\na,b,1\nb,c,x\n", "cannot be read as a table"),
    "loops alone": ("from,to\na,a\n", "no edges"),
    "a ragged row": ("from,to\na,b\nc,d,e\n", "cannot be read as a table"),
    "a header that may be an edge": ("a,b\nb,c\na,c\nb,a\n", "may be a header or an edge"),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_bad_rows_are_refused_in_a_sentence_and_leave_nothing(tmp_path, bad):
    text, why = bad
    (tmp_path / "e.csv").write_text(text)
    with pytest.raises(InputError, match=why):
        pack(tmp_path / "e.csv", tmp_path / "g")
    assert [path.name for path in tmp_path.iterdir()] == ["e.csv"]


def test_the_command_packs_and_other_commands_open_it(tmp_path):
    path = written(tmp_path / "e.csv", rows([f"p{i}" for i in range(30)], 200))

    def told(*words: object) -> tuple[int, str]:
        done = CliRunner().invoke(app, [str(word) for word in words])
        return done.exit_code, done.output

    assert told("data", "pack", path, "-o", tmp_path / "g")[0] == 0
    code, text = told("data", "show", tmp_path / "g")
    assert code == 0
    assert "30" in text
    other = written(tmp_path / "other.csv", rows([f"p{i}" for i in range(30)], 199))
    for words in (
        ("pack", other, "-o", tmp_path / "g"),
        ("pack", path, "-o", tmp_path / "g", "--no-header"),
        ("pack", path, "-o", tmp_path),
        ("show", tmp_path / "g", "--source", "from"),
        ("show", tmp_path),
    ):
        assert told("data", *words)[0] == 2


KILLED = """
import os, signal, sys
from llwlc._support import files
rename = files.os.rename
def last(*names):
    rename(*names)
    os.kill(os.getpid(), signal.SIGKILL)
files.os.rename = last
from llwlc.graph._packing import pack
pack(*sys.argv[1:])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_the_same_command_goes_on_after_a_kill_behind_the_last_rename(tmp_path):
    path = written(tmp_path / "e.csv", rows(SOME, 60))
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path), str(tmp_path / "g")])
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "g").is_dir()
    before = {file.name: file.read_bytes() for file in (tmp_path / "g").iterdir()}
    done = CliRunner().invoke(app, ["data", "pack", str(path), "-o", str(tmp_path / "g")])
    assert done.exit_code == 0
    assert "was packed from it already" in " ".join(done.output.split())
    assert str(Graph.open(tmp_path / "g").report.line) in " ".join(done.output.split())
    assert {file.name: file.read_bytes() for file in (tmp_path / "g").iterdir()} == before
    same(Graph.open(tmp_path / "g"), Graph.read(path))


def test_packing_again_gives_the_same_report_and_refuses_any_other_folder(tmp_path):
    path = written(tmp_path / "e.csv", rows(SOME, 60), list(range(60)), head="from,to,weight")
    report = pack(path, tmp_path / "g", weight=None)
    assert pack(path, tmp_path / "g", weight=None) == report
    shutil.copy(path, tmp_path / "moved.csv")
    assert pack(tmp_path / "moved.csv", tmp_path / "g", weight=None) == report  # what counts is what it holds
    with pytest.raises(InputError, match="other columns"):
        pack(path, tmp_path / "g")
    path.write_text(path.read_text() + "Ada,Bob,1\n")
    with pytest.raises(InputError, match="packed from another file"):
        pack(path, tmp_path / "g", weight=None)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="is there already"):
        pack(path, tmp_path / "empty")


def test_a_damaged_folder_is_not_taken_for_a_packed_one(tmp_path):
    path = written(tmp_path / "e.csv", rows(SOME, 60))
    pack(path, tmp_path / "g")
    file = tmp_path / "g" / "indices.i64"
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(InputError, match="cannot be used"):
        pack(path, tmp_path / "g")
