"""Compact features: scikit-learn's scalers and numpy's SVD as oracles, and bad input."""

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from llwlc.errors import InputError
from llwlc.training._compact_features import fit_compactor


def words(n: int = 60, width: int = 30, seed: int = 0) -> scipy.sparse.csr_array:
    """Counts of words, a fifth of them not zero; the last word never occurs and the first row is empty."""
    rng = np.random.default_rng(seed)
    x = rng.poisson(0.2, (n, width)).astype(np.float64)
    x[:, -1] = x[0] = 0
    return scipy.sparse.csr_array(x)


def numbers(n: int = 60, width: int = 12, seed: int = 0) -> torch.Tensor:
    g = torch.Generator().manual_seed(seed)
    return 3 + torch.randn(n, width, generator=g, dtype=torch.float64) * torch.arange(1, width + 1)


def projector(a: np.ndarray) -> np.ndarray:
    """The orthogonal projector onto the columns of a."""
    q = np.linalg.qr(np.asarray(a, dtype=np.float64))[0]
    return q @ q.T


def test_sparse_non_negative_features_are_counts_and_others_are_numbers():
    counts = torch.as_tensor(words().toarray())
    assert fit_compactor(words()).counts
    assert fit_compactor(counts).counts
    assert not fit_compactor(-counts).counts
    assert not fit_compactor(counts + 1).counts
    assert not fit_compactor(scipy.sparse.csr_array(-words())).counts
    assert not fit_compactor(numbers()).counts


def test_all_columns_of_numbers_are_scikit_learns_standard_scores():
    x = numbers()
    x[:, 3] = 0.1  # a constant, whose computed deviation is not quite zero
    ours = fit_compactor(x, channels=64)(x).numpy()
    theirs = StandardScaler().fit_transform(x.numpy())
    np.testing.assert_allclose(ours, theirs / theirs.std(), atol=1e-6)


@pytest.mark.parametrize("value", [0.1, 1e6 + 0.1, -7.3])
def test_a_constant_column_says_nothing(value):
    x = torch.cat([numbers(97), torch.full((97, 1), value, dtype=torch.float64)], 1)
    assert not fit_compactor(x)(x)[:, -1].any()


def test_all_columns_of_counts_are_scikit_learns_tfidf():
    x = words()
    ours = fit_compactor(x, channels=64)(x).numpy()
    theirs = TfidfTransformer(smooth_idf=True, norm="l2").fit_transform(x).toarray()
    np.testing.assert_allclose(ours, theirs / theirs.std(), atol=1e-6)


def test_dense_and_sparse_counts_are_one():
    x = words()
    dense = torch.as_tensor(x.toarray())
    assert torch.equal(fit_compactor(x, channels=5)(x), fit_compactor(dense, channels=5)(dense))


def test_fewer_columns_are_the_leading_singular_directions_of_counts():
    x = words()
    fitted = fit_compactor(x, channels=5)
    tfidf = TfidfTransformer().fit_transform(x)
    right = np.linalg.svd(tfidf.toarray())[2][:5].T
    np.testing.assert_allclose(projector(fitted.components.numpy()), projector(right), atol=1e-5)
    ours, theirs = fitted(x).numpy(), TruncatedSVD(5, algorithm="arpack").fit_transform(tfidf)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs) / theirs.std(), atol=1e-5)
    assert abs(ours.std() - 1) < 1e-5


def test_fewer_columns_are_the_leading_singular_directions_of_numbers():
    x = numbers()
    fitted = fit_compactor(x, channels=4)
    scores = StandardScaler().fit_transform(x.numpy())
    right = np.linalg.svd(scores)[2][:4].T
    np.testing.assert_allclose(projector(fitted.components.numpy()), projector(right), atol=1e-5)


def test_more_columns_asked_for_than_nodes():
    x = numbers(n=5, width=12)
    fitted = fit_compactor(x, channels=8)
    assert fitted.channels == 8
    assert torch.isfinite(fitted(x)).all()


def test_columns_that_repeat_others_leave_orthogonal_directions():
    x = numbers(width=3).repeat(1, 4)
    components = fit_compactor(x, channels=6).components.double()
    gram = components.T @ components
    torch.testing.assert_close(gram / gram[0, 0], torch.eye(6, dtype=torch.float64), rtol=0, atol=1e-5)


def test_features_that_are_all_zero_stay_zero():
    x = torch.zeros(8, 3)
    assert not fit_compactor(x)(x).any()


def test_fitting_is_deterministic_and_looks_at_no_global_seed():
    x = words()
    first = fit_compactor(x, channels=5)
    torch.manual_seed(9)
    np.random.seed(9)  # noqa: NPY002 (the global state is the point)
    second = fit_compactor(x.copy(), channels=5)
    assert torch.equal(first.components, second.components)
    assert torch.equal(first(x), second(x))
    # signs are fixed, so another start of the iteration gives the same directions
    torch.testing.assert_close(fit_compactor(x, channels=5, seed=1)(x), first(x), rtol=1e-4, atol=1e-4)


def test_a_row_is_mapped_alone():
    """What a node's features become depends on the fitted map and on that node, never on a link or on other rows."""
    for x in (words(), numbers()):
        fitted = fit_compactor(x, channels=4)
        torch.testing.assert_close(fitted(x[3:4]), fitted(x)[3:4], rtol=1e-6, atol=1e-7)


def test_features_with_other_columns_are_refused():
    fitted = fit_compactor(numbers(width=12), channels=4)
    with pytest.raises(InputError, match="11 columns, but the model was fitted on 12"):
        fitted(numbers(width=11))
