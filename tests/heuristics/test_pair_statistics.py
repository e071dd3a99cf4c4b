"""Statistics of pairs against networkx, on the graph that lacks the pair's own link."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from llwlc.graph._graph import Graph
from llwlc.heuristics._pair_statistics import STATISTICS, _fill, compute_pair_statistics, row_cosines

graphs = st.one_of(
    st.builds(
        lambda n, p, seed: nx.gnp_random_graph(n, p, seed=seed),
        st.integers(2, 25),
        st.floats(0, 0.6),
        st.integers(0, 99),
    ),
    st.sampled_from(
        [
            nx.empty_graph(4),
            nx.star_graph(9),
            nx.complete_graph(7),
            nx.disjoint_union(nx.cycle_graph(5), nx.path_graph(4)),
            nx.disjoint_union(nx.wheel_graph(12), nx.empty_graph(3)),
            nx.complete_bipartite_graph(2, 8),
        ]
    ),
)


def of(graph: nx.Graph) -> Graph:
    return Graph.from_edges(torch.tensor(list(graph.edges), dtype=torch.long).reshape(-1, 2), num_nodes=len(graph))


def all_pairs(n: int) -> np.ndarray:
    return np.array([(u, v) for u in range(n) for v in range(n) if u != v], dtype=np.int64).reshape(-1, 2)


def one(values) -> float:
    return next(iter(values))[2]


@settings(deadline=None, max_examples=25)
@given(graphs)
def test_statistics_equal_networkxs_on_the_graph_without_the_pairs_link(graph):
    pairs = all_pairs(len(graph))
    found = compute_pair_statistics(of(graph), pairs)
    for (u, v), row in zip(pairs.tolist(), found, strict=True):
        rest = graph.copy()
        rest.remove_edges_from([(u, v)])
        wanted = [
            len(list(nx.common_neighbors(rest, u, v))),
            one(nx.adamic_adar_index(rest, [(u, v)])),
            one(nx.resource_allocation_index(rest, [(u, v)])),
            *sorted((rest.degree[u], rest.degree[v])),
        ]
        np.testing.assert_allclose(row, wanted, rtol=1e-12)


@settings(deadline=None, max_examples=25)
@given(graphs)
def test_the_order_of_the_ends_does_not_show_in_the_last_bit(graph):
    pairs = all_pairs(len(graph))
    assert np.array_equal(compute_pair_statistics(of(graph), pairs), compute_pair_statistics(of(graph), pairs[:, ::-1]))


def test_no_pairs_give_no_rows_and_more_than_a_run_of_them_are_all_filled():
    graph = nx.gnp_random_graph(60, 0.2, seed=2)
    assert compute_pair_statistics(of(graph), np.zeros((0, 2), dtype=np.int64)).shape == (0, len(STATISTICS))
    pairs = all_pairs(60)
    whole = compute_pair_statistics(of(graph), pairs)
    parts = [compute_pair_statistics(of(graph), pairs[at : at + 7]) for at in range(0, len(pairs), 7)]
    assert np.array_equal(whole, np.concatenate(parts))


def test_the_leaves_of_a_large_star_share_its_hub_alone():
    leaves = 5_000
    graph = of(nx.star_graph(leaves))
    found = compute_pair_statistics(graph, np.array([[1, leaves], [0, leaves]]))
    assert found[0] == pytest.approx([1, 1 / np.log(leaves), 1 / leaves, 1, 1])
    assert found[1].tolist() == [0, 0, 0, 0, leaves - 1]


def merged(graph: Graph, u: int, v: int) -> list[float]:
    """By two sorted rows read side by side, in the order of numbers: the sums have these bits."""
    u, v = min(u, v), max(u, v)
    rows = [graph.indices[graph.indptr[x] : graph.indptr[x + 1]].tolist() for x in (u, v)]
    sums, linked = [0.0, 0.0, 0.0], v in rows[0]
    for w in sorted(set(rows[0]) & set(rows[1])):
        degree = int(graph.degree[w])
        sums = [sums[0] + 1, sums[1] + 1 / np.log(max(degree, 2)), sums[2] + 1 / degree]
    return [*sums, *sorted(len(row) - linked for row in rows)]


@pytest.mark.parametrize("long_row", [0, 16, 10**9])
def test_a_hubs_row_that_is_searched_gives_the_bits_of_one_that_is_read(long_row):
    g = nx.gnm_random_graph(600, 1500, seed=1)
    rng = np.random.default_rng(0)
    for hub, links in ((600, 500), (601, 300), (602, 590)):
        g.add_edges_from((hub, int(x)) for x in rng.choice(600, links, replace=False))
    g.add_edges_from([(600, 601), (603, 602), (604, 604 - 1)])
    graph = of(g)
    pairs = np.array([(u, v) for u in range(590, 605) for v in range(605) if u != v])
    found = np.zeros((len(pairs), len(STATISTICS)))
    # in Python, where the length that counts as long can be set
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("llwlc.heuristics._pair_statistics.LONG_ROW", long_row)
        _fill.py_func(graph.indptr.numpy(), graph.indices.numpy(), pairs, found)
    assert np.array_equal(found, [merged(graph, u, v) for u, v in pairs.tolist()])
    assert np.allclose(
        found, compute_pair_statistics(graph, pairs), rtol=1e-15
    )  # compiled, a logarithm may differ by one bit
    assert np.array_equal(compute_pair_statistics(graph, pairs), compute_pair_statistics(graph, pairs[:, ::-1]))


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 15), st.integers(1, 20), st.floats(0, 1), st.integers(0, 999))
def test_row_cosines_are_the_dense_products_of_the_rows(n, width, density, seed):
    draw = np.random.default_rng(seed)
    x = csr_array(draw.random((n, width)) * (draw.random((n, width)) < density))
    x.sort_indices()
    pairs = all_pairs(n)
    dense = x.toarray()
    arguments = x.indptr.astype(np.int64), x.indices.astype(np.int64), x.data
    found = row_cosines(*arguments, pairs)
    np.testing.assert_allclose(found, (dense[pairs[:, 0]] * dense[pairs[:, 1]]).sum(1), atol=1e-12)
    assert np.array_equal(found, row_cosines(*arguments, pairs[:, ::-1]))
