"""The columns that say which way a link points, against dense algebra and plain loops."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from llwlc._direction.arcs import arc_matrix, arcs_of
from llwlc._direction.columns import ANTISYMMETRIC, SYMMETRIC, ArcColumns
from llwlc._direction.leave_out import DirectionColumns
from llwlc._direction.node_order import RANK, leading_patterns, node_levels
from llwlc.errors import InputError
from llwlc.graph import Graph
from llwlc.models._stack.folds import fold_numbers
from llwlc.training._node_features import NodeFeatures


def random_arcs(n: int, m: int, seed: int = 0) -> torch.Tensor:
    pairs = torch.randint(n, (m, 2), generator=torch.Generator().manual_seed(seed))
    return pairs[pairs[:, 0] != pairs[:, 1]]


def random_graph(n: int = 40, m: int = 200, seed: int = 0) -> Graph:
    return Graph.from_edges(random_arcs(n, m, seed), num_nodes=n, directed=True)


def dense(graph: Graph) -> np.ndarray:
    return arc_matrix(graph).toarray()


def test_levels_are_the_least_squares_of_all_one_way_links():
    graph = random_graph()
    arcs = dense(graph)
    one_way = np.argwhere((arcs == 1) & (arcs.T == 0))
    rows = np.zeros((len(one_way), graph.num_nodes))
    rows[np.arange(len(one_way)), one_way[:, 0]] = 1
    rows[np.arange(len(one_way)), one_way[:, 1]] = -1
    design = np.concatenate([rows, np.eye(graph.num_nodes)])
    wanted = np.concatenate([np.ones(len(one_way)), np.zeros(graph.num_nodes)])
    expected = np.linalg.lstsq(design, wanted, rcond=None)[0]
    np.testing.assert_allclose(node_levels(arc_matrix(graph)), expected, atol=1e-6)


@pytest.mark.parametrize(("n", "m"), [(40, 200), (300, 1500)])  # LAPACK and ARPACK
def test_patterns_are_the_truncated_singular_value_decomposition(n, m):
    graph = random_graph(n, m)
    arcs = dense(graph)
    out, into = np.sqrt(arcs.sum(1) + 1), np.sqrt(arcs.sum(0) + 1)
    u, s, v = np.linalg.svd(arcs / out[:, None] / into[None])
    best = (u[:, :RANK] * s[:RANK]) @ v[:RANK] * out[:, None] * into[None]
    left, right = leading_patterns(arc_matrix(graph))
    np.testing.assert_allclose(left @ right.T, best, atol=1e-8)


def test_patterns_of_a_graph_without_links_are_zero():
    left, right = leading_patterns(csr_array((300, 300)))
    assert not (left @ right.T).any()


def test_columns_are_those_of_plain_loops():
    graph = random_graph(20, 80)
    a = dense(graph)
    out, into = a.sum(1), a.sum(0)
    scaled = a / np.sqrt(out + 1)[:, None] / np.sqrt(into + 1)[None]
    unit = np.concatenate([a, a.T], 1) / np.sqrt(out + into + 1)[:, None]
    like, signed, linked = unit @ unit.T, a - a.T, np.maximum(a, a.T)
    levels = node_levels(arc_matrix(graph))
    pairs = np.array([(u, v) for u in range(20) for v in range(20) if u != v])
    found = ArcColumns(arc_matrix(graph)).at(pairs)
    assert found.antisymmetric.shape == (len(pairs), len(ANTISYMMETRIC))
    assert found.symmetric.shape == (len(pairs), len(SYMMETRIC))
    three = scaled @ scaled.T @ scaled
    for (u, v), row in zip(pairs, found.antisymmetric, strict=True):
        balance = (out - into) / (out + into + 1)
        voted = like[v] @ signed[u] - like[u] @ signed[v]
        voters = like[v] @ linked[u] + like[u] @ linked[v]
        expected = {
            "out-degree": np.log1p(out[u]) - np.log1p(out[v]),
            "in-degree": np.log1p(into[u]) - np.log1p(into[v]),
            "balance": balance[u] - balance[v],
            "level": levels[u] - levels[v],
            "two-step paths": np.log1p((a @ a)[u, v]) - np.log1p((a @ a)[v, u]),
            "similar sources": (three[u, v] - three[v, u]) / (three[u, v] + three[v, u] + 1e-3),
            "similar nodes": voted / (voters + 0.5),
        }
        got = dict(zip(ANTISYMMETRIC, row, strict=True))
        assert {name: got[name] for name in expected} == pytest.approx(expected, abs=1e-9)


def test_exchanging_the_ends_changes_the_sign_of_one_kind_and_nothing_of_the_other():
    graph = random_graph()
    pairs = random_arcs(graph.num_nodes, 50, seed=1).numpy()
    features = np.random.default_rng(0).standard_normal((graph.num_nodes, 3)).astype(np.float32)
    columns = ArcColumns(arc_matrix(graph), features)
    there, back = columns.at(pairs), columns.at(pairs[:, ::-1])
    np.testing.assert_array_equal(there.antisymmetric, -back.antisymmetric)
    np.testing.assert_array_equal(there.symmetric, back.symmetric)


def test_columns_do_not_depend_on_the_batch(monkeypatch):
    graph = random_graph()
    pairs = torch.cat([random_arcs(graph.num_nodes, 60, seed=1), graph.edges[:30]])
    whole = DirectionColumns(graph, NodeFeatures()).at(pairs)
    monkeypatch.setattr("llwlc._direction.columns.WORK", 100)
    columns = DirectionColumns(graph, NodeFeatures())
    alone = [columns.at(pair[None]) for pair in pairs]
    np.testing.assert_array_equal(whole.antisymmetric, np.concatenate([part.antisymmetric for part in alone]))
    np.testing.assert_array_equal(whole.symmetric, np.concatenate([part.symmetric for part in alone]))


def test_no_pairs_have_no_columns():
    columns = DirectionColumns(random_graph(), NodeFeatures()).at(torch.zeros(0, 2, dtype=torch.long))
    assert columns.antisymmetric.shape == (0, len(ANTISYMMETRIC))


def test_a_link_does_not_see_which_way_it_points():
    """Links of a fold turned round, or taken away: their columns stay as they are."""
    graph = random_graph()
    links = graph.edges
    fold = fold_numbers(graph, links, 5) == 2
    forward, backward = arcs_of(graph, links)
    arcs = torch.cat([links[forward], links[backward].flip(1)])
    mine = fold_numbers(graph, arcs, 5) == 2
    turned = Graph.from_edges(torch.cat([arcs[~mine], arcs[mine].flip(1)]), num_nodes=graph.num_nodes, directed=True)
    before, after = (DirectionColumns(g, NodeFeatures()).at(links[fold]) for g in (graph, turned))
    np.testing.assert_array_equal(before.antisymmetric, after.antisymmetric)
    np.testing.assert_array_equal(before.symmetric, after.symmetric)


def test_a_graph_without_directions_is_refused():
    with pytest.raises(InputError, match="directed=True"):
        arc_matrix(random_graph().without_direction())
