"""constrained_lanczos against dense eigh, scipy's eigsh and lobpcg, and its own theorems."""

from functools import partial

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator, eigsh, lobpcg

import oracle
from graphs import families
from llwlc.errors import InputError
from llwlc.linalg._filter import spectral_filter
from llwlc.linalg._krylov import krylov
from llwlc.linalg._lanczos import constrained_lanczos
from llwlc.linalg._projector import direct_projector, orthonormal_range

constrained_lanczos = partial(constrained_lanczos, dtype=torch.float64)  # oracles are compared to 1e-10


def random_problem(seed: int = 0, n: int = 30, k: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    L = nx.laplacian_matrix(nx.gnp_random_graph(n, 0.25, seed=seed)).toarray().astype(float)
    return L, rng.integers(0, 3, (n, k)).astype(float)


def ring(n: int) -> torch.Tensor:
    return torch.tensor(nx.laplacian_matrix(nx.cycle_graph(n)).toarray(), dtype=torch.float64)


@pytest.mark.parametrize("name", families())
def test_completed_basis_is_dense_eigh_on_the_null_space(name):
    g = families()[name]
    L = nx.laplacian_matrix(g).toarray().astype(float)
    n = len(L)
    rng = np.random.default_rng(3)
    for C in (None, np.ones((n, 1)), rng.integers(0, 2, (n, 3)).astype(float)):
        basis = constrained_lanczos(L, C, steps=1, complete=True)
        live = basis.values[basis.mask].numpy()
        np.testing.assert_allclose(live, oracle.eigenvalues(L, C), atol=1e-9)
        full = spectral_filter(basis, lambda r: torch.exp(-r), torch.eye(n, dtype=torch.float64))
        np.testing.assert_allclose(full.numpy(), oracle.function(L, C, lambda r: np.exp(-r)), atol=1e-8)


@pytest.mark.parametrize("start", ["random", "constraint", "query"])
def test_filter_of_the_start_is_dense_when_the_krylov_space_is_exhausted(start):
    L, C = random_problem()
    n = len(L)
    x = {"random": torch.randn(n, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))}.get(
        start,
        torch.tensor(L @ C.sum(1, keepdims=True))
        if start == "constraint"
        else torch.eye(n, dtype=torch.float64)[:, [4, 9]],
    )
    basis = constrained_lanczos(L, C, steps=n, start=start, query=(4, 9))
    y = spectral_filter(basis, lambda r: torch.exp(-r), x)
    np.testing.assert_allclose(y.numpy(), oracle.function(L, C, lambda r: np.exp(-r)) @ x.numpy(), atol=1e-8)


def test_every_kind_of_matrix_gives_the_same_basis():
    L, C = random_problem()
    x = np.random.default_rng(1).normal(size=len(L))
    expected = constrained_lanczos(torch.tensor(L), torch.tensor(C), steps=8, start=torch.tensor(x))
    sparse = scipy.sparse.csr_array(L)
    with torch.sparse.check_sparse_tensor_invariants():
        coo = torch.tensor(L).to_sparse()
        kinds = [L, sparse, sparse.tocoo(), coo, lambda v: torch.tensor(L) @ v, lambda v: L @ v.numpy()]
        kinds += [LinearOperator(L.shape, matvec=lambda v: L @ v, dtype=float)]
        for kind in kinds:
            for columns in (C, scipy.sparse.csc_array(C), torch.tensor(C).to_sparse()):
                for projector in ("direct", "lsqr"):
                    got = constrained_lanczos(kind, columns, steps=8, start=x, projector=projector)
                    torch.testing.assert_close(got.values, expected.values, atol=1e-9, rtol=0)
                    torch.testing.assert_close(got.mask, expected.mask)
                    assert oracle.orthogonality(got) < 1e-12
                    assert oracle.leak(got, torch.tensor(C)) < 1e-12


@pytest.mark.filterwarnings("ignore:Sparse CSR")  # torch says once a process that its CSR is beta
def test_csr_tensor_is_taken():
    with torch.sparse.check_sparse_tensor_invariants():
        csr = ring(6).to_sparse_csr()
        basis = constrained_lanczos(csr, steps=6, complete=True)
    torch.testing.assert_close(basis.values[0], torch.linalg.eigvalsh(ring(6)), atol=1e-12, rtol=0)


def test_large_sparse_constraints_go_through_lsqr():
    n, k = 3000, 4000
    L = nx.laplacian_matrix(nx.path_graph(n)).astype(float)
    C = scipy.sparse.csc_array((np.ones(k), (np.arange(k) % 500, np.arange(k))), shape=(n, k))
    basis = constrained_lanczos(L, C, steps=6)
    assert basis.mask.all()
    assert basis.vectors[:500].abs().max() < 1e-12
    assert oracle.orthogonality(basis) < 1e-12


def test_converged_pairs_agree_with_eigsh_and_lobpcg():
    L, C = random_problem(n=60)
    N = oracle.null_space(C, 60)
    P = N @ N.T
    basis = constrained_lanczos(L, C, steps=57)
    largest = eigsh(LinearOperator((60, 60), matvec=lambda v: P @ (L @ (P @ v)), dtype=float), k=4, which="LA")[0]
    np.testing.assert_allclose(basis.values[basis.mask][-4:].numpy(), np.sort(largest), atol=1e-9)
    # scipy tests convergence on L x − λx unprojected, which stalls for a general C: hence PLP, or a C that L leaves
    # invariant
    X = np.random.default_rng(0).normal(size=(60, 4))
    lowest, _ = lobpcg(P @ L @ P, X, Y=C, largest=False, tol=1e-9, maxiter=100)
    np.testing.assert_allclose(basis.values[0, :4].numpy(), np.sort(lowest), atol=1e-8)
    lowest, _ = lobpcg(L, X, Y=np.ones((60, 1)), largest=False, tol=1e-9, maxiter=100)
    basis = constrained_lanczos(L, np.ones((60, 1)), steps=59)
    np.testing.assert_allclose(basis.values[0, :4].numpy(), np.sort(lowest), atol=1e-8)


def test_decomposition_identity():
    """PLQ = QT + q β eᵀ: the rest is one vector in the last column, orthogonal to Q and to C."""
    L, C = (torch.tensor(x) for x in random_problem())
    project = direct_projector(orthonormal_range(C[None]))
    start = torch.randn(1, 30, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    space = krylov(lambda x: L @ x, project, start, steps=9, bound=torch.tensor([20.0]), tolerance=1e-10)
    Q = space.Q
    T = Q.mT @ space.LQ
    rest = project(L @ Q) - Q @ T
    assert rest[:, :, :-1].abs().max() < 1e-12
    assert (Q.mT @ rest).abs().max() < 1e-12
    assert (C.mT @ rest[0]).abs().max() < 1e-11
    band = torch.triu(T[0], 2)
    assert band.abs().max() < 1e-12


def test_memory_is_allocated_once_for_all_steps():
    """What one large matrix allocates grows with the number of steps, not with its square."""
    n = 1500
    L, C = scipy.sparse.diags_array([np.full(n, 2.0), -np.ones(n - 1), -np.ones(n - 1)], offsets=[0, -1, 1]), np.ones(n)

    def bytes_per_step(steps: int) -> float:
        with torch.profiler.profile(profile_memory=True) as profile:
            constrained_lanczos(L, C, steps=steps)
        return sum(max(event.self_cpu_memory_usage, 0) for event in profile.key_averages()) / steps

    assert bytes_per_step(120) < 1.3 * bytes_per_step(30)


def test_residual_is_that_of_the_projected_operator():
    L, C = random_problem()
    N = oracle.null_space(C, len(L))
    P = N @ N.T
    basis = constrained_lanczos(L, C, steps=6)
    V, r = basis.vectors.numpy(), basis.values[0].numpy()
    np.testing.assert_allclose(basis.residual[0].numpy(), np.linalg.norm(P @ L @ P @ V - V * r, axis=0), atol=1e-11)
    assert basis.residual.min() > 1e-6


def test_plain_lanczos_on_a_star_sees_each_eigenvalue_once():
    L = nx.laplacian_matrix(nx.star_graph(8)).toarray().astype(float)
    basis = constrained_lanczos(L, steps=9)
    assert basis.mask.sum() == 3
    np.testing.assert_allclose(basis.values[basis.mask].numpy(), [0, 1, 9], atol=1e-10)


def test_a_deflated_direction_frees_its_place():
    x = torch.randn(20, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    single = constrained_lanczos(ring(20), steps=8, start=x)
    double = constrained_lanczos(ring(20), steps=8, start=torch.cat([x, 3 * x, 0 * x], 1))
    assert double.mask.all()
    torch.testing.assert_close(double.values, single.values, atol=1e-12, rtol=0)


def test_null_space_of_zero_is_an_empty_mask():
    for complete in (False, True):
        basis = constrained_lanczos(ring(5), torch.eye(5), steps=3, complete=complete)
        assert not basis.mask.any()
        assert basis.vectors.shape[0] == 5
    assert not constrained_lanczos(ring(5), steps=2, start=torch.zeros(5)).mask.any()
    assert not constrained_lanczos(torch.zeros(4, 4), torch.ones(4, 1), steps=2, start=torch.ones(4)).mask.any()


def test_a_single_node_has_one_live_column_of_value_0():
    basis = constrained_lanczos(torch.zeros(1, 1), steps=4)
    assert basis.mask.tolist() == [[True, False, False, False]]
    assert basis.values.abs().max() == 0


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 15), st.integers(0, 5), st.integers(1, 20), st.integers(1, 3), st.integers(0, 2**31 - 1))
def test_any_small_problem_has_a_sound_basis(n, k, steps, b, seed):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.integers(0, 3, (n, n)), 1).astype(float)
    L = np.diag((A + A.T).sum(1)) - A - A.T
    C, x = rng.integers(-1, 2, (n, k)).astype(float), rng.integers(-1, 2, (n, b)).astype(float)
    basis = constrained_lanczos(L, C, steps=steps, start=x)
    assert basis.values.isfinite().all()
    assert oracle.orthogonality(basis) < 1e-12
    assert oracle.leak(basis, torch.tensor(C)) < 1e-12
    live = int(basis.mask.sum())
    assert live <= oracle.null_space(C, n).shape[1]
    values = basis.values[0, :live].numpy()
    assert (np.diff(values) >= 0).all()
    if live < steps:  # exhausted: Ritz values are eigenvalues, and the filter of the start is exact
        exact = oracle.eigenvalues(L, C)
        assert all(np.abs(exact - v).min() < 1e-8 for v in values)
        y = spectral_filter(basis, lambda r: torch.cos(r), torch.tensor(x)).numpy()
        np.testing.assert_allclose(y, oracle.function(L, C, np.cos) @ x, atol=1e-7)


BAD = {
    "L is not symmetric": {"L": torch.tensor([[1.0, 2.0], [0.0, 1.0]])},
    r"L is not symmetric.*random x, y": {
        "L": lambda v: torch.tensor([[1.0, 2.0], [0.0, 1.0]]).double() @ v,
        "num_nodes": 2,
    },
    "L must be a square": {"L": torch.ones(2, 3)},
    "L must be a matrix with two": {"L": torch.ones(2)},
    "L must be a torch or numpy": {"L": "ring"},
    "L has entries that are NaN": {"L": torch.full((2, 2), float("nan"))},
    "L is a function.*num_nodes": {"L": lambda v: v},
    "L\\(x\\) must give 3 numbers": {"L": lambda v: v[:2], "num_nodes": 3},
    "L\\(x\\) is NaN": {"L": lambda v: v / 0, "num_nodes": 3},
    "C must have one row for each row of L": {"C": torch.ones(1, 4)},
    "C has entries that are NaN": {"C": torch.tensor([[1.0], [float("inf")]])},
    "steps must be an integer of at least 1, got 0": {"steps": 0},
    "steps must be an integer of at least 1, got 2.5": {"steps": 2.5},
    "start must be 'random'.*got 'warm'": {"start": "warm"},
    "start must have one row": {"start": torch.ones(3)},
    "start has entries that are NaN": {"start": torch.tensor([float("nan"), 0.0])},
    "start='constraint' is P L C 1 and needs a C": {"start": "constraint"},
    r"start='query' needs query=\(u, v\)": {"start": "query"},
    r"start='query' needs .* 0 to 1, got query=\(0, 7\)": {"start": "query", "query": (0, 7)},
    "projector='lsqr' and .* carry no gradients": {"C": torch.ones(2, 1, requires_grad=True), "projector": "lsqr"},
    r"start='query' needs .* got query=\('a', 'b'\)": {"start": "query", "query": ("a", "b")},
    "start must be a torch or numpy array.*got NoneType": {"start": None},
    "start has complex entries": {"start": torch.ones(2, dtype=torch.complex64)},
    "L has complex entries": {"L": torch.tensor([[0, 1j], [-1j, 0]])},
    "C has complex entries": {"C": scipy.sparse.csr_array(1j * np.ones((2, 1)))},
    "C is sparse and carries no gradients": {"C": torch.ones(2, 1).to_sparse().requires_grad_()},
    "num_nodes must be at least 1, got 0": {"L": lambda v: v, "num_nodes": 0},
    "dtype must be torch.float32": {"dtype": torch.float16},
    "projector must be 'auto'": {"projector": "qr"},
}


def test_short_floats_lists_and_numpy_integers_are_understood():
    L = torch.tensor([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    plain = constrained_lanczos(L, torch.ones(3), steps=2, start=[1.0, 0.0, 0.0])
    others = [
        constrained_lanczos(L.half(), scipy.sparse.coo_array(np.ones(3)), steps=np.int64(2), start=[1, 0, 0]),
        constrained_lanczos(L.bfloat16(), [1, 1, 1], steps=2, start=scipy.sparse.csr_array([[1], [0], [0]])),
        constrained_lanczos(lambda x: L.double() @ x, [[1], [1], [1]], steps=2, start=torch.eye(3, 1).to_sparse()),
    ]
    for other in others:
        torch.testing.assert_close(other.values, plain.values)
        torch.testing.assert_close(other.vectors.abs(), plain.vectors.abs())


@pytest.mark.parametrize("message", BAD)
def test_bad_input_names_the_argument_and_the_remedy(message):
    good = {"L": torch.tensor([[1.0, -1.0], [-1.0, 1.0]]), "steps": 2}
    with pytest.raises(InputError, match=message):
        constrained_lanczos(**(good | BAD[message]))
