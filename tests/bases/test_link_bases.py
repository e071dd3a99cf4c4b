"""Every backend of `link_bases` equals the reference: on random, ragged and nasty batches."""

import subprocess
import sys
import warnings
from dataclasses import replace

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_cases import FAMILIES, KINDS, NASTY, assert_same_bases, graph_of, some_pairs
from llwlc import constraints, datasets
from llwlc._kernels import backends
from llwlc.bases._config import DEFAULT_CAP
from llwlc.bases._eigenbasis import eigenbasis
from llwlc.bases._link_bases import link_bases, stream_bases
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.subgraphs._batch import Subgraphs
from llwlc.subgraphs._extraction import extract


def assert_equals_reference(graph: Graph, pairs: torch.Tensor, *, dtype=torch.float32, **options) -> None:
    one = link_bases(graph, pairs, dtype=dtype, backend="numba", **options)
    other = link_bases(graph, pairs, dtype=dtype, backend="reference", **options)
    assert_same_bases(one, other, dtype=dtype, **options)


@pytest.mark.parametrize(("family", "start"), KINDS)
@pytest.mark.parametrize("name", NASTY)
def test_compiled_bases_equal_the_reference(name, family, start):
    graph = graph_of(NASTY[name])
    assert_equals_reference(graph, some_pairs(graph, 6), constraints=family, start=start, steps=8)


@pytest.mark.parametrize(("family", "start"), [("neumann", "random"), ("vertex_deleted", "query"), ("none", "random")])
@pytest.mark.parametrize("cap", [None, 4])
def test_draws_go_by_name_and_not_by_number(family, start, cap):
    """In the kernel as in the reference: the subgraph and the basis of a pair stay, row by row, when the nodes get
    other numbers.
    """
    plain = graph_of(NASTY["random"])
    n, pairs = plain.num_nodes, some_pairs(plain, 40)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(3))
    back = order.argsort()
    graph = replace(plain, names=[f"n{i}" for i in range(n)])
    other = Graph.from_edges(order[plain.edges], num_nodes=n, names=[f"n{int(back[i])}" for i in range(n)])
    options = {"constraints": family, "start": start, "max_nodes_per_hop": cap, "dtype": torch.float64, "steps": 6}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the cap
        for backend in ("reference", "numba"):
            subs, basis = link_bases(graph, pairs, backend=backend, **options)
            moved, same = link_bases(other, order[pairs], backend=backend, **options)
            assert torch.equal(subs.ptr, moved.ptr)
            torch.testing.assert_close(basis.values, same.values, rtol=0, atol=1e-8)
            rows = torch.argsort(subs.graph * n + subs.node)
            there = torch.argsort(moved.graph * n + back[moved.node])
            assert torch.equal(subs.node[rows], back[moved.node][there])
            assert torch.equal(subs.draw_ids[rows], moved.draw_ids[there])
        assert_equals_reference(graph, pairs, **options)
        by_number = link_bases(plain, pairs, **options)[1].values
        assert not torch.allclose(by_number, basis.values)


@pytest.mark.parametrize("laplacian", ["normalized", "combinatorial"])
@pytest.mark.parametrize("family", ["neumann", "vertex_deleted"])
@pytest.mark.parametrize("name", ["random", "hubs", "disconnected, isolated ends"])
def test_weights_and_double_precision(name, family, laplacian):
    graph = graph_of(NASTY[name], weighted=True)
    options = {"constraints": family, "laplacian": laplacian, "dtype": torch.float64, "steps": 6}
    assert_equals_reference(graph, some_pairs(graph, 6), **options)


@settings(max_examples=15, deadline=None)
@given(
    n=st.integers(3, 30),
    density=st.floats(0.02, 0.5),
    steps=st.integers(1, 12),
    family=st.sampled_from(FAMILIES),
    start=st.sampled_from(["query", "random"]),
    seed=st.integers(0, 2**31),
)
def test_equals_the_reference_on_any_graph(n, density, steps, family, start, seed):
    graph = graph_of(nx.gnp_random_graph(n, density, seed=seed))
    options = {"steps": steps, "constraints": family, "start": start, "seed": seed, "dtype": torch.float64}
    assert_equals_reference(graph, some_pairs(graph, 3, seed), **options)


def test_all_vertices_deleted_leave_nothing():
    graph = graph_of(nx.complete_graph(5))
    _, basis = link_bases(graph, graph.edges, constraints="vertex_deleted", count="all", backend="numba")
    _, expected = link_bases(graph, graph.edges, constraints="vertex_deleted", count="all", backend="reference")
    assert not expected.mask.any()
    assert not basis.mask.any()
    assert not basis.vectors.any()


def test_a_weight_that_is_not_finite_empties_only_its_own_graphs():
    g = nx.disjoint_union(nx.cycle_graph(6), nx.cycle_graph(7))
    edges = torch.tensor(sorted(g.edges))
    weight = torch.ones(len(edges), dtype=torch.float64)
    weight[0] = float("inf")
    graph = Graph.from_edges(edges, weight=weight)
    pairs = torch.tensor([[0, 3], [7, 9]])
    for backend in ("numba", "reference"):
        _, basis = link_bases(graph, pairs, constraints="none", backend=backend)
        assert basis.mask.any(1).tolist() == [False, True]
        assert basis.vectors.isfinite().all()


def test_cora_equals_the_reference():
    cora = datasets.load("cora")
    pairs = some_pairs(cora, 150)
    assert_equals_reference(cora, pairs)
    assert_equals_reference(cora, pairs, constraints="vertex_deleted", start="random", epoch=4)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_and_batches_change_nothing(threads, monkeypatch):
    cora = datasets.load("cora")
    pairs = some_pairs(cora, 500)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    _, whole = link_bases(cora, pairs, backend="numba", start="random")
    parts = [basis for _, basis in stream_bases(cora, pairs, batch_size=300, start="random")]
    assert torch.equal(torch.cat([basis.values for basis in parts]), whole.values)
    assert torch.equal(torch.cat([basis.vectors for basis in parts]), whole.vectors)
    _, reversed_ = link_bases(cora, pairs.flip(0), backend="numba", start="random")
    assert torch.equal(reversed_.values.flip(0), whole.values)


@pytest.mark.parametrize("b", [1, 3])
def test_given_columns_and_starts_equal_the_reference(b):
    """`eigenbasis` with constraints and start blocks of any kind, its second entry into the same kernel."""
    graph = graph_of(NASTY["random"], weighted=True)
    subs = extract(graph, some_pairs(graph, 10))
    draw = torch.Generator().manual_seed(0)
    columns = torch.randn(subs.num_nodes, 4, generator=draw).double()
    columns[:, 3] = 2 * columns[:, 0]
    start = torch.randn(subs.num_nodes, b, generator=draw).double()
    start[int(subs.ptr[4])] = float("nan")
    one, two = (
        eigenbasis(subs, columns, start=start, steps=7, dtype=torch.float64, backend=backend)
        for backend in ("numba", "reference")
    )
    assert torch.equal(one.mask, two.mask)
    assert not one.mask[4].any()
    assert torch.allclose(one.values, two.values, atol=1e-9)
    assert torch.allclose(one.residual, two.residual, atol=1e-8)


def test_custom_constraints_go_through_the_given_columns():
    cora = datasets.load("cora")

    def mean_zero(subs: Subgraphs) -> constraints.Constraints:
        return constraints.custom(subs, torch.ones(subs.num_nodes))

    subs, basis = link_bases(cora, cora.edges[:20], constraints=mean_zero)
    sums = torch.zeros(20, 10).index_add(0, subs.graph, basis.vectors)
    assert basis.mask.any()
    assert sums.abs().max() < 1e-5
    with pytest.raises(InputError, match="cannot do this"):
        link_bases(cora, cora.edges[:2], constraints=mean_zero, backend="numba")


def test_a_hub_is_capped_and_the_warning_says_so():
    leaves = 3 * DEFAULT_CAP
    edges = torch.stack([torch.zeros(leaves, dtype=torch.long), torch.arange(1, leaves + 1)], 1)
    graph = Graph.from_edges(torch.cat([edges, torch.tensor([[1, 2]])]))
    pairs = torch.tensor([[1, 2], [0, 1]])
    with pytest.warns(UserWarning, match=rf"2 of 2 pairs have {DEFAULT_CAP:,} or more nodes at one distance"):
        subs, basis = link_bases(graph, pairs)
    assert int(subs.ptr.diff().max()) <= 2 * DEFAULT_CAP + 2
    assert basis.mask.any(1).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        subs, _ = link_bases(graph, pairs[:1], max_nodes_per_hop=None)
    assert subs.num_nodes == leaves + 1


def test_without_numba_the_reference_serves(monkeypatch):
    cora = datasets.load("cora")
    _, expected = link_bases(cora, cora.edges[:5], backend="reference")
    monkeypatch.setattr(backends, "find_spec", lambda name: None)
    assert backends.choose("auto", {"cuda": "not asked here"}).passed_over["numba"].endswith("pip install numba")
    _, basis = link_bases(cora, cora.edges[:5])
    assert torch.equal(basis.values, expected.values)
    with pytest.raises(InputError, match="pip install numba"):
        link_bases(cora, cora.edges[:5], backend="numba")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"constraints": "dirichlet"}, "unknown name"),
        ({"start": "warm"}, "start must be"),
        ({"laplacian": "signless"}, "laplacian must be"),
        ({"backend": "abacus"}, "backend must be"),
        ({"steps": 0}, "steps must be"),
        ({"dtype": torch.float16}, "dtype must be"),
        ({"hops": 0}, "hops must be"),
        ({"constraints": "none", "start": "constraint"}, "needs constraints"),
        ({"constraints": "vertex_deleted", "count": -1}, "count"),
    ],
)
def test_bad_options_are_refused(options, message):
    cora = datasets.load("cora")
    with pytest.raises(InputError, match=message):
        link_bases(cora, cora.edges[:2], **options)


def test_eigenvalues_scale_with_tiny_weights():
    """Down to where squares vanish: eigenvalues scale with the weights."""
    g = nx.gnm_random_graph(30, 80, seed=2)
    edges = torch.tensor(list(g.edges))
    weight = 1 + torch.arange(len(edges)).double()
    pairs = edges[:5]
    options = {"laplacian": "combinatorial", "dtype": torch.float64, "constraints": "neumann"}
    values = [
        link_bases(Graph.from_edges(edges, weight=weight * scale), pairs, backend="numba", **options)[1].values / scale
        for scale in (1.0, 1e-100, 1e-150)
    ]
    assert torch.allclose(values[0], values[1], rtol=1e-9)
    assert torch.allclose(values[0], values[2], rtol=1e-9)


def test_the_compiler_of_others_is_left_alone():
    """Our kernels are compiled, or loaded, with one setting more, in a fresh process by two threads at once."""
    script = (
        "import torch, numba, llwlc\n"
        "torch.set_num_threads(2)\n"
        "ring = llwlc.Graph.from_edges(torch.stack([torch.arange(300), (torch.arange(300) + 1) % 300], 1))\n"
        "llwlc.link_bases(ring, ring.edges, backend='numba')\n"
        "print(numba.config.SLP_VECTORIZE)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0"]
