"""constrained_eigsh against dense eigh on the null space, scipy's eigsh and lobpcg, on graphs with huge
multiplicities."""

import networkx as nx
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator, eigsh, lobpcg, spilu, splu
from threadpoolctl import threadpool_info, threadpool_limits

import oracle
from graphs import families
from llwlc import constrained_eigsh
from llwlc.errors import InputError

METHODS = ["auto", "dense", "lanczos", "shift_invert"]


def laplacian(graph: nx.Graph) -> np.ndarray:
    return nx.laplacian_matrix(graph).toarray().astype(float)


def large() -> dict[str, nx.Graph]:
    """Graphs that iterations, not LAPACK, solve."""
    return {
        "star": nx.star_graph(599),
        "complete": nx.complete_graph(450),
        "60 Petersen graphs": nx.disjoint_union_all([nx.petersen_graph()] * 60),
        "three copies": nx.disjoint_union_all([nx.random_regular_graph(4, 200, seed=0)] * 3),
        "strongly regular": nx.line_graph(nx.complete_graph(32)),
        "path": nx.path_graph(700),
        "grid": nx.grid_2d_graph(22, 22),
        "regular": nx.random_regular_graph(4, 600, seed=0),
        "isolated nodes": nx.disjoint_union(nx.random_regular_graph(3, 500, seed=0), nx.empty_graph(7)),
    }


def assert_exact(found, L, C, k, which, tol=1e-8):
    exact = oracle.eigenvalues(L, C)
    count, scale = min(k, len(exact)), max(np.abs(L).sum(1).max(initial=0), 1e-300)
    outward = exact if which == "SA" else exact[::-1]
    assert found.converged.all()
    assert len(found.values) == len(found.residual) == found.vectors.shape[1] == count
    np.testing.assert_allclose(found.values.numpy(), np.sort(outward[:count]), atol=2 * tol * scale)
    V = found.vectors.numpy()
    np.testing.assert_allclose(V.T @ V, np.eye(count), atol=1e-10)
    N = oracle.null_space(C, len(L))
    np.testing.assert_allclose(N @ (N.T @ V), V, atol=1e-9)
    rest = N.T @ (L @ V) - N.T @ V * found.values.numpy()
    np.testing.assert_allclose(found.residual.numpy(), np.linalg.norm(rest, axis=0), atol=1e-10 * scale)
    assert found.residual.max() <= tol * scale if count else True
    gap = abs(outward[count] - outward[count - 1]) if 0 < count < len(exact) else np.inf
    if gap < 1e-11 * scale or gap > 1e-4 * scale:  # between, it is a matter of the tolerance
        assert found.cut == (gap < 1e-11 * scale)


@pytest.mark.parametrize("which", ["SA", "LA"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", large())
def test_every_copy_of_a_repeated_eigenvalue_is_found(name, method, which):
    L = laplacian(large()[name])
    columns = np.random.default_rng(0).integers(0, 3, (len(L), 2)).astype(float)
    for C in (None, np.column_stack([np.ones(len(L)), columns, columns[:, 0]])):
        found = constrained_eigsh(scipy.sparse.csr_array(L), C, k=12, which=which, method=method)
        assert_exact(found, L, C, 12, which)


@pytest.mark.parametrize("name", families())
def test_small_graphs_and_more_pairs_than_there_are(name):
    L = laplacian(families()[name])
    for C in (None, np.ones((len(L), 1)), np.eye(len(L))):
        for k in (1, 3, 100):
            assert_exact(constrained_eigsh(L, C, k=k), L, C, k, "SA")


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 90), st.integers(0, 6), st.integers(1, 12), st.sampled_from(METHODS[1:]), st.integers(0, 2**31 - 1)
)
def test_any_symmetric_matrix_with_any_constraints(n, c, k, method, seed):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.integers(-2, 3, (n, n)) * (rng.random((n, n)) < rng.random()), 0).astype(float)
    L, C = A + A.T, rng.integers(-1, 2, (n, c)) * 10.0 ** rng.integers(-6, 7, c)
    which = "SA" if seed % 2 else "LA"
    assert_exact(constrained_eigsh(L, C, k=k, which=which, method=method), L, C, k, which)


def test_what_was_found_fits_a_line():
    found = constrained_eigsh(np.diag(np.arange(50.0)), np.ones(50), k=3)
    assert repr(found).startswith("EigenPairs(3 pairs of 50 nodes, 3 converged")
    assert "\n" not in repr(found)


def test_values_are_those_of_eigsh_and_lobpcg():
    L = laplacian(nx.random_regular_graph(4, 500, seed=1))
    C = np.random.default_rng(0).normal(size=(500, 3))
    N = oracle.null_space(C, 500)
    PLP = N @ (N.T @ L @ N) @ N.T
    found = constrained_eigsh(scipy.sparse.csr_array(L), C, k=5, which="LA")
    operator = LinearOperator(L.shape, matvec=lambda x: PLP @ x, dtype=float)
    np.testing.assert_allclose(found.values.numpy(), np.sort(eigsh(operator, k=5, which="LA")[0]), atol=1e-7)
    X = np.random.default_rng(1).normal(size=(500, 5))
    highest, _ = lobpcg(PLP, X, Y=C, largest=True, tol=1e-7, maxiter=300)
    np.testing.assert_allclose(found.values.numpy(), np.sort(highest), atol=1e-6)


def test_every_kind_of_input_gives_the_same_values():
    L = laplacian(nx.random_regular_graph(3, 500, seed=0))
    C = np.random.default_rng(0).normal(size=(500, 2))
    expected = oracle.eigenvalues(L, C)[:6]
    with torch.sparse.check_sparse_tensor_invariants():
        kinds = [L, torch.tensor(L), scipy.sparse.coo_array(L), torch.tensor(L).to_sparse()]
        kinds += [lambda x: torch.tensor(L) @ x, LinearOperator(L.shape, matvec=lambda x: L @ x, dtype=float)]
        for kind in kinds:
            for columns in (torch.tensor(C), scipy.sparse.csc_array(C), torch.tensor(C).to_sparse()):
                np.testing.assert_allclose(constrained_eigsh(kind, columns, k=6).values, expected, atol=1e-7)


def test_a_constraint_too_large_to_factorise_goes_through_lsqr():
    n, k = 3000, 4000
    L = scipy.sparse.csr_array(nx.laplacian_matrix(nx.random_regular_graph(4, n, seed=0)).astype(float))
    C = scipy.sparse.csc_array((np.ones(k), (np.arange(k) % 500, np.arange(k))), shape=(n, k))
    found = constrained_eigsh(L, C, k=3, which="LA", tol=1e-6)
    left = L[500:][:, 500:]
    np.testing.assert_allclose(found.values.numpy(), np.sort(eigsh(left, k=3, which="LA")[0]), atol=1e-5)
    assert found.converged.all()
    assert found.vectors[:500].abs().max() < 1e-10


def test_a_null_space_of_few_dimensions_behind_a_large_constraint():
    n = 3200
    C = scipy.sparse.hstack([scipy.sparse.eye_array(n).tocsc()[:, 4:]] * 2)
    L = scipy.sparse.diags_array(np.arange(n, dtype=float))
    found = constrained_eigsh(L, C, k=6)
    np.testing.assert_allclose(found.values.numpy(), [0, 1, 2, 3], atol=1e-9)
    assert found.converged.all()
    assert found.cut is False


@pytest.mark.parametrize("kind", ["vector", "diagonal", "sparse"])
def test_node_weights_make_the_problem_generalised(kind):
    rng = np.random.default_rng(0)
    for n in (60, 450):
        L = laplacian(nx.random_regular_graph(4, n, seed=1))
        weight, C = rng.random(n) + 0.1, rng.normal(size=(n, 2))
        M = {"vector": weight, "diagonal": np.diag(weight), "sparse": scipy.sparse.diags_array(weight)}[kind]
        found = constrained_eigsh(L if n == 60 else scipy.sparse.csr_array(L), C, k=5, M=M)
        N = oracle.null_space(C, n)
        exact = scipy.linalg.eigh(N.T @ L @ N, N.T @ np.diag(weight) @ N, eigvals_only=True)[:5]
        np.testing.assert_allclose(found.values.numpy(), exact, atol=1e-7)
        V = found.vectors.numpy()
        np.testing.assert_allclose(V.T @ np.diag(weight) @ V, np.eye(5), atol=1e-9)
        np.testing.assert_allclose(C.T @ V, 0, atol=1e-9)
        rest = N.T @ (L @ V - weight[:, None] * V * found.values.numpy())
        np.testing.assert_allclose(found.residual.numpy(), np.linalg.norm(rest, axis=0), atol=1e-10)


def test_what_has_not_converged_says_so_and_its_residuals_are_true():
    n = 3000
    L = scipy.sparse.csr_array(nx.laplacian_matrix(nx.path_graph(n)).astype(float))
    found = constrained_eigsh(lambda x: torch.as_tensor(L @ x.numpy()), np.ones((n, 1)), k=5, max_products=300)
    assert not found.converged.any()
    assert found.cut is None
    V = found.vectors.numpy()
    rest = L @ V - V * found.values.numpy()
    rest -= rest.mean(0)
    np.testing.assert_allclose(found.residual.numpy(), np.linalg.norm(rest, axis=0), atol=1e-10)
    assert found.residual.max() > 1e-6
    assert constrained_eigsh(L, np.ones((n, 1)), k=5).method == "shift_invert"


def test_the_first_filter_fits_an_expander():
    """Its cutoff comes from the density of the spectrum: a guess that is narrowed down took 1,590 products."""
    L = scipy.sparse.csr_array(laplacian(nx.random_regular_graph(4, 1000, seed=0)))
    C = np.random.default_rng(2).standard_normal((1000, 3))
    found = constrained_eigsh(L, C, k=20, method="lanczos")
    assert_exact(found, L.toarray(), C, 20, "SA")
    assert found.num_products < 1100


def test_same_seed_same_bits():
    L = scipy.sparse.csr_array(nx.laplacian_matrix(nx.random_regular_graph(4, 700, seed=1)).astype(float))
    a, b = (constrained_eigsh(L, np.ones((700, 1)), k=4, seed=3) for _ in range(2))
    assert torch.equal(a.values, b.values)
    assert torch.equal(a.vectors, b.vectors)


@pytest.mark.parametrize("name", ["grid", "regular", "path"])
def test_same_bits_on_any_number_of_threads(name):
    L = scipy.sparse.csr_array(laplacian(large()[name]))
    C = np.column_stack([np.ones(L.shape[0]), np.random.default_rng(0).normal(size=(L.shape[0], 2))])
    for method in ("dense", "lanczos", "shift_invert"):
        found = []
        for threads in (1, 2):
            with threadpool_limits(threads):
                found.append(constrained_eigsh(L, C, k=4, method=method))
                limits = {x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"}
                assert limits == {threads}  # given back
        assert torch.equal(found[0].values, found[1].values)
        assert torch.equal(found[0].vectors, found[1].vectors)


def test_a_function_that_uses_another_device_is_told_what_to_write():
    L = torch.eye(3, dtype=torch.float64, device="meta")
    with pytest.raises(InputError, match=r"L\(x\) is called with vectors on the CPU.*x\.to\("):
        constrained_eigsh(lambda x: L @ x, torch.ones(3, 1), k=1)


def neighbour(L: scipy.sparse.csr_array) -> LinearOperator:
    """(L + 1e-3)⁻¹ by an incomplete factorisation, made symmetric by applying it and its transpose."""
    factor = spilu(scipy.sparse.csc_array(L + 1e-3 * scipy.sparse.eye_array(L.shape[0])), drop_tol=1e-3, fill_factor=3)
    return LinearOperator(L.shape, matvec=lambda x: (factor.solve(x) + factor.solve(x, "T")) / 2, dtype=float)


@pytest.mark.parametrize("name", ["star", "60 Petersen graphs", "three copies", "path", "grid", "isolated nodes"])
def test_preconditioned_pairs_are_exact_with_every_copy(name):
    L = scipy.sparse.csr_array(laplacian(large()[name]))
    n = L.shape[0]
    for C in (None, np.column_stack([np.ones(n), np.random.default_rng(0).integers(0, 3, (n, 2))])):
        found = constrained_eigsh(
            lambda x: torch.as_tensor(L @ x.numpy()), C, k=8, num_nodes=n, preconditioner=neighbour(L)
        )
        assert_exact(found, L.toarray(), C, 8, "SA")


def test_a_preconditioner_makes_a_long_chain_converge():
    n = 3000
    L = scipy.sparse.csc_array(nx.laplacian_matrix(nx.path_graph(n)).astype(float))
    exact = 2 - 2 * np.cos(np.pi * np.arange(1, 6) / n)
    factor = splu(scipy.sparse.csc_array(L + 1e-6 * scipy.sparse.eye_array(n)))
    options = {"k": 5, "max_products": 2000}

    def product(x):
        return torch.as_tensor(L @ x.numpy())

    plain = constrained_eigsh(product, np.ones((n, 1)), **options)
    helped = constrained_eigsh(product, np.ones((n, 1)), preconditioner=lambda x: factor.solve(x.numpy()), **options)
    assert not plain.converged.any()
    assert helped.converged.all()
    assert max(plain.num_products, helped.num_products) < 2200
    assert helped.method == "davidson"
    assert helped.cut is False
    np.testing.assert_allclose(helped.values.numpy(), exact, atol=1e-8)


@pytest.mark.parametrize("which", ["SA", "LA"])
def test_a_preconditioner_beside_node_weights_and_at_either_end(which):
    rng, n = np.random.default_rng(0), 500
    L = scipy.sparse.csr_array(laplacian(nx.random_regular_graph(4, n, seed=1)))
    weight, C = rng.random(n) + 0.1, rng.normal(size=(n, 2))
    shift = 0.01 if which == "SA" else -1e2
    near = np.linalg.inv((L + scipy.sparse.diags_array(weight * shift)).toarray()) * np.sign(shift)
    found = constrained_eigsh(L, C, k=4, which=which, M=weight, preconditioner=(near + near.T) / 2)
    N = oracle.null_space(C, n)
    exact = scipy.linalg.eigh(N.T @ L @ N, N.T @ np.diag(weight) @ N, eigvals_only=True)
    assert found.converged.all()
    np.testing.assert_allclose(found.values.numpy(), exact[:4] if which == "SA" else exact[-4:], atol=1e-5)


BAD = {
    "a preconditioner is for method='auto'": {"preconditioner": torch.eye(2), "method": "lanczos"},
    "preconditioner is not symmetric": {"preconditioner": torch.tensor([[1.0, 1.0], [0.0, 1.0]])},
    r"preconditioner must be \[2, 2\]": {"preconditioner": torch.eye(3)},
    r"preconditioner\(x\) must give 2 numbers": {"preconditioner": lambda x: x[:1]},
    "k must be an integer of at least 1": {"k": 0},
    "which must be 'SA'": {"which": "SM"},
    "tol must lie between": {"tol": 0},
    "method must be 'auto'": {"method": "arpack"},
    "max_products must be": {"max_products": 0},
    "M must be the positive weights of the 2 nodes": {"M": torch.tensor([[2.0, 1.0], [1.0, 2.0]])},
    "M must be positive and finite": {"M": [1.0, 0.0]},
    "L is a function": {"L": lambda x: x},
    "L is not symmetric": {"L": torch.tensor([[1.0, 2.0], [0.0, 1.0]])},
    "C must have one row": {"C": torch.ones(1, 4)},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_names_the_argument_and_the_remedy(message):
    with pytest.raises(InputError, match=message):
        constrained_eigsh(**({"L": torch.tensor([[1.0, -1.0], [-1.0, 1.0]]), "k": 1} | BAD[message]))
