"""The small eigenproblem against numpy, on the matrices that break hand-written ones."""

import numpy as np
import pytest

from llwlc._kernels.numba.small_eigen import eigh


def family(m: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(m)
    A = rng.standard_normal((m, m))
    A = A + A.T
    U, _ = np.linalg.qr(A)
    repeated = U @ np.diag(np.repeat([0.0, 1.0, 2.0], m)[:m]) @ U.T
    return {
        "full": A,
        "banded": np.tril(np.triu(A, -2), 2),
        "wide band": np.tril(np.triu(A, -4), 4),
        "tridiagonal": np.tril(np.triu(A, -1), 1),
        "diagonal": np.diag(rng.standard_normal(m)),
        "repeated": (repeated + repeated.T) / 2,
        "graded": np.diag(10.0 ** -np.arange(m, dtype=float)) + 1e-9,
        "tiny": A * 1e-100,
        "least": A * 1e-200,
        "huge": A * 1e200,
        "zero": np.zeros((m, m)),
        "split": np.kron(np.eye(m), A[:2, :2])[:m, :m] if m > 1 else A,
    }


@pytest.mark.parametrize("m", [1, 2, 3, 10, 32])
@pytest.mark.parametrize("name", family(1))
def test_small_eigenproblems_are_solved_as_by_numpy(m, name):
    A = family(m)[name]
    scale = np.abs(A).max() or 1.0
    Z, d = np.full((m, (m + 3) // 4 * 4), np.nan), np.empty(m)
    eigh(A.copy(), m, Z, d, np.empty(m))
    Z = Z[:, :m]
    np.testing.assert_allclose(d / scale, np.linalg.eigvalsh(A / scale), atol=1e-13)
    np.testing.assert_allclose(Z @ Z.T, np.eye(m), atol=1e-13)
    np.testing.assert_allclose(Z.T @ np.diag(d / scale) @ Z, A / scale, atol=1e-13)
