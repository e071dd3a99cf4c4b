"""Calibration: known truths, scikit-learn's logistic regression, Bayes' rule."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from llwlc.errors import InputError
from llwlc.training._calibration import Calibration, fit_calibration


def two_classes(slope: float, offset: float, n: int = 100_000) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores whose log-odds, with both classes equally many, are slope · score + offset: normal ones of one
    variance.
    """
    g = torch.Generator().manual_seed(0)
    gap, middle = slope, -offset / slope  # with variance 1 the log-odds are gap · (score − middle)
    pos = middle + gap / 2 + torch.randn(n, generator=g, dtype=torch.float64)
    neg = middle - gap / 2 + torch.randn(n, generator=g, dtype=torch.float64)
    return pos, neg


@pytest.mark.parametrize(("slope", "offset"), [(1.0, 0.0), (2.0, -1.0), (0.5, 3.0)])
def test_known_slope_and_offset_are_found(slope, offset):
    found = fit_calibration(*two_classes(slope, offset))
    assert abs(found.slope - slope) < 0.03
    assert abs(found.offset - offset) < 0.05


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_classes_of_unlike_size_weigh_the_same(share):
    pos, neg = two_classes(1.5, -0.5)
    found = fit_calibration(pos[: int(share * len(pos))], neg[: int((1 - share) * len(neg))])
    assert abs(found.slope - 1.5) < 0.05
    assert abs(found.offset + 0.5) < 0.08


def test_calibration_equals_scikit_learns_logistic_regression_with_platts_targets():
    pos, neg = (part[:120] for part in two_classes(1.0, 0.5))
    found = fit_calibration(pos, neg)
    # a target t between 0 and 1 is a link of weight t and a non-link of weight 1 − t
    score = torch.cat([pos, neg]).repeat(2).numpy()[:, None]
    target = np.r_[np.full(120, 121 / 122), np.full(120, 1 / 122)]
    label, weight = np.r_[np.ones(240), np.zeros(240)], np.r_[target, 1 - target]
    theirs = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(score, label, weight)
    assert abs(found.slope - theirs.coef_[0, 0]) < 1e-5
    assert abs(found.offset - theirs.intercept_[0]) < 1e-5


def test_separable_scores_stay_finite_and_not_quite_sure():
    found = fit_calibration(torch.linspace(1, 2, 50), torch.linspace(-2, -1, 50))
    p = found.probability(torch.tensor([1.5, -1.5]))
    assert 0.9 < p[0] < 1
    assert 0 < p[1] < 0.1


@pytest.mark.parametrize("scale", [1e-3, 1e-1, 10.0, 1e3, 1e5, 1e8])
def test_the_unit_of_scores_does_not_matter(scale):
    pos, neg = (part[:2000] for part in two_classes(1.0, 0.5))
    base, scaled = fit_calibration(pos, neg), fit_calibration(scale * pos, scale * neg)
    torch.testing.assert_close(scaled.probability(scale * pos), base.probability(pos), rtol=0, atol=1e-4)


@pytest.mark.parametrize("neg", [[0.0, 0.0], [5.0, 7.0]])
def test_scores_worse_than_chance_are_not_reversed(neg):
    found = fit_calibration(torch.zeros(2), torch.tensor(neg))
    p = found.probability(torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64))
    assert p[0] < p[1] < p[2]


def test_scores_of_one_class_alone_are_refused():
    for pos, neg in ((torch.zeros(0), torch.zeros(3)), (torch.zeros(3), torch.zeros(0))):
        with pytest.raises(InputError, match="at least one link and one non-link"):
            fit_calibration(pos, neg)


@settings(deadline=None, max_examples=50)
@given(score=st.floats(-8, 8), prior=st.floats(0.001, 0.999), slope=st.floats(0.1, 3), offset=st.floats(-2, 2))
def test_another_prior_is_bayes_rule(score, prior, slope, offset):
    calibration = Calibration(slope, offset)
    s = torch.tensor([score], dtype=torch.float64)
    even = float(calibration.probability(s))
    bayes = even * prior / (even * prior + (1 - even) * (1 - prior))
    assert abs(float(calibration.probability(s, prior)) - bayes) < 1e-9


def test_a_prior_of_one_half_changes_nothing():
    s = torch.linspace(-3, 3, 7)
    torch.testing.assert_close(Calibration().probability(s), s.sigmoid())


@pytest.mark.parametrize("prior", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_a_prior_outside_0_to_1_is_refused(prior):
    with pytest.raises(InputError, match="prior is the share"):
        Calibration().probability(torch.zeros(1), prior)


def test_two_links_do_not_make_certainty():
    few = fit_calibration(torch.tensor([0.300, 0.301]), torch.tensor([0.299, 0.298]))
    assert few.slope == pytest.approx(1, abs=0.2)
    assert 0.3 < float(few.probability(torch.tensor(2.0))) < 0.95


def test_a_probability_has_the_same_bits_alone_and_in_any_batch():
    score = 3 * torch.randn(1003, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    calibration = Calibration(1.3, -0.2)
    together = calibration.probability(score, prior=0.1)
    for size in (1, 7, 100):
        assert torch.equal(
            torch.cat([calibration.probability(part, prior=0.1) for part in score.split(size)]), together
        )
    assert torch.allclose(together, torch.sigmoid(1.3 * score - 0.2 + math.log(0.1 / 0.9)), rtol=1e-14, atol=0)
