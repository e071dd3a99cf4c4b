"""Counting: counts against networkx, the algebra behind the architecture, invariance, and training that learns."""

import itertools

import networkx as nx
import numpy as np
import pytest
import torch
from networkx.algorithms.isomorphism import GraphMatcher

from llwlc.errors import InputError
from research.counting.counts import CYCLES, PATTERNS, count_copies
from research.counting.graphs import KINDS, make_graphs
from research.counting.rooted import BLOCK, make_rooted
from research.counting.section import CountingSection, keep_shared_seeds
from research.counting.trial import (
    GROUPS,
    MODELS,
    compute_errors,
    count_targets,
    make_batches,
    measure_counting,
    train,
)
from research.experiments.cell import Cell
from research.experiments.lines import Line
from research.experiments.rendering import render
from research.experiments.table import Selection


@pytest.fixture(scope="module")
def graphs():
    return make_graphs(40, seed=3)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_counts_are_those_of_networkx(pattern):
    """Copies as sets of edges, of all subgraph monomorphisms."""
    for seed in (0, 1):
        graph = nx.gnm_random_graph(9, 17, seed=seed)
        wanted = nx.Graph(PATTERNS[pattern])
        copies = {
            frozenset(frozenset((back[u], back[v])) for u, v in wanted.edges)
            for found in GraphMatcher(graph, wanted).subgraph_monomorphisms_iter()
            for back in [{small: large for large, small in found.items()}]
        }
        counts = count_copies(nx.to_numpy_array(graph), pattern)
        assert counts.graph == len(copies)
        node, edge = np.zeros(9), np.zeros((9, 9))
        for copy in copies:
            node[list(frozenset.union(*copy))] += 1
            for u, v in map(tuple, copy):
                edge[u, v] += 1
                edge[v, u] += 1
        np.testing.assert_array_equal(counts.node, node)
        np.testing.assert_array_equal(counts.edge, edge)


def test_graphs_follow_the_recipe_and_the_seed(graphs):
    again, other = make_graphs(40, seed=3), make_graphs(40, seed=4)
    assert all(map(np.array_equal, graphs.adjacency, again.adjacency))
    assert not all(map(np.array_equal, graphs.adjacency, other.adjacency))
    degrees = dict(KINDS)
    assert {len(A) for A in graphs.adjacency} == set(degrees)
    for A in graphs.adjacency:
        np.testing.assert_array_equal(A, A.T)
        assert A.max() == 1
        assert A.trace() == 0
        assert A.sum(0).max() <= degrees[len(A)]
        assert A.sum() == len(A) * degrees[len(A)] - 2 * len(A)
    assert sorted(np.concatenate(list(graphs.parts.values()))) == list(range(40))
    with pytest.raises(InputError, match="at least 10"):
        make_graphs(9)


def dense_parts(A, u, v):
    """A_H, s_u, s_v for H = A without u and v, by definition."""
    kept = np.ones(len(A))
    kept[[u, v]] = 0
    return A * np.outer(kept, kept), A[u] * kept, A[v] * kept


def test_cycles_through_an_edge_by_the_formulas_of_the_module(graphs):
    for A in graphs.adjacency[:6]:
        found = {name: count_copies(A, name).edge for name in CYCLES}
        for u, v in itertools.islice(zip(*np.nonzero(np.triu(A)), strict=True), 12):
            H, su, sv = dense_parts(A, u, v)
            d, cube = H.sum(0), H @ H @ H
            assert su @ sv == found["3-cycle"][u, v]
            assert su @ H @ sv == found["4-cycle"][u, v]
            assert su @ H @ H @ sv - (su * sv) @ d == found["5-cycle"][u, v]
            turning = d @ (su * (H @ sv) + sv * (H @ su))
            assert su @ cube @ sv - turning + su @ H @ sv - (su * sv) @ np.diag(cube) == found["6-cycle"][u, v]


@pytest.mark.parametrize("deleted", [True, False])
def test_bases_apply_polynomials_of_the_graph_without_the_ends(graphs, deleted):
    batch = make_rooted(graphs.adjacency[:4], deleted=deleted)
    edges = [(A, u, v) for A in graphs.adjacency[:4] for u, v in zip(*np.nonzero(np.triu(A)), strict=True)]
    assert len(edges) == len(batch.basis) == batch.ends.shape[1]
    for root, (A, u, v) in enumerate(edges[::7]):
        one = batch.basis[7 * root]
        rows = batch.basis.rows(7 * root)
        H, su, sv = dense_parts(A, u, v) if deleted else (A, A[u], A[v])
        start = batch.start[rows].double().numpy()
        assert start.shape[1] == BLOCK
        np.testing.assert_array_equal(start[:, :3], np.stack([su, sv, su * sv], 1))
        V, values = one.vectors.double().numpy(), one.values[0].double().numpy()
        for power in range(3):
            expected = np.linalg.matrix_power(H, power) @ start
            np.testing.assert_allclose(V * values**power @ V.T @ start, expected, atol=2e-4)


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_predictions_do_not_depend_on_the_order_of_nodes_or_the_batch(graphs, name):
    torch.manual_seed(0)
    model, A = MODELS[name], graphs.adjacency[0]
    net = model.make(2)
    net.train()
    net(model.read(graphs.adjacency[:8]))  # sets the scales
    net.eval()
    order = np.random.default_rng(0).permutation(len(A))
    on_graph, on_node, on_edge = net(model.read([A]))[:3]
    other_graph, other_node, other_edge = net(model.read([graphs.adjacency[1], A[np.ix_(order, order)]]))[:3]
    scale = float(on_edge.abs().max())
    assert torch.allclose(other_graph[1], on_graph[0], atol=1e-3 * float(on_graph.abs().max()))
    assert torch.allclose(other_node[-len(A) :], on_node[order], atol=1e-3 * float(on_node.abs().max()))
    back = np.argsort(order)
    at = {pair: i for i, pair in enumerate(zip(*np.nonzero(np.triu(A[np.ix_(order, order)])), strict=True))}
    moved = [at[min(back[u], back[v]), max(back[u], back[v])] for u, v in zip(*np.nonzero(np.triu(A)), strict=True)]
    assert torch.allclose(other_edge[-len(at) :][moved], on_edge, atol=1e-3 * scale)


@pytest.mark.parametrize("name", ["deleted", "gin", "subgraph"])
def test_training_lowers_the_loss(graphs, name):
    torch.manual_seed(0)
    model = MODELS[name]
    batches = make_batches(graphs, count_targets(graphs, ("3-cycle", "4-cycle")), "train", model, "cpu")
    losses = train(model.make(2), batches, epochs=6, rate=model.rate)
    assert losses[-1] < 0.8 * losses[0]


def test_counts_at_edges_of_other_graphs_are_read_after_one_epoch():
    """5-cycles, of sixty graphs for training; the best published error is 0.0096, of 1,500."""
    torch.manual_seed(0)
    graphs, model, patterns = make_graphs(200, seed=3), MODELS["deleted"], ("3-cycle", "5-cycle")
    targets, net = count_targets(graphs, patterns), model.make(2)
    train(net, make_batches(graphs, targets, "train", model, "cpu"), epochs=1, rate=model.rate)
    found = compute_errors(net, make_batches(graphs, targets, "test", model, "cpu"), patterns)
    assert found["edge"]["5-cycle"] < 0.0096


def test_no_count_is_among_the_inputs(graphs):
    """A network reads what is made of adjacency matrices alone; of the signals, zeros and ones."""
    model = MODELS["deleted"]
    batch = model.read(graphs.adjacency[:3])
    assert set(torch.cat([batch.start, batch.mark], 1).unique().tolist()) == {0.0, 1.0}
    shuffled = [[level + 1 for level in levels] for levels in count_targets(graphs, CYCLES)]
    ((made, _), *_) = make_batches(graphs, shuffled, "train", model, "cpu")
    plain = model.read([graphs.adjacency[i] for i in graphs.parts["train"][: model.size]])
    assert torch.equal(made.start, plain.start)
    assert torch.equal(made.basis.vectors, plain.basis.vectors)


def test_the_table_has_a_row_for_each_level_of_a_line():
    cell = Cell("counting", "random-regular", "", "deleted", {"patterns": "cycles", "epochs": 10})
    short = Cell(cell.kind, cell.data, "", cell.method, {**cell.options, "epochs": 1, "graphs": 20})
    line = Line(cell, measure_counting(short, "cpu", None) | {"peak_mb": 100})
    section = CountingSection("", "cycles")
    assert cell in section.cells(Selection())
    body = section.body([line], Selection())
    assert [row[:2] for row in body if "published" not in row[1]] == [
        [level, "rooted bases, ends deleted"] for level in ("graph", "node", "edge")
    ]
    assert {len(row) for row in body} == {len(section.header())}
    assert "local 2-GNN, published" in render((section,), [line], Selection())
    assert set(GROUPS["cycles"]) == set(CYCLES)


def test_rows_are_compared_on_the_seeds_that_all_have():
    lines = [Line(Cell("counting", "random-regular", "", "gin", {}, seed=seed), {}) for seed in range(3)]
    kept = keep_shared_seeds({"a": lines, "b": lines[:2]})
    assert [[line.cell.seed for line in row] for row in kept.values()] == [[0, 1], [0, 1]]
    assert keep_shared_seeds({"a": lines}) == {"a": lines}
    assert keep_shared_seeds({}) == {}
