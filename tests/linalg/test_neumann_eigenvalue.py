"""Chung's λ_S against its definition, and against Equation 1 of the paper."""

import networkx as nx
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import torch

import oracle
from graphs import batch_of
from llwlc import constraints, eigenbasis
from llwlc.errors import InputError
from llwlc.linalg import neumann_eigenvalue


def by_definition(A: np.ndarray, S: np.ndarray) -> float:
    """The sum over edges with an end in S, on the null space of the conditions written out."""
    n, d = len(A), A.sum(1)
    boundary = [x for x in range(n) if x not in S and A[x, S].any()]
    rows = []
    for x in boundary:
        c = np.zeros(n)
        c[S] = -A[x, S]
        c[x] = A[x, S].sum()
        rows.append(c)
    c = np.zeros(n)
    c[S] = d[S]
    alive = [*S, *boundary]
    N = scipy.linalg.null_space(np.array([*rows, c])[:, alive])
    Q = np.zeros((n, n))
    for x in range(n):
        for y in range(x):
            if A[x, y] and (x in S or y in S):
                e = np.zeros(n)
                e[x], e[y] = 1, -1
                Q += A[x, y] * np.outer(e, e)
    weight = np.array([d[x] if x in S else 0.0 for x in alive])
    return float(scipy.linalg.eigh(N.T @ Q[np.ix_(alive, alive)] @ N, N.T @ np.diag(weight) @ N, eigvals_only=True)[0])


@pytest.mark.parametrize("seed", range(12))
def test_it_is_its_definition(seed):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((25, 25)) * (rng.random((25, 25)) < 0.15), 1)
    A = A + A.T
    S = rng.choice(25, size=int(rng.integers(3, 20)), replace=False)
    S = S[A[S].any(1)]
    L = np.diag(A.sum(1)) - A
    expected = by_definition(A, S)
    for given in (L, torch.tensor(L), scipy.sparse.csr_array(L)):
        assert neumann_eigenvalue(given, S) == pytest.approx(expected, abs=1e-9)
    assert neumann_eigenvalue(L, torch.isin(torch.arange(25), torch.as_tensor(S))) == pytest.approx(expected, abs=1e-9)


def test_all_nodes_give_the_normalised_laplacian():
    graph = nx.karate_club_graph()
    L = nx.laplacian_matrix(graph, weight=None).toarray().astype(float)
    second = nx.normalized_laplacian_spectrum(graph, weight=None)[1]
    assert neumann_eigenvalue(L, np.arange(34)) == pytest.approx(second, abs=1e-9)


@pytest.mark.parametrize(("weight", "chung", "equation"), [(None, 0.1755, 0.4672), ("weight", 0.1453, 1.1844)])
def test_it_is_not_equation_1(weight, chung, equation):
    """Karate, pair (0, 33): S are the neighbours of the pair, in Zachary's club without and with edge weights."""
    graph = nx.karate_club_graph()
    subs = batch_of([graph], [(0, 33)], weight=weight)
    S = (subs.hop == 1).numpy()
    L = oracle.laplacian(subs, 0, "combinatorial")
    basis = eigenbasis(subs, constraints.neumann(subs), laplacian="combinatorial", complete=True, dtype=torch.float64)
    assert float(basis.values[0, 0]) == pytest.approx(equation, abs=1e-4)
    assert neumann_eigenvalue(L, S) == pytest.approx(chung, abs=1e-4)
    assert neumann_eigenvalue(L, S) == pytest.approx(
        by_definition(np.diag(np.diag(L)) - L, np.flatnonzero(S)), abs=1e-9
    )


def test_parts_without_a_common_boundary_have_0():
    L = nx.laplacian_matrix(nx.path_graph(9)).toarray().astype(float)
    assert neumann_eigenvalue(L, [0, 1, 6, 7]) == pytest.approx(0, abs=1e-9)


BAD = {
    "L must be D − A": (np.array([[1.0, 1.0], [1.0, 1.0]]), [0, 1]),
    "λ_S needs two": (np.array([[1.0, -1.0], [-1.0, 1.0]]), [0]),
    "nodes must be a mask": (np.array([[1.0, -1.0], [-1.0, 1.0]]), [0, 2]),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_says_what_to_do(message):
    with pytest.raises(InputError, match=message):
        neumann_eigenvalue(*BAD[message])
