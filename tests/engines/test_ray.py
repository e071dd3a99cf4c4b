"""Workers on Ray score and recommend what one process does, to the last bit; killed or out of room, they lose nothing
and do nothing twice.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
import torch
from typer.testing import CliRunner

from llwlc._cli.app import app
from llwlc._engines.ray_pool import Cluster
from llwlc._engines.recommending import RecommendTask, ShardedRankingEngine, recommend_in_shards
from llwlc._engines.scoring import ScoreTask, ScoreWorker, make_score_task, score_in_shards
from llwlc._engines.shards import MANIFEST
from llwlc._predictor import LinkPredictor
from llwlc._support.files import file_digest
from llwlc.errors import InputError, StorageError
from llwlc.graph._packing import pack
from people import QUICK, people

ray = pytest.importorskip("ray", reason="needs Ray: pip install 'llwlc[ray]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own
EACH = 70
TWO = Cluster(workers=2)


class Dying(ScoreWorker):
    """Its process is killed in the middle of shard 1, the first time."""

    def score(self, shard):
        mark = Path(f"{self.shards.path}.died")
        if shard == 1 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().score(shard)


class FullDisk(ScoreWorker):
    """Has no room for shard 3."""

    def score(self, shard):
        if shard == 3:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        return super().score(shard)


@pytest.fixture(scope="module")
def cluster():
    """Two processors, as on the smallest machine that this runs on."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    ray.init(
        num_cpus=2, include_dashboard=False, object_store_memory=100 << 20, log_to_driver=False, logging_level="ERROR"
    )
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "run"
    LinkPredictor(cache=None, minutes=None, device="cpu", **QUICK).fit(people(), out=folder)
    return folder


@pytest.fixture(scope="module")
def model(run) -> LinkPredictor:
    return LinkPredictor.load(run, device="cpu")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory) -> Path:
    """400 pairs in row groups that shards do not follow, with a column of a name that scoring writes."""
    file = tmp_path_factory.mktemp("pairs") / "pairs.parquet"
    some = torch.combinations(torch.arange(90))[::10][:400].tolist()
    names = [[f"Person {i:02d}" for i in side] for side in zip(*some, strict=True)]
    pa.parquet.write_table(
        pa.table({"source": names[0], "target": names[1], "score": range(400)}), file, row_group_size=90
    )
    return file


def asked(run: Path, pairs: Path, out: Path, **more: object) -> ScoreTask:
    given = {"prior": 0.1, "graph": None, "source": None, "target": None} | more
    return replace(make_score_task(run, pairs, out, **given), each=EACH)


def scored(out: Path) -> pa.Table:
    return pa.concat_tables([pa.parquet.read_table(file) for file in sorted(out.glob("*.parquet"))])


def check_scores(out: Path, pairs: Path, model: LinkPredictor) -> None:
    """Every pair once, in order, with the scores of one process to the last bit; and the manifest says so."""
    found, given = scored(out), pa.parquet.read_table(pairs)
    assert found.column_names == ["source", "target", "score_given", "score", "probability"]
    assert found["score_given"].to_pylist() == list(range(400))
    assert found["source"].to_pylist() == given["source"].to_pylist()
    expected = model.score(list(zip(given["source"].to_pylist(), given["target"].to_pylist(), strict=True)), prior=0.1)
    assert torch.equal(torch.tensor(found["score"].to_numpy()), expected.score)
    assert torch.equal(torch.tensor(found["probability"].to_numpy()), expected.probability)
    manifest = json.loads((out / MANIFEST).read_text())
    assert manifest["rows"] == sum(entry["rows"] for entry in manifest["files"].values()) == 400
    assert {name: file_digest(out / name) for name in manifest["files"]} == {
        name: entry["sha256"] for name, entry in manifest["files"].items()
    }
    assert {path.name for path in out.iterdir()} == {"job.json", MANIFEST, *manifest["files"]}


def test_two_workers_of_which_one_is_killed_score_as_one_process_does(cluster, run, pairs, model, tmp_path):
    done = score_in_shards(asked(run, pairs, tmp_path / "scores"), TWO, Dying)
    assert Path(f"{tmp_path / 'scores'}.died").exists()
    assert done == {"pairs": 400, "scored": 400}
    check_scores(tmp_path / "scores", pairs, model)


@pytest.mark.slow  # workers are started again and again while the disk is full
def test_a_full_disk_ends_in_a_sentence_and_the_next_call_goes_on(cluster, run, pairs, model, tmp_path):
    task, one = asked(run, pairs, tmp_path / "scores"), Cluster(workers=1)
    with pytest.raises(StorageError, match=r"part-000003.*make room"):
        score_in_shards(task, one, FullDisk)
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "scores").glob("*.parquet")}
    assert set(before) == {f"part-{k:06d}.parquet" for k in range(3)}
    (tmp_path / "scores" / "part-000001.parquet").write_bytes(b"PAR1 half a file")
    done = score_in_shards(task, one)
    assert done["scored"] == 400 - 2 * EACH  # all but the two that are whole
    check_scores(tmp_path / "scores", pairs, model)
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "scores").glob("*.parquet")}
    assert all(after[name] == before[name] for name in ("part-000000.parquet", "part-000002.parquet"))
    assert score_in_shards(task, one) == {"pairs": 400, "scored": 0}  # no worker is started
    with pytest.raises(InputError, match="another job"):
        score_in_shards(replace(task, prior=0.2), one)


def test_shards_of_one_node_are_not_reused_for_another(cluster, run, model, tmp_path, monkeypatch):
    """Killed before its shards are deleted, a job for one node leaves scores; those of a node with equally many
    candidates are others.
    """
    asked = {"between": None, "budget": None, "top": 5, "precision": None, "missing_share": None, "prior": None}
    numbers = model.graph_.degree.tolist()
    first, second = next((a, b) for a in range(90) for b in range(a) if numbers[a] == numbers[b])
    monkeypatch.setattr("llwlc._engines.recommending.remove", lambda folder: None)
    recommend_in_shards(run, tmp_path / "shards", TWO, node=model.graph_.name(first), **asked)
    with pytest.raises(InputError, match="another job"):
        recommend_in_shards(run, tmp_path / "shards", TWO, node=model.graph_.name(second), **asked)


def test_recommendations_are_those_of_one_process(cluster, run, model, tmp_path):
    asked = {"node": None, "top": 50, "precision": None, "missing_share": None, "prior": None}
    expected = model.recommend(top=50)
    found = recommend_in_shards(run, tmp_path / "shards", TWO, between=None, budget=None, **asked)
    assert len(found) == 50
    assert [(r.source, r.target) for r in found] == [(r.source, r.target) for r in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-6)
        assert one.probability == pytest.approx(other.probability, abs=1e-6)
    assert found.expected == pytest.approx(expected.expected, abs=1e-6)
    assert not (tmp_path / "shards").exists()


def test_lists_of_several_shards_are_those_of_one(model, run, tmp_path):
    """Without Ray: what workers write, put together again."""
    task = RecommendTask(str(run), str(tmp_path), 90, longest=20, nodes_per_shard=40)
    from llwlc._engines.recommending import RecommendWorker

    worker = RecommendWorker(task)
    assert [worker.list_nodes(shard).rows for shard in range(task.lists.shards)] == [40, 40, 10]
    retriever = model.recommender_.make_retriever()
    whole = retriever(torch.arange(90).numpy(), 20)
    found = ShardedRankingEngine(task, Cluster()).lists(20)  # all are there: nobody is asked
    assert (found.partner == whole.partner).all()
    assert found.score == pytest.approx(whole.score, abs=1e-6)


def test_on_a_packed_graph_the_scores_are_those_of_the_graph_itself(run, pairs, model, tmp_path):
    pytest.importorskip("duckdb")
    people().to_csv(tmp_path / "edges.csv")
    pack(tmp_path / "edges.csv", tmp_path / "packed")
    task = asked(run, pairs, tmp_path / "scores", graph=tmp_path / "packed")
    (tmp_path / "scores").mkdir()
    worker = ScoreWorker(task)
    assert sum(worker.score(shard).rows for shard in range(task.shards.shards)) == 400
    expected = model.score_table(pairs, prior=0.1).table
    assert scored(tmp_path / "scores")["score"].to_pylist() == expected["score"].to_pylist()
    local = model.score_table(pairs, prior=0.1, graph=model.updated_graph(graph=tmp_path / "packed")).table
    assert local["score"].to_pylist() == expected["score"].to_pylist()
    with pytest.raises(InputError, match="stays as it is"):
        model.updated_graph(graph=tmp_path / "packed", add=tmp_path / "edges.csv")


REFUSED = {
    "a text file": (["--engine", "ray"], "Parquet"),
    "no folder": (["--engine", "ray", "-o", "x.csv"], "folder"),
    "another engine": (["--engine", "spark"], "local or ray"),
    "an address alone": (["--address", "auto"], "--engine ray"),
    "options of text files": (["--engine", "ray", "-o", "x", "--no-header"], "no effect"),
}


@pytest.mark.parametrize("given", REFUSED.values(), ids=REFUSED)
def test_unsupported_options_are_refused_in_a_sentence(run, pairs, tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    options, why = given
    file = tmp_path / "pairs.csv"
    file.write_text("source,target\nPerson 00,Person 01\n")
    words = ["score", str(run), str(file if why == "Parquet" else pairs), *options]
    done = CliRunner().invoke(app, [*words, "-o", "shards"] if why == "Parquet" else words)
    assert done.exit_code == 2
    assert why in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.csv"]


def test_without_ray_the_option_says_what_to_install(run, pairs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    done = CliRunner().invoke(app, ["score", str(run), str(pairs), "-o", str(tmp_path / "out"), "--engine", "ray"])
    assert done.exit_code == 2
    assert "pip install 'llwlc[ray]'" in done.output


def test_an_unknown_node_is_named_with_its_row(run, pairs, tmp_path):
    table = pa.parquet.read_table(pairs).to_pylist()
    table[123]["target"] = "Nobody"
    pa.parquet.write_table(pa.Table.from_pylist(table), tmp_path / "pairs.parquet")
    worker = ScoreWorker(asked(run, tmp_path / "pairs.parquet", tmp_path))
    with pytest.raises(InputError, match=r"counted from row 71: .*'Nobody' in row 54"):
        worker.score(1)
    assert not list(tmp_path.glob("part*"))


@pytest.mark.slow  # two clusters, one after the other
def test_a_driver_that_is_killed_and_started_again_loses_nothing(run, pairs, model, tmp_path):
    many = pa.concat_tables([pa.parquet.read_table(pairs)] * 1000)
    pa.parquet.write_table(many, tmp_path / "many.parquet")
    out = tmp_path / "scores"
    words = [
        sys.executable,
        "-m",
        "llwlc",
        "score",
        str(run),
        str(tmp_path / "many.parquet"),
        "-o",
        str(out),
        "--engine",
        "ray",
        "--workers",
        "1",
    ]
    first = subprocess.Popen(words)
    while len(list(out.glob("*.parquet"))) < 2:
        assert first.poll() is None
        time.sleep(0.01)
    first.kill()
    first.wait()
    before = {path.name: file_digest(path) for path in out.glob("part-*.parquet")}
    assert not (out / MANIFEST).exists()
    subprocess.run(words, check=True)
    assert all(file_digest(out / name) == digest for name, digest in before.items())
    found = scored(out)
    assert found.num_rows == 400_000
    assert found["score_given"].to_pylist() == list(range(400)) * 1000
    once = found["score"].to_numpy()[:400]
    assert (found["score"].to_numpy().reshape(1000, 400) == once).all()
