"""Every backend of `link_bases` equals the reference: on random, ragged and nasty batches."""

import warnings

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_cases import graph_of, some_pairs

from llwlc import constraints, datasets, kernels
from llwlc.bases import eigenbasis, laplacian_of
from llwlc.errors import InputError
from llwlc.graph import Graph
from llwlc.linalg.basis import Eigenbasis
from llwlc.pipeline import DEFAULT_CAP, link_bases, stream_bases
from llwlc.subgraphs import Subgraphs, extract

FAMILIES = ["none", "neumann", "neumann_boundary", "neumann_degree", "vertex_deleted", "neumann+vertex_deleted"]
# P L C 1 needs a C
KINDS = [(f, s) for f in FAMILIES for s in ("query", "random", "constraint") if (f, s) != ("none", "constraint")]
# what float32 storage rounds away, and what two orders of float64 summation may differ by
TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-9}


def filtered(subs: Subgraphs, basis: Eigenbasis, f, rows: torch.Tensor) -> torch.Tensor:
    """Rows of V f(R) Vᵀ, one for each graph, ragged behind each other: what a basis means, whatever its signs and rotations."""
    weight = (basis.vectors.double()[rows] * f(basis.values.double()) * basis.mask)[subs.graph]
    return (basis.vectors.double() * weight).sum(1)


def assert_invariants(subs: Subgraphs, basis: Eigenbasis, columns: torch.Tensor, dtype: torch.dtype) -> None:
    """Live columns are orthonormal, satisfy the constraints and have the residual they claim; dead ones are zero."""
    V = basis.vectors.double()
    LV = laplacian_of(subs, "normalized") @ V
    tolerance = 1e-6 if dtype == torch.float32 else 1e-9
    for b in range(subs.num_graphs):
        at, live = slice(int(subs.ptr[b]), int(subs.ptr[b + 1])), basis.mask[b]
        assert torch.allclose(V[at].T @ V[at], torch.diag(live.double()), atol=tolerance)
        C = columns[at] / columns[at].norm(dim=0).clamp(min=1e-300)
        assert bool(((C.T @ V[at]).abs() <= tolerance).all())
        assert bool((basis.values[b].diff()[live[1:]] >= -tolerance).all())
        assert basis.values[b][~live].eq(0).all()
        assert basis.residual[b][~live].eq(0).all()
        Y = np.linalg.svd(C.numpy(), full_matrices=False) if C.numel() else None
        PLV = LV[at].numpy()
        if Y is not None:
            U = Y[0][:, Y[1] > 1e-9]
            PLV = PLV - U @ (U.T @ PLV)
        gap = np.linalg.norm(PLV - V[at].numpy() * basis.values[b].double().numpy(), axis=0)
        np.testing.assert_allclose(gap, basis.residual[b].numpy(), atol=10 * tolerance)


def assert_equals_reference(graph: Graph, pairs: torch.Tensor, *, dtype=torch.float32, **options) -> None:
    subs, basis = link_bases(graph, pairs, dtype=dtype, backend="numba", **options)
    other, expected = link_bases(graph, pairs, dtype=dtype, backend="reference", **options)
    for name in ("ptr", "node", "row", "col", "hop", "dist_u", "dist_v"):
        assert torch.equal(getattr(subs, name), getattr(other, name)), name
    assert basis.vectors.dtype == basis.values.dtype == basis.residual.dtype == dtype
    assert torch.equal(basis.mask, expected.mask)
    assert torch.equal(basis.ptr, expected.ptr)
    scale = max(1.0, float(expected.values.abs().max())) if expected.values.numel() else 1.0
    assert torch.allclose(basis.values, expected.values, atol=TOLERANCE[dtype] * scale, rtol=0)
    for rows in (subs.u, subs.v):
        for f in (lambda x: torch.exp(-x), lambda x: 1 / (1 + x)):
            one, two = filtered(subs, basis, f, rows), filtered(other, expected, f, rows)
            assert torch.allclose(one, two, atol=TOLERANCE[dtype], rtol=0)
    if options.get("laplacian", "normalized") == "normalized":
        draw = {name: options.get(name, 0) for name in ("seed", "epoch")}
        columns = constraints.by_name(subs, options.get("constraints", "neumann"), **draw)
        assert_invariants(subs, basis, columns.columns, dtype)


NASTY = {
    "random": nx.gnm_random_graph(60, 120, seed=1),
    "hubs": nx.barabasi_albert_graph(80, 2, seed=2),
    "star": nx.star_graph(30),
    "ring, empty boundary": nx.cycle_graph(6),
    "complete": nx.complete_graph(9),
    "tiny, n below κ": nx.path_graph(4),
    "disconnected, isolated ends": nx.disjoint_union(nx.cycle_graph(5), nx.empty_graph(4)),
    "edgeless": nx.empty_graph(5),
    "barbell": nx.barbell_graph(6, 2),
    "strongly regular": nx.convert_node_labels_to_integers(nx.line_graph(nx.complete_bipartite_graph(4, 4))),
}


@pytest.mark.parametrize(("family", "start"), KINDS)
@pytest.mark.parametrize("name", NASTY)
def test_equals_the_reference(name, family, start):
    graph = graph_of(NASTY[name])
    assert_equals_reference(graph, some_pairs(graph, 6), constraints=family, start=start, steps=8)


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
    with pytest.warns(UserWarning, match=rf"2 of 2 pairs reach {DEFAULT_CAP} nodes .* degree is {leaves}"):
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
    monkeypatch.setattr(kernels, "find_spec", lambda name: None)
    assert not kernels.available()
    _, basis = link_bases(cora, cora.edges[:5])
    assert torch.equal(basis.values, expected.values)
    with pytest.raises(InputError, match="not installed"):
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
