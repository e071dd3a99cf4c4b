"""Pairs by counting, against plain Python on random and ragged lists."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from llwlc._candidates.pairing import merge_lists

seeds = st.integers(0, 999)


def some_lists(n: int, sources: np.ndarray, longest: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Partners at random, none of them twice, −1 behind the last one, and scores of few values."""
    partner = np.full((len(sources), longest), -1, dtype=np.int32)
    for row, u in enumerate(sources.tolist()):
        others = rng.permutation([v for v in range(n) if v != u])[: rng.integers(0, longest + 1)]
        partner[row, : len(others)] = others
    return partner, rng.integers(-3, 3, partner.shape).astype(np.float32)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 25), st.integers(1, 8), seeds, st.booleans())
def test_pairs_are_those_of_all_lists_each_once_with_the_better_score_of_its_ends(n, longest, seed, every):
    rng = np.random.default_rng(seed)
    nodes = np.arange(n) if every else np.sort(rng.permutation(n)[: rng.integers(0, n + 1)])
    partner, score = some_lists(n, nodes, longest, rng)
    length = rng.integers(0, (partner >= 0).sum(1) + 1)
    wanted: dict[tuple[int, int], float] = {}
    for row, u in enumerate(nodes.tolist()):
        for k in range(length[row]):
            v = int(partner[row, k])
            pair = (min(u, v), max(u, v))
            wanted[pair] = max(float(score[row, k]), wanted.get(pair, -np.inf))
    pairs, best = merge_lists(n, nodes, partner, score, length)
    assert [tuple(pair) for pair in pairs.tolist()] == sorted(wanted)
    assert best.tolist() == [wanted[pair] for pair in sorted(wanted)]


def test_no_lists_have_no_pairs():
    none = np.zeros((0, 3), dtype=np.int32), np.zeros((0, 3), dtype=np.float32)
    pairs, best = merge_lists(5, np.zeros(0, dtype=np.int64), *none, np.zeros(0, dtype=np.int64))
    assert pairs.shape == (0, 2)
    assert best.shape == (0,)


@pytest.mark.parametrize("n", [3, 70])
def test_as_many_rows_as_threads_share_or_fewer_make_no_difference(n):
    rng = np.random.default_rng(n)
    partner, score = some_lists(n, np.arange(n), min(n - 1, 6), rng)
    whole = merge_lists(n, np.arange(n), partner, score, (partner >= 0).sum(1))
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1 if threads > 1 else 2)
        again = merge_lists(n, np.arange(n), partner, score, (partner >= 0).sum(1))
    finally:
        torch.set_num_threads(threads)
    assert all(np.array_equal(a, b) for a, b in zip(whole, again, strict=True))
