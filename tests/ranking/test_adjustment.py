"""The adjustment of candidates' scores: fitted on data drawn from the model, it is the model's; with few links it
leaves the network alone; in the network it is what it was outside.
"""

import copy

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.special import expit

from llwlc.bases._config import BasisConfig
from llwlc.graph._graph import Graph
from llwlc.models._llwlc.model import LLwLC
from llwlc.models._llwlc.scoring import CANDIDATES_OUTPUT, RANDOM_OUTPUT, Scorer
from llwlc.nn._config import NetConfig
from llwlc.nn._net import LLwLCNet
from llwlc.ranking._adjustment import OFFSET, SLOPE, WEIGHT, fit_adjustment
from llwlc.ranking._curve_fitting import Likelihood
from llwlc.training._adjustment import Adjustment
from llwlc.training._node_features import NodeFeatures

RHO, OTHER = 0.2, 0.4
TRUE = {True: (0.8, [0.5, -0.3, 0.0]), False: (1.2, [0.0, 0.4, -0.6])}
"""Slope and weights for pairs that share a neighbour, and for those that do not."""


def drawn(number: int, seed: int = 0):
    """Scores, inputs, kinds, and which candidates are validation links, by the model."""
    rng = np.random.default_rng(seed)
    sharing, score, inputs = rng.random(number) < 0.5, rng.normal(size=number), rng.normal(size=(number, 3))
    eta = np.full(number, -1.0)
    for kind, (slope, weight) in TRUE.items():
        eta = np.where(sharing == kind, eta + slope * score + inputs @ weight, eta)
    hidden = rng.random(number) < np.exp(eta) * RHO / (1 + np.exp(eta) * (RHO + OTHER))
    return tuple(map(torch.from_numpy, (score, inputs, sharing, hidden)))


def test_the_adjustment_recovers_the_true_model_from_many_links():
    found = fit_adjustment(*drawn(200_000), rho=RHO, other=OTHER)
    for at, (slope, weight) in enumerate((TRUE[True], TRUE[False])):
        assert found.slope[at] == pytest.approx(slope, abs=0.05)
        assert found.weight[at] == pytest.approx(weight, abs=0.05)


@pytest.mark.parametrize("number", [40, 400, 4_000])
def test_the_adjustment_maximises_the_posterior(number):
    score, inputs, sharing, hidden = drawn(number, seed=1)
    found = fit_adjustment(score, inputs * 7 + 3, sharing, hidden, rho=RHO, other=OTHER)
    for at, mine in enumerate((sharing, ~sharing)):
        s, x, y = (part[mine].double().numpy() for part in (score, inputs, hidden))
        x = (x - x.mean(0)) / x.std(0)
        first = Likelihood(RHO, OTHER).log_ratio(float(y.sum()), len(y))

        def loss(t, s=s, x=x, y=y, first=first):
            ratio = np.exp(t[0] + t[1] * (s - s.mean()) + x @ t[2:])
            likely = np.where(y > 0, ratio * RHO, 1 + ratio * OTHER) / (1 + ratio * (RHO + OTHER))
            prior = ((t[0] - first) / OFFSET) ** 2 + ((t[1] - 1) / SLOPE) ** 2 + (t[2:] ** 2).sum() / WEIGHT**2
            return prior / 2 - np.log(likely).sum()

        best = minimize(loss, np.array([first, 1.0, 0, 0, 0]), method="BFGS", options={"gtol": 1e-8}).x
        assert found.slope[at] == pytest.approx(best[1], abs=1e-4)
        spread = inputs[mine].double().numpy().std(0) * 7
        assert np.array(found.weight[at]) * spread == pytest.approx(best[2:], abs=1e-4)


def test_derivatives_are_those_of_the_likelihood():
    likelihood, eta = Likelihood(RHO, OTHER), np.linspace(-3, 4, 9)
    hits, count, step = np.arange(9.0), np.full(9, 20.0), 1e-5
    slope, curvature = likelihood.derivatives(eta, hits, count)
    for at in range(9):
        moved = np.eye(9)[at] * step
        up, down = (likelihood(eta + side * moved, hits, count) for side in (1, -1))
        assert slope[at] == pytest.approx((up - down) / (2 * step), abs=1e-4)
        up, down = (likelihood.derivatives(eta + side * moved, hits, count)[0][at] for side in (1, -1))
        assert curvature[at] == pytest.approx(max((down - up) / (2 * step), 1e-9 * 20), abs=1e-4)
    assert expit(likelihood.log_ratio(50, 1000) + np.log(RHO)) == pytest.approx(0.05 / (1 - 0.05 * 2), rel=0.1)


def test_without_links_or_candidates_nothing_changes_and_few_links_change_little():
    score, inputs, sharing, _ = drawn(500)
    nothing = Adjustment((1.0, 1.0), ((0.0,) * 3, (0.0,) * 3))
    assert fit_adjustment(score, inputs, sharing, torch.zeros(500, dtype=bool), rho=RHO, other=OTHER) == nothing
    assert fit_adjustment(score[:0], inputs[:0], sharing[:0], sharing[:0], rho=RHO, other=OTHER) == nothing
    few = fit_adjustment(score, inputs, sharing, torch.arange(500) == 7, rho=RHO, other=OTHER)
    assert all(abs(value) < 0.3 for weight in few.weight for value in weight)
    assert all(0.5 < slope < 1.6 for slope in few.slope)


def test_an_input_that_is_the_same_for_all_has_no_weight():
    score, inputs, sharing, hidden = drawn(5_000)
    inputs[sharing, 1] = 4.0
    found = fit_adjustment(score, inputs, sharing, hidden, rho=RHO, other=OTHER)
    assert found.weight[0][1] == 0
    assert found.weight[1][1] != 0


@pytest.mark.parametrize("by_torch", [False, True])
def test_an_adjusted_network_changes_candidate_scores_only(by_torch):
    whole = nx.barabasi_albert_graph(40, 3, seed=1)
    graph = Graph.from_edges(torch.tensor(list(whole.edges)))
    features = NodeFeatures()
    torch.manual_seed(0)
    net = LLwLCNet(NetConfig(filtered_channels=0, cosines=False, pair_channels=features.pair_inputs.channels))
    pairs = torch.tensor(list(nx.non_edges(whole)))[:200]
    inputs = features.pair_inputs(graph, pairs)
    found = Adjustment((0.7, 1.3), ((0.5, -0.25, 2.0, 0.1, 0.3), (0.0, 0.0, 0.0, -0.4, 0.6)))
    model = LLwLC()
    model.net = adjusted = copy.deepcopy(net)
    model.adjust(found)

    def scores(of: LLwLCNet, output: int) -> torch.Tensor:
        return torch.cat(list(Scorer(of, features, by_torch=by_torch).pairs(graph, pairs, BasisConfig(), output)))

    sharing = inputs[:, 0] > 0
    assert 0 < sharing.sum() < len(pairs)
    wanted = found.score(scores(net, CANDIDATES_OUTPUT), inputs, sharing)
    assert torch.allclose(scores(adjusted, CANDIDATES_OUTPUT), wanted, atol=1e-4)
    assert torch.equal(scores(adjusted, RANDOM_OUTPUT), scores(net, RANDOM_OUTPUT))
