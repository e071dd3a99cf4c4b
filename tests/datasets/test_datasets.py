"""Named graphs: their counts, that they are what others load, that the data root is only read, what happens without a
network.
"""

import io
import os
import pickle
import runpy
import shutil
import warnings
import zipfile
from importlib.resources import files
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse
import torch

from llwlc import datasets
from llwlc._support import roots
from llwlc.datasets import _small as small
from llwlc.errors import InputError
from llwlc.graph._graph import Graph

ROOT = Path(__file__).parents[2]
# torch_geometric, on import
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
AT_HAND = [
    n for n in datasets.names() if n not in ("cora", "ogbl-collab", "ogbl-vessel", "coauthor-like", "vessel-like")
]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Every test has a cache of its own, and never a user's."""
    monkeypatch.setenv("LLWLC_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def pyg():
    """PyG's datasets, imported where warnings are filtered."""
    import torch_geometric.datasets

    return torch_geometric.datasets


@pytest.fixture
def no_root(tmp_path, monkeypatch):
    """A data root with nothing in it."""
    monkeypatch.setenv("LLWLC_DATA", str(tmp_path / "nothing"))


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in sorted(folder.rglob("*"))}


# ------------------------------------------------------------------------------------------------------- cora


def test_cora_is_inside_the_package_and_needs_no_root(no_root):
    graph = datasets.load("cora")
    assert (graph.num_nodes, graph.num_edges, graph.x.shape) == (2708, 5278, (2708, 1433))
    assert graph.x.nnz == 49_216
    assert np.array_equal(np.unique(graph.x.data), [1])
    assert graph.x.dtype == np.float32
    assert (files("llwlc.datasets") / "files" / "cora.npz").stat().st_size < 90_000


@pytest.mark.data
def test_cora_is_planetoids_cora_up_to_the_order_of_nodes(data_root):
    """Words and links, refined as in Weisfeiler–Leman, name almost every node; the named ones are matched link by
    link.
    """
    root = data_root("planetoid/Cora/raw").parents[2]
    ours, theirs = datasets.load("cora"), datasets.load("cora-planetoid", root=root)
    # the same word is the same column, so papers with the same words are candidates
    assert np.array_equal(ours.x.sum(0), (theirs.x != 0).sum(0))
    colours = [[np.flatnonzero(row).tobytes() for row in g.x.toarray()] for g in (ours, theirs)]
    for _ in range(3):
        colours = [
            [
                hash((c[v], tuple(sorted(hash(c[w]) for w in g.indices[g.indptr[v] : g.indptr[v + 1]]))))
                for v in range(2708)
            ]
            for g, c in zip((ours, theirs), colours, strict=True)
        ]
    assert sorted(colours[0]) == sorted(colours[1])
    assert len(set(colours[0])) >= 2690
    # members of a class that is left have the same words and the same surroundings: any order among them will do
    at = [np.argsort(c, kind="stable") for c in colours]
    match = np.empty(2708, dtype=np.int64)
    match[at[0]] = at[1]
    assert torch.equal(Graph.from_edges(match[ours.edges], num_nodes=2708).edges, theirs.edges)
    assert (ours.x != (theirs.x[match] != 0)).nnz == 0


def test_embed_cora_turns_citations_into_links(tmp_path):
    """The script on a wheel of three papers: ids become row numbers, direction, repeats and self-citations go."""

    def parquet(columns):
        buffer = io.BytesIO()
        pq.write_table(pa.table(columns), buffer, compression="gzip")
        return buffer.getvalue()

    nodes = parquet({"nodeId": [30, 10, 20], "features": [[0, 1], [1, 1], [0, 0]]})
    cites = parquet({"sourceNodeId": [10, 30, 20, 20], "targetNodeId": [30, 10, 20, 10]})
    with zipfile.ZipFile(tmp_path / "wheel.whl", "w") as wheel:
        wheel.writestr("graphdatascience/resources/cora/cora_nodes.parquet.gzip", nodes)
        wheel.writestr("graphdatascience/resources/cora/cora_rels.parquet.gzip", cites)
    arrays = runpy.run_path(str(ROOT / "scripts" / "embed_cora.py"))["convert"](tmp_path / "wheel.whl")
    assert arrays["edges"].tolist() == [[0, 1], [1, 2]]
    assert arrays["features"].tolist() == [[0, 1], [1, 0], [1, 1]]
    assert arrays["edges"].dtype == np.int16


# ---------------------------------------------------------------------------------------------- the data root


@pytest.mark.data
@pytest.mark.parametrize("name", AT_HAND)
def test_every_dataset_is_as_large_as_its_info_says(name, data_root):
    data_root(datasets.info(name).files)
    graph = datasets.load(name)
    features = 0 if graph.x is None else graph.x.shape[1]
    info = datasets.info(name)
    assert (graph.num_nodes, graph.num_edges, features) == (info.nodes, info.edges, info.features)
    assert info.origin
    assert info.licence


@pytest.mark.data
@pytest.mark.parametrize("name", ["Cora", "CiteSeer", "PubMed"])
def test_planetoid_equals_pyg(name, data_root, tmp_path, pyg):
    shutil.copytree(data_root(f"planetoid/{name}/raw"), tmp_path / name / "raw")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyG unpickles files of Python 2
        theirs = pyg.Planetoid(str(tmp_path), name)[0]
    ours = datasets.load({"Cora": "cora-planetoid"}.get(name, name))
    assert torch.equal(
        ours.edge_index, theirs.edge_index[:, (theirs.edge_index[0] * 10**6 + theirs.edge_index[1]).argsort()]
    )
    assert scipy.sparse.issparse(ours.x)
    assert torch.equal(torch.from_numpy(ours.x.toarray()), theirs.x)


@pytest.mark.data
def test_citeseer_has_nodes_without_words_and_others_without_links(data_root):
    data_root("planetoid/CiteSeer/raw")
    graph = datasets.load("citeseer")
    silent = torch.from_numpy(np.asarray(graph.x.sum(1)) == 0)
    assert int(silent.sum()) == 15
    assert int((graph.degree == 0).sum()) == 48
    assert bool((graph.degree[silent] > 0).all())


@pytest.mark.data
def test_loading_writes_nothing_into_the_root(data_root, tmp_path, cache):
    for part in ("planetoid/CiteSeer", "seal", "vessel_sample"):
        shutil.copytree(data_root(part), tmp_path / "root" / part)
    before = listing(tmp_path / "root")
    for name in ("citeseer", "usair", "vessel-sample"):
        datasets.load(name, root=tmp_path / "root")
    assert listing(tmp_path / "root") == before
    assert not cache.exists()


def test_root_is_the_argument_else_the_environment_else_the_home(monkeypatch, tmp_path):
    monkeypatch.setenv("LLWLC_DATA", str(tmp_path / "a"))
    assert roots.data_root(tmp_path / "b") == tmp_path / "b"
    assert roots.data_root() == tmp_path / "a"
    monkeypatch.delenv("LLWLC_DATA")
    monkeypatch.delenv("LLWLC_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert roots.data_root() == tmp_path / ".cache" / "llwlc"
    assert roots.cache_root() == tmp_path / ".cache" / "llwlc" / "derived"


def test_vessel_coordinates_are_normalised_and_belong_to_their_nodes(tmp_path):
    folder = tmp_path / "vessel_sample"
    folder.mkdir()
    (folder / "example_nodes.csv").write_text("id;pos_x;pos_y;pos_z\n7;10;0;5\n3;0;0;5\n5;20;3;5\n")
    (folder / "example_edges.csv").write_text("id;node1id;node2id\n0;3;5\n1;5;7\n2;7;7\n3;7;5\n")
    graph = datasets.load("vessel-sample", root=tmp_path)
    assert graph.edges.tolist() == [[0, 1], [1, 2]]  # 3 – 5 – 7
    assert torch.allclose(graph.x.mean(0), torch.zeros(3), atol=1e-6)
    assert torch.allclose(graph.x.std(0, correction=0), torch.tensor([1.0, 1.0, 0.0]), atol=1e-6)
    assert graph.x[:, 0].argsort().tolist() == [0, 2, 1]


@pytest.mark.parametrize("name", ["coara", "", "ogbl-ppa"])
def test_an_unknown_name_is_told_the_known_ones(name):
    with pytest.raises(InputError, match="there are cora, cora-planetoid, citeseer"):
        datasets.load(name)


def test_a_graph_without_a_split_says_where_to_make_one():
    with pytest.raises(InputError, match=r"llwlc\.splits\.make"):
        datasets.load_split("cora")


# ------------------------------------------------------------------------------------------------- bad files


class Evil:
    def __reduce__(self):
        return os.mkdir, (os.environ["LLWLC_CACHE"] + "-evil",)


def test_a_planetoid_pickle_that_would_run_code_is_refused(tmp_path):
    folder = tmp_path / "planetoid" / "Cora" / "raw"
    folder.mkdir(parents=True)
    for part in ("tx", "allx", "graph"):
        (folder / f"ind.cora.{part}").write_bytes(pickle.dumps(Evil()))
    (folder / "ind.cora.test.index").write_text("0\n")
    with pytest.raises(InputError, match=r"posix\.mkdir"):
        datasets.load("cora-planetoid", root=tmp_path)
    assert not Path(os.environ["LLWLC_CACHE"] + "-evil").exists()


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("usair", "seal/USAir.mat"),
        ("coauthor-cs", "attributed/coauthor_cs.npz"),
        ("cora-planetoid", "planetoid/Cora/raw/ind.cora.tx"),
        ("vessel-sample", "vessel_sample/example_nodes.csv"),
    ],
)
def test_a_broken_file_is_named(name, file, tmp_path):
    (tmp_path / file).parent.mkdir(parents=True)
    for part in ("tx", "allx", "graph", "test.index"):
        (tmp_path / file).with_name(f"ind.cora.{part}").write_bytes(b"0")
    (tmp_path / file).with_name("example_edges.csv").write_text("a;b\n1;2\n")
    (tmp_path / file).write_bytes(b"no;such\nformat;0\n")
    with pytest.raises(InputError, match=Path(file).name.replace(".tx", "")):
        datasets.load(name, root=tmp_path)


# -------------------------------------------------------------------------------------------------- fetching


def test_without_files_and_network_the_error_says_what_to_do_and_nothing_is_left(
    no_root, cache, tmp_path, pyg, monkeypatch
):
    monkeypatch.setattr(pyg.Planetoid, "url", str(tmp_path / "no-such-server"))
    monkeypatch.setattr(small, "GITHUB", (tmp_path / "no-such-server").as_uri())
    for name, file in (("pubmed", "ind.pubmed.tx"), ("power", "Power.mat"), ("vessel-sample", "example_nodes.csv")):
        with pytest.raises(InputError, match=rf"{file}.*is not in the data root.*LLWLC_DATA"):
            datasets.load(name)
    assert [p for p in cache.rglob("*") if p.is_file()] == []


@pytest.mark.data
def test_planetoid_is_fetched_by_pyg_into_the_cache(data_root, no_root, cache, tmp_path, pyg, monkeypatch):
    monkeypatch.setattr(pyg.Planetoid, "url", str(data_root("planetoid/CiteSeer/raw")))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyG unpickles files of Python 2
        assert datasets.load("citeseer").num_edges == 4552
    monkeypatch.setattr(pyg.Planetoid, "url", str(tmp_path / "no-such-server"))
    assert datasets.load("citeseer").num_edges == 4552
    assert sorted(p.name for p in (cache / "planetoid" / "CiteSeer").iterdir()) == ["raw"]
    assert not (tmp_path / "nothing").exists()


def test_seal_is_fetched_from_its_repository(no_root, cache, tmp_path, monkeypatch):
    folder = tmp_path / "server" / "muhanzhang" / "SEAL" / "master" / "MATLAB" / "data"
    folder.mkdir(parents=True)
    scipy.io.savemat(folder / "NS.mat", {"net": scipy.sparse.csc_matrix(np.ones((3, 3)) - np.eye(3))})
    monkeypatch.setattr(small, "GITHUB", (tmp_path / "server").as_uri())
    assert datasets.load("ns").num_edges == 3
    shutil.rmtree(tmp_path / "server")
    assert datasets.load("ns").num_edges == 3
    assert [p.name for p in cache.rglob("*.mat")] == ["NS.mat"]


def test_a_second_seal_graph_does_not_push_the_first_out_of_the_cache(no_root, cache, tmp_path, monkeypatch):
    folder = tmp_path / "server" / "muhanzhang" / "SEAL" / "master" / "Python" / "data"
    folder.mkdir(parents=True)
    for name in ("USAir", "Power"):
        scipy.io.savemat(folder / f"{name}.mat", {"net": scipy.sparse.csc_matrix(np.ones((3, 3)) - np.eye(3))})
    monkeypatch.setattr(small, "GITHUB", (tmp_path / "server").as_uri())
    for name in ("usair", "power"):
        datasets.load(name)
    assert sorted(p.name for p in cache.rglob("*.mat")) == ["Power.mat", "USAir.mat"]


def test_coauthor_is_fetched_by_pyg(no_root, cache, pyg, monkeypatch):
    from torch_geometric.data import Data

    class Coauthor:
        def __init__(self, root, name):
            assert Path(root).is_relative_to(cache)
            assert name == "CS"

        def __getitem__(self, _):
            return Data(x=torch.tensor([[0.0, 2], [1, 0], [0, 0]]), edge_index=torch.tensor([[0, 1], [1, 0]]))

    monkeypatch.setattr(pyg, "Coauthor", Coauthor)
    graph = datasets.load("coauthor-cs")
    assert graph.edges.tolist() == [[0, 1]]
    assert graph.x.toarray().tolist() == [[0, 2], [1, 0], [0, 0]]
