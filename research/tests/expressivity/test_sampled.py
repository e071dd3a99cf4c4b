"""Sampled comparison: its two errors, and what it finds."""

import numpy as np
import pytest

from llwlc.errors import InputError
from research.expressivity.families import Pair, paper, relabel
from research.expressivity.resolvent import filter_hashes
from research.expressivity.sampled import SampledVerdict, largest_gap_difference, separate_sampled
from research.expressivity.spectra import deleted_hashes
from research.expressivity.subsets import iterate_chunks

SQUARES = paper()[1]


def test_samples_estimate_the_difference_over_all_subsets():
    every = np.concatenate(list(iterate_chunks(16, 4)))
    truth = largest_gap_difference(deleted_hashes(SQUARES.a, every), deleted_hashes(SQUARES.b, every))
    verdict = separate_sampled(SQUARES, 4, count=50_000, hashes=deleted_hashes)
    assert abs(verdict.statistic - truth) < 2 * verdict.threshold
    assert verdict.separated
    assert not separate_sampled(SQUARES, 3, count=50_000, hashes=deleted_hashes).separated


def test_copies_are_not_separated():
    copy = Pair("", SQUARES.a, relabel(SQUARES.a, 4))
    found = [separate_sampled(copy, 3, count=2000, alpha=1e-3, seed=s).separated for s in range(40)]
    assert not any(found)


def test_rounding_is_not_a_difference():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 3, 4000).astype(float)
    assert largest_gap_difference(classes, classes + 1e-12 * rng.random(4000)) == 0


def test_the_bound_on_a_miss_falls_with_the_sample():
    small, large = SampledVerdict(0, 0.1, 1000), SampledVerdict(0, 0.1, 10_000)
    assert small.miss(0.05) == 1
    assert large.miss(0.3) < small.miss(0.3) < 1


def test_too_small_a_sample_is_refused():
    with pytest.raises(InputError, match="458"):
        separate_sampled(SQUARES, 2, count=10)


def test_default_hash_is_that_of_the_filter():
    verdict = separate_sampled(SQUARES, 2, count=2000, seed=3)
    assert verdict == separate_sampled(SQUARES, 2, count=2000, seed=3, hashes=filter_hashes)
