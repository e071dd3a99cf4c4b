"""Filters on the eigenvectors of a whole graph: the formula, invariances, gradients."""

import pytest
import torch

from llwlc.nn._global_filters import START, GlobalFilters, GlobalNet

GENERATOR = torch.Generator().manual_seed(3)
VALUES = torch.tensor([[0.1, 0.1, 0.4, 1.7]], dtype=torch.float64)
KNOWN = torch.ones(1, 4, dtype=torch.bool)
U, V = torch.randn(2, 5, 4, generator=GENERATOR, dtype=torch.float64)
ZERO = torch.zeros(5, dtype=torch.long)


@torch.no_grad()
def test_filters_are_softmaxes_of_their_exponents():
    filters = GlobalFilters().double()
    f = filters.filters(VALUES, KNOWN)[0]
    torch.testing.assert_close(f.sum(1), torch.ones(len(START), dtype=torch.float64))
    lam = VALUES[0]
    for row, exponent in (
        (0, -4 * lam),  # a diffusion
        (4, -(lam + 3e-3).log()),  # a resolvent
        (7, -16 * (2 - lam)),
    ):
        torch.testing.assert_close(f[row], exponent.exp() / exponent.exp().sum(), rtol=1e-5, atol=0)
    size, apart, cosine = filters(VALUES, KNOWN, ZERO, U, V).chunk(3, 1)
    for i in range(5):
        for s in range(len(START)):
            c = sum(f[s, k] * U[i, k] * V[i, k] for k in range(4))
            d = sum(f[s, k] * (U[i, k] - V[i, k]) ** 2 for k in range(4))
            q = sum(f[s, k] * U[i, k] ** 2 for k in range(4)) * sum(f[s, k] * V[i, k] ** 2 for k in range(4))
            assert size[i, s] == pytest.approx(float(c.sign() * c.abs().log1p()), abs=1e-9)
            assert apart[i, s] == pytest.approx(float((d + 1e-6).log()), abs=1e-9)
            assert cosine[i, s] == pytest.approx(float(c / q.sqrt()), abs=1e-3)


def test_signs_and_rotations_inside_a_cluster_do_not_matter():
    filters = GlobalFilters().double()
    turn = torch.eye(4, dtype=torch.float64)
    turn[:2, :2] = torch.tensor([[0.6, -0.8], [0.8, 0.6]])  # λ₁ = λ₂
    turn[2, 2] = -1
    before = filters(VALUES, KNOWN, ZERO, U, V)
    torch.testing.assert_close(filters(VALUES, KNOWN, ZERO, U @ turn, V @ turn), before)
    torch.testing.assert_close(filters(VALUES, KNOWN, ZERO, V, U), before)


def test_a_pair_has_the_same_channels_alone_and_among_padded_graphs():
    filters = GlobalFilters().double()
    values = torch.tensor([[0.1, 0.1, 0.4, 1.7, 0, 0], [0.2, 0.3, 0.5, 0.6, 1.1, 1.9]], dtype=torch.float64)
    known = torch.tensor([[True] * 4 + [False] * 2, [True] * 6])
    padded = [torch.nn.functional.pad(x, (0, 2)) for x in (U, V)]
    among = filters(values, known, torch.tensor([0, 1, 0, 1, 0]), *padded)
    torch.testing.assert_close(among[::2], filters(VALUES, KNOWN, ZERO, U, V)[::2])


def test_a_graph_without_vectors_has_finite_channels():
    filters = GlobalFilters()
    empty = torch.zeros(1, 0), torch.zeros(1, 0, dtype=torch.bool)
    assert filters(*empty, ZERO, torch.zeros(5, 0), torch.zeros(5, 0)).isfinite().all()
    among = torch.tensor([[0.1, 0.2], [0.0, 0.0]]), torch.tensor([[True, True], [False, False]])
    out = filters(*among, torch.tensor([1, 1, 0, 0, 1]), torch.zeros(5, 2), torch.zeros(5, 2))
    assert out.isfinite().all()


def test_gradients_of_global_filters_pass_gradcheck():
    filters = GlobalFilters().double()

    def channels(weight, values, u, v):
        return torch.func.functional_call(filters, {"weight": weight}, (values, KNOWN, ZERO, u, v))

    inputs = [x.detach().clone().requires_grad_() for x in (filters.weight, VALUES, U, V)]
    assert torch.autograd.gradcheck(channels, inputs)


def test_the_network_scores_each_pair_by_itself():
    net = GlobalNet(num_statistics=3).double().eval()
    statistics = torch.randn(5, 3, generator=GENERATOR, dtype=torch.float64)
    whole = net(VALUES, KNOWN, ZERO, U, V, statistics)
    alone = torch.cat([net(VALUES, KNOWN, ZERO[:1], U[[i]], V[[i]], statistics[[i]]) for i in range(5)])
    torch.testing.assert_close(whole, alone, rtol=0, atol=1e-12)
    assert sum(p.numel() for p in net.parameters()) < 66_000 / 3


def test_reset_parameters_gives_the_initial_filters_again():
    net = GlobalNet(num_statistics=1)
    before = net.filters.weight.clone()
    with torch.no_grad():
        net.filters.weight.add_(1)
    net.reset_parameters()
    assert torch.equal(net.filters.weight, before)
