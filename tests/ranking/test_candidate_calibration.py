"""Probabilities of candidates: fitted on data drawn from the model, they are the model's."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from llwlc.errors import InputError
from llwlc.ranking import _curve_fitting as curve_fitting
from llwlc.ranking._candidate_calibration import (
    CalibrationCurve,
    CandidateCalibration,
    piece_factors,
    ratio_from_share,
)
from llwlc.ranking._curve_fitting import (
    REFITS,
    Likelihood,
    StageCounts,
    fit_candidate_calibration,
    fit_counts,
    fit_curve,
)
from llwlc.training._calibration import Calibration


def line(score: np.ndarray) -> np.ndarray:
    return -1.5 + 1.5 * score


def bent(score: np.ndarray) -> np.ndarray:
    """Steep first, then flat: as scores are that luck has raised."""
    return -1 + np.where(score < 2, 1.5 * (score - 2), 0.4 * (score - 2))


def drawn(truth, number: int, rho: float, other: float, seed: int = 0):
    """Scores of candidates, and which are hidden validation links: odds R ρ : R other : 1."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=number)
    ratio = np.exp(truth(score))
    hidden = rng.random(number) < ratio * rho / (1 + ratio * (rho + other))
    return torch.from_numpy(score).float(), torch.from_numpy(hidden)


def chance(log_ratio: np.ndarray, rho: float) -> np.ndarray:
    return 1 / (1 + np.exp(-log_ratio) / rho)


@pytest.mark.parametrize("truth", [line, bent])
@pytest.mark.parametrize(("rho", "other"), [(0.5, 0.0), (0.5, 0.5), (0.1, 0.3), (0.3, 0.05)])
def test_probabilities_are_within_a_few_points_of_the_truth_whatever_else_is_hidden(monkeypatch, truth, rho, other):
    monkeypatch.setattr(curve_fitting, "REFITS", 1)
    at, found = np.array([-1.5, -1.0, 0.0, 1.0, 1.6, 2.3]), []  # up to the best hundredth
    for seed in range(5):
        score, hidden = drawn(truth, 40_000, rho, other, seed)
        curve = fit_curve(score, hidden, rho, other)
        assert curve.links == int(hidden.sum())
        found.append(curve.log_ratio(torch.from_numpy(at)).numpy())
    for missing in (0.1, 0.5, 1.0):
        wanted = chance(truth(at), missing)
        np.testing.assert_allclose(chance(np.array(found), missing).mean(0), wanted, atol=0.04)
        np.testing.assert_allclose(chance(np.array(found), missing), [wanted] * 5, atol=0.12)


def test_ignoring_other_hidden_links_biases_the_fit():
    truth = lambda s: 1 + 1.5 * s  # noqa: E731 - most candidates are links here
    score, hidden = drawn(truth, 40_000, 0.5, 1.5)
    at = torch.tensor([0.0, 1.0, 2.0])
    told = fit_curve(score, hidden, 0.5, 1.5).log_ratio(at)
    ignored = fit_curve(score, hidden, 0.5, 0.0).log_ratio(at)
    np.testing.assert_allclose(told[:2], truth(at.numpy())[:2], atol=0.4)
    assert (ignored < told - 0.5).all()


@settings(deadline=None, max_examples=15)
@given(st.integers(1, 2_500), st.floats(0.01, 2), st.floats(0, 2), st.floats(0, 1), st.integers(0, 999))
def test_a_larger_score_is_never_less_likely_even_where_the_data_says_so(number, rho, other, share, seed):
    rng = np.random.default_rng(seed)
    score = torch.from_numpy(rng.normal(size=number) * 10.0 ** rng.integers(-2, 3)).float()
    # the fewer the better ones
    hidden = torch.from_numpy(rng.random(number) < share * (score.numpy() < 0))
    curve = fit_curve(score, hidden, rho, other)
    at = torch.linspace(float(score.min()) - 1, float(score.max()) + 1, 200)
    for values in (curve.log_ratio(at).unsqueeze(0), curve.draws(at)):
        assert torch.isfinite(values).all()
        assert (values.diff(dim=1) >= -1e-9).all()


def test_the_fewer_links_the_wider_the_draws():
    width = []
    for number in (300, 3_000, 30_000):
        score, hidden = drawn(line, number, 0.3, 0.1)
        width.append(float(fit_curve(score, hidden, 0.3, 0.1).draws(torch.tensor([0.0, 1.0])).std(0).mean()))
    assert width[0] > 1.5 * width[1] > 2 * width[2] > 0


def test_the_truth_lies_within_the_draws():
    at, inside = torch.tensor([0.0, 1.0]), []
    for seed in range(10):
        score, hidden = drawn(line, 2_000, 0.3, 0.1, seed)
        draws = fit_curve(score, hidden, 0.3, 0.1).draws(at).numpy()
        truth = line(at.numpy())
        inside += list((draws.min(0) <= truth) & (truth <= draws.max(0)))
    assert np.mean(inside) > 0.7


@pytest.mark.parametrize(("rho", "other"), [(0.5, 0.0), (0.1, 0.3)])
def test_the_draws_lie_about_the_curve_where_most_of_the_best_are_links(rho, other):
    score, hidden = drawn(line, 20_000, rho, other)
    curve = fit_curve(score, hidden, rho, other)
    assert len(curve.others) == REFITS
    at = torch.tensor([0.0, 1.0, 2.0, 2.5])
    middle = chance(curve.draws(at).numpy(), rho).mean(0)
    np.testing.assert_allclose(middle, chance(curve.log_ratio(at).numpy(), rho), atol=0.03)


@pytest.mark.parametrize("number", [0, 1, 5, 3_000])
@pytest.mark.parametrize("told", [False, True])
def test_no_candidate_none_hidden_and_all_hidden_are_calibrated_too(number, told):
    score = torch.linspace(-3, 3, number)
    hidden = torch.full((number,), told)
    found = fit_candidate_calibration(score, score > 0, hidden, rho=0.1, other=0.1)
    at, sharing = torch.tensor([-1.0, 0.0, 1.0]), torch.tensor([True, False, True])
    assert torch.isfinite(found.log_ratio(at, sharing)).all()
    assert found.draws(at, sharing).shape == (REFITS, 3)
    assert torch.isfinite(found.draws(at, sharing)).all()
    if number == 3_000 and not told:
        assert (found.log_ratio(at, sharing) < -2).all()


def test_all_scores_alike_give_the_share_of_links():
    hidden = torch.arange(5_000) % 20 == 0
    curve = fit_curve(torch.full((5_000,), 0.7), hidden, 0.1, 0.0)
    # R ρ / (1 + R ρ) is one in twenty
    assert math.exp(float(curve.log_ratio(torch.tensor([0.7]))[0])) * 0.1 == pytest.approx(1 / 19, rel=0.1)


def test_each_kind_of_candidate_is_ranked_and_drawn_by_its_own_curve():
    score, sharing = torch.tensor([0.0, 1.0, 2.0, 3.0]), torch.tensor([True, False, True, False])
    both = CandidateCalibration(
        sharing=CalibrationCurve(1.0, (2.0,), (0.5, math.log(2.0), math.log(0.5)), ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))),
        apart=CalibrationCurve(0.0, (), (-1.0, 0.0), ((-2.0, 0.0), (-3.0, 0.0))),
    )
    # sharing: 0.5 at 1, slope 2 up to 2, then 0.5; apart: score − 1
    assert both.log_ratio(score, sharing).tolist() == pytest.approx([-1.5, 0.0, 2.5, 2.0])
    assert both.log_ratio(torch.tensor([3.0]), torch.tensor([True])).tolist() == pytest.approx([3.0])
    assert both.draws(score, sharing).tolist() == [[-1.0, -1.0, 1.0, 1.0], [0.0, -2.0, 2.0, 0.0]]


def test_kinds_with_curves_apart_are_fitted_apart():
    first, hit = drawn(line, 20_000, 0.3, 0.0)
    second, far = drawn(lambda s: line(s) - 2, 20_000, 0.3, 0.0, seed=1)
    sharing = torch.arange(40_000) < 20_000
    both = fit_candidate_calibration(torch.cat([first, second]), sharing, torch.cat([hit, far]), rho=0.3, other=0.0)
    at = torch.tensor([0.5, 0.5])
    found = both.log_ratio(at, torch.tensor([True, False])).numpy()
    np.testing.assert_allclose(found, line(at.numpy()) - [0, 2], atol=0.35)
    # among so many candidates, the other kind has next to no weight
    torch.testing.assert_close(
        both.sharing.log_ratio(at), fit_curve(first, hit, 0.3, 0.0).log_ratio(at), atol=0.01, rtol=0
    )


def test_a_run_without_calibrated_candidates_takes_what_it_knows_of_random_pairs():
    found = CandidateCalibration.as_random(Calibration(slope=2.0, offset=-1.0))
    score = torch.tensor([0.0, 1.5])
    for sharing in (torch.tensor([True, False]), torch.tensor([False, True])):
        assert found.log_ratio(score, sharing).tolist() == pytest.approx([-1.0, 2.0])
        assert found.draws(score, sharing).tolist() == [pytest.approx([-1.0, 2.0])]


def test_the_order_of_candidates_does_not_matter():
    score, hidden = drawn(line, 3_000, 0.3, 0.1)
    order = torch.randperm(3_000, generator=torch.Generator().manual_seed(0))
    assert fit_curve(score, hidden, 0.3, 0.1) == fit_curve(score[order], hidden[order], 0.3, 0.1)


@pytest.mark.parametrize("unit", [2.0**-12, 2.0**12])
def test_the_scale_of_scores_that_are_not_log_odds_does_not_matter(unit):
    score, hidden = drawn(bent, 20_000, 0.1, 0.2)
    plain, scaled = fit_curve(score, hidden, 0.1, 0.2), fit_curve(unit * score, hidden, 0.1, 0.2, unit)
    assert torch.allclose(scaled.log_ratio(unit * score), plain.log_ratio(score), atol=1e-9)
    assert torch.allclose(scaled.draws(unit * score), plain.draws(score), atol=1e-9)
    far = fit_curve(unit * score, hidden, 0.1, 0.2)
    assert not torch.allclose(far.log_ratio(unit * score), plain.log_ratio(score), atol=0.1), (
        "else the unit would not be needed"
    )


@pytest.mark.parametrize("links", [2, 40])
def test_few_links_say_little_about_scores_beyond_those_they_were_seen_with(links):
    score = torch.linspace(-12, -8, 400)
    hidden = torch.zeros(400, dtype=torch.bool)
    hidden[-10 * links :: 10] = True
    curve = fit_curve(score, hidden, 0.1, 0.1)
    assert curve.links == links
    at, beyond = curve.log_ratio(torch.tensor([-8.0, 2.0])).tolist()
    slope = 10 * (at - curve.log_ratio(torch.tensor([-8.1])).item())
    assert beyond > at
    assert beyond - at == pytest.approx((1.0 if links == 2 else 10.0) * slope, rel=1e-4)
    assert curve.draws(torch.tensor([2.0])).shape == (curve_fitting.REFITS, 1)


def test_a_share_of_missing_links_is_turned_into_their_number_for_each_known_one():
    assert ratio_from_share(0.5) == 1
    assert ratio_from_share(0.1) == pytest.approx(1 / 9)
    for share in (0, 1, -0.1, 1.5, math.nan, math.inf):
        with pytest.raises(InputError, match="above 0 and below 1, got"):
            ratio_from_share(share)


@pytest.mark.parametrize("seed", range(6))
def test_the_fit_is_as_likely_as_the_one_that_scipy_finds(seed):
    """The maximum of the posterior, by a method without derivatives."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=400) - 2 * (rng.random(400) < 0.8)
    hidden = rng.random(400) < 0.9 / (1 + np.exp(-3 * score))
    stage = StageCounts.of(torch.from_numpy(score), torch.from_numpy(hidden), 0.05, 0.2)
    curve = fit_counts([stage])
    assert curve.links >= curve_fitting.FEW
    hits, count = np.array(stage.hits), np.array(stage.count)
    pieces = piece_factors(torch.tensor(stage.score), curve.centre, curve.knots).numpy()
    likelihood = Likelihood(stage.rho, stage.other)
    first = likelihood.log_ratio(hits, count)

    def loss(theta: np.ndarray) -> float:
        slopes = theta[1:]
        prior = ((theta[0] - first) / curve_fitting.OFFSET) ** 2 + (slopes[0] / curve_fitting.SLOPE) ** 2
        for change in np.diff(slopes) + curve_fitting.DROP:
            prior += (change / (curve_fitting.STEEPER if change > 0 else curve_fitting.FLATTER)) ** 2
        return prior / 2 - likelihood(pieces @ np.append(theta[:1], np.exp(slopes)), hits, count)

    start = np.append(first, np.zeros(len(curve.weights) - 1))
    best = minimize(loss, start, method="Nelder-Mead", options={"maxiter": 20_000, "fatol": 1e-9, "xatol": 1e-6})
    assert loss(np.array(curve.weights)) <= best.fun + 1e-4
