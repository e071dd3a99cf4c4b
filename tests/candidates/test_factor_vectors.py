"""On a bipartite graph, candidates are retrieved by implicit factors too; a link that is tested is removed first."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from llwlc._candidates.config import CandidateConfig
from llwlc._candidates.factor_vectors import FactorVectors
from llwlc._candidates.node_types import detect_node_types
from llwlc._candidates.retriever import make_retriever
from llwlc._candidates.smoothing import SmoothedFeatures
from llwlc.graph._graph import Graph
from llwlc.heuristics._implicit_als import factors_of, solve_side

USERS, ITEMS = 40, 24


def likes(seed=0):
    """Users of three tastes, who mostly like items of theirs."""
    rng = np.random.default_rng(seed)
    fits = np.arange(USERS)[:, None] % 3 == np.arange(ITEMS)[None] % 3
    user, item = np.nonzero(rng.random((USERS, ITEMS)) < np.where(fits, 0.6, 0.05))
    return Graph.from_edges(np.stack([user, item + USERS], 1), num_nodes=USERS + ITEMS)


def test_products_are_the_scaled_scores_of_the_factors():
    graph = likes()
    vectors = FactorVectors.of(graph)
    known = graph.edges.numpy()
    products = (vectors.vectors[known[:, 0]] * vectors.vectors[known[:, 1]]).sum(1)
    assert products.mean() == pytest.approx(1, abs=1e-5)
    scores = factors_of(graph).scores(known)
    np.testing.assert_allclose(products, scores / scores.mean(), rtol=1e-4)


def test_a_vector_without_a_link_solves_the_equations_without_it():
    graph = likes()
    vectors, factors = FactorVectors.of(graph), factors_of(graph)
    edges = graph.edges[:15]
    sources, removed = torch.cat([edges[:, 0], edges[:, 1]]).numpy(), torch.cat([edges[:, 1], edges[:, 0]]).numpy()
    found = vectors.without_link(sources, removed)
    matrix = np.zeros((USERS, ITEMS))
    matrix[graph.edges[:, 0], graph.edges[:, 1] - USERS] = 1
    for row, (u, v) in enumerate(zip(sources, removed, strict=True)):
        known = matrix.copy()
        known[min(u, v), max(u, v) - USERS] = 0
        one, other = (known[[u]], slice(USERS, None)) if u < USERS else (known.T[[u - USERS]], slice(0, USERS))
        wanted = solve_side(csr_array(one), factors.vectors[other], factors.confidence, factors.ridge)[0]
        np.testing.assert_allclose(found[row], vectors.scale * wanted, atol=1e-5)


def test_features_stand_beside_the_factors():
    graph = likes()
    x = np.random.default_rng(1).random((USERS + ITEMS, 5)).astype(np.float32)
    features = SmoothedFeatures.of(graph, x)
    both = FactorVectors.of(graph, features)
    assert np.array_equal(both.vectors[:, -10:], features.vectors)
    pair = np.array([0]), graph.indices[:1].numpy()
    assert np.array_equal(both.without_link(*pair)[:, -10:], features.without_link(*pair))


def test_lists_lie_across_the_sides_and_prefer_the_users_taste():
    graph = likes()
    retriever = make_retriever(graph, None, CandidateConfig(budget=5, walk=0.0), node_types=detect_node_types(graph))
    lists = retriever(np.arange(USERS), 5)
    listed = lists.partner[lists.partner >= 0]
    assert len(listed)
    assert (listed >= USERS).all()
    same = [(user % 3 == (item - USERS) % 3) for user, row in enumerate(lists.partner) for item in row[:1] if item >= 0]
    assert np.mean(same) > 0.6  # a third by chance


def test_a_graph_that_is_not_bipartite_has_no_factors():
    ring = torch.tensor([[i, (i + k) % 31] for i in range(31) for k in (1, 2)])
    assert make_retriever(Graph.from_edges(ring), None, CandidateConfig()).smoothed is None
