"""Users and items: factors equal a dense solver of Hu, Koren and Volinsky's equations, cosines equal the matrix."""

import networkx as nx
import numpy as np
import pytest
import torch

from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.graph._sides import find_sides, is_two_sided
from llwlc.heuristics import HEURISTICS, _item_regression, _users_items, implicit_als, item_cosine, users_items
from llwlc.heuristics._implicit_als import ImplicitFactors, factors_of, solve_side
from llwlc.heuristics._item_regression import ItemRegression
from llwlc.heuristics._users_items import WEIGHTS, UsersItems, choose_weight, unlinked_pairs

USERS, ITEMS = 30, 20
SIDED = ("implicit-als", "item-cosine", "users-items")


def likes(seed=0, count=150):
    """A bipartite graph, users first, and its matrix `[USERS, ITEMS]`."""
    rng = np.random.default_rng(seed)
    matrix = np.zeros((USERS, ITEMS))
    matrix.flat[rng.choice(matrix.size, count, replace=False)] = 1
    matrix[np.arange(USERS), rng.integers(0, ITEMS, USERS)] = 1
    user, item = np.nonzero(matrix)
    return Graph.from_edges(np.stack([user, item + USERS], 1), num_nodes=USERS + ITEMS), matrix


def all_pairs():
    user, item = np.indices((USERS, ITEMS))
    return torch.from_numpy(np.stack([user.ravel(), item.ravel() + USERS], 1))


def dense_side(p, c, other, ridge):
    """x_u = (Yᵀ C_u Y + λ I)⁻¹ Yᵀ C_u p_u for every row, with the whole diagonal matrix C_u."""
    rows = [
        np.linalg.solve(
            other.T @ np.diag(c[u]) @ other + ridge * np.eye(other.shape[1]), other.T @ np.diag(c[u]) @ p[u]
        )
        for u in range(len(p))
    ]
    return np.array(rows)


@pytest.mark.parametrize(("confidence", "ridge"), [(1.0, 10.0), (40.0, 0.1)])
def test_factors_are_those_of_the_dense_equations(confidence, ridge):
    graph, matrix = likes()
    found = ImplicitFactors.fit(graph, rank=6, confidence=confidence, ridge=ridge, sweeps=3)
    c = 1 + confidence * matrix
    y = np.random.default_rng(0).normal(size=(ITEMS, 6)) / np.sqrt(6)
    for _ in range(3):
        x = dense_side(matrix, c, y, ridge)
        y = dense_side(matrix.T, c.T, x, ridge)
    np.testing.assert_allclose(found.vectors, np.concatenate([x, y]), atol=1e-9)
    scores = found.scores(all_pairs().numpy()).reshape(USERS, ITEMS)
    np.testing.assert_allclose(scores, x @ y.T, atol=1e-9)


def test_every_sweep_lowers_the_objective():
    graph, matrix = likes(1)

    def objective(sweeps):
        found = ImplicitFactors.fit(graph, rank=5, confidence=3.0, ridge=0.5, sweeps=sweeps)
        miss = matrix - found.scores(all_pairs().numpy()).reshape(USERS, ITEMS)
        return ((1 + 3.0 * matrix) * miss**2).sum() + 0.5 * (found.vectors**2).sum()

    values = [objective(sweeps) for sweeps in range(1, 6)]
    assert np.all(np.diff(values) < 0)


def test_scores_depend_on_neither_order_nor_side():
    graph, _ = likes(2)
    pairs = all_pairs()
    assert torch.equal(implicit_als(graph, pairs), implicit_als(graph, pairs.flip(1)))
    assert torch.equal(item_cosine(graph, pairs), item_cosine(graph, pairs.flip(1)))
    assert torch.equal(users_items(graph, pairs), users_items(graph, pairs.flip(1)))
    same_side = torch.tensor([[0, 1], [USERS, USERS + 1]])
    for heuristic in (implicit_als, item_cosine, users_items):
        assert heuristic(graph, same_side).tolist() == [0.0, 0.0]
        assert heuristic(graph, pairs.reshape(USERS, ITEMS, 2)).shape == (USERS, ITEMS)
    assert factors_of(graph) is factors_of(graph)


def test_the_cosine_of_items_is_that_of_the_matrix_without_the_pairs_link():
    graph, matrix = likes(3)
    found = item_cosine(graph, all_pairs()).reshape(USERS, ITEMS).numpy()
    for user in range(USERS):
        for item in range(ITEMS):
            known = matrix.copy()
            known[user, item] = 0
            size = np.sqrt(known.sum(0))
            # d_j of the items that the user has are those of the graph as it is
            cosines = known[:, item] @ known / np.maximum(size[item] * size, 1e-12)
            cosines[item] = 0
            assert found[user, item] == pytest.approx(cosines @ known[user], abs=1e-9)


def test_sides_are_those_of_networkx():
    graph, _ = likes(4)
    plain = nx.Graph(graph.edges.tolist())
    colour = nx.algorithms.bipartite.color(plain)
    sides = find_sides(graph)
    assert [sides.code[u] == sides.code[0] for u in plain] == [colour[u] == colour[0] for u in plain]
    assert sides.even_cycles == len(nx.cycle_basis(plain))
    assert is_two_sided(graph)


def test_other_graphs_have_neither():
    triangle = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 0]]))
    for name, heuristic in zip(SIDED, (implicit_als, item_cosine, users_items), strict=True):
        assert not HEURISTICS[name].applies_to(triangle)
        assert HEURISTICS[name].applies_to(likes()[0])
        with pytest.raises(InputError, match="--bipartite"):
            heuristic(triangle, torch.tensor([[0, 1]]))


def test_a_node_without_links_has_no_factors():
    links = torch.zeros(1, 3).numpy()
    from scipy.sparse import csr_array

    assert not solve_side(csr_array(links), np.ones((3, 2)), 1.0, 1.0).any()


def test_the_regression_of_items_is_that_of_least_squares():
    """Column i of B, without its own entry, is the ridge regression of item i on all other items."""
    graph, matrix = likes(5)
    found = ItemRegression.fit(graph, ridge=3.0)
    for item in range(ITEMS):
        others = np.delete(matrix, item, 1)
        wanted = np.linalg.solve(others.T @ others + 3.0 * np.eye(ITEMS - 1), others.T @ matrix[:, item])
        np.testing.assert_allclose(np.delete(found.weights[:, item], item), wanted, atol=1e-9)
    scores = found.scores(all_pairs().numpy()).reshape(USERS, ITEMS)
    np.testing.assert_allclose(scores, matrix @ found.weights, atol=1e-9)
    assert found.spread == pytest.approx(scores.std())
    assert ImplicitFactors.fit(graph, rank=4).spread == pytest.approx(
        ImplicitFactors.fit(graph, rank=4).scores(all_pairs().numpy()).std()
    )


def test_the_smaller_side_is_regressed_and_a_large_one_is_not(monkeypatch):
    graph, _ = likes(6)
    turned = Graph.from_edges(USERS + ITEMS - 1 - graph.edges, num_nodes=USERS + ITEMS)
    pairs = all_pairs()
    # the factors begin at random on the other side, so only the regression is compared
    one, other = (ItemRegression.fit(g).scores(p.numpy()) for g, p in ((graph, pairs), (turned, 49 - pairs)))
    np.testing.assert_allclose(one, other, atol=1e-12)
    monkeypatch.setattr(_item_regression, "MAX_REGRESSED", 10)
    assert ItemRegression.fit(graph) is None
    alone = users_items(Graph.from_edges(graph.edges, num_nodes=50), pairs)
    torch.testing.assert_close(alone, implicit_als(graph, pairs) / factors_of(graph).spread)


@pytest.mark.parametrize("seed", [7, 8])
def test_the_weight_is_that_of_plain_ranks_of_hidden_links(seed):
    """Ranks are counted one by one in the dense matrix of scores; the factors alone stay unless others gain clearly."""
    graph, matrix = likes(seed, count=200)
    logarithms = []
    for repeat in range(3):
        hidden = np.random.default_rng(repeat).random(graph.num_edges) < 0.1
        left = graph.with_edges(graph.edges[torch.from_numpy(~hidden)])
        dense = [part.scores(all_pairs().numpy()) for part in (ImplicitFactors.fit(left), ItemRegression.fit(left))]
        f, r = ((part / part.std()).reshape(USERS, ITEMS) for part in dense)
        for u, i in graph.edges[torch.from_numpy(hidden)].tolist():
            sums = [w * f + (1 - w) * r for w in WEIGHTS]
            logarithms.append([np.log2(2 + (s[matrix == 0] > s[u, i - USERS]).sum()) for s in sums])
    gain = np.array(logarithms)[:, -1:] - logarithms
    clear = gain.mean(0) > gain.std(0) / np.sqrt(len(gain))
    wanted = WEIGHTS[np.argmax(np.where(clear, gain.mean(0), -1))] if clear.any() else 1.0
    assert choose_weight(graph) == wanted
    factors, regression = factors_of(graph), ItemRegression.fit(graph)
    sums = wanted * factors.scores(all_pairs().numpy()) / factors.spread
    sums += (1 - wanted) * regression.scores(all_pairs().numpy()) / regression.spread
    np.testing.assert_allclose(users_items(graph, all_pairs()).numpy(), sums, atol=1e-9)


def test_unlinked_pairs_are_all_or_some_at_random(monkeypatch):
    graph, matrix = likes(9)
    pairs, total = unlinked_pairs(graph, np.random.default_rng(0))
    assert total == len(pairs) == (matrix == 0).sum()
    assert {tuple(pair) for pair in pairs} == {(u, i + USERS) for u, i in np.argwhere(matrix == 0)}
    monkeypatch.setattr(_users_items, "MAX_PAIRS", 100)
    some, total = unlinked_pairs(graph, np.random.default_rng(0))
    assert (len(some) <= 100, total) == (True, len(pairs))
    assert {tuple(pair) for pair in some} <= {tuple(pair) for pair in pairs}


def test_a_regression_that_ranks_better_has_a_weight_and_few_links_are_not_asked():
    """Items come in pairs that the same users like: each item is a copy of its twin, which only a regression with few
    items in it learns, as factors of a ridge of ten leave rare items out."""
    rng = np.random.default_rng(3)
    likes_pair = rng.random((120, 15)) < 0.12
    matrix = np.repeat(likes_pair, 2, 1)
    user, item = np.nonzero(matrix & (rng.random(matrix.shape) < 0.95))
    graph = Graph.from_edges(np.stack([user, item + 120], 1), num_nodes=150)
    assert UsersItems.fit(graph).weight < 1
    few = graph.with_edges(graph.edges[:99])
    assert choose_weight(few) == 0.5
