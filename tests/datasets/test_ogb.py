"""OGB's graphs and splits: files in its layout, written here or by its own saver, against its own reader."""

import gzip
import os
import shutil
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import torch

from llwlc import datasets, metrics, splits
from llwlc.datasets import _ogb as ogb
from llwlc.errors import InputError, MissingDependencyError
from llwlc.graph._graph import Graph
from llwlc.heuristics._neighbors import adamic_adar
from llwlc.splits._auditing import audit

# ogb imports torch_geometric, which warns on import
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
N = 40


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LLWLC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LLWLC_DATA", str(tmp_path / "nothing"))
    return tmp_path / "cache"


def write_csv(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        np.savetxt(file, array, fmt="%d" if array.dtype.kind == "i" else "%.6f", delimiter=",")


def links(rng, count, years):
    pairs = rng.integers(0, N, (count, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return {
        "edge": pairs,
        "weight": rng.integers(1, 4, len(pairs)),
        "year": rng.integers(*years, len(pairs)),
    }


@pytest.fixture
def collab(tmp_path):
    """A small ogbl-collab: links repeat over the years, some from training come back in validation and test."""
    rng = np.random.default_rng(0)
    train = links(rng, 120, (2000, 2018))
    train["edge"][-3:] = train["edge"][:3, ::-1]  # the same pairs again, reversed, another year
    train["year"][0] = 2001
    folder = tmp_path / "root" / "ogb" / "ogbl_collab"
    write_csv(folder / "raw" / "edge.csv.gz", train["edge"])
    write_csv(folder / "raw" / "edge_weight.csv.gz", train["weight"][:, None])
    write_csv(folder / "raw" / "edge_year.csv.gz", train["year"][:, None])
    write_csv(folder / "raw" / "node-feat.csv.gz", rng.standard_normal((N, 5)))
    write_csv(folder / "raw" / "num-node-list.csv.gz", np.array([N]))
    write_csv(folder / "raw" / "num-edge-list.csv.gz", np.array([len(train["edge"])]))
    parts = {"train": train, "valid": links(rng, 12, (2018, 2019)), "test": links(rng, 12, (2019, 2020))}
    parts["valid"]["edge"][0] = train["edge"][5]
    parts["test"]["edge"][:2] = train["edge"][6], parts["valid"]["edge"][1]
    known = {tuple(sorted(p)) for part in parts.values() for p in part["edge"].tolist()}
    free = np.array([(u, v) for u in range(N) for v in range(u + 1, N) if (u, v) not in known])
    free = free[rng.permutation(len(free))]
    parts["valid"]["edge_neg"], parts["test"]["edge_neg"] = free[:20], free[20:40]
    (folder / "split" / "time").mkdir(parents=True)
    for part, content in parts.items():
        # OGB's files are of the old, unzipped kind
        torch.save(content, folder / "split" / "time" / f"{part}.pt", _use_new_zipfile_serialization=False)
    return tmp_path / "root", parts


def test_collab_graph_is_what_ogbs_reader_reads_with_repeats_merged(collab):
    from ogb.io.read_graph_raw import read_csv_graph_raw

    root, _ = collab
    raw = read_csv_graph_raw(
        str(root / "ogb/ogbl_collab/raw"), add_inverse_edge=True, additional_edge_files=["edge_weight", "edge_year"]
    )[0]
    graph = datasets.load("ogbl-collab", root=root)
    merged = {}
    for (u, v), w, y in zip(
        raw["edge_index"].T.tolist(), raw["edge_weight"][:, 0], raw["edge_year"][:, 0], strict=True
    ):
        weight, year = merged.get((u, v), (0, 0))
        merged[u, v] = weight + w, max(year, y)
    ours = zip(graph.edge_index.T.tolist(), graph.weight.tolist(), graph.time.tolist(), strict=True)
    assert {(u, v): (w, y) for (u, v), w, y in ours} == merged
    assert len(merged) < raw["edge_index"].shape[1]
    assert np.array_equal(graph.x.numpy(), raw["node_feat"])
    assert graph.num_nodes == raw["num_nodes"] == N


def test_torch_alone_refuses_these_files_and_runs_nothing(collab, tmp_path):
    """ogb#508, and that what solves it opens no door: a pickle that names anything but arrays is refused."""
    root, _ = collab
    path = root / "ogb/ogbl_collab/split/time/valid.pt"
    with pytest.raises(Exception, match="Weights only load failed"):
        torch.load(path, weights_only=True)

    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "evil"),)

    torch.save({"edge": Evil()}, path)
    with pytest.raises(InputError, match=r"valid\.pt is not a split file"):
        datasets.load_split("ogbl-collab", root=root)
    assert not (tmp_path / "evil").exists()


def test_collab_split_keeps_every_row_and_counts_the_repeats(collab):
    root, parts = collab
    split = datasets.load_split("ogbl-collab", root=root)
    for part, content in parts.items():
        assert getattr(split, f"{part}_pos").tolist() == content["edge"].tolist()
    assert split.valid_neg.tolist() == parts["valid"]["edge_neg"].tolist()
    assert split.test_neg.tolist() == parts["test"]["edge_neg"].tolist()
    assert split.repeated["train_pos repeated"] >= 3
    assert split.repeated["train_pos & valid_pos"] >= 1
    assert split.train_graph is split.test_graph
    report = audit(split)
    assert report.ok, str(report)
    assert "train_pos repeated" in {finding.name for finding in report.allowed}
    assert not audit(replace(split, repeated={})).ok  # it is the counts that allow them, nothing else
    assert len(split.train_neg) == len(split.train_pos)


def test_collab_validation_links_may_carry_messages_at_test_time(collab):
    root, parts = collab
    split = datasets.load_split("ogbl-collab", root=root, valid_messages=True)
    assert bool(split.test_graph.has_edges(split.valid_pos).all())
    assert not bool(split.valid_graph.has_edges(split.valid_pos).all())
    assert audit(split).ok
    # a pair of both: weights add up, the later year counts
    u, v = parts["valid"]["edge"][0].tolist()
    both = [p for p in ("train", "valid") for e in parts[p]["edge"].tolist() if sorted(e) == sorted((u, v))]
    assert {"train", "valid"} == set(both)
    edge = (torch.tensor([u, v]) == split.test_graph.edge_index.T).all(1)
    total = sum(
        int(w)
        for p in ("train", "valid")
        for e, w in zip(parts[p]["edge"].tolist(), parts[p]["weight"], strict=True)
        if sorted(e) == sorted((u, v))
    )
    assert split.test_graph.weight[edge].item() == total
    assert split.test_graph.time[edge].item() == 2018


def test_collab_year_cut_leaves_early_links_out_of_positives_and_messages(collab):
    root, parts = collab
    split = datasets.load_split("ogbl-collab", root=root, since=2010)
    late = parts["train"]["year"] >= 2010
    assert 0 < late.sum() < len(late)
    assert split.train_pos.tolist() == parts["train"]["edge"][late].tolist()
    assert int(split.train_graph.time.min()) >= 2010
    assert len(split.test_pos) == len(parts["test"]["edge"])
    assert audit(split).ok


def test_collab_repeats_can_be_merged(collab):
    root, _ = collab
    split = datasets.load_split("ogbl-collab", root=root, repeats=False)
    assert torch.equal(split.train_pos, split.train_graph.edges)
    assert "train_pos repeated" not in split.repeated


@pytest.fixture
def vessel(tmp_path, monkeypatch):
    """A small ogbl-vessel, written by OGB's own DatasetSaver as its authors did: one npz, one split_dict.pt."""
    from ogb.io import DatasetSaver

    graph = datasets.generate("vessel-like", scale=0.001)
    rng = np.random.default_rng(0)
    edges = graph.edges.numpy()[rng.permutation(graph.num_edges)]
    train, valid, test = np.split(edges, [4300, 4800])
    near = np.stack([np.arange(0, 3000), np.arange(2, 3002)], 1)  # two steps along a row of the grid: no edge there
    near = near[rng.permutation(len(near))]
    parts = {
        "train": {"edge": train, "edge_neg": near[:2000]},
        "valid": {"edge": valid, "edge_neg": near[2000:2500]},
        "test": {"edge": test, "edge_neg": near[2500:]},
    }
    position = rng.uniform(1000, 5000, (graph.num_nodes, 3))
    monkeypatch.chdir(tmp_path)
    saver = DatasetSaver(dataset_name="ogbl-vessel", is_hetero=False, version=1)
    both = np.concatenate([train, train[:, ::-1]]).T
    saver.save_graph_list([{"num_nodes": graph.num_nodes, "node_feat": position, "edge_index": both}])
    saver.save_split(parts, split_name="spatial")
    folder = tmp_path / "root" / "ogb" / "ogbl_vessel"
    shutil.copytree(saver.dataset_dir, folder)
    return tmp_path / "root", parts, position


def test_vessel_graph_has_training_links_and_normalised_coordinates(vessel):
    root, parts, position = vessel
    graph = datasets.load("ogbl-vessel", root=root)
    assert graph.num_edges == len(parts["train"]["edge"])
    assert bool(graph.has_edges(torch.from_numpy(parts["train"]["edge"])).all())
    assert torch.allclose(graph.x.mean(0), torch.zeros(3), atol=1e-5)
    assert torch.allclose(graph.x.std(0, correction=0), torch.ones(3), atol=1e-5)
    # up to a shift and a factor an axis they are the file's, and so OGB's example's
    assert np.corrcoef(graph.x[:, 1].numpy(), position[:, 1])[0, 1] == pytest.approx(1)


def test_vessel_split_brings_its_spatial_negatives(vessel):
    root, parts, _ = vessel
    split = datasets.load_split("ogbl-vessel", root=root)
    for part in ("train", "valid", "test"):
        assert np.array_equal(getattr(split, f"{part}_pos"), parts[part]["edge"])
        assert np.array_equal(getattr(split, f"{part}_neg"), parts[part]["edge_neg"])
    assert split.repeated == {}
    assert audit(split).ok


def test_vessel_has_no_years(vessel):
    with pytest.raises(InputError, match="no years"):
        datasets.load_split("ogbl-vessel", root=vessel[0], since=2010)


# ------------------------------------------------------------------------------------------- protocol ogb


def test_protocol_ogb_is_the_split_that_the_dataset_brings(collab):
    root, parts = collab
    graph = datasets.load("ogbl-collab", root=root)
    split = splits.make(graph, protocol="ogb")
    assert split.protocol == "ogb"
    assert split.metric == "hits@50"
    for part in ("valid", "test"):
        assert getattr(split, f"{part}_pos").tolist() == parts[part]["edge"].tolist()
        assert getattr(split, f"{part}_neg").tolist() == parts[part]["edge_neg"].tolist()
    other = splits.make(graph, protocol="ogb", seed=1)
    assert other.seed == 1
    assert not torch.equal(other.train_neg, split.train_neg)
    assert torch.equal(other.test_neg, split.test_neg)
    assert audit(other).ok


def test_protocol_ogb_on_vessel_keeps_its_own_training_negatives(vessel):
    root, parts, _ = vessel
    split = splits.make(datasets.load("ogbl-vessel", root=root), protocol="ogb", seed=3)
    assert split.metric == "auc"
    assert np.array_equal(split.train_neg, parts["train"]["edge_neg"])


def test_protocol_ogb_needs_a_graph_that_brings_a_split(collab):
    with pytest.raises(InputError, match="was not loaded by name: load one"):
        splits.make(Graph.from_edges(torch.tensor([[0, 1]])), protocol="ogb")
    with pytest.raises(InputError, match="is cora, which brings no split"):
        splits.make(datasets.load("cora"), protocol="ogb")
    graph = datasets.load("ogbl-collab", root=collab[0])
    with pytest.raises(InputError, match="other links than the training part of ogbl-collab"):
        splits.make(graph.with_edges(graph.edges[:-1]), protocol="ogb")
    with pytest.raises(InputError, match="fixes its parts"):
        splits.make(graph, protocol="ogb", val=0.1)


def test_the_metric_of_a_split_survives_saving(collab, tmp_path):
    graph = datasets.load("ogbl-collab", root=collab[0])
    split = splits.make(graph, protocol="ogb")
    split.save(tmp_path / "split.safetensors")
    assert splits.LinkSplit.load(tmp_path / "split.safetensors", graph).metric == "hits@50"


@pytest.mark.data
@pytest.mark.slow
def test_adamic_adar_on_ddi_is_the_published_one(request, monkeypatch):
    """18.61, from OGB's leaderboard."""
    monkeypatch.undo()
    root = request.getfixturevalue("data_root")("ogb/ogbl_ddi").parents[1]
    split = splits.make(datasets.load("ogbl-ddi", root=root), protocol="ogb")
    assert split.metric == "hits@20"
    pos, neg = (adamic_adar(split.test_graph, pairs) for pairs in (split.test_pos, split.test_neg))
    assert round(100 * metrics.evaluate(pos, neg)["hits@20"], 2) == 18.61


@pytest.mark.data
def test_ddi_loads_from_the_real_files(request, monkeypatch):
    monkeypatch.undo()  # the data root of the checkout again
    root = request.getfixturevalue("data_root")("ogb/ogbl_ddi").parents[1]
    split = datasets.load_split("ogbl-ddi", root=root)
    assert repr(split) == (
        "LinkSplit(ogb, seed=0, train_pos=1067911, train_neg=1067911, "
        "valid_pos=133489, valid_neg=101882, test_pos=133489, test_neg=95599)"
    )
    assert split.train_graph.num_edges == 1_067_911
    report = audit(split)
    assert report.ok, str(report)


# ------------------------------------------------------------------------------------------- fetch, bad files


def test_ogb_downloads_into_the_cache(collab, cache, tmp_path, monkeypatch):
    """OGB's own downloader on an archive as its server has it; only the address is exchanged."""
    root, parts = collab
    with zipfile.ZipFile(tmp_path / "collab.zip", "w") as archive:
        for path in (root / "ogb" / "ogbl_collab").rglob("*"):
            archive.write(path, "collab" / path.relative_to(root / "ogb" / "ogbl_collab"))
    (tmp_path / "linkproppred").mkdir()
    (tmp_path / "linkproppred" / "master.csv").write_text(
        f",ogbl-collab\ndownload_name,collab\nurl,{(tmp_path / 'collab.zip').as_uri()}\n"
    )
    monkeypatch.setattr(ogb, "files", lambda package: tmp_path)
    for _ in range(2):
        split = datasets.load_split("ogbl-collab")
        assert split.test_pos.tolist() == parts["test"]["edge"].tolist()
        (tmp_path / "collab.zip").unlink(missing_ok=True)
    assert sorted(p.name for p in (cache / "ogb" / "ogbl_collab").iterdir()) == ["raw", "split"]
    assert not (tmp_path / "nothing").exists()


def test_without_network_or_ogb_the_error_says_what_to_do(cache, tmp_path, monkeypatch):
    monkeypatch.setattr(ogb, "files", lambda package: tmp_path)
    with pytest.raises(InputError, match=r"ogb/ogbl_collab/raw/edge\.csv\.gz is not in the data root"):
        datasets.load("ogbl-collab")
    monkeypatch.setitem(__import__("sys").modules, "ogb.utils.url", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'llwlc\[ogb\]'"):
        datasets.load("ogbl-vessel")
    assert [p for p in cache.rglob("*") if p.is_file()] == []


def truncate(path):
    path.write_bytes(path.read_bytes()[:-20])


def test_a_truncated_file_is_named(collab):
    root, _ = collab
    truncate(root / "ogb/ogbl_collab/raw/edge.csv.gz")
    with pytest.raises(InputError, match=r"edge\.csv\.gz cannot be read"):
        datasets.load("ogbl-collab", root=root)


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("raw/edge_year.csv.gz", np.arange(5)[:, None], "weights or years"),
        ("raw/node-feat.csv.gz", np.ones((3, 2)), "3 rows for 40 nodes"),
        ("raw/edge.csv.gz", np.full((117, 2), 40), "names nodes 40 to 40"),
        ("raw/edge.csv.gz", np.ones((117, 1), dtype=int), "shape"),
    ],
)
def test_files_that_do_not_fit_each_other_are_refused(collab, file, content, says):
    root, _ = collab
    write_csv(root / "ogb/ogbl_collab" / file, content)
    with pytest.raises(InputError, match=says):
        datasets.load("ogbl-collab", root=root)


def test_a_missing_split_is_named(collab):
    root, _ = collab
    (root / "ogb/ogbl_collab/split/time/test.pt").unlink()
    with pytest.raises(InputError, match=r"neither split_dict\.pt nor"):
        datasets.load_split("ogbl-collab", root=root)


def test_a_year_without_links_is_refused(collab):
    with pytest.raises(InputError, match="no training link since 2030"):
        datasets.load_split("ogbl-collab", root=collab[0], since=2030)
