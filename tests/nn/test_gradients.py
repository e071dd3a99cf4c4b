"""Gradients of the layer and the network with respect to constraints and edge weights: exact, biased on request, or
refused; never dropped."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from torch.autograd import gradcheck
from torch.func import functional_call, grad, jacrev, vmap

from graphs import batch_of
from llwlc.bases._eigenbasis import eigenbasis
from llwlc.errors import InputError
from llwlc.linalg._filter import spectral_filter
from llwlc.linalg._lanczos import constrained_lanczos
from llwlc.linalg._projector import direct_projector, tangent_range
from llwlc.nn import LinkBatch, LLwLCConv, LLwLCNet, NetConfig
from llwlc.subgraphs._labels import distance_encoding

F64 = torch.float64
GRAPHS = [nx.path_graph(5), nx.cycle_graph(6), nx.complete_graph(4), nx.star_graph(4), nx.empty_graph(1)]


def randn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def heat(r: torch.Tensor) -> torch.Tensor:
    return torch.exp(-r)


def smooth(module: torch.nn.Module) -> torch.nn.Module:
    """ReLU has kinks, at which finite differences are no derivative."""
    for part in list(module.modules()):
        for name, child in part.named_children():
            if isinstance(child, torch.nn.ReLU):
                setattr(part, name, torch.nn.Tanh())
    return module.double().eval()


def make_conv(**options) -> LLwLCConv:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return smooth(LLwLCConv(2, 3, num_filters=2, hidden_channels=4, **options))


def make_net(**options) -> LLwLCNet:
    shape = {"channels": 4, "filters": 2, "filter_hidden": 4, "head": 4, "pair_inputs": False, "ranking": False}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return smooth(LLwLCNet(NetConfig(**{**shape, "filtered_channels": 0, "cosines": False, **options})))


def weighted(graphs=GRAPHS):
    graphs = [g.copy() for g in graphs]
    for g in graphs:
        nx.set_edge_attributes(g, 1.0, "w")
    return batch_of(graphs, [(min(g), max(g)) for g in graphs], weight="w")


def test_the_layer_has_exact_gradients_on_complete_bases():
    subs, conv = weighted(), make_conv(skip=True)
    x = randn(subs.num_nodes, 2, seed=1)

    def run(weight, columns, x):
        return conv(x, eigenbasis(replace(subs, weight=weight), columns, complete=True, dtype=F64))

    weight = subs.weight.clone().requires_grad_()
    columns = randn(subs.num_nodes, 2).requires_grad_()
    assert gradcheck(run, (weight, columns, x.requires_grad_()))
    with torch.no_grad():
        plain = conv(x, eigenbasis(subs, columns, complete=True, dtype=F64))
    torch.testing.assert_close(run(weight, columns, x).detach(), plain)


def test_the_layer_has_exact_gradients_on_the_start_block():
    subs, conv = weighted(), make_conv()
    x = torch.eq(torch.arange(subs.num_nodes)[:, None], torch.stack([subs.u, subs.v], 1)[subs.graph]).double()
    columns = randn(subs.num_nodes, 1).requires_grad_()
    assert gradcheck(lambda c: conv(x, eigenbasis(subs, c, steps=6, dtype=F64)), (columns,))


@pytest.mark.parametrize("ends", [False, True])
def test_the_network_has_exact_gradients_on_complete_bases(ends):
    subs = weighted()
    net = make_net(feature_channels=3, filtered_channels=4, cosines=True) if ends else make_net()
    features = randn(int(subs.node.max()) + 1, 3, seed=2) if ends else None

    def run(columns):
        basis = eigenbasis(subs, columns, complete=True, dtype=F64)
        label, degree = distance_encoding(subs), subs.degree.double()
        return net(LinkBatch(basis, subs.node, label, degree, subs.u, subs.v), features)

    columns = randn(subs.num_nodes, 1).requires_grad_()
    assert gradcheck(run, (columns,), eps=1e-7, atol=1e-4)
    with torch.no_grad():
        plain = run(columns)
    torch.testing.assert_close(run(columns).detach(), plain)


def test_where_no_gradient_exists_the_layer_refuses_and_the_truncated_one_takes_it():
    subs, conv = batch_of([nx.complete_graph(5)]), make_conv()
    columns, x = randn(5, 1).requires_grad_(), randn(5, 2, seed=1)
    with pytest.raises(InputError, match='gradient="truncated"'):
        conv(x, eigenbasis(subs, columns, steps=5, dtype=F64))
    basis = eigenbasis(subs, columns, steps=5, dtype=F64, gradient="truncated")
    (found,) = torch.autograd.grad(conv(x, basis).sum(), columns)
    assert found.isfinite().all()
    assert found.abs().max() > 0


@pytest.mark.parametrize("backend", ["numba", "reference"])
def test_truncated_values_are_those_of_the_basis_and_its_gradient_that_of_a_constant_span(backend):
    subs = batch_of([nx.gnp_random_graph(14, 0.3, seed=1), nx.star_graph(6)])
    columns, x = randn(subs.num_nodes, 2), randn(subs.num_nodes, 2, seed=1)
    basis = eigenbasis(subs, columns, steps=4, dtype=F64)

    def ritz(columns):  # by definition: project the span, Rayleigh-Ritz, filter
        out = []
        for b in range(2):
            rows = slice(int(subs.ptr[b]), int(subs.ptr[b + 1]))
            C, V = columns[rows], basis.vectors[rows][:, basis.mask[b]]
            V = V - C @ torch.linalg.solve(C.T @ C, C.T @ V)
            edges = (subs.row >= rows.start) & (subs.row < rows.stop)
            A = torch.zeros(len(C), len(C), dtype=F64)
            A[subs.row[edges] - rows.start, subs.col[edges] - rows.start] = 1
            d = A.sum(1).clamp(min=1).rsqrt()
            L = torch.diag((A.sum(1) > 0).double()) - d[:, None] * A * d
            values, U = torch.linalg.eigh(V.T @ L @ V)
            out.append(V @ U @ (heat(values)[:, None] * (U.T @ (V.T @ x[rows]))))
        return torch.cat(out)

    left, right = columns.clone().requires_grad_(), columns.clone().requires_grad_()
    made = eigenbasis(subs, left, steps=4, dtype=F64, gradient="truncated", backend=backend)
    y, expected = spectral_filter(made, heat, x), ritz(right)
    torch.testing.assert_close(y.detach(), spectral_filter(basis, heat, x))
    side = randn(*y.shape, seed=3)
    found, wanted = (torch.autograd.grad((z * side).sum(), c)[0] for z, c in ((y, left), (expected, right)))
    torch.testing.assert_close(found, wanted, atol=1e-8, rtol=1e-6)


def test_the_bias_of_truncated_gradients_vanishes_with_the_number_of_steps():
    subs = batch_of([nx.gnp_random_graph(16, 0.3, seed=s) for s in range(4)])
    columns, x = randn(subs.num_nodes, 1).requires_grad_(), randn(subs.num_nodes, 2, seed=1)

    def gradient(**options):
        y = spectral_filter(eigenbasis(subs, columns, dtype=F64, **options), heat, x)
        return torch.autograd.grad((y * randn(*y.shape, seed=2)).sum(), columns)[0]

    exact = gradient(complete=True)
    bias = [float((gradient(steps=k, gradient="truncated") - exact).norm() / exact.norm()) for k in (4, 10, 15)]
    assert bias[0] > bias[1] > bias[2]
    assert bias[2] < 1e-8


@pytest.mark.parametrize("complete", [False, True])
def test_second_derivatives_are_refused(complete):
    subs = weighted([nx.path_graph(4)])
    columns, x = randn(4, 1).requires_grad_(), torch.eye(4, 1, dtype=F64)
    basis = eigenbasis(subs, columns, complete=complete, steps=4, dtype=F64)
    (first,) = torch.autograd.grad(spectral_filter(basis, heat, x).square().sum(), columns, create_graph=True)
    (plain,) = torch.autograd.grad(spectral_filter(basis, heat, x).square().sum(), columns)
    torch.testing.assert_close(first, plain)
    with pytest.raises(InputError, match="second derivatives"):
        torch.autograd.grad(first.sum(), columns)


def test_second_derivatives_in_filter_and_signal_are_refused_only_beside_a_learned_constraint():
    subs, x = weighted([nx.path_graph(4)]), randn(4, 1).requires_grad_()
    tau = torch.ones((), dtype=F64, requires_grad=True)

    def run(columns):
        basis = eigenbasis(subs, columns, complete=True, dtype=F64)
        y = spectral_filter(basis, lambda r: torch.exp(-tau * r), x).square().sum()
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        return torch.autograd.grad(first.sum(), tau)

    assert run(torch.ones(4, 1, dtype=F64))[0].isfinite()
    with pytest.raises(InputError, match="second derivatives"):
        run(torch.ones(4, 1, dtype=F64).requires_grad_())


@pytest.mark.parametrize("options", [{"complete": True}, {"steps": 3, "gradient": "truncated"}, {"steps": 3}])
def test_zero_columns_have_zero_gradients(options):
    subs = batch_of([nx.gnp_random_graph(8, 0.5, seed=1)])
    columns = torch.zeros(8, 2, dtype=F64, requires_grad=True)
    start = randn(8, 1)
    y = spectral_filter(eigenbasis(subs, columns, start=start, dtype=F64, **options), heat, start)
    (found,) = torch.autograd.grad(y.sum(), columns)
    assert torch.equal(found, torch.zeros_like(columns))


@pytest.mark.parametrize("options", [{"complete": True}, {}, {"gradient": "truncated"}])
def test_where_no_graph_has_a_null_space_outputs_are_constant_with_zero_gradients(options):
    subs, conv, net = weighted([nx.path_graph(4)]), make_conv(), make_net()
    columns, x = torch.eye(4, dtype=F64).requires_grad_(), randn(4, 2)
    basis = eigenbasis(subs, columns, dtype=F64, **options)
    batch = LinkBatch(basis, subs.node, distance_encoding(subs), subs.degree.double(), subs.u, subs.v)
    assert not basis.mask.any()
    for y in (spectral_filter(basis, heat, x), conv(x, basis), net(batch)):
        (found,) = torch.autograd.grad(y.sum(), columns)
        assert torch.equal(found, torch.zeros_like(columns))
    assert torch.equal(conv(x, basis), conv.bias.expand(4, 3))


def test_a_ridge_bounds_the_gradient_and_its_bias_is_the_stated_factor():
    C = torch.linalg.qr(randn(9, 3)).Q
    near = torch.stack([C[:, 0], C[:, 0] + 1e-7 * C[:, 1], C[:, 2]], 1)
    near = near / near.norm(dim=0)

    def gradient(ridge, side):
        columns = near.clone().requires_grad_()
        P = direct_projector(tangent_range(columns[None], ridge))(torch.eye(9, dtype=F64)[None])[0]
        return torch.autograd.grad((P * side).sum(), columns)[0]

    side = randn(9, 9, seed=1)
    side = (side + side.T) / side.norm() / 2
    assert gradient(0.0, side).norm() > 1e5
    for ridge in (1e-6, 1e-4, 1e-2):
        # ⟨side, dP⟩ = −2⟨P side Y, dC (C⁺Y)ᵀ⟩, so at most 2 ‖P side Y‖ / (2 √ρ)
        assert gradient(ridge, side).norm() <= 1 / np.sqrt(ridge)
        U, s, Vt = np.linalg.svd(near.numpy(), full_matrices=False)
        P = np.eye(9) - U @ U.T
        exact = -2 * P @ side.numpy() @ U @ np.diag(s / (s**2 + ridge)) @ Vt
        np.testing.assert_allclose(gradient(ridge, side).numpy(), exact, rtol=1e-6, atol=1e-8 / np.sqrt(ridge))


def test_a_ridge_changes_no_value_and_travels_with_the_basis():
    subs, x = batch_of([nx.path_graph(6)]), randn(6, 1)
    c = randn(6, 1, seed=1)
    columns = torch.cat([c, c + 1e-8 * randn(6, 1, seed=2)], 1).requires_grad_()
    plain, ridged = (eigenbasis(subs, columns, complete=True, dtype=F64, ridge=r) for r in (0.0, 1e-4))
    a, b = (spectral_filter(basis, heat, x) for basis in (plain, ridged))
    assert torch.equal(a, b)
    wild, tame = (torch.autograd.grad(y.sum(), columns)[0].norm() for y in (a, b))
    assert wild > 1e5
    assert tame < 1e3
    L = torch.diag(torch.arange(6.0, dtype=F64))
    one = constrained_lanczos(L, columns, steps=1, complete=True, ridge=1e-4)
    assert torch.autograd.grad(spectral_filter(one, heat, x).sum(), columns)[0].norm() < 1e3


def test_learned_columns_that_are_not_finite_are_refused():
    subs = batch_of([nx.path_graph(4), nx.path_graph(3)])
    columns = torch.ones(7, 2, dtype=F64)
    columns[5, 1] = torch.nan
    with pytest.raises(InputError, match=r"column 1 at row 5 \(graph 1\)"):
        eigenbasis(subs, columns.requires_grad_())
    for bad in ({"ridge": -1.0}, {"ridge": float("nan")}, {"gradient": "approximate"}):
        with pytest.raises(InputError, match=next(iter(bad))):
            eigenbasis(subs, **bad)
        with pytest.raises(InputError, match=next(iter(bad))):
            constrained_lanczos(torch.eye(3), steps=1, **bad)


def test_every_way_to_a_basis_stores_float32_by_default():
    assert constrained_lanczos(torch.eye(3, dtype=F64), steps=1).vectors.dtype == torch.float32
    assert eigenbasis(batch_of([nx.path_graph(4)])).vectors.dtype == torch.float32


def given_basis():
    subs = batch_of([nx.path_graph(5), nx.cycle_graph(6)])
    return eigenbasis(subs, steps=4, dtype=F64)


def test_function_transforms_of_the_layer_on_a_given_basis():
    basis, conv = given_basis(), make_conv(skip=True)
    x, weights = randn(11, 2), dict(conv.named_parameters())
    several = randn(3, 11, 2, seed=1)
    torch.testing.assert_close(vmap(lambda x: conv(x, basis))(several), torch.stack([conv(x, basis) for x in several]))

    def loss(weights, x):
        return functional_call(conv, weights, (x, basis)).square().sum()

    found = grad(loss)(weights, x)
    plain = torch.autograd.grad(loss(weights, x), list(weights.values()))
    torch.testing.assert_close(list(found.values()), list(plain))
    each = vmap(grad(loss), in_dims=(None, 0))(weights, several)
    torch.testing.assert_close(
        each["weight"], torch.stack([torch.autograd.grad(loss(weights, x), conv.weight)[0] for x in several])
    )
    assert jacrev(lambda x: conv(x, basis))(x).shape == (11, 3, 11, 2)


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch's own, in dynamo
def test_the_layer_compiles_on_a_given_basis():
    basis, conv = given_basis(), make_conv(skip=True)
    x = randn(11, 2).requires_grad_()
    compiled = torch.compile(conv, backend="aot_eager")
    expected = conv(x, basis)
    torch.testing.assert_close(compiled(x, basis), expected)
    (found,) = torch.autograd.grad(compiled(x, basis).square().sum(), x)
    torch.testing.assert_close(found, torch.autograd.grad(expected.square().sum(), x)[0])


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch's own, in dynamo
@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")  # dynamo looks at every tensor's
def test_what_compiles_on_a_basis_with_gradients():
    """The layer; and a model that makes the basis itself, where that part is left out."""
    subs, conv, x = weighted(), make_conv(), randn(21, 2, seed=1)
    columns, outside = randn(21, 1).requires_grad_(), torch.compiler.disable(eigenbasis)

    def model(columns):
        return conv(x, outside(subs, columns, complete=True, dtype=F64))

    expected = model(columns)
    (wanted,) = torch.autograd.grad(expected.square().sum(), columns)
    basis = eigenbasis(subs, columns, complete=True, dtype=F64)
    layer, whole = torch.compile(conv, backend="aot_eager"), torch.compile(model, backend="aot_eager")
    for y in (layer(x, basis), whole(columns)):
        torch.testing.assert_close(y, expected)
        torch.testing.assert_close(torch.autograd.grad(y.square().sum(), columns)[0], wanted)


def test_the_network_passes_gradients_on_to_edge_weights():
    subs, net = weighted(), make_net()
    columns = randn(subs.num_nodes, 1)  # without a symmetry: the largest of rows that tie has no derivative

    def run(weight):
        basis = eigenbasis(replace(subs, weight=weight), columns, complete=True, dtype=F64)
        return net(LinkBatch(basis, subs.node, distance_encoding(subs), subs.degree.double(), subs.u, subs.v))

    assert gradcheck(run, (subs.weight.clone().requires_grad_(),), eps=1e-7, atol=1e-4)
