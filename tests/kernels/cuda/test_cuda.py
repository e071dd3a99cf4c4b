"""The CUDA kernels equal the reference: on a GPU where there is one, and everywhere as the same source with groups of
one thread, a few cases with all lanes."""

import shutil
from dataclasses import replace

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import llwlc
from engines import ENGINES, Host, Lanes, eigenbasis, extract, link_bases
from kernel_cases import FAMILIES, KINDS, NASTY, assert_same_bases, graph_of, some_pairs
from llwlc import datasets, subgraphs
from llwlc._kernels import backends
from llwlc._kernels.cuda import driver, extraction, solving
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.subgraphs._extraction import extract_checked

FIELDS = ("ptr", "node", "row", "col", "u", "v", "hop", "dist_u", "dist_v")


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param()


def assert_same_subgraphs(
    engine, graph: Graph, pairs: torch.Tensor, hops: int = 2, cap: int | None = None, seed=0
) -> None:
    one = extract(engine, graph, pairs, hops=hops, cap=cap, seed=seed)
    two = extract_checked(graph, pairs, hops, cap, seed, "reference", graph.identity)
    for name in FIELDS:
        assert torch.equal(getattr(one, name), getattr(two, name)), name
    assert (one.weight is None) == (two.weight is None)
    assert one.weight is None or torch.equal(one.weight, two.weight)


def assert_equals_reference(engine, graph: Graph, pairs: torch.Tensor, *, constraints="neumann", **options) -> None:
    one = link_bases(engine, graph, pairs, constraints_=constraints, **options)
    two = llwlc.link_bases(
        graph, pairs, constraints=constraints, backend="reference", **({"max_nodes_per_hop": None} | options)
    )
    assert_same_bases(one, two, constraints=constraints, **options)


@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize("name", NASTY)
def test_same_subgraphs(engine, name, hops):
    graph = graph_of(NASTY[name], weighted=hops == 2)
    assert_same_subgraphs(engine, graph, some_pairs(graph, 40), hops)


@settings(max_examples=25, deadline=None)
@given(
    engine=st.sampled_from([Host(), *([driver.get_gpu_engine(0)] if driver.available() else [])]),
    n=st.integers(2, 25),
    density=st.floats(0, 0.6),
    hops=st.integers(1, 3),
    cap=st.one_of(st.none(), st.integers(1, 6)),
    seed=st.integers(0, 2**31),
)
def test_same_subgraphs_on_any_graph_with_any_cap(engine, n, density, hops, cap, seed):
    graph = graph_of(nx.gnp_random_graph(n, density, seed=seed))
    assert_same_subgraphs(engine, graph, some_pairs(graph, 8, seed), hops, cap, seed)
    named = replace(graph, names=[f"n{i}" for i in range(n)])
    assert_same_subgraphs(engine, named, some_pairs(graph, 8, seed), hops, cap, seed)


@pytest.mark.parametrize("slots", [(64,), (64, 512), (1024, 4096)])
def test_links_that_are_too_large_for_the_table(engine, slots, monkeypatch):
    monkeypatch.setattr(
        extraction, "HASH_TABLES", [extraction.HashTable(some, 32 if some < 128 else 512) for some in slots]
    )
    cora = datasets.load("cora")
    pairs = some_pairs(cora, 400)
    assert_same_subgraphs(engine, cora, pairs)
    assert_same_subgraphs(engine, cora, pairs, cap=15, seed=-7)
    assert_same_subgraphs(engine, cora, pairs[:100], hops=3)
    if isinstance(engine, Host) and slots[0] == 64:
        assert ("extract", extraction.LARGE) in engine.launched


def test_a_hub_is_capped(engine):
    leaves = 5000
    hub = torch.stack([torch.zeros(leaves, dtype=torch.long), torch.arange(1, leaves + 1)], 1)
    graph = Graph.from_edges(torch.cat([hub, torch.tensor([[1, 2], [2, 3], [5001, 5000], [5001, 5002]])]))
    pairs = torch.tensor([[1, 2], [0, 1], [5001, 5002], [5002, 2]])
    for cap in (3, 700, 2000, None):
        assert_same_subgraphs(engine, graph, pairs, cap=cap)


def test_a_batch_without_pairs_gives_empty_results(engine):
    graph = graph_of(NASTY["random"])
    subs = extract(engine, graph, torch.empty(0, 2, dtype=torch.long))
    assert subs.num_graphs == 0
    assert eigenbasis(engine, subs).values.shape == (0, 10)


@pytest.mark.parametrize(("family", "start"), KINDS)
@pytest.mark.parametrize("name", NASTY)
def test_same_bases(engine, name, family, start):
    graph = graph_of(NASTY[name])
    assert_equals_reference(engine, graph, some_pairs(graph, 6), constraints=family, start=start, steps=8)


@pytest.mark.parametrize("laplacian", ["normalized", "combinatorial"])
@pytest.mark.parametrize("family", ["neumann", "vertex_deleted"])
@pytest.mark.parametrize("name", ["random", "hubs", "disconnected, isolated ends"])
def test_weights_and_double_precision(engine, name, family, laplacian):
    graph = graph_of(NASTY[name], weighted=True)
    options = {"constraints": family, "laplacian": laplacian, "dtype": torch.float64, "steps": 6}
    assert_equals_reference(engine, graph, some_pairs(graph, 6), **options)


@settings(max_examples=15, deadline=None)
@given(
    engine=st.sampled_from([Host(), *([driver.get_gpu_engine(0)] if driver.available() else [])]),
    n=st.integers(3, 30),
    density=st.floats(0.02, 0.5),
    steps=st.integers(1, 12),
    family=st.sampled_from(FAMILIES),
    start=st.sampled_from(["query", "random"]),
    seed=st.integers(0, 2**31),
)
def test_same_bases_on_any_graph(engine, n, density, steps, family, start, seed):
    graph = graph_of(nx.gnp_random_graph(n, density, seed=seed))
    options = {"steps": steps, "constraints": family, "start": start, "seed": seed, "dtype": torch.float64}
    assert_equals_reference(engine, graph, some_pairs(graph, 3, seed), **options)


def test_given_columns_and_starts(engine):
    """Duplicate columns, a block of three, and a start that is not finite, which empties its own graph only."""
    graph = graph_of(NASTY["random"], weighted=True)
    subs = subgraphs.extract(graph, some_pairs(graph, 10))
    draw = torch.Generator().manual_seed(0)
    columns = torch.randn(subs.num_nodes, 4, generator=draw).double()
    columns[:, 3] = 2 * columns[:, 0]
    start = torch.randn(subs.num_nodes, 3, generator=draw).double()
    start[int(subs.ptr[4])] = float("nan")
    one = eigenbasis(engine, subs, columns, start=start, steps=7, dtype=torch.float64)
    two = llwlc.eigenbasis(subs, columns, start=start, steps=7, dtype=torch.float64, backend="reference")
    assert torch.equal(one.mask, two.mask)
    assert not one.mask[4].any()
    assert torch.allclose(one.values, two.values, atol=1e-9)
    assert torch.allclose(one.residual, two.residual, atol=1e-8)


def test_given_on_another_device(engine):
    """An address of another memory would bring the whole process down."""
    subs = subgraphs.extract(graph_of(NASTY["random"]), torch.tensor([[0, 1]]))
    elsewhere = torch.ones(subs.num_nodes, 1, device="meta")
    for options in ({"cons": elsewhere}, {"start": elsewhere}):
        with pytest.raises(InputError, match="on meta, the subgraphs are on cpu"):
            eigenbasis(engine, subs, **options)


def test_indices_of_32_bits(engine):
    graph = graph_of(NASTY["random"])
    subs = subgraphs.extract(graph, some_pairs(graph, 5))
    names = ("ptr", "row", "col", "hop", "u", "v")
    small = replace(subs, **{name: getattr(subs, name).int() for name in names})
    assert torch.equal(eigenbasis(engine, small).vectors, eigenbasis(engine, subs).vectors)


def test_a_damaged_binary_is_made_again(tmp_path):
    path = tmp_path / "cuda" / "x.cubin"
    assert driver.load_or_make(path, lambda: b"first") == b"first"
    assert driver.load_or_make(path, lambda: b"second") == b"first"
    for damaged in (b"", b"no digest", path.read_bytes()[:-1]):
        path.write_bytes(damaged)
        assert driver.load_or_make(path, lambda: b"third") == b"third"
        assert driver.load_or_make(path, lambda: b"fourth") == b"third"


def test_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "cuda").write_text("a file where a folder should be")
    assert driver.load_or_make(tmp_path / "cuda" / "x.cubin", lambda: b"made") == b"made"


def test_a_null_space_of_nothing(engine):
    graph = graph_of(nx.complete_graph(5))
    _, basis = link_bases(engine, graph, graph.edges, constraints_="vertex_deleted", count="all")
    assert not basis.mask.any()
    assert not basis.vectors.any()


def test_a_weight_that_is_not_finite_empties_only_its_own_graphs(engine):
    g = nx.disjoint_union(nx.cycle_graph(6), nx.cycle_graph(7))
    edges = torch.tensor(sorted(g.edges))
    for wrong in (float("inf"), float("nan")):
        weight = torch.ones(len(edges), dtype=torch.float64)
        weight[0] = wrong
        graph = Graph.from_edges(edges, weight=weight)
        _, basis = link_bases(engine, graph, torch.tensor([[0, 3], [7, 9]]), constraints_="none")
        assert basis.mask.any(1).tolist() == [False, True]
        assert basis.vectors.isfinite().all()


def test_negative_weights_count_by_their_size(engine):
    """On a ring of weights 1 and −1 all degrees are 0; what is small is measured against ‖L‖ ≤ 2 all the same."""
    ring = torch.tensor([[i, (i + 1) % 8] for i in range(8)])
    graph = Graph.from_edges(ring, weight=torch.tensor([1.0, -1.0] * 4).double())
    options = {"constraints": "none", "laplacian": "combinatorial", "dtype": torch.float64}
    assert_equals_reference(engine, graph, torch.tensor([[0, 4], [1, 3]]), **options)


@pytest.mark.parametrize(
    ("classes", "far"),
    [
        (solving.CLASSES, ()),
        (((2048, 32), (16384, 64)), ()),
        ((), solving.FAR_CLASSES),
        ((), ((4096, 128), (9000, 256))),
        ((), ()),
    ],
)
def test_fast_memory_or_not_changes_nothing(engine, classes, far, monkeypatch):
    """Every class of sizes, and what is too large for all of them."""
    monkeypatch.setattr(solving, "CLASSES", classes)
    monkeypatch.setattr(solving, "FAR_CLASSES", far)
    cora = datasets.load("cora")
    assert_equals_reference(engine, cora, some_pairs(cora, 60))
    assert_equals_reference(engine, cora, some_pairs(cora, 20), constraints="vertex_deleted", start="random", epoch=4)
    assert_equals_reference(engine, cora, some_pairs(cora, 10), steps=40)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
class TestAllLanes:
    """Groups of 32 to 128 lanes, without a GPU."""

    @pytest.mark.parametrize("group", [32, 64, 128])
    @pytest.mark.parametrize("cap", [None, 5])
    def test_same_subgraphs(self, group, cap, monkeypatch):
        monkeypatch.setattr(
            extraction, "HASH_TABLES", [extraction.HashTable(256, group)]
        )  # the hub's links are too large
        hub = nx.compose(nx.star_graph(200), nx.gnm_random_graph(40, 60, seed=1))
        graph, engine = graph_of(hub, weighted=True), Lanes()
        assert_same_subgraphs(engine, graph, torch.tensor([[0, 3], [5, 9], [20, 150]]), 2, cap)
        assert ("extract", 128) in engine.launched

    @pytest.mark.parametrize(
        ("classes", "far"),
        [(((1 << 17, 32),), ()), (((1 << 16, 64),), ()), ((), ((1 << 16, 128),)), ((), ())],
        ids=["32", "64", "vectors in global memory", "global memory"],
    )
    @pytest.mark.parametrize("family", ["neumann", "vertex_deleted", "neumann+vertex_deleted"])
    def test_same_bases(self, classes, far, family, monkeypatch):
        monkeypatch.setattr(solving, "CLASSES", classes)
        monkeypatch.setattr(solving, "FAR_CLASSES", far)
        star = nx.compose(nx.star_graph(70), nx.gnm_random_graph(30, 40, seed=1))  # a row that all lanes sum together
        for graph, dtype in (
            (graph_of(star), torch.float32),
            (graph_of(NASTY["random"], weighted=True), torch.float64),
        ):
            options = {"constraints": family, "dtype": dtype, "steps": 5}
            assert_equals_reference(Lanes(), graph, torch.tensor([[0, 3], [5, 9]]), **options)


@pytest.mark.gpu
@pytest.mark.skipif(not driver.available(), reason="needs CUDA")
class TestOnTheGpu:
    """What only the public functions show, and what only many threads can get wrong."""

    def test_auto_takes_the_kernels(self, monkeypatch):
        graph = graph_of(NASTY["random"], weighted=True)
        there, pairs = graph.to("cuda"), some_pairs(graph, 20)
        launched = []
        launch = driver.GpuEngine.launch
        monkeypatch.setattr(driver.GpuEngine, "launch", lambda self, *a: (launched.append(a[0]), launch(self, *a)))
        subs, basis = llwlc.link_bases(there, pairs)
        assert set(launched) == {"extract", "solve"}  # all of them are small
        assert basis.vectors.is_cuda
        here = llwlc.link_bases(graph, pairs, backend="reference")
        moved = llwlc.Eigenbasis(
            *(x.cpu() for x in (basis.values, basis.vectors, basis.mask, basis.residual, basis.ptr))
        )
        assert_same_bases((subs.to("cpu"), moved), here)

    def test_gradients_go_to_the_reference(self):
        graph = graph_of(NASTY["random"], weighted=True).to("cuda")
        weight = graph.weight.clone().requires_grad_()
        subs = subgraphs.extract(Graph(graph.indptr, graph.indices, weight), graph.edges[:5])
        basis = llwlc.eigenbasis(subs, dtype=torch.float64)
        assert basis.tape is not None
        with pytest.raises(InputError, match="cannot do this"):
            llwlc.eigenbasis(subs, dtype=torch.float64, backend="cuda")

    @pytest.mark.parametrize("name", ["cora", "pubmed"])
    def test_twice_the_same_and_the_same_as_numba(self, name):
        graph = datasets.load(name)
        pairs = some_pairs(graph, 4000)
        there = graph.to("cuda")
        one, two = (llwlc.link_bases(there, pairs, dtype=torch.float64) for _ in range(2))
        for field in FIELDS:
            assert torch.equal(getattr(one[0], field), getattr(two[0], field))
        assert torch.equal(one[1].vectors, two[1].vectors)
        subs, basis = llwlc.link_bases(graph, pairs, dtype=torch.float64, backend="numba")
        for field in FIELDS:
            assert torch.equal(getattr(one[0], field).cpu(), getattr(subs, field))
        same = (one[1].mask.cpu() == basis.mask).all(1)
        # a β beside the breakdown tolerance falls on either side: nearly never
        assert same.double().mean() > 0.999
        assert torch.allclose(one[1].values.cpu()[same], basis.values[same], atol=1e-9)


def test_without_a_gpu_it_says_so():
    if driver.available():
        pytest.skip("there is one")
    with pytest.raises(InputError, match="NVIDIA GPU"):
        llwlc.link_bases(graph_of(NASTY["random"]), torch.tensor([[0, 1]]), backend="cuda")
    assert backends.choose("auto", {}).name != "cuda"
