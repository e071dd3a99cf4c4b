"""Fingerprints against dense algebra, and their invariance."""

from itertools import combinations
from math import comb

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llwlc.errors import InputError
from research.expressivity.families import Pair, adjacency, atlas, make_relabelled_pairs, relabel
from research.expressivity.resolvent import PHASE, constrained_filter, filter_hashes, laplacian, pole, resolvent
from research.expressivity.separate import EQUAL, POLICIES, distance, fingerprint, separate
from research.expressivity.spectra import POINTS, WEIGHTS, deleted_hashes, deleted_spectra, edge_spectra
from research.expressivity.subsets import iterate_chunks, sample_subsets

GRAPH = st.builds(
    lambda n, p, seed: adjacency(nx.gnp_random_graph(n, p, seed=seed)),
    st.integers(2, 10),
    st.floats(0.1, 0.9),
    st.integers(0, 10_000),
)


def phi(x):
    return 1 / (1 + 0.7 * x + x * x)


def dense_hash(a, subset):
    """h(S) from the dense eigendecomposition, in the words of the module's docstring."""
    n, F = len(a), constrained_filter(a, np.array(subset, dtype=int))
    off = (resolvent(a, pole(a)) * np.exp(1j * PHASE)).imag[~np.eye(n, dtype=bool)]
    spread = np.sqrt(np.mean(off**2))
    F = F / (spread if spread > 1e-9 else 1)
    y = phi(F).sum(1) - n + phi(F.diagonal() / 2) + phi(F[:, list(subset)] + 0.4).sum(1)
    deleted = np.isin(np.arange(n), subset)
    return np.where(deleted, 0.37 * phi(0.7 * y - 0.4), phi(0.5 * y + 0.2)).sum()


def spectrum_of(a, subset):
    """The eigenvalues of PLP on the null space, by SVD and eigh."""
    d = a.sum(1)
    C = d[:, None] - np.eye(len(a))[:, subset] * d[list(subset)]
    left, s, _ = np.linalg.svd(C, full_matrices=True)
    null = left[:, int((s > 1e-9 * max(s.max(initial=0), 1e-30)).sum()) :]
    return np.linalg.eigvalsh(null.T @ laplacian(a) @ null)


def dense_spectrum_hash(a, values):
    points = [pole(a, centre=c, width=w) for c, w in POINTS]
    return sum(weight * np.log(np.abs(values - w)).sum() for w, weight in zip(points, WEIGHTS, strict=True))


@given(a=GRAPH, data=st.data())
@settings(max_examples=40, deadline=None)
def test_hashes_are_those_of_the_dense_constrained_basis(a, data):
    """Isolated vertices in S included: sparse draws have them."""
    k = data.draw(st.integers(0, len(a)))
    subset = sorted(data.draw(st.permutations(range(len(a))))[:k])
    one = np.array([subset], dtype=np.int64).reshape(1, k)
    assert filter_hashes(a, one)[0] == pytest.approx(dense_hash(a, subset), abs=1e-10)
    expected = dense_spectrum_hash(a, spectrum_of(a, subset))
    assert deleted_hashes(a, one)[0] == pytest.approx(expected, abs=1e-10)


@given(a=GRAPH, seed=st.integers(0, 10_000), policy=st.sampled_from(sorted(POLICIES)))
@settings(max_examples=40, deadline=None)
def test_copies_have_the_same_fingerprint(a, seed, policy):
    assert distance(fingerprint(a, policy), fingerprint(relabel(a, seed), policy)) < EQUAL


def test_neumann_spectra_of_a_path():
    """The one edge in the middle of P4: two isolated-from-each-other ends, S the outer nodes, δS empty, so one column
    (1, 0, 0, 1).
    """
    a = adjacency(nx.path_graph(4))
    split = np.zeros((4, 4))
    split[0, 1] = split[1, 0] = split[2, 3] = split[3, 2] = 1
    null = np.linalg.svd(np.array([[1.0, 0, 0, 1]]))[2][1:].T
    expected = dense_spectrum_hash(split, np.linalg.eigvalsh(null.T @ laplacian(split) @ null))
    assert np.abs(edge_spectra(a) - expected).min() < 1e-12


@pytest.mark.parametrize("size", [1, 7, 100])
def test_chunks_are_all_combinations(size):
    for n, k in [(5, 0), (5, 2), (6, 6), (7, 3)]:
        got = np.concatenate(list(iterate_chunks(n, k, size=size)))
        assert got.tolist() == [list(c) for c in combinations(range(n), k)]
        assert len(got) == comb(n, k)


def test_samples_are_uniform_subsets():
    drawn = sample_subsets(5, 2, 20_000, seed=1)
    assert (drawn[:, 0] < drawn[:, 1]).all()
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 10
    # ten classes of 2000 ± 42: five standard deviations
    assert np.abs(counts - 2000).max() < 5 * 42.5


def test_lengths_are_the_number_of_sets():
    a = adjacency(nx.cycle_graph(7))
    assert len(fingerprint(a, "deleted-3")) == len(fingerprint(a, "filter-3")) == 35
    assert len(fingerprint(a, "neumann")) == 7
    assert len(deleted_spectra(a, 0)) == 1
    assert distance(np.zeros(2), np.zeros(3)) == np.inf


def test_unknown_names_are_refused():
    with pytest.raises(InputError, match="choose from none"):
        fingerprint(np.zeros((2, 2)), "magic")
    with pytest.raises(InputError, match="no subset of 4"):
        next(iterate_chunks(3, 4))
    with pytest.raises(InputError, match="no subset of 4"):
        sample_subsets(3, 4, 1, seed=0)


@pytest.mark.slow
def test_no_false_positive_on_ten_thousand_copies():
    graphs = [a for a in atlas() if len(a) > 4]
    worst = max(separate(pair, "filter-2").distance for pair in make_relabelled_pairs(graphs, 10_000, seed=0))
    assert worst < EQUAL


def test_pairs_of_different_size_are_separated():
    assert separate(Pair("", np.zeros((2, 2)), np.zeros((3, 3))), "none").separated
