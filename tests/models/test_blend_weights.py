"""The weights of a blend: a convex problem whose solution scipy confirms, and a choice that noise does not move."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from llwlc.models._blend_weights import auc_difference, choose_weights, find_best, fit_blend, fit_slope, placements


@pytest.mark.parametrize("seed", range(5))
def test_the_auc_is_scikit_learns_and_the_error_that_of_a_bootstrap(seed):
    rng = np.random.default_rng(seed)
    pos, neg = rng.normal(1, 1, 150).round(1), rng.normal(0, 1, 200).round(1)  # with ties
    other_pos, other_neg = pos + rng.normal(0, 1, 150), neg + rng.normal(0, 1, 200)
    a, b, error = auc_difference(pos, neg, other_pos, other_neg)
    label = np.r_[np.ones(150), np.zeros(200)]
    assert a == pytest.approx(roc_auc_score(label, np.r_[pos, neg]))
    assert b == pytest.approx(roc_auc_score(label, np.r_[other_pos, other_neg]))
    drawn = []
    for _ in range(400):
        i, j = rng.integers(0, 150, 150), rng.integers(0, 200, 200)
        drawn.append(placements(pos[i], neg[j])[0].mean() - placements(other_pos[i], other_neg[j])[0].mean())
    assert error == pytest.approx(np.std(drawn), rel=0.25)


def evidence(rng, signal, links=150, non_links=170):
    """Standardised scores of members; `signal [M]`: how many standard deviations apart links and non-links are."""
    signal = np.asarray(signal, dtype=float)[:, None]
    return (rng.normal(size=(len(signal), n)) + side * signal for n, side in ((links, 0.5), (non_links, -0.5)))


@given(st.integers(0, 10_000), st.sampled_from([1.0, 0.1, 0.01]))
@settings(max_examples=15, deadline=None)
def test_the_weights_are_those_of_scipys_constrained_optimiser(seed, penalty):
    rng = np.random.default_rng(seed)
    pos, neg = evidence(rng, rng.uniform(-1, 2, 4))
    centre = np.array([0.0, 1.0, 0.0, 0.0])

    def loss(theta):
        weight, offset = theta[:-1], theta[-1]
        values = np.logaddexp(0, -(weight @ pos + offset)).mean() + np.logaddexp(0, weight @ neg + offset).mean()
        return values / 2 + penalty / 2 * ((weight - centre) ** 2).sum()

    weight, offset = fit_blend(pos, neg, centre, penalty)
    bounds = LinearConstraint(np.eye(5)[:4], 0, np.inf)
    other = minimize(loss, np.append(centre, 0.0), method="SLSQP", constraints=bounds, options={"ftol": 1e-12})
    assert (weight >= 0).all()
    assert loss(np.append(weight, offset)) <= loss(other.x) + 1e-9
    assert weight == pytest.approx(other.x[:-1], abs=2e-3)
    # the conditions of Karush, Kuhn and Tucker: no gradient where a weight is free, none that asks for a negative one
    slope_pos, slope_neg = expit(-(weight @ pos + offset)), expit(weight @ neg + offset)
    gradient = (neg @ slope_neg / neg.shape[1] - pos @ slope_pos / pos.shape[1]) / 2 + penalty * (weight - centre)
    assert np.abs(gradient[weight > 1e-6]).max(initial=0) < 1e-4
    assert gradient[weight <= 1e-6].min(initial=0) > -1e-4


def test_the_slope_of_one_score_is_that_of_a_logistic_regression():
    pos, neg = evidence(np.random.default_rng(0), [1.5], 300, 300)
    score, label = np.r_[pos[0], neg[0]], np.r_[np.ones(300), np.zeros(300)]
    plain = LogisticRegression(C=np.inf).fit(score[:, None], label)
    slope, offset = fit_slope(pos[0], neg[0])
    assert slope == pytest.approx(float(plain.coef_[0, 0]), rel=0.03)
    assert offset == pytest.approx(float(plain.intercept_[0]), abs=0.03)


@pytest.mark.parametrize("seed", range(4))
def test_members_that_know_different_things_are_blended(seed):
    pos, neg = evidence(np.random.default_rng(seed), [1.3, 1.2, 0.0], 300, 300)
    chosen = choose_weights(pos, neg)
    assert {0, 1} <= set(chosen.kept)
    assert chosen.blend_auc > chosen.auc.max()
    fresh_pos, fresh_neg = evidence(np.random.default_rng(100 + seed), [1.3, 1.2, 0.0], 2_000, 2_000)
    above, alone, _ = auc_difference(
        chosen.weight @ fresh_pos, chosen.weight @ fresh_neg, fresh_pos[chosen.best], fresh_neg[chosen.best]
    )
    assert above > alone + 0.03


def test_beside_noise_the_single_best_stays():
    """In most draws; where chance blends, it costs next to nothing on other links."""
    blended, lost = 0, []
    for seed in range(20):
        pos, neg = evidence(np.random.default_rng(seed), [1.5, *[0.0] * 6], 60, 60)
        chosen = choose_weights(pos, neg)
        assert chosen.best == 0
        blended += len(chosen.kept) > 1
        fresh_pos, fresh_neg = evidence(np.random.default_rng(100 + seed), [1.5, *[0.0] * 6], 2_000, 2_000)
        above, alone, _ = auc_difference(
            chosen.weight @ fresh_pos, chosen.weight @ fresh_neg, fresh_pos[0], fresh_neg[0]
        )
        lost.append(alone - above)
    assert blended <= 5
    assert np.mean(lost) < 0.002
    assert max(lost) < 0.02


def test_where_few_links_do_not_say_which_member_is_best_both_count_and_with_many_the_best_alone():
    few = [choose_weights(*evidence(np.random.default_rng(seed), [1.4, 1.5], 25, 25)) for seed in range(10)]
    assert sum(len(chosen.kept) == 2 for chosen in few) >= 5
    rng = np.random.default_rng(0)
    assert find_best(*evidence(rng, [0.5, 2.0, 0.0], 500, 500), rng).tolist() == [0, 1, 0]
    shared = find_best(*evidence(rng, [1.5, 1.5, 0.0], 60, 60), rng)
    assert shared.sum() == pytest.approx(1)
    assert shared[2] == 0


def test_the_chance_to_be_best_is_that_of_a_bootstrap_with_scikit_learns_weighted_auc():
    rng = np.random.default_rng(3)
    pos, neg = (part.round(1) for part in evidence(rng, [1.2, 1.4], 40, 50))  # with ties
    label, wins, times = np.r_[np.ones(40), np.zeros(50)], 0, 400
    for _ in range(times):
        weight = rng.exponential(size=90)
        both = [roc_auc_score(label, np.r_[a, b], sample_weight=weight) for a, b in zip(pos, neg, strict=True)]
        wins += both[1] > both[0]
    assert find_best(pos, neg, rng)[1] == pytest.approx(wins / times, abs=0.12)


def test_a_copy_of_a_member_and_a_score_without_information_change_nothing():
    pos, neg = evidence(np.random.default_rng(1), [1.5])
    for times in (0, 1):
        twice = choose_weights(np.r_[pos, times * pos], np.r_[neg, times * neg])
        assert twice.kept == [0]
        assert twice.weight[0] == pytest.approx(choose_weights(pos, neg).weight[0], rel=1e-3)


def test_few_links_choose_the_plain_sum_of_the_strong_members():
    whole = 0
    for seed in range(10):
        pos, neg = evidence(np.random.default_rng(seed), [1.3, 1.3, 1.3, 1.3, 0.5], 60, 60)
        chosen = choose_weights(pos, neg, strong=[0, 1, 2])
        assert chosen.equal
        assert set(chosen.kept) <= {0, 1, 2}
        assert chosen.gain == 0
        # and the slope is that of a logistic regression on the sum
        slope = fit_slope(pos[chosen.kept].mean(0), neg[chosen.kept].mean(0))[0]
        assert chosen.weight.sum() == pytest.approx(slope, rel=1e-6)
        whole += len(chosen.kept) == 3
    assert whole >= 7


def test_five_links_that_one_member_ranks_perfectly_leave_no_other_out():
    """Their placements are all alike, so that the standard error is 0."""
    rng = np.random.default_rng(0)
    pos, neg = rng.normal(3, 0.1, (2, 5)), rng.normal(0, 1, (2, 60))
    pos[1] -= 3
    assert auc_difference(pos[0], neg[0], pos[0], neg[0])[2] == 0
    assert choose_weights(pos, neg, strong=[0, 1]).kept == [0, 1]
    few = np.repeat(pos, 5, 1)
    assert choose_weights(few, neg, strong=[0, 1]).kept == [0]


def test_weights_follow_a_member_that_is_far_better_and_keep_the_first_for_its_explanations():
    pos, neg = evidence(np.random.default_rng(0), [0.4, 3.0, 0.4], 60, 60)
    assert choose_weights(pos, neg, strong=[0, 1, 2]).kept == [1]
    weight = choose_weights(pos, neg, strong=[0, 1, 2], first=0.2).weight
    assert weight / weight.sum() == pytest.approx([0.2, 0.8, 0])
    pos, neg = evidence(np.random.default_rng(0), [0.0, 0.3, 3.0], 60, 60)
    assert choose_weights(pos, neg, strong=[0, 1], first=0.2).kept == [2]  # neither trained member has learned much


def test_many_links_move_the_weights_to_those_of_the_likelihood():
    pos, neg = evidence(np.random.default_rng(0), [1.4, 1.3, 1.3, 2.0], 3_000, 3_000)
    chosen = choose_weights(pos, neg, strong=[0, 1, 2])
    assert chosen.gain > chosen.error > 0
    best = np.array([1.4, 1.3, 1.3, 2.0])  # of independent normal scores: each one's distance of the means
    assert chosen.weight / chosen.weight.sum() == pytest.approx(best / best.sum(), abs=0.05)
