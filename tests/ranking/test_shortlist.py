"""The shortlist against scikit-learn's logistic regression on the same inputs."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression

from llwlc.ranking._shortlist import RIDGE, Shortlist, fit_shortlist


def problem(seed: int, number: int = 600, width: int = 5):
    """Scores in lists, inputs of which the first is 0 for about half of the pairs, and labels that hang on both,
    otherwise for pairs that share.
    """
    rng = np.random.default_rng(seed)
    listed, inputs = rng.normal(size=number), rng.normal(size=(number, width)) * rng.uniform(0.1, 20, size=width)
    inputs[:, 0] = np.maximum(inputs[:, 0], 0)
    shares = inputs[:, 0] > 0
    standard = inputs / inputs.std(0)
    logit = listed + standard @ rng.normal(size=width) + shares * (1 - 2 * listed) - 2
    label = rng.random(number) < 1 / (1 + np.exp(-logit))
    label[:2] = [False, True]
    return torch.from_numpy(listed).float(), torch.from_numpy(inputs).float(), torch.from_numpy(label).float()


def design(listed: torch.Tensor, inputs: torch.Tensor) -> np.ndarray:
    """Standardised inputs and 1, and both again for pairs that share a neighbour."""
    raw = np.column_stack([listed.numpy(), inputs.numpy()]).astype(np.float64)
    plain = np.column_stack([(raw - raw.mean(0)) / raw.std(0, ddof=1), np.ones(len(raw))])
    return np.column_stack([plain, plain * (inputs[:, :1].numpy() > 0)])


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 999), st.integers(1, 6))
def test_the_shortlist_ranks_as_scikit_learns_balanced_regression(seed, width):
    listed, inputs, label = problem(seed, width=width)
    found = fit_shortlist(listed, inputs, label)
    # scikit-learn's classes weigh m / 2 each where ours weigh 1 / 2
    wanted = LogisticRegression(
        C=1 / (RIDGE * len(label)), class_weight="balanced", fit_intercept=False, tol=1e-8, max_iter=2000
    ).fit(design(listed, inputs), label.numpy())
    np.testing.assert_allclose(found.weight, wanted.coef_[0], atol=2e-3)
    assert spearmanr(found.score(listed, inputs), wanted.decision_function(design(listed, inputs))).statistic > 0.9999


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 999))
def test_scores_do_not_depend_on_the_units_of_the_inputs(seed):
    listed, inputs, label = problem(seed)
    other = inputs * torch.tensor([3.0, 0.01, 100.0, 7.0, 1.0])
    a, b = fit_shortlist(listed, inputs, label).score(listed, inputs), fit_shortlist(listed, other, label)
    assert torch.allclose(a, b.score(listed, other), atol=1e-2)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e4])
def test_inputs_that_never_change_leave_scores_finite(value):
    listed, inputs, label = problem(0)
    constant = torch.full_like(inputs, value)
    for first, second in ((listed, constant), (torch.full_like(listed, value), constant)):
        found = fit_shortlist(first, second, label)
        assert all(map(math.isfinite, found.weight))
        assert torch.isfinite(found.score(first, second)).all()
    found = fit_shortlist(listed, constant, label)
    assert abs(spearmanr(found.score(listed, constant), listed).statistic) > 0.9999


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_labels_of_one_class_leave_scores_finite(label):
    listed, inputs, _ = problem(1)
    score = fit_shortlist(listed, inputs, torch.full((600,), label)).score(listed, inputs)
    assert torch.isfinite(score).all()
    assert ((score > 0) == bool(label)).all()


def test_classes_that_a_line_parts_are_parted_with_finite_weights():
    listed = torch.linspace(-1, 1, 100)
    found = fit_shortlist(listed, torch.zeros(100, 2), (listed > 0).float())
    score = found.score(listed, torch.zeros(100, 2))
    assert torch.equal(score > 0, listed > 0)
    assert all(map(math.isfinite, found.weight))


def test_a_rare_class_weighs_as_much_as_a_common_one():
    listed = torch.cat([torch.linspace(-1, 1, 1000) - 0.5, torch.linspace(-1, 1, 10) + 0.5])
    label = torch.cat([torch.zeros(1000), torch.ones(10)])
    found = fit_shortlist(listed, torch.zeros(1010, 1), label)
    assert float(found.score(torch.zeros(1), torch.zeros(1, 1))[0]) == pytest.approx(0, abs=0.1)


def test_pairs_that_share_a_neighbour_have_weights_of_their_own():
    # one raw input beside the list's score: weights of (listed, input, 1), then what sharing adds
    made = Shortlist((1.0, 0.0), (2.0, 1.0), (1.0, 0.0, 0.5, 10.0, 0.0, 100.0))
    found = made.score(torch.tensor([3.0, 3.0]), torch.tensor([[0.0], [2.0]]))
    assert found.tolist() == pytest.approx([1.5, 111.5])


def test_a_link_and_another_candidate_are_enough():
    listed, inputs = torch.tensor([0.3, 0.5]), torch.tensor([[1.0, 2.0], [0.0, 1.0]])
    score = fit_shortlist(listed, inputs, torch.tensor([1.0, 0.0])).score(listed, inputs)
    assert score[0] > 0 > score[1]
