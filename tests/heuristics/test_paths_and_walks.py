"""Paths, short walks and low rank: equal to networkx and dense algebra on the graph without the pair's own link."""

import networkx as nx
import numpy as np
import pytest
import torch

from llwlc import heuristics
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.heuristics._local_walks import shorten_rows

NEW = ("three_paths", "shortest_path", "spectral_dot_product", "local_random_walk", "preferential_attachment")


def plain_graph(size=40, seed=0):
    """With a triangle-rich part, a path, a node of its own, and a second component."""
    graph = nx.powerlaw_cluster_graph(size, 3, 0.5, seed=seed)
    graph.add_edges_from([(0, size), (size, size + 1), (size + 1, size + 2)])
    graph.add_node(size + 3)
    graph.add_edge(size + 4, size + 5)
    return graph


def both(seed=0):
    plain = plain_graph(seed=seed)
    graph = Graph.from_edges(torch.tensor(list(plain.edges)), num_nodes=len(plain))
    return plain, graph, torch.combinations(torch.arange(len(plain)))


def without(plain, u, v):
    other = plain.copy()
    if other.has_edge(u, v):
        other.remove_edge(u, v)
    return other


def test_a_shortest_path_is_networkxs_without_the_pairs_own_link():
    plain, graph, pairs = both()
    found = heuristics.shortest_path(graph, pairs)
    for (u, v), score in zip(pairs.tolist(), found.tolist(), strict=True):
        other = without(plain, u, v)
        expected = nx.shortest_path_length(other, u, v) if nx.has_path(other, u, v) else len(plain)
        assert score == -expected, (u, v)


def test_a_search_that_is_cut_gives_a_lower_bound():
    path = Graph.from_edges(torch.stack([torch.arange(99), torch.arange(1, 100)], 1))
    ends = torch.tensor([[0, 99], [0, 5]])
    assert heuristics.shortest_path(path, ends).tolist() == [-99, -5]
    cut = heuristics.shortest_path(path, ends, most_entries=20)
    assert -99 < cut[0] < -5
    assert cut[1] == -5


def test_three_paths_and_walks_by_dense_algebra_without_the_pairs_own_link():
    plain, graph, pairs = both()
    l3, walks = heuristics.three_paths(graph, pairs), heuristics.local_random_walk(graph, pairs)
    attached = heuristics.preferential_attachment(graph, pairs)
    for at, (u, v) in enumerate(pairs.tolist()):
        dense = nx.to_numpy_array(without(plain, u, v), nodelist=range(len(plain)))
        degree = dense.sum(1)
        normal = np.diag(np.maximum(degree, 1) ** -0.5)
        assert l3[at] == pytest.approx((dense @ normal @ dense @ normal @ dense)[u, v])
        step = dense / np.maximum(degree, 1)[:, None]
        expected = sum(degree[u] * np.linalg.matrix_power(step, t)[u, v] for t in (1, 2, 3, 4))
        assert walks[at] == pytest.approx(expected)
        assert attached[at] == degree[u] * degree[v]


@pytest.mark.parametrize("size", [40, 700])
def test_spectral_dot_products_are_those_of_a_dense_eigensolver(size):
    plain = nx.barabasi_albert_graph(size, 4, seed=1)
    graph, pairs = Graph.from_edges(torch.tensor(list(plain.edges))), torch.randint(size, (300, 2))
    values, vectors = np.linalg.eigh(nx.to_numpy_array(plain, nodelist=range(size)))
    cut = np.sort(np.abs(values))[-9]
    dense = (vectors * (np.sign(values) * np.maximum(np.abs(values) - cut, 0))) @ vectors.T
    found = heuristics.spectral_dot_product(graph, pairs, rank=8)
    np.testing.assert_allclose(found, dense[pairs[:, 0], pairs[:, 1]], atol=1e-5)


def test_an_eigenspace_that_is_cut_changes_nothing():
    # the cycle's eigenvalues come in pairs: at rank 2 one of a pair is left out, so that the pair has no weight
    cycle = Graph.from_edges(torch.tensor(list(nx.cycle_graph(9).edges)))
    scores = heuristics.spectral_dot_product(cycle, cycle.edges, rank=2)
    np.testing.assert_allclose(scores, scores[0], atol=1e-12)


@pytest.mark.parametrize("name", NEW)
def test_scores_are_symmetric_keep_shapes_and_take_graphs_without_links(name):
    score = getattr(heuristics, name)
    _, graph, _ = both()
    pairs = torch.randint(graph.num_nodes, (3, 5, 2), generator=torch.Generator().manual_seed(0))
    assert score(graph, pairs).shape == (3, 5)
    assert torch.equal(score(graph, pairs), score(graph, pairs.flip(-1)))
    assert torch.equal(score(graph, pairs)[1], score(graph, pairs[1]))
    assert score(graph, pairs[:0]).shape == (0, 5)
    bare = Graph.from_edges(torch.empty(0, 2, dtype=torch.long), num_nodes=4)
    assert score(bare, torch.tensor([[0, 1]])).isfinite().all()
    with pytest.raises(InputError, match="outside the graph"):
        score(graph, torch.tensor([[0, 99]]))


def test_long_rows_keep_the_neighbours_of_lowest_degree():
    star = nx.star_graph(6)
    star.add_edges_from([(1, 2), (3, 4)])
    graph = Graph.from_edges(torch.tensor(list(star.edges)))
    rows, columns = shorten_rows(graph.indptr.numpy(), graph.indices.numpy(), 3)
    assert columns[rows[0] : rows[1]].tolist() == [1, 5, 6]
    assert columns[rows[1] : rows[2]].tolist() == [0, 2]
    pairs = torch.combinations(torch.arange(7))
    for score in (heuristics.three_paths, heuristics.local_random_walk):
        assert torch.equal(score(graph, pairs, longest_row=3), score(graph, pairs.flip(1), longest_row=3))
        assert torch.equal(score(graph, pairs, longest_row=6), score(graph, pairs))


def test_paths_of_length_three_find_the_links_of_a_bipartite_graph():
    # two groups on either side; nodes that are linked have no common neighbours
    rng = np.random.default_rng(0)
    left, right = np.divmod(np.arange(60 * 40), 40)
    linked = rng.random(60 * 40) < np.where((left < 30) == (right < 20), 0.3, 0.03)
    edges = torch.from_numpy(np.stack([left, right + 60], 1)[linked])
    known = Graph.from_edges(edges[::2], num_nodes=100)
    others = torch.from_numpy(rng.integers(0, 100, (500, 2)))
    assert heuristics.three_paths(known, edges[1::2]).mean() > 2 * heuristics.three_paths(known, others).mean()
    assert heuristics.common_neighbors(known, edges[1::2]).sum() == 0
