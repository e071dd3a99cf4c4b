"""spectral_filter: values, invariances, and every gradient it promises, by gradcheck."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.linalg import expm_frechet
from torch.autograd import gradcheck

import oracle
from graphs import batch_of, families
from llwlc.bases._eigenbasis import eigenbasis
from llwlc.errors import InputError
from llwlc.linalg._filter import spectral_filter
from llwlc.linalg._lanczos import constrained_lanczos

F64 = torch.float64
GRAPHS = {
    "complete": nx.complete_graph(5),
    "ring": nx.cycle_graph(6),
    "star": nx.star_graph(5),
    "disconnected": nx.disjoint_union(nx.cycle_graph(3), nx.path_graph(3)),
    "random": nx.gnp_random_graph(7, 0.5, seed=3),
}


def weighted(graph: nx.Graph):
    """One graph with unit weights that want gradients; the pair is not linked, so symmetry stays."""
    g = graph.copy()
    nx.set_edge_attributes(g, 1.0, "w")
    u = min(g)
    return batch_of([g], [(u, u)], weight="w")


def randn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def heat(r: torch.Tensor) -> torch.Tensor:
    return torch.exp(-r)


@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_filter_is_v_f_vt(dtype):
    subs = batch_of(list(families().values()))
    basis = eigenbasis(subs, torch.ones(subs.num_nodes, 1), dtype=dtype, start="random")
    x = randn(subs.num_nodes, 3).to(dtype)
    y = spectral_filter(basis, heat, x)
    assert y.dtype == dtype
    for b in range(subs.num_graphs):
        s = oracle.rows(subs, b)
        V = basis.vectors[s]
        f = torch.where(basis.mask[b], heat(basis.values[b]), 0)
        torch.testing.assert_close(y[s], V @ (f[:, None] * (V.T @ x[s])))


def test_several_filters_vectors_and_given_values():
    subs = batch_of([nx.path_graph(5), nx.cycle_graph(7)])
    basis = eigenbasis(subs, dtype=F64)
    x = randn(subs.num_nodes, 2)
    both = spectral_filter(basis, lambda r: torch.stack([heat(r), r], 2), x)
    assert both.shape == (subs.num_nodes, 2, 2)
    torch.testing.assert_close(both[:, 0], spectral_filter(basis, heat, x))
    torch.testing.assert_close(both[:, 1], spectral_filter(basis, basis.values, x))
    torch.testing.assert_close(spectral_filter(basis, heat, x[:, 0]), spectral_filter(basis, heat, x)[:, 0])
    assert spectral_filter(basis, lambda r: r[:, :, None], x).shape == (subs.num_nodes, 1, 2)


def test_a_pole_at_zero_does_no_harm_in_dead_columns():
    subs = batch_of([nx.complete_graph(4), nx.empty_graph(1)])
    basis = eigenbasis(subs, torch.ones(subs.num_nodes, 1), dtype=F64, start="random")
    slope = torch.ones((), dtype=F64, requires_grad=True)
    y = spectral_filter(basis, lambda r: slope / r, randn(subs.num_nodes, 1))
    (grad,) = torch.autograd.grad(y.sum(), slope)
    assert basis.mask.sum(1).tolist()[1] == 0
    assert y.isfinite().all()
    assert grad.isfinite()


def test_rotating_a_repeated_eigenspace_changes_nothing():
    subs = batch_of([nx.complete_graph(6)], [(0, 0)])
    basis = eigenbasis(subs, complete=True, dtype=F64)
    turn = torch.block_diag(torch.eye(1, dtype=F64), torch.linalg.qr(randn(5, 5)).Q)
    turned = replace(basis, vectors=basis.vectors @ turn)
    assert (turned.vectors - basis.vectors).abs().max() > 0.1
    x = randn(6, 2)
    torch.testing.assert_close(spectral_filter(turned, heat, x), spectral_filter(basis, heat, x), atol=1e-12, rtol=0)


def test_gradients_of_f_and_x_on_any_basis():
    subs = batch_of(list(families().values()))
    basis = eigenbasis(subs, torch.ones(subs.num_nodes, 1), steps=4, dtype=F64)
    scale, x = randn(3).requires_grad_(), randn(subs.num_nodes, 2, seed=1).requires_grad_()

    def run(scale, x):
        return spectral_filter(basis, lambda r: torch.exp(-r[:, :, None] * scale), x)

    assert gradcheck(run, (scale, x), fast_mode=True)


@pytest.mark.parametrize("laplacian", ["normalized", "combinatorial"])
@pytest.mark.parametrize("name", GRAPHS)
def test_gradients_of_edge_and_constraint_weights_on_the_complete_basis(name, laplacian):
    subs = weighted(GRAPHS[name])
    n = subs.num_nodes
    columns, x, tau = (
        randn(n, 2).requires_grad_(),
        randn(n, 2, seed=1).requires_grad_(),
        randn(2, seed=2).requires_grad_(),
    )

    def run(weight, columns, x, tau):
        basis = eigenbasis(replace(subs, weight=weight), columns, complete=True, dtype=F64, laplacian=laplacian)
        return spectral_filter(basis, lambda r: torch.stack([torch.exp(-tau[0] * r), torch.cos(tau[1] * r)], 2), x)

    weight = subs.weight.clone().requires_grad_()
    assert gradcheck(run, (weight, columns, x, tau))
    free = torch.zeros(n, 0, dtype=F64)  # no constraint: every repeated eigenvalue of the graph is there
    assert gradcheck(lambda w: run(w, free, x.detach(), tau.detach()), (weight,))


@pytest.mark.parametrize("start", ["query", "signal", "random"])
@pytest.mark.parametrize("name", GRAPHS)
def test_gradients_of_the_filtered_start_block_where_it_breaks_down(name, start):
    """Steps enough to exhaust the Krylov space: the value is f(PLP)P x, and a weight's change opens new directions."""
    g = GRAPHS[name]
    subs = weighted(g)
    subs = replace(subs, v=subs.v + 1)
    n = subs.num_nodes
    block = {
        "query": torch.eye(n, dtype=F64)[:, :2],
        "signal": torch.arange(n, dtype=F64)[:, None],
        "random": randn(n, 1),
    }
    columns = torch.ones(n, 1, dtype=F64).requires_grad_()
    x = block[start]

    def run(weight, columns):
        basis = eigenbasis(
            replace(subs, weight=weight), columns, steps=n, start="query" if start == "query" else x, dtype=F64
        )
        return spectral_filter(basis, heat, x)

    weight = subs.weight.clone().requires_grad_()
    assert gradcheck(run, (weight, columns))
    exact = oracle.function(oracle.laplacian(subs, 0), np.ones((n, 1)), lambda r: np.exp(-r)) @ x.numpy()
    np.testing.assert_allclose(run(weight, columns).detach().numpy(), exact, atol=1e-8)


def test_gradients_of_the_filtered_start_block_where_it_is_cut_off():
    subs = weighted(nx.gnp_random_graph(12, 0.4, seed=5))
    x, columns = randn(12, 2).requires_grad_(), randn(12, 2, seed=1).requires_grad_()
    weight = (1 + subs.weight * 0.1).requires_grad_()

    def run(weight, columns, x):
        basis = eigenbasis(replace(subs, weight=weight), columns, steps=5, start=x, dtype=F64)
        assert basis.mask.all()
        assert basis.residual.max() > 1e-3
        return spectral_filter(basis, heat, x)

    assert gradcheck(run, (weight, columns, x))


def test_gradients_of_x_on_a_basis_that_carries_a_tape():
    for steps in (2, 6):
        subs = weighted(nx.cycle_graph(6))
        start = torch.arange(6, dtype=F64)[:, None]
        basis = eigenbasis(
            replace(subs, weight=subs.weight.clone().requires_grad_()), steps=steps, start=start, dtype=F64
        )
        x = (2 * start).requires_grad_()
        assert gradcheck(lambda x, basis=basis: spectral_filter(basis, heat, x), (x,))


def test_gradients_in_a_mixed_batch_equal_those_of_each_graph():
    graphs = [nx.complete_graph(4), nx.gnp_random_graph(14, 0.4, seed=2), nx.empty_graph(3), nx.star_graph(4)]
    for g in graphs:
        nx.set_edge_attributes(g, 1.0, "w")
    subs = batch_of(graphs, weight="w")
    weight, columns = subs.weight.clone().requires_grad_(), randn(subs.num_nodes, 1).requires_grad_()
    x = torch.eq(torch.arange(subs.num_nodes)[:, None], torch.stack([subs.u, subs.v], 1)[subs.graph]).double()
    y = spectral_filter(eigenbasis(replace(subs, weight=weight), columns, steps=5, dtype=F64), heat, x)
    together = torch.autograd.grad((y * randn(*y.shape)).sum(), (weight, columns))
    at = torch.searchsorted(subs.row, subs.ptr).tolist()
    for b, g in enumerate(graphs):
        s, e = oracle.rows(subs, b), slice(at[b], at[b + 1])
        one = batch_of([g], weight="w")
        w, c = one.weight.clone().requires_grad_(), columns[s].detach().clone().requires_grad_()
        y1 = spectral_filter(eigenbasis(replace(one, weight=w), c, steps=5, dtype=F64), heat, x[s])
        alone = torch.autograd.grad((y1 * randn(*y.shape)[s]).sum(), (w, c), allow_unused=True)
        torch.testing.assert_close(together[0][e], torch.zeros_like(w) if alone[0] is None else alone[0])
        torch.testing.assert_close(together[1][s], torch.zeros_like(c) if alone[1] is None else alone[1])


def test_rank_deficient_constraints_have_finite_gradients():
    subs = weighted(nx.cycle_graph(6))
    c = randn(6, 1).requires_grad_()
    columns = torch.cat([c, 2 * c, torch.zeros(6, 1, dtype=F64)], 1)
    y = spectral_filter(eigenbasis(subs, columns, complete=True, dtype=F64), heat, randn(6, 1, seed=4))
    (grad,) = torch.autograd.grad(y.sum(), c)
    single = spectral_filter(eigenbasis(subs, c, complete=True, dtype=F64), heat, randn(6, 1, seed=4))
    torch.testing.assert_close(grad, torch.autograd.grad(single.sum(), c)[0], atol=1e-10, rtol=0)


def test_gradient_of_a_dense_matrix():
    L = torch.tensor(nx.laplacian_matrix(nx.star_graph(4)).toarray(), dtype=F64).requires_grad_()
    x = randn(5, 1)

    def run(L):
        symmetric = (L + L.T) / 2
        return spectral_filter(constrained_lanczos(symmetric, torch.ones(5, 1), steps=1, complete=True), heat, x)

    assert gradcheck(run, (L,))


def test_float32_network_trains_through_a_float32_basis():
    subs = weighted(nx.gnp_random_graph(10, 0.4, seed=1))
    net = torch.nn.Sequential(torch.nn.Linear(1, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    weight = subs.weight.float().requires_grad_()
    basis = eigenbasis(replace(subs, weight=weight), complete=True)
    y = spectral_filter(basis, lambda r: net(r[:, :, None]), randn(10, 3).float())
    y.square().sum().backward()
    assert y.dtype == torch.float32
    assert weight.grad.isfinite().all()
    assert weight.grad.abs().max() > 0
    assert all(p.grad.isfinite().all() for p in net.parameters())


def test_a_filter_without_a_derivative_is_refused():
    subs = weighted(nx.complete_graph(5))
    subs = replace(subs, weight=subs.weight.clone().requires_grad_())
    basis = eigenbasis(subs, steps=5, start=torch.eye(5, dtype=F64)[:, :1], dtype=F64)
    with pytest.raises(InputError, match=r"x is not in the span of the start block.*complete=True"):
        spectral_filter(basis, heat, randn(5, 1))
    with pytest.raises(InputError, match="f must be a function"):
        spectral_filter(basis, basis.values, randn(5, 1))
    with torch.no_grad():
        assert spectral_filter(basis, heat, randn(5, 1)).isfinite().all()


def test_one_small_signal_outside_the_start_is_refused_beside_a_large_one_inside():
    subs = weighted(nx.star_graph(5))
    subs = replace(subs, weight=subs.weight.clone().requires_grad_())
    basis = eigenbasis(subs, dtype=F64)
    x = torch.cat([1e6 * torch.eye(subs.num_nodes, 1, dtype=F64), randn(subs.num_nodes, 1)], 1)
    with pytest.raises(InputError, match="start block"):
        spectral_filter(basis, heat, x)


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("complete", [False, True])
def test_several_filters_of_a_batch_without_a_live_column_keep_their_shape(learned, complete):
    subs = weighted(nx.path_graph(4))
    subs = replace(subs, weight=subs.weight.clone().requires_grad_(learned))
    basis = eigenbasis(subs, torch.eye(4), complete=complete)
    y = spectral_filter(basis, lambda r: torch.stack([r, r**2, r**3], -1), randn(4, 5))
    assert y.shape == (4, 3, 5)
    assert not y.any()
    assert spectral_filter(basis, lambda r: r[..., None], randn(4)).shape == (4, 1)


@pytest.mark.parametrize("heavy", [1.0, 1e5])
def test_gradients_beside_a_heavy_edge_equal_the_frechet_derivative(heavy):
    edges = torch.tensor([(i, i + 1) for i in range(7)] + [(0, 3), (2, 6)])
    weight = torch.cat([0.5 + torch.linspace(0, 1, 8, dtype=F64), torch.tensor([heavy], dtype=F64)])

    def laplacian(w: torch.Tensor) -> torch.Tensor:
        A = torch.zeros(8, 8, dtype=F64).index_put((edges[:, 0], edges[:, 1]), w)
        return torch.diag((A + A.T).sum(1)) - A - A.T

    x, y, w = randn(8), randn(8, seed=1), weight.clone().requires_grad_()
    basis = constrained_lanczos(laplacian(w), steps=1, complete=True)
    (found,) = torch.autograd.grad(y @ spectral_filter(basis, heat, x), w)
    L, directions = laplacian(weight), [laplacian(e) for e in torch.eye(9, dtype=F64)]
    exact = [y @ torch.as_tensor(expm_frechet(-L.numpy(), -E.numpy(), compute_expm=False)) @ x for E in directions]
    torch.testing.assert_close(found, torch.stack(exact), rtol=0, atol=1e-8)


def test_bad_input_names_the_argument():
    basis = eigenbasis(batch_of([nx.path_graph(4)]))
    with pytest.raises(InputError, match="x must have a row for each of the 4 rows"):
        spectral_filter(basis, heat, torch.ones(3, 1))
    with pytest.raises(InputError, match=r"f must give \[1, 10\]"):
        spectral_filter(basis, lambda r: r.sum(1), torch.ones(4, 1))


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_gradients_stay_exact_across_a_breakdown(delta):
    """A star's Krylov space has 2 dimensions from its hub; weights moved by δ open four more, at β ~ δ, until δ is
    below tolerance.
    """
    subs = weighted(nx.star_graph(11))
    noise, x, g = randn(12, seed=3), torch.eye(12, dtype=F64)[:, :1], randn(12, 1, seed=9)
    weight = (1 + delta * noise[subs.row] * noise[subs.col]).requires_grad_()
    grads = []
    for options in ({"steps": 6}, {"complete": True}):
        basis = eigenbasis(replace(subs, weight=weight), start=x, dtype=F64, laplacian="combinatorial", **options)
        grads += torch.autograd.grad((g * spectral_filter(basis, heat, x)).sum(), weight)
    assert grads[0].abs().max() > 1e-2
    torch.testing.assert_close(*grads, atol=1e-7, rtol=0)
