"""The three projectors are one, and its factorisation is as good as the paper's perturbation section asks."""

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from llwlc.errors import InputError
from llwlc.linalg._projector import (
    direct_projector,
    factorization_error,
    lsqr_projector,
    orthonormal_range,
    tangent_range,
    vertex_deleted_projector,
)
from oracle import null_space


def deleted_columns(degree: np.ndarray, deleted: np.ndarray) -> np.ndarray:
    """The degrees with one deleted vertex zeroed, a column for each."""
    C = np.repeat(degree[:, None], deleted.sum(), 1)
    C[np.flatnonzero(deleted), np.arange(deleted.sum())] = 0
    return C


def matrix_of(project, n: int) -> np.ndarray:
    return project(torch.eye(n, dtype=torch.float64)[None])[0].numpy()


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.integers(0, 6), st.integers(0, 2**31 - 1))
def test_direct_is_the_null_space_projector_at_any_rank(n, k, seed):
    rng = np.random.default_rng(seed)
    C = rng.integers(-1, 2, (n, k)).astype(float) * 10.0 ** rng.integers(-3, 6, k)
    space = orthonormal_range(torch.tensor(C)[None])
    N = null_space(C, n)
    assert int(space.rank[0]) == n - N.shape[1]
    np.testing.assert_allclose(matrix_of(direct_projector(space), n), N @ N.T, atol=1e-13)
    error = factorization_error(torch.tensor(C))
    assert error.backward < 1e-14
    assert error.orthogonality < 1e-14


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=10))
def test_vertex_deleted_closed_form_is_the_direct_projector(nodes):
    degree, deleted = (np.array(x) for x in zip(*nodes, strict=True))
    degree = degree.astype(float)
    C = deleted_columns(degree, deleted)
    closed = vertex_deleted_projector(torch.tensor(degree)[None], torch.tensor(deleted)[None])
    np.testing.assert_allclose(
        matrix_of(closed, len(degree)),
        matrix_of(direct_projector(orthonormal_range(torch.tensor(C)[None])), len(degree)),
        atol=1e-13,
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 40), st.integers(1, 8), st.integers(0, 2**31 - 1))
def test_lsqr_agrees_with_the_direct_projector(n, k, seed):
    draw = np.random.default_rng(seed)
    C = scipy.sparse.csc_array(draw.random((n, k)) * (draw.random((n, k)) < 0.3))
    C = scipy.sparse.hstack([C, C[:, :1]]).tocsc()  # a column twice: rank-deficient
    inner = matrix_of(lsqr_projector(C), n)
    np.testing.assert_allclose(
        inner, matrix_of(direct_projector(orthonormal_range(torch.tensor(C.toarray())[None])), n), atol=1e-11
    )


def test_a_hub_does_not_hide_the_constraints_beside_it():
    degree = np.r_[1e5, np.ones(20)]
    C = deleted_columns(degree, np.arange(21) < 4)
    space = orthonormal_range(torch.tensor(C)[None])
    assert int(space.rank[0]) == 4
    assert np.abs(null_space(C, 21).T @ space.Y[0].numpy()).max() < 1e-10
    closed = vertex_deleted_projector(torch.tensor(degree)[None], torch.arange(21)[None] < 4)
    np.testing.assert_allclose(matrix_of(closed, 21), matrix_of(direct_projector(space), 21), atol=1e-10)


def test_columns_of_extreme_size_neither_overflow_nor_vanish():
    C = torch.tensor([[[1e200, 1e-200], [1e200, -1e-200], [0.0, 0.0]]], dtype=torch.float64)
    space = orthonormal_range(C)
    assert space.rank.tolist() == [2]
    assert matrix_of(direct_projector(space), 3)[2, 2] == 1


def test_a_batch_is_as_good_as_each_alone():
    rng = np.random.default_rng(0)
    C = torch.tensor(rng.integers(-1, 2, (6, 5, 4)).astype(float))
    together = orthonormal_range(C)
    for b in range(6):
        alone = orthonormal_range(C[b : b + 1])
        assert alone.rank[0] == together.rank[b]
        Y = together.Y[b]
        torch.testing.assert_close(Y @ Y.T, alone.Y[0] @ alone.Y[0].T, atol=1e-14, rtol=0)
    assert factorization_error(C).backward.shape == (6,)


def test_gradient_of_the_projector_against_finite_differences():
    C = torch.randn(2, 6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    x = torch.randn(2, 6, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    assert torch.autograd.gradcheck(lambda C, x: direct_projector(tangent_range(C))(x), (C, x))


def test_gradient_of_a_rank_deficient_projector_moves_with_its_one_direction():
    base = torch.tensor([1.0, 2.0, 0.0, -1.0], dtype=torch.float64)
    w = torch.tensor([0.3, -0.2, 0.5, 0.1], dtype=torch.float64, requires_grad=True)
    x = torch.tensor([1.0, 0.0, 1.0, 1.0], dtype=torch.float64)[None, :, None]

    def projected(w):
        c = base + w
        C = torch.stack([c, 2 * c, 0 * c], 1)[None]  # one direction, twice, and an empty column
        return direct_projector(tangent_range(C))(x)

    assert torch.autograd.gradcheck(projected, (w,))


def test_factorization_error_refuses_nan():
    with pytest.raises(InputError, match="C has entries that are NaN"):
        factorization_error(torch.tensor([[float("nan")]]))
