"""Sketches against exact sets, within the error that they state."""

import math

import networkx as nx
import pytest
import torch

from llwlc.graph._graph import Graph
from llwlc.models._messages import Messages
from llwlc.models._sketches import count, intersections, sketch, structure

HOPS = 2


@pytest.fixture(scope="module")
def plain():
    graph = nx.barabasi_albert_graph(300, 4, seed=1)
    graph.add_node(300)  # isolated: its ball is itself
    return graph


@pytest.fixture(scope="module")
def messages(plain):
    return Messages.of(Graph.from_edges(torch.tensor(list(plain.edges)), num_nodes=301))


@pytest.fixture(scope="module")
def balls(plain):
    """balls[k][u] for k = 0 … HOPS."""
    near = {u: nx.single_source_shortest_path_length(plain, u, cutoff=HOPS) for u in plain}
    return [{u: {w for w, d in near[u].items() if d <= k} for u in plain} for k in range(HOPS + 1)]


@pytest.fixture(scope="module")
def pairs():
    return torch.randint(301, (400, 2), generator=torch.Generator().manual_seed(0))


def test_sizes_are_right_within_hyperloglogs_error(messages, balls):
    found = sketch(messages, HOPS, registers=1024).sizes
    for k in range(HOPS):
        exact = torch.tensor([float(len(balls[k + 1][u])) for u in range(301)])
        error = (found[k] - exact) / exact
        assert error.square().mean().sqrt() < 1.04 / math.sqrt(1024)
        # a small set may lose one node to a register that another one has
        assert ((found[k] - exact).abs() <= 1.1 + 4 * 1.04 / math.sqrt(1024) * exact).all()


def test_large_sets_are_counted_by_the_harmonic_mean():
    """Where no register is empty: 20,000 nodes in one set."""
    star = Messages.of(Graph.from_edges(torch.stack([torch.zeros(19_999).long(), torch.arange(1, 20_000)], 1)))
    size = sketch(star, 1, permutations=1, registers=256).sizes[0, 0]
    assert abs(size - 20_000) / 20_000 < 3 * 1.04 / math.sqrt(256)


def test_no_member_no_size():
    assert count(torch.zeros(3, 64, dtype=torch.int8)).tolist() == [0, 0, 0]


def test_intersections_are_right_within_the_error_of_both_sketches(messages, balls, pairs):
    permutations, registers = 2048, 1024
    found = intersections(sketch(messages, HOPS, permutations=permutations, registers=registers), pairs)
    for a in range(HOPS):
        for b in range(HOPS):
            for (u, v), value in zip(pairs.tolist(), found[:, a, b].tolist(), strict=True):
                one, two = balls[a + 1][u], balls[b + 1][v]
                union, both = len(one | two), len(one & two)
                similar = both / union
                error = union * math.sqrt(similar * (1 - similar) / permutations) + both * 1.04 / math.sqrt(registers)
                assert abs(value - both) <= 4.5 * error + 1e-3


def test_the_structure_of_a_pair_counts_nodes_by_both_distances(plain, messages, balls, pairs):
    """With sketches as exact as memory allows, against sets: the ends unordered."""
    sketches = sketch(messages, HOPS, permutations=2048, registers=4096)
    found = structure(sketches, pairs)
    ring = [balls[0]] + [{u: balls[k][u] - (balls[k - 1][u] if k > 1 else set()) for u in plain} for k in (1, 2)]
    exact = []
    for u, v in pairs.tolist():
        both = [
            len(ring[1][u] & ring[1][v]),
            len(ring[1][u] & ring[2][v]) + len(ring[2][u] & ring[1][v]),
            len(ring[2][u] & ring[2][v]),
        ]
        alone = [len(ring[k][u] - balls[HOPS][v]) + len(ring[k][v] - balls[HOPS][u]) for k in (1, 2)]
        exact.append([*both, *alone])
    assert found.shape == (400, 5)
    difference = (found - torch.tensor(exact)).abs()
    assert difference.mean() < 2
    assert torch.allclose(found, structure(sketches, pairs.flip(1)), atol=1e-4)


def test_the_same_links_have_the_same_sketches_whatever_was_removed_before(messages):
    again = messages.without(torch.empty(0, dtype=torch.long))
    one, two = sketch(messages, 1, seed=3), sketch(again, 1, seed=3)
    assert torch.equal(one.minima, two.minima)
    assert not torch.equal(one.minima, sketch(again, 1, seed=4).minima)
