"""What a network is told of a pair: logarithms of the statistics, and the dense cosine, whatever the rows are kept
in.
"""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from llwlc.bases._pair_inputs import PairInputs, unit_rows
from llwlc.graph._graph import Graph
from llwlc.heuristics._pair_statistics import compute_pair_statistics

graphs = st.builds(
    lambda n, p, seed: nx.gnp_random_graph(n, p, seed=seed), st.integers(2, 20), st.floats(0, 0.6), st.integers(0, 99)
)


def of(graph: nx.Graph) -> Graph:
    return Graph.from_edges(torch.tensor(list(graph.edges), dtype=torch.long).reshape(-1, 2), num_nodes=len(graph))


def all_pairs(n: int) -> torch.Tensor:
    return torch.tensor([(u, v) for u in range(n) for v in range(n) if u != v], dtype=torch.long).reshape(-1, 2)


def rows(n: int, width: int, seed: int) -> np.ndarray:
    """Features with zeros, negative entries, rows of all sizes, and the last row zero."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, width)) * (rng.random((n, width)) < 0.6) * 10.0 ** rng.integers(-3, 4, size=(n, 1))
    x[-1] = 0
    return x


def cosines(x: np.ndarray, pairs: torch.Tensor) -> np.ndarray:
    found = []
    for u, v in pairs.tolist():
        length = np.linalg.norm(x[u]) * np.linalg.norm(x[v])
        found.append(x[u] @ x[v] / length if length > 0 else 0.0)
    return np.array(found)


@settings(deadline=None, max_examples=30)
@given(graphs)
def test_counts_and_degrees_enter_by_their_logarithms(graph):
    pairs = all_pairs(len(graph))
    wanted = compute_pair_statistics(of(graph), pairs.numpy())
    wanted[:, [0, 1, 3, 4]] = np.log(1 + wanted[:, [0, 1, 3, 4]])
    found = PairInputs()(of(graph), pairs)
    assert found.dtype == torch.float32
    assert found.shape == (len(pairs), PairInputs().channels)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@settings(deadline=None, max_examples=30)
@given(graphs, st.booleans())
def test_column_0_is_above_0_exactly_where_a_neighbour_is_shared(graph, featured):
    pairs = all_pairs(len(graph))
    inputs = PairInputs(unit_rows(rows(len(graph), 3, 0)) if featured else None)
    shared = [bool(list(nx.common_neighbors(graph, u, v))) for u, v in pairs.tolist()]
    assert (inputs(of(graph), pairs)[:, 0] > 0).tolist() == shared


@pytest.mark.parametrize("kept", [np.asarray, csr_array], ids=["dense", "sparse"])
@settings(deadline=None, max_examples=30)
@given(n=st.integers(2, 12), width=st.integers(1, 8), seed=st.integers(0, 999))
def test_the_last_column_is_the_dense_cosine_and_0_for_a_zero_row(kept, n, width, seed):
    x, pairs = rows(n, width, seed), all_pairs(n)
    inputs = PairInputs(unit_rows(kept(x)))
    assert inputs.channels == 6
    graph = of(nx.path_graph(n))
    found = inputs(graph, pairs)
    np.testing.assert_allclose(found[:, -1], cosines(x, pairs), atol=1e-6)
    assert (found[(pairs == n - 1).any(1), -1] == 0).all()
    assert torch.equal(found, inputs(graph, pairs.flip(1)))


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 12), st.integers(1, 8), st.integers(0, 999))
def test_unit_rows_have_length_one_or_are_zero_and_the_given_matrix_is_left_alone(n, width, seed):
    x = rows(n, width, seed)
    sparse = csr_array(x)
    before = sparse.toarray()
    for unit in (unit_rows(x), unit_rows(sparse).toarray()):
        length = np.linalg.norm(unit, axis=1)
        np.testing.assert_allclose(length, (x != 0).any(1), atol=1e-6)
        np.testing.assert_allclose(unit * np.linalg.norm(x, axis=1, keepdims=True), x, rtol=1e-5, atol=1e-9)
    assert np.array_equal(sparse.toarray(), before)


def test_columns_out_of_order_are_sorted_before_products():
    shuffled = csr_array((np.array([3.0, 4.0, 4.0, 3.0]), np.array([1, 0, 0, 1]), np.array([0, 2, 4])), shape=(2, 2))
    found = PairInputs(unit_rows(shuffled))(of(nx.path_graph(2)), torch.tensor([[0, 1]]))
    assert float(found[0, -1]) == pytest.approx(1)


@pytest.mark.parametrize("unit", [None, np.eye(3, dtype=np.float32), csr_array(np.eye(3))])
def test_no_pairs_give_no_rows(unit):
    inputs = PairInputs(unit)
    assert inputs(of(nx.empty_graph(3)), torch.zeros(0, 2, dtype=torch.long)).shape == (0, inputs.channels)
