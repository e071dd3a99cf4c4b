"""The statistics of the stack: networkx's and dense algebra's, symmetric, and the same in any batch."""

import networkx as nx
import numpy as np
import pytest
import torch

from llwlc.graph._graph import Graph
from llwlc.heuristics import spectral_dot_product
from llwlc.models._stack.coordinates import Coordinates, landmark_distances, smoothest_vectors
from llwlc.models._stack.node_statistics import NODE_STATISTICS, compute_node_statistics
from llwlc.models._stack.page_ranks import compute_page_ranks
from llwlc.models._stack.statistics import PairStatistics


def made(plain):
    return Graph.from_edges(torch.tensor(list(plain.edges)), num_nodes=len(plain))


@pytest.fixture(scope="module")
def plain():
    graph = nx.powerlaw_cluster_graph(120, 3, 0.6, seed=0)
    graph.add_edges_from([(5, 120), (120, 121), (122, 123)])
    graph.add_node(124)
    return graph


def test_statistics_of_nodes_are_networkxs(plain):
    found = dict(zip(NODE_STATISTICS, compute_node_statistics(made(plain)).T, strict=True))
    nodes = range(len(plain))
    assert found["degree"].tolist() == [plain.degree[u] for u in nodes]
    assert found["core number"].tolist() == [nx.core_number(plain)[u] for u in nodes]
    expected = nx.average_neighbor_degree(plain)
    np.testing.assert_allclose(found["mean degree of neighbours"], [expected[u] for u in nodes])
    expected = nx.clustering(plain)
    np.testing.assert_allclose(found["clustering coefficient"], [expected[u] for u in nodes])
    expected = nx.pagerank(plain, tol=1e-12)
    np.testing.assert_allclose(found["PageRank"], [len(plain) * expected[u] for u in nodes], rtol=1e-3)
    expected = [len(nx.node_connected_component(plain, u)) for u in nodes]
    assert found["nodes of the component"].tolist() == expected
    degree = dict(plain.degree)
    ends, forks = ({u for u in nodes if good(degree[u])} for good in (lambda d: d == 1, lambda d: d >= 3))
    assert found["neighbours of degree one"].tolist() == [len(ends & set(plain[u])) for u in nodes]
    for name, goal in (("one", ends), ("three", forks)):
        steps = nx.multi_source_dijkstra_path_length(plain, goal)
        expected = [steps.get(u, len(plain)) for u in nodes]
        assert found[f"steps to a node of degree {name}"].tolist() == expected
    walks = nx.to_numpy_array(plain, nodelist=nodes) @ nx.to_numpy_array(plain, nodelist=nodes)
    size = np.array([degree[u] for u in nodes])
    expected = walks @ size / np.maximum(walks.sum(1), 1)
    np.testing.assert_allclose(found["mean degree two steps away"], expected)


def test_page_ranks_are_networkxs_both_ways(plain):
    pairs = np.array([[0, 1], [3, 70], [12, 44], [0, 121], [122, 123], [5, 124]])
    for (u, v), found in zip(pairs.tolist(), compute_page_ranks(made(plain), pairs), strict=True):
        ways = [nx.pagerank(plain, personalization={a: 1}, tol=1e-10, max_iter=1000)[b] for a, b in ((u, v), (v, u))]
        np.testing.assert_allclose(found, sorted(ways), rtol=0.1, atol=1e-3)


def test_resistances_of_all_vectors_are_commute_times():
    # Σ (f_k(u) − f_k(v))² / λ_k, f_k scaled to mean square one by degree, is 2m times the resistance
    plain = nx.connected_watts_strogatz_graph(20, 4, 0.3, seed=0)
    pairs = np.array([[0, 1], [0, 10], [3, 17]])
    names = Coordinates.names()
    found = Coordinates.of(made(plain)).statistics(pairs)[:, names.index("resistance at rank 24")]
    expected = [2 * plain.number_of_edges() * nx.resistance_distance(plain, u, v) for u, v in pairs.tolist()]
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_entries_at_low_rank_are_those_of_the_heuristic(plain):
    pairs = np.random.default_rng(0).integers(0, 125, (50, 2))
    found = dict(zip(Coordinates.names(), Coordinates.of(made(plain)).statistics(pairs).T, strict=True))
    for rank in (4, 32):
        expected = spectral_dot_product(made(plain), torch.from_numpy(pairs), rank=rank)
        np.testing.assert_allclose(found[f"adjacency entry at rank {rank}"], expected, atol=1e-8)


def test_smooth_vectors_know_the_large_components_only(plain):
    values, vectors = smoothest_vectors(made(plain), 5)
    assert len(values) == 5
    assert (np.diff(values) >= -1e-9).all()
    assert not vectors[122:].any()
    weighted = vectors * np.array([plain.degree[u] for u in range(125)])[:, None]
    np.testing.assert_allclose(weighted.sum(0), 0, atol=1e-3 * np.abs(weighted).sum())  # no constant among them


def test_distances_by_landmarks_enclose_the_distance(plain):
    pairs = np.random.default_rng(1).integers(0, 122, (80, 2))
    names, found = Coordinates.names(), Coordinates.of(made(plain)).statistics(pairs)
    least, most = (found[:, names.index(f"distance by landmarks, at {which}")] for which in ("least", "most"))
    exact = np.array([nx.shortest_path_length(plain, u, v) for u, v in pairs.tolist()])
    assert (least <= exact).all()
    assert (exact <= most).all()
    far = landmark_distances(made(plain))
    start = int(far[:, 0].argmin())
    reached = nx.single_source_shortest_path_length(plain, start)
    assert far[:, 0].tolist() == [reached.get(u, 125) for u in range(125)]


def test_rows_are_symmetric_and_the_same_in_any_batch(plain):
    x = torch.rand(125, 4, generator=torch.Generator().manual_seed(0))
    graph = Graph.from_edges(torch.tensor(list(plain.edges)), num_nodes=125, x=x)
    statistics = PairStatistics(graph, features=True)
    pairs = np.random.default_rng(2).integers(0, 125, (60, 2))
    whole = statistics(pairs)
    assert whole.shape == (60, len(PairStatistics.names(features=True)))
    assert whole.shape[1] >= 30
    assert np.isfinite(whole).all()
    assert np.array_equal(whole, statistics(pairs[:, ::-1]))
    assert np.array_equal(whole[7:9], statistics(pairs[7:9]))
    assert np.array_equal(whole, PairStatistics(graph, features=True)(pairs))


@pytest.mark.parametrize("edges", [[], [[0, 1]], [[0, 1], [1, 2]]])
def test_the_smallest_graphs_have_finite_statistics(edges):
    graph = Graph.from_edges(torch.tensor(edges, dtype=torch.long).reshape(-1, 2), num_nodes=4)
    assert np.isfinite(PairStatistics(graph)(np.array([[0, 2], [2, 3]]))).all()
