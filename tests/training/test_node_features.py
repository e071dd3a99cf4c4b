"""Features in the forms that a run reads: compact, of length one, and dense rows to compare nodes by."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from llwlc.training import _node_features as node_features
from llwlc.training._compact_features import fit_compactor
from llwlc.training._node_features import SVD_DIRECTIONS, NodeFeatures


def words(n: int = 30, width: int = 50) -> csr_array:
    """Counts of words; node 3 has none."""
    draw = np.random.default_rng(0)
    x = draw.random((n, width)) * (draw.random((n, width)) < 0.1)
    x[3] = 0
    return csr_array(np.ceil(5 * x))


def numbers(n: int = 30, width: int = 6) -> torch.Tensor:
    x = torch.randn(n, width, generator=torch.Generator().manual_seed(0)) * 5 + 2
    x[:, 2] = 7.0
    return x


RAW = pytest.mark.parametrize("x", [words(), numbers()], ids=["words", "numbers"])


def dense(unit) -> np.ndarray:
    return unit if isinstance(unit, np.ndarray) else unit.toarray()


@RAW
def test_compact_features_are_the_compactors(x):
    compactor = fit_compactor(x, 4)
    assert torch.equal(NodeFeatures.of(x, compactor).compact, compactor(x))
    known = torch.ones(30, 4)
    assert NodeFeatures.of(x, compactor, known).compact is known
    assert NodeFeatures.of(x, None).compact is None


@RAW
def test_unit_rows_are_the_weighted_features_over_their_length(x):
    compactor = fit_compactor(x, 4)
    weighted = dense(compactor.weighted(x))
    length = np.linalg.norm(weighted, axis=1, keepdims=True)
    wanted = weighted / np.where(length > 0, length, 1)
    for features in (NodeFeatures.of(x, compactor), NodeFeatures.of(x, None)):  # weights do not hang on the projection
        np.testing.assert_allclose(dense(features.unit), wanted, atol=1e-6)
        assert features.pair_inputs.unit is features.unit


@RAW
def test_a_small_graphs_nodes_are_compared_by_their_unit_rows(x):
    features = NodeFeatures.of(x, fit_compactor(x, 4))
    found = features.comparable
    assert found.dtype == np.float32
    assert found.flags.c_contiguous
    np.testing.assert_allclose(found, dense(features.unit), atol=1e-7)


@RAW
def test_nodes_of_wide_features_are_compared_by_leading_directions(x, monkeypatch):
    features = NodeFeatures.of(x, fit_compactor(x, 4))
    monkeypatch.setattr(node_features, "WIDE", 10)
    monkeypatch.setattr(node_features, "DIRECTIONS", x.shape[1] - 1)
    found = features.comparable
    assert len(found) == 30
    assert found.shape[1] <= x.shape[1]
    assert found.dtype == np.float32
    length = np.linalg.norm(found, axis=1, keepdims=True)
    near = found / np.where(length > 0, length, 1)
    exact = dense(features.unit)
    above = np.triu_indices(30, 1)
    assert np.corrcoef((near @ near.T)[above], (exact @ exact.T)[above])[0, 1] > 0.95


@RAW
def test_features_of_some_nodes_are_those_rows_of_both_forms(x):
    features = NodeFeatures.of(x, fit_compactor(x, 4))
    at = np.random.default_rng(1).permutation(30)[:20]
    found = features.of_nodes(at)
    assert torch.equal(found.compact, features.compact[torch.from_numpy(at)])
    assert np.array_equal(dense(found.unit), dense(features.unit)[at])
    np.testing.assert_allclose(found.comparable, features.comparable[at], atol=1e-7)


def test_features_of_no_node_are_empty():
    found = NodeFeatures.of(numbers(), fit_compactor(numbers(), 4)).of_nodes(np.zeros(0, dtype=np.int64))
    assert (found.compact.shape, found.unit.shape) == ((0, 4), (0, 6))


def test_a_graph_without_features_has_none_to_compare():
    nothing = NodeFeatures.of(None, None)
    assert (nothing.compact, nothing.unit, nothing.comparable) == (None, None, None)
    assert nothing.of_nodes(np.array([1, 0])).comparable is None
    assert nothing.pair_inputs.channels == 5


def test_where_raw_features_are_not_kept_nodes_are_compared_by_compact_ones():
    compact = torch.arange(6.0).reshape(3, 2)
    found = NodeFeatures.of(None, None, compact)
    assert found.unit is None
    np.testing.assert_array_equal(found.comparable, compact.numpy())
    np.testing.assert_array_equal(found.of_nodes(np.array([2, 0])).comparable, compact.numpy()[[2, 0]])


def test_svd_vectors_are_of_wide_features_that_are_compared_in_full(monkeypatch):
    many = words(80, 4 * SVD_DIRECTIONS)
    found = NodeFeatures.of(many, None)
    assert found.svd_vectors is not None
    assert found.svd_vectors.shape == (80, SVD_DIRECTIONS)
    # leading directions: no other 64 hold more of the rows
    values = np.linalg.svd(dense(found.unit), compute_uv=False)
    assert np.isclose((found.svd_vectors**2).sum(), (values[:SVD_DIRECTIONS] ** 2).sum(), rtol=1e-3)
    assert NodeFeatures.of(words(80, 4 * SVD_DIRECTIONS - 1), None).svd_vectors is None
    assert NodeFeatures(torch.ones(3, 300)).svd_vectors is None
    assert NodeFeatures().svd_vectors is None
    monkeypatch.setattr(node_features, "WIDE", 80 * 4 * SVD_DIRECTIONS - 1)
    assert NodeFeatures.of(many, None).svd_vectors is None
