"""Scores of a denser graph, taken back to those of the graph that was calibrated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llwlc.ranking._score_drift import (
    FULL_GAIN_RANK,
    GAIN,
    MIN_PEERS,
    NO_GAIN_RANK,
    PEER_SHARE,
    Drift,
    count_steps,
    measure_gain,
)


@given(st.floats(-2, 2), st.floats(0.5, 2), st.floats(0, 3), st.floats(0, 3))
def test_two_parts_of_the_way_are_the_whole_way(shift, slope, first, second):
    drift, score = Drift(shift, slope), np.array([-1.0, 0.0, 2.5])
    np.testing.assert_allclose(
        drift.times(second)(drift.times(first)(score)), drift.times(first + second)(score), atol=1e-6
    )
    np.testing.assert_allclose(drift.times(1)(score), drift(score), atol=1e-6)
    np.testing.assert_allclose(drift.times(0)(score), score, atol=1e-9)


def test_a_linear_growth_is_found_although_pairs_change_places():
    rng = np.random.default_rng(0)
    before = rng.gamma(2.0, size=5_000)
    after = 0.2 + 1.1 * rng.permutation(before)  # the same scores, of other pairs
    drift = Drift.between(before, after)
    assert (drift.shift, drift.slope) == pytest.approx((0.2, 1.1))


@pytest.mark.parametrize("number", [0, 3, 19])
def test_too_few_pairs_say_nothing(number):
    assert Drift.between(np.arange(float(number)), 5 + np.arange(float(number))) == Drift()


def test_equal_scores_are_shifted_alone_and_slopes_stay_in_bounds():
    assert Drift.between(np.ones(50), np.full(50, 3.0)) == Drift(2.0, 1.0)
    assert Drift.between(np.arange(50.0), 100 * np.arange(50.0)).slope == 2.0
    assert Drift.between(np.arange(50.0), -np.arange(50.0)).slope >= 0.5


def test_steps_are_counted_by_factors_of_the_number_of_links():
    assert count_steps(850, 900, 900) == 0
    assert count_steps(100, 200, 800) == pytest.approx(2)
    assert count_steps(100, 100, 120) == 0  # validation links that stay hidden show no growth


def test_the_gain_of_links_is_that_of_a_plain_loop_and_the_best_links_have_none():
    rng = np.random.default_rng(1)
    before, hidden = rng.normal(size=600), rng.random(600) < 0.1
    links = np.flatnonzero(hidden)
    rank = np.array([(before >= before[link]).sum() for link in links])
    share = np.interp(np.log(rank), np.log([NO_GAIN_RANK, FULL_GAIN_RANK]), [0.0, 1.0])
    assert share.min() == 0
    after = before + 0.3 * before**2 + rng.normal(scale=0.1, size=600)
    after[links] += 0.2 * share
    rest = sorted(np.flatnonzero(~hidden), key=lambda pair: before[pair])
    reach, gains = max(MIN_PEERS, round(PEER_SHARE * len(rest))), []
    for link in links:
        below = [pair for pair in rest if before[pair] < before[link]][-reach:]
        above = [pair for pair in rest if before[pair] >= before[link]][:reach]
        peers = below + above
        gains.append(after[link] - before[link] - np.mean(after[peers] - before[peers]))
    slope, (residual,), _, _ = np.linalg.lstsq(share[:, None], np.array(gains), rcond=None)
    error = residual / (len(gains) - 1) / (share @ share)
    wanted = slope[0] * GAIN**2 / (GAIN**2 + error)
    assert measure_gain(before, after, hidden) == pytest.approx(wanted)
    assert wanted == pytest.approx(0.2, abs=0.05)
    assert measure_gain(7 * before, 7 * after, hidden, 7.0) == pytest.approx(7 * wanted)


@pytest.mark.parametrize("links", [0, 1, 99])
def test_where_too_few_pairs_are_left_links_gain_nothing(links):
    hidden = np.arange(100) < links
    assert measure_gain(np.arange(100.0), np.arange(100.0) + hidden, hidden) == 0
