"""BREC's procedure, and the network that goes through it."""

import networkx as nx
import numpy as np
import pytest
import torch

from research.expressivity.families import Pair, adjacency, paper, relabel, skip_link
from research.expressivity.learned import SubsetNet, choose_order, learn
from research.expressivity.rpc import COPIES, OUTPUTS, THRESHOLD, PairedComparison, compare_pair, t_squared

CYCLES, SQUARES = paper()


def test_t_squared_is_hotellings_without_the_factor_q():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, COPIES, OUTPUTS))
    D = x - y
    mean, S = D.mean(0), np.cov(D, rowvar=False)
    assert t_squared(x, y) == pytest.approx(float(mean @ np.linalg.solve(S, mean)))


def test_threshold_is_the_95_percent_point():
    from scipy.stats import f

    point = (COPIES - 1) * OUTPUTS / (COPIES - OUTPUTS) * f.ppf(0.95, OUTPUTS, COPIES - OUTPUTS)
    assert point == pytest.approx(THRESHOLD, abs=0.05)


def test_a_pair_is_separated_above_the_threshold_and_unreliable_if_copies_are_too():
    assert PairedComparison(100.0, 1.0).separated
    assert PairedComparison(100.0, 1.0).reliable
    assert not PairedComparison(10.0, 1.0).separated
    assert not PairedComparison(100.0, 100.0).separated
    assert not PairedComparison(100.0, 100.0).reliable


def test_an_embedding_that_separates_a_graph_from_itself_is_caught():
    """A draw that belongs to the position in the batch, not to the graph: every second copy is moved."""
    rng, calls = np.random.default_rng(0), iter(range(1000))
    result = compare_pair(lambda graph: next(calls) % 2 * 5.0 + 1e-3 * rng.normal(size=OUTPUTS), CYCLES)
    assert not result.reliable


def test_noise_separates_nothing():
    rng = np.random.default_rng(0)
    result = compare_pair(lambda graph: rng.normal(size=OUTPUTS), SQUARES)
    assert result.reliable
    assert not result.separated


@pytest.mark.parametrize("k", [0, 1, 2])
def test_network_does_not_see_the_order_of_nodes(k):
    net = SubsetNet(order=k, seed=0)
    with torch.no_grad():
        one, other = net(SQUARES.a), net(relabel(SQUARES.a, 5))
    assert (one - other).abs().max() < 1e-11


def test_gradients_are_those_of_finite_differences():
    net, a = SubsetNet(order=1, seed=2), adjacency(nx.path_graph(5))
    weight = torch.linspace(0.5, 1.5, OUTPUTS, dtype=torch.float64)
    (net(a) @ weight).backward()
    for parameter in net.parameters():
        direction = torch.randn(parameter.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        with torch.no_grad():
            parameter += 1e-6 * direction
            up = net(a) @ weight
            parameter -= 2e-6 * direction
            down = net(a) @ weight
            parameter += 1e-6 * direction
        expected = ((up - down) / 2e-6).item()
        assert (parameter.grad * direction).sum().item() == pytest.approx(expected, rel=1e-2, abs=1e-6)


def test_rook_and_shrikhande_are_learned():
    result = learn(SQUARES, epochs=2, largest=2)
    assert result.order == 2
    assert result.comparison.separated
    assert result.comparison.reliable


def test_what_the_invariant_leaves_together_is_not_learned():
    """One deleted vertex does not separate them, whatever the weights."""
    result = learn(SQUARES, epochs=2, largest=1)
    assert not result.comparison.separated
    assert result.comparison.reliable


def test_a_graph_and_its_copy_are_not_separated():
    a = adjacency(skip_link(11, 3))
    result = learn(Pair("", a, relabel(a, 9)), epochs=2, largest=2)
    assert not result.comparison.separated
    assert result.comparison.reliable


def test_training_lowers_the_loss():
    before, after = learn(CYCLES, epochs=8, largest=1).loss
    assert after < before


def test_order_fits_the_budget():
    assert choose_order(10, largest=2) == 2
    assert choose_order(3) == 2
    assert choose_order(1) == 0
