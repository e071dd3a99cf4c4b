"""eigenbasis of a ragged batch: invariants on hard graphs, oracles, invariances, the exactness of the query start, bad
graphs.
"""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from graphs import batch_of, families, hub_and_leaves
from llwlc import constraints
from llwlc.bases._eigenbasis import eigenbasis
from llwlc.errors import InputError
from llwlc.linalg import _krylov as krylov
from llwlc.linalg._filter import spectral_filter
from llwlc.linalg._health import health
from llwlc.subgraphs._batch import Subgraphs

F64 = torch.float64
LAPLACIANS = ["normalized", "combinatorial"]
BOUND = {torch.float32: 1e-6, F64: 1e-12}


def all_families() -> Subgraphs:
    return batch_of(list(families().values()))


def constraint_kinds(subs: Subgraphs) -> dict:
    random = torch.randn(subs.num_nodes, 2, dtype=F64, generator=torch.Generator().manual_seed(0))
    return {
        "none": None,
        "neumann": constraints.neumann(subs),
        "deleted": constraints.vertex_deleted(subs, count=4),
        "dependent": torch.cat([random, random[:, :1] * 3, 0 * random], 1),
        "everything": constraints.vertex_deleted(subs, count="all"),
    }


def columns_of(cons, subs: Subgraphs) -> torch.Tensor:
    if cons is None:
        return torch.zeros(subs.num_nodes, 0, dtype=F64)
    return cons if isinstance(cons, torch.Tensor) else cons.columns


def heat(r: torch.Tensor) -> torch.Tensor:
    return torch.exp(-r)


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("laplacian", LAPLACIANS)
@pytest.mark.parametrize("kind", ["none", "neumann", "deleted", "dependent", "everything"])
def test_orthonormal_inside_the_null_space_and_sorted(kind, laplacian, dtype):
    subs = all_families()
    cons = constraint_kinds(subs)[kind]
    for start in ("query", "random") if kind == "none" else ("query", "random", "constraint"):
        for complete in (False, True):
            basis = eigenbasis(subs, cons, start=start, laplacian=laplacian, dtype=dtype, complete=complete)
            assert basis.values.dtype == basis.vectors.dtype == basis.residual.dtype == dtype
            assert oracle.orthogonality(basis) <= BOUND[dtype]
            assert oracle.leak(basis, columns_of(cons, subs)) <= BOUND[dtype]
            assert basis.values.isfinite().all()
            assert basis.residual.isfinite().all()
            assert (basis.mask.int().diff(dim=1) <= 0).all()  # live columns first
            rise = basis.values.diff(dim=1)
            assert (rise[basis.mask[:, 1:]] >= 0).all()
            assert not basis.values[~basis.mask].any()
            assert not basis.residual[~basis.mask].any()


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("laplacian", LAPLACIANS)
def test_a_hub_of_a_hundred_thousand_leaves(laplacian, dtype):
    subs = hub_and_leaves(100_000)
    random = torch.randn(subs.num_nodes, 2, dtype=F64, generator=torch.Generator().manual_seed(0))
    for cons in (None, constraints.vertex_deleted(subs, count=10), subs.degree.double()[:, None], random):
        for start in ("query", "random"):
            basis = eigenbasis(subs, cons, start=start, laplacian=laplacian, dtype=dtype)
            assert basis.mask.any()
            assert oracle.orthogonality(basis) <= BOUND[dtype]
            assert oracle.leak(basis, columns_of(cons, subs)) <= BOUND[dtype]


@pytest.mark.parametrize("laplacian", LAPLACIANS)
@pytest.mark.parametrize("kind", ["none", "neumann", "deleted", "dependent", "everything"])
def test_completed_basis_is_dense_eigh(kind, laplacian):
    subs = all_families()
    cons = constraint_kinds(subs)[kind]
    basis = eigenbasis(subs, cons, complete=True, laplacian=laplacian, dtype=F64)
    x = torch.randn(subs.num_nodes, 2, dtype=F64, generator=torch.Generator().manual_seed(5))
    y = spectral_filter(basis, heat, x)
    for b in range(subs.num_graphs):
        s = oracle.rows(subs, b)
        L, C = oracle.laplacian(subs, b, laplacian), columns_of(cons, subs)[s].numpy()
        np.testing.assert_allclose(basis.values[b][basis.mask[b]].numpy(), oracle.eigenvalues(L, C), atol=1e-9)
        np.testing.assert_allclose(y[s].numpy(), oracle.function(L, C, lambda r: np.exp(-r)) @ x[s].numpy(), atol=1e-8)


@pytest.mark.parametrize("laplacian", LAPLACIANS)
@pytest.mark.parametrize("start", ["query", "constraint", "signal"])
def test_filtered_start_is_dense_once_the_space_is_exhausted(start, laplacian):
    subs = all_families()
    cons = constraints.neumann(subs)
    signal = torch.randn(subs.num_nodes, 2, dtype=F64, generator=torch.Generator().manual_seed(5))
    basis = eigenbasis(
        subs, cons, steps=45, start=signal if start == "signal" else start, laplacian=laplacian, dtype=F64
    )
    for b in range(subs.num_graphs):
        s = oracle.rows(subs, b)
        L, C = oracle.laplacian(subs, b, laplacian), cons.columns[s].numpy()
        eye = np.eye(len(L))
        at = [int(subs.u[b]) - s.start, int(subs.v[b]) - s.start]
        x = {"query": eye[:, at], "constraint": L @ C.sum(1, keepdims=True), "signal": signal[s].numpy()}[start]
        V, f = basis.vectors[s].numpy(), np.where(basis.mask[b], np.exp(-basis.values[b].numpy()), 0)
        np.testing.assert_allclose(
            V @ (f[:, None] * (V.T @ x)), oracle.function(L, C, lambda r: np.exp(-r)) @ x, atol=1e-8
        )


@pytest.mark.parametrize("kappa", [4, 6, 7, 10])
def test_query_start_is_exact_for_polynomials(kappa):
    """Rows u and v of p(PLP)P up to degree ⌊κ/2⌋ − 1, entries between u and v up to κ − 1 for even κ, also under
    constraints.
    """
    graphs = [nx.gnp_random_graph(40, 0.12, seed=i) for i in range(4)]
    subs = batch_of(graphs)
    cons = torch.randn(subs.num_nodes, 3, dtype=F64, generator=torch.Generator().manual_seed(1))
    basis = eigenbasis(subs, cons, steps=kappa, dtype=F64)
    for b in range(len(graphs)):
        s = oracle.rows(subs, b)
        assert basis.mask[b].all()
        L, V = oracle.laplacian(subs, b), basis.vectors[s].numpy()
        at = [int(subs.u[b]) - s.start, int(subs.v[b]) - s.start]
        for degree in range(kappa):
            got = (V * basis.values[b].numpy() ** degree) @ V.T
            exact = oracle.function(L, cons[s].numpy(), lambda r, d=degree: r**d)
            if degree <= kappa // 2 - 1:
                np.testing.assert_allclose(got[at], exact[at], atol=1e-10)
            if kappa % 2 == 0:
                np.testing.assert_allclose(got[np.ix_(at, at)], exact[np.ix_(at, at)], atol=1e-9)
    rest = np.abs(got - exact)[np.ix_(at, range(len(L)))].max()
    assert rest > 1e-6  # beyond that degree the rows are not exact, so the statement is sharp


def test_batch_equals_loop_and_its_order_does_not_matter():
    graphs = list(families().values())
    ids = [list(range(100 * b, 100 * b + len(g))) for b, g in enumerate(graphs)]
    subs = batch_of(graphs, nodes=ids)
    back = batch_of(graphs[::-1], nodes=ids[::-1])
    for make in (constraints.neumann, lambda s: constraints.vertex_deleted(s, count=3)):
        for start in ("query", "random"):
            together = eigenbasis(subs, make(subs), start=start, dtype=F64)
            reverse = eigenbasis(back, make(back), start=start, dtype=F64)
            for b, g in enumerate(graphs):
                one = batch_of([g], nodes=[ids[b]])
                alone = eigenbasis(one, make(one), start=start, dtype=F64)
                torch.testing.assert_close(together.mask[b], alone.mask[0])
                torch.testing.assert_close(together.values[b], alone.values[0], atol=1e-10, rtol=0)
                c = len(graphs) - 1 - b
                torch.testing.assert_close(together.values[b], reverse.values[c], atol=1e-10, rtol=0)
                W, V = alone.vectors, together.vectors[oracle.rows(together, b)]
                torch.testing.assert_close(V @ V.T, W @ W.T, atol=1e-7, rtol=0)


def test_padding_changes_nothing():
    """More steps than live columns, more columns than constraints, larger neighbours in the batch: the same pairs."""
    small = nx.cycle_graph(6)
    one = batch_of([small])
    subs = batch_of([small, nx.cycle_graph(7), nx.empty_graph(1)])
    column = torch.arange(subs.num_nodes, dtype=F64)[:, None]
    expected = eigenbasis(one, column[:6], steps=6, dtype=F64)
    live = int(expected.mask.sum())
    for steps in (6, 20):
        got = eigenbasis(subs, torch.cat([column, 0 * column, 0 * column], 1), steps=steps, dtype=F64)
        torch.testing.assert_close(got.values[0, :live], expected.values[0, :live], atol=1e-12, rtol=0)
        torch.testing.assert_close(got.vectors[:6, :live].abs(), expected.vectors[:, :live].abs(), atol=1e-9, rtol=0)


def permuted(subs: Subgraphs, order: torch.Tensor) -> Subgraphs:
    """One graph with its nodes renamed: position i goes to order[i]."""
    row, col = order[subs.row], order[subs.col]
    sort = torch.argsort(row * len(order) + col)
    back = torch.argsort(order)
    fields = {k: getattr(subs, k)[back] for k in ("node", "hop", "dist_u", "dist_v")}
    return replace(subs, row=row[sort], col=col[sort], u=order[subs.u], v=order[subs.v], **fields)


@pytest.mark.parametrize("start", ["query", "constraint", "signal"])
@pytest.mark.parametrize("name", families())
def test_relabelling_nodes_permutes_the_start_rows(name, start):
    """Asserted on the filtered start block, which is smooth also where the space breaks down."""
    subs = batch_of([families()[name]])
    n = subs.num_nodes
    order = torch.randperm(n, generator=torch.Generator().manual_seed(2))
    moved = permuted(subs, order)
    signal = torch.randn(n, 1, dtype=F64, generator=torch.Generator().manual_seed(3))
    columns = constraints.neumann(subs).columns
    results = []
    for s, place in ((subs, torch.arange(n)), (moved, order)):
        back = torch.argsort(place)
        basis = eigenbasis(s, columns[back], start=signal[back] if start == "signal" else start, dtype=F64)
        eye = torch.eq(torch.arange(n)[:, None], torch.stack([s.u, s.v], 1)).double()
        x = {"query": eye, "signal": signal[back]}.get(start)
        if x is None:
            L = torch.tensor(oracle.laplacian(s, 0))
            x = L @ columns[back].sum(1, keepdim=True)
        results.append(spectral_filter(basis, heat, x)[place])
    torch.testing.assert_close(results[0], results[1], atol=1e-8, rtol=0)


def test_random_start_follows_the_node_ids_not_the_order():
    subs = batch_of([families()["random"]])
    order = torch.randperm(subs.num_nodes, generator=torch.Generator().manual_seed(2))
    one, two = (eigenbasis(s, start="random", dtype=F64) for s in (subs, permuted(subs, order)))
    torch.testing.assert_close(one.values, two.values, atol=1e-9, rtol=0)
    swapped = eigenbasis(replace(subs, u=subs.v, v=subs.u), start="random", dtype=F64)
    torch.testing.assert_close(one.values, swapped.values)
    for other in ({"seed": 1}, {"epoch": 1}):
        assert (eigenbasis(subs, start="random", dtype=F64, **other).values - one.values).abs().max() > 1e-3


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_constraints_that_are_not_finite_are_refused(bad, complete):
    subs = batch_of([nx.path_graph(5), nx.cycle_graph(6), nx.star_graph(4)])
    columns = torch.ones(subs.num_nodes, 2, dtype=F64)
    columns[7, 1] = bad
    with pytest.raises(InputError, match=r"C has 1 entries .* in column 1 at row 7 \(graph 1\): constraints must be"):
        eigenbasis(subs, columns, dtype=F64, complete=complete)


def test_one_bad_graph_does_not_lose_the_batch():
    subs = batch_of([nx.path_graph(5), nx.cycle_graph(6), nx.star_graph(4)])
    good = eigenbasis(subs, dtype=F64)
    weight = torch.ones(len(subs.row), dtype=F64)
    weight[0] = float("inf")
    for complete in (False, True):
        basis = eigenbasis(replace(subs, weight=weight), dtype=F64, complete=complete)
        assert basis.mask.any(1).tolist() == [False, True, True]
        assert basis.vectors.isfinite().all()
    basis = eigenbasis(replace(subs, weight=weight), dtype=F64)
    torch.testing.assert_close(basis.values[1:], good.values[1:])


def test_another_device_is_named():
    subs = batch_of([nx.path_graph(5)])
    for name, options in (
        ("cons", {"cons": torch.ones(5, 1, device="meta")}),
        ("start", {"start": torch.ones(5).to("meta")}),
    ):
        with pytest.raises(InputError, match=f"{name} is on meta, the subgraphs are on cpu: move it there"):
            eigenbasis(subs, **options)


def test_an_eigenproblem_that_fails_is_solved_alone(monkeypatch):
    subs = all_families()
    expected = eigenbasis(subs, dtype=F64)

    def fail(*args):
        raise torch.linalg.LinAlgError("did not converge")

    monkeypatch.setattr(krylov.torch.linalg, "eigh", fail)
    torch.testing.assert_close(eigenbasis(subs, dtype=F64).values, expected.values, atol=1e-12, rtol=0)


def test_edge_weights_enter_the_laplacian():
    g = nx.gnp_random_graph(12, 0.4, seed=0)
    rng = np.random.default_rng(0)
    for _, _, data in g.edges(data=True):
        data["w"] = rng.uniform(0.5, 2)
    subs = batch_of([g], weight="w")
    for kind in LAPLACIANS:
        basis = eigenbasis(subs, complete=True, laplacian=kind, dtype=F64)
        g.remove_edges_from([(0, 11)])
        dense = (nx.normalized_laplacian_matrix if kind == "normalized" else nx.laplacian_matrix)(g, weight="w")
        np.testing.assert_allclose(basis.values[0].numpy(), np.linalg.eigvalsh(dense.toarray()), atol=1e-10)


@pytest.mark.parametrize("backend", ["reference", "auto"])
def test_float32_weights_leave_the_closed_form_exact(backend):
    subs = all_families()
    ends = torch.stack([subs.row, subs.col])
    weight = 0.1 + 0.7 * (ends.amin(0) * 37 + ends.amax(0) * 11).remainder(13) / 13  # the same in both directions
    subs = replace(subs, weight=weight.float())
    cons = constraints.vertex_deleted(subs, count=4)
    basis = eigenbasis(subs, cons, dtype=F64, backend=backend)
    assert health(basis, cons).ok


def test_empty_batches_and_graphs_without_nodes():
    empty = batch_of([])
    assert eigenbasis(empty).values.shape == (0, 10)
    assert eigenbasis(empty, complete=True).values.shape[0] == 0
    one = batch_of([nx.path_graph(3)])
    gap = replace(one, ptr=torch.tensor([0, 0, 3]), u=torch.tensor([0, 0]), v=torch.tensor([0, 2]))
    assert eigenbasis(gap).mask.any(1).tolist() == [False, True]


def test_the_basis_of_fixed_inputs_carries_no_graph():
    basis = eigenbasis(all_families())
    assert basis.tape is None
    assert not basis.vectors.requires_grad


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_any_batch_of_small_graphs_is_sound(data):
    sizes = data.draw(st.lists(st.integers(1, 8), min_size=1, max_size=4))
    seed = data.draw(st.integers(0, 2**31 - 1))
    rng = np.random.default_rng(seed)
    graphs = [nx.gnp_random_graph(n, rng.uniform(0, 1), seed=int(rng.integers(1000))) for n in sizes]
    subs = batch_of(graphs)
    columns = torch.tensor(rng.integers(-1, 2, (subs.num_nodes, data.draw(st.integers(0, 4)))).astype(float))
    steps = data.draw(st.integers(1, 10))
    basis = eigenbasis(subs, columns, steps=steps, start=data.draw(st.sampled_from(["query", "random"])), dtype=F64)
    assert oracle.orthogonality(basis) <= 1e-12
    assert oracle.leak(basis, columns) <= 1e-12
    for b in range(len(sizes)):
        s = oracle.rows(subs, b)
        L, C = oracle.laplacian(subs, b), columns[s].numpy()
        N = oracle.null_space(C, len(L))
        V, r = basis.vectors[s].numpy(), basis.values[b].numpy()
        PLPV = N @ (N.T @ (L @ V))
        np.testing.assert_allclose(basis.residual[b].numpy(), np.linalg.norm(PLPV - V * r, axis=0), atol=1e-9)


BAD = {
    "steps must be an integer of at least 1, got 0": {"steps": 0},
    "start must be 'query'.*got 'warm'": {"start": "warm"},
    "start must have a row for each of the 4 nodes": {"start": torch.ones(3)},
    "start='constraint' is P L C 1 and needs constraints": {"start": "constraint"},
    "laplacian must be 'normalized'": {"laplacian": "signless"},
    "dtype must be torch.float32": {"dtype": torch.float16},
    "backend must be": {"backend": "abacus"},
    "start must be 'query'.*got ndarray": {"start": np.ones(4)},
    "cons must be Constraints.*got str.*by_name": {"cons": "neumann"},
    "cons must be Constraints.*got ndarray.*custom": {"cons": np.ones((4, 1))},
    r"cons has shape \(3, 1\), but the subgraphs have 4 nodes": {"cons": torch.ones(3, 1)},
}


def test_constraints_of_other_subgraphs_are_refused():
    cons = constraints.neumann(batch_of([nx.path_graph(3), nx.path_graph(4)]))
    with pytest.raises(InputError, match="cons was made for other subgraphs"):
        eigenbasis(batch_of([nx.path_graph(4), nx.path_graph(3)]), cons)


def test_all_pairs_of_many_small_graphs_are_one_batched_eigenproblem():
    subs = batch_of([nx.gnp_random_graph(10, 0.5, seed=seed) for seed in range(40)])
    columns = torch.ones(subs.num_nodes, 1, dtype=torch.float64)
    with torch.profiler.profile() as profile:
        eigenbasis(subs, columns, complete=True)
    assert sum(event.count for event in profile.key_averages() if event.key == "aten::_linalg_eigh") == 1


def test_all_pairs_of_a_huge_graph_are_refused_before_memory_runs_out():
    with pytest.raises(InputError, match=r"complete=True .* 50001 nodes"):
        eigenbasis(hub_and_leaves(50_000), complete=True)


@pytest.mark.parametrize("message", BAD)
def test_bad_input_names_the_argument_and_the_remedy(message):
    with pytest.raises(InputError, match=message):
        eigenbasis(batch_of([nx.path_graph(4)]), **BAD[message])
