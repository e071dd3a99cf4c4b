"""Non-links are exactly the complement of the links, each equally likely, at any density."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from llwlc import Graph
from llwlc.errors import InputError
from llwlc.graph._edge_list import EdgeList
from llwlc.splits import _negatives as negatives
from llwlc.splits._negatives import NonEdges, numbered_pair, pair_number


@pytest.mark.parametrize("n", [2, 3, 10, 57])
def test_pair_numbers_are_the_upper_triangle_row_by_row(n):
    pairs = torch.triu_indices(n, n, 1).t()
    assert torch.equal(pair_number(pairs, n), torch.arange(len(pairs)))
    assert torch.equal(pair_number(pairs.flip(1), n), torch.arange(len(pairs)))
    assert torch.equal(numbered_pair(torch.arange(len(pairs)), n), pairs)


def test_pair_numbers_are_exact_at_vessel_size():
    n = 3_538_495
    total = n * (n - 1) // 2
    number = torch.cat([torch.randint(total, (1000,)), torch.tensor([0, total - 1])])
    assert torch.equal(pair_number(numbered_pair(number, n), n), number)
    assert numbered_pair(number[-1:], n).tolist() == [[n - 2, n - 1]]


@settings(deadline=None, max_examples=40)
@given(n=st.integers(1, 14), p=st.floats(0, 1), seed=st.integers(0, 99))
def test_non_edges_are_the_complement(n, p, seed):
    graph = nx.gnp_random_graph(n, p, seed=seed)
    edges = torch.tensor(list(graph.edges), dtype=torch.long).reshape(-1, 2)
    free = NonEdges(n, torch.cat([edges, edges.flip(1)]))
    everything = free.at(torch.arange(len(free)))
    assert {tuple(pair) for pair in everything.tolist()} == {tuple(sorted(e)) for e in nx.complement(graph).edges}
    drawn = free.sample(len(free), np.random.default_rng(seed))
    assert torch.equal(drawn[pair_number(drawn, n).argsort()], everything)


def test_non_edges_of_some_nodes_keep_their_ids():
    nodes = torch.tensor([1, 4, 6])
    free = NonEdges(8, torch.tensor([[4, 1], [0, 1], [2, 3]]), nodes)
    assert free.at(torch.arange(len(free))).tolist() == [[1, 6], [4, 6]]


def test_every_non_edge_is_equally_likely():
    free = NonEdges(6, torch.tensor([[0, 1], [2, 3], [4, 5]]))
    count = torch.zeros(15)
    rng = np.random.default_rng(0)
    for _ in range(3000):
        count[pair_number(free.sample(4, rng), 6)] += 1
    expected = 3000 * 4 / 12
    drawn = count[count > 0]
    assert len(drawn) == 12
    # chi-square with 11 degrees of freedom is below 31.3 in 99.9 % of cases
    assert ((drawn - expected) ** 2 / expected).sum() < 31.3


def test_a_complete_graph_has_no_non_edges():
    free = NonEdges(9, torch.triu_indices(9, 9, 1).t())
    assert len(free) == 0
    with pytest.raises(InputError, match=r"1 pairs .* only 0 .* too dense"):
        free.sample(1, np.random.default_rng(0))


def test_pyg_draw_falls_back_where_a_permutation_would_not_fit():
    free = NonEdges(40_000, torch.tensor([[0, 1]]))
    one = free.sample_as_pyg(1000, torch.Generator().manual_seed(3))
    two = free.sample_as_pyg(1000, torch.Generator().manual_seed(3))
    assert torch.equal(one, two)
    assert len(torch.unique(pair_number(one, 40_000))) == 1000


@pytest.mark.parametrize("inside", [None, torch.arange(3, 40)], ids=["all nodes", "some nodes"])
def test_pairs_left_out_in_parts_and_drawn_in_parts_are_the_same_pairs(inside, tmp_path, monkeypatch):
    monkeypatch.setenv("LLWLC_CACHE", str(tmp_path))
    graph = Graph.from_edges(torch.randint(0, 50, (300, 2), generator=torch.Generator().manual_seed(0)), num_nodes=50)
    more = torch.tensor([[1, 2], [30, 4], [7, 7], [4, 30]])
    whole = NonEdges(50, torch.cat([graph.edges, more]), inside).sample(200, np.random.default_rng(1))
    monkeypatch.setattr(negatives, "AT_ONCE", 9)
    parts = NonEdges(50, [more, EdgeList(graph)], inside, mapped=True)
    assert torch.equal(parts.sample(200, np.random.default_rng(1)), whole)
    assert torch.equal(parts.at(parts.ranks(200, np.random.default_rng(1))), whole)
