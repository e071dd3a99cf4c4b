"""A fit on a packed graph is the fit on the same graph in memory, bit by bit, and its run holds the graph by itself."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from llwlc import Graph, splits
from llwlc._cli.app import app
from llwlc._cli.tables import describe_expected_links
from llwlc._fitting.fingerprint import content_digest
from llwlc._predictor import LinkPredictor
from llwlc._support.files import file_digest
from llwlc.errors import InputError
from llwlc.splits._linksplit import PARTS, STAGES, LinkSplit
from people import QUICK, people

pytest.importorskip("duckdb", reason="packing needs duckdb: pip install 'llwlc[pack]'")
from llwlc.graph._packing import pack

PAIRS = [("Person 03", "Person 44"), ("Person 10", "Person 11"), ("Person 80", "Person 02")]


def edge_file(folder: Path, *, weight: bool = False, time: bool = False) -> Path:
    graph, generator = people(features=False), torch.Generator().manual_seed(0)
    m = graph.num_edges
    columns = {"weight": torch.randint(1, 9, (m,), generator=generator).tolist()} if weight else {}
    columns |= {"time": torch.randint(0, 30, (m,), generator=generator).tolist()} if time else {}
    lines = [",".join(["from", "to", *columns])]
    for i, (u, v) in enumerate(graph.edges.tolist()):
        lines.append(",".join([graph.name(u), graph.name(v), *(str(column[i]) for column in columns.values())]))
    (folder / "e.csv").write_text("\n".join(lines) + "\n")
    return folder / "e.csv"


def both(folder: Path, **columns: bool) -> tuple[Graph, Graph]:
    """The graph in memory, and packed."""
    path = edge_file(folder, **columns)
    pack(path, folder / "g")
    return Graph.read(path), Graph.open(folder / "g")


def same(a: LinkSplit, b: LinkSplit) -> None:
    for part in PARTS:
        assert torch.equal(getattr(a, part), getattr(b, part)), part
    for stage in STAGES:
        one, two = getattr(a, stage), getattr(b, stage)
        for name in ("indptr", "indices", "weight", "time"):
            x, y = getattr(one, name), getattr(two, name)
            assert (x is None) == (y is None)
            assert x is None or torch.equal(x, y), f"{stage}.{name}"
    assert (a.notes, a.repeated, a.metric) == (b.notes, b.repeated, b.metric)
    assert (a.nodes is None) == (b.nodes is None)
    assert a.nodes is None or torch.equal(a.nodes, b.nodes)


@pytest.mark.parametrize("protocol", ["random", "paper", "seal", "ncn", "buddy", "temporal"])
def test_a_packed_graph_gives_the_split_and_fingerprint_of_the_graph_in_memory(tmp_path, protocol):
    read, packed = both(tmp_path, weight=True, time=True)
    one, two = (splits.make(graph, protocol=protocol, seed=5) for graph in (read, packed))
    same(one, two)
    assert two.train_graph.folder is not None
    assert content_digest(read, one) == content_digest(packed, two)
    thinned = replace(two, test_graph=two.test_graph.with_edges(two.test_graph.edges[1:]))
    assert content_digest(packed, two) != content_digest(packed, thinned)
    two.save(tmp_path / "s.safetensors")
    same(one, LinkSplit.load(tmp_path / "s.safetensors", packed))
    assert torch.equal(splits.fresh_negatives(one, epoch=3), splits.fresh_negatives(two, epoch=3))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packed")
    for graph, out in zip(both(folder, weight=True), ("in memory", "packed"), strict=True):
        model = LinkPredictor(cache=folder / f"cache of {out}", **QUICK)
        model.fit(graph, out=folder / out, graph_name="people")
    return folder


def test_the_run_of_a_packed_graph_scores_and_recommends_to_the_last_bit(runs, tmp_path):
    one, two = (LinkPredictor.load(runs / name, device="cpu") for name in ("in memory", "packed"))
    same(one.run_.split, two.run_.split)
    assert one.run_.info.fingerprint == two.run_.info.fingerprint
    assert one.metrics_.as_dict() | {"seconds": 0, "stages": 0} == two.metrics_.as_dict() | {"seconds": 0, "stages": 0}
    assert torch.equal(one.score(PAIRS).score, two.score(PAIRS).score)
    assert one.recommend(top=10).links == two.recommend(top=10).links
    assert one.recommend(node="Person 07", top=4).links == two.recommend(node="Person 07", top=4).links
    assert one.evaluate_ranking() == two.evaluate_ranking()
    two.save(tmp_path / "again")
    assert torch.equal(LinkPredictor.load(tmp_path / "again").score(PAIRS).score, one.score(PAIRS).score)


def test_the_run_holds_the_graph_and_outlives_the_folder_it_was_fitted_on(runs, tmp_path):
    wanted = LinkPredictor.load(runs / "in memory").score(PAIRS).score
    held = runs / "packed" / "graph"
    assert (held / "indices.i64").stat().st_ino == (runs / "g" / "indices.i64").stat().st_ino  # one file, two names
    shutil.copytree(runs / "packed", tmp_path / "moved")
    assert torch.equal(LinkPredictor.load(tmp_path / "moved").score(PAIRS).score, wanted)
    names = {path.name for path in held.iterdir()}
    assert names == {path.name for path in (runs / "g").iterdir()}


def test_a_file_that_was_replaced_while_fitting_is_not_linked(tmp_path):
    read, packed = both(tmp_path)
    model = LinkPredictor(model="adamic-adar").fit(packed)
    file = tmp_path / "g" / "indices.i64"
    data = file.read_bytes()
    file.rename(tmp_path / "aside")
    file.write_bytes(bytes(len(data)))
    model.save(tmp_path / "run")
    assert (tmp_path / "run" / "graph" / "indices.i64").read_bytes() == data
    assert torch.equal(LinkPredictor.load(tmp_path / "run").graph_.indices, read.indices)


def test_weights_that_were_left_out_are_not_in_the_run(tmp_path):
    packed = replace(both(tmp_path, weight=True)[1], weight=None)
    LinkPredictor(model="adamic-adar").fit(packed, out=tmp_path / "run")
    assert not (tmp_path / "run" / "graph" / "weight.f32").exists()
    assert LinkPredictor.load(tmp_path / "run").graph_.weight is None


DAMAGE = {
    "an altered graph": lambda run: (run / "graph" / "indices.i64").write_bytes(b"\0" * 8),
    "a missing file": lambda run: (run / "graph" / "name_end.i64").unlink(),
    "a missing folder": lambda run: shutil.rmtree(run / "graph"),
    "another manifest": lambda run: (run / "graph" / "manifest.json").write_text("{}"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_graph_in_a_run_is_refused_in_a_sentence(runs, tmp_path, damage):
    shutil.copytree(runs / "packed", tmp_path / "run")
    damage(tmp_path / "run")
    with pytest.raises(InputError, match="copy"):
        LinkPredictor.load(tmp_path / "run")
    (tmp_path / "p.csv").write_text("source,target\nPerson 03,Person 44\n")
    words = ["score", str(tmp_path / "run"), str(tmp_path / "p.csv"), "-o", str(tmp_path / "s.csv")]
    assert CliRunner().invoke(app, words).exit_code == 2
    assert not (tmp_path / "s.csv").exists()


def test_an_older_version_refuses_the_run_and_a_run_without_the_need_lacks_its_links(runs, tmp_path):
    shutil.copytree(runs / "packed", tmp_path / "run")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["needs"] == {"graph packed": {}}  # no kind that older versions know, so they say: update
    (tmp_path / "run" / "config.json").write_text(json.dumps(config | {"needs": {}}))
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    manifest["files"]["config.json"]["sha256"] = file_digest(tmp_path / "run" / "config.json")
    (tmp_path / "run" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="indptr"):
        LinkPredictor.load(tmp_path / "run")


def test_a_node_of_a_graph_whose_lists_are_cut_gets_its_own_list_in_full(runs, monkeypatch):
    model = LinkPredictor.load(runs / "packed", device="cpu")
    every = {(link.source, link.target) for link in model.recommend(node="Person 07", top=80)}
    monkeypatch.setattr("llwlc._candidates.config.MAX_CANDIDATES", 100)  # one candidate a node
    cut = model.recommend(node="Person 07", top=80)
    assert len(cut) > 10
    assert {(link.source, link.target) for link in cut} <= every
    assert cut.candidates == len(cut)
    assert cut.calibrated_on == 1
    assert "lists of 1 candidates per node" in describe_expected_links(cut)
    assert "candidates per node" not in describe_expected_links(model.recommend(node="Person 07", top=3, budget=1))


def test_candidates_described_in_parts_are_ranked_alike(runs, monkeypatch):
    model = LinkPredictor.load(runs / "packed", device="cpu")
    whole = model.recommend(top=50)
    monkeypatch.setattr("llwlc.ranking._ranking.PAIRS_PER_BLOCK", 100)
    for one, two in zip(whole, model.recommend(top=50), strict=True):
        assert (one.source, one.target, one.score) == (two.source, two.target, two.score)
