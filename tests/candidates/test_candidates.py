"""Candidates against brute force: every pair two steps apart, once, and the nearest by features."""

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from llwlc.candidates import hops, nearest, retrieval
from llwlc.candidates.hops import count_two_hop, two_hop
from llwlc.candidates.nearest import feature_neighbors
from llwlc.candidates.retrieval import candidates, share_of_links
from llwlc.graph.graph import Graph

graphs = st.builds(
    lambda n, p, seed: nx.gnp_random_graph(n, p, seed=seed), st.integers(1, 25), st.floats(0, 0.5), st.integers(0, 99)
)


def of(graph: nx.Graph) -> Graph:
    return Graph.from_edges(torch.tensor(list(graph.edges), dtype=torch.long).reshape(-1, 2), num_nodes=len(graph))


def all_pairs(blocks) -> list[tuple[int, int]]:
    return [(u, v) for block in blocks for u, v in block.tolist()]


def at_distance_two(graph: nx.Graph, through=lambda w: True) -> set[tuple[int, int]]:
    """Pairs u < v without a link and with a common neighbour, found the slow way."""
    return {
        (u, v)
        for u in graph
        for v in graph
        if u < v and not graph.has_edge(u, v) and any(through(w) for w in nx.common_neighbors(graph, u, v))
    }


@settings(deadline=None, max_examples=60)
@given(graphs)
def test_two_hop_is_every_pair_at_distance_two_once(graph):
    found = all_pairs(two_hop(of(graph)))
    assert len(found) == len(set(found))
    assert set(found) == at_distance_two(graph)


@settings(deadline=None, max_examples=40)
@given(graphs, st.data())
def test_two_hop_of_one_node_puts_it_first(graph, data):
    node = data.draw(st.sampled_from(sorted(graph)))
    found = all_pairs(two_hop(of(graph), sources=torch.tensor([node])))
    assert len(found) == len(set(found))
    assert all(u == node for u, _ in found)
    assert {(min(p), max(p)) for p in found} == {p for p in at_distance_two(graph) if node in p}


@settings(deadline=None, max_examples=40)
@given(graphs, st.integers(1, 40))
def test_blocks_are_bounded_and_change_nothing(graph, walks):
    whole = all_pairs(two_hop(of(graph)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hops, "WALKS_PER_BLOCK", walks)
        blocks = list(two_hop(of(graph)))
    assert all_pairs(blocks) == whole
    largest = max((d for _, d in graph.degree), default=0)
    # a block ends with the node that fills it, and no node walks further than its neighbours' neighbours
    assert all(len(block) <= walks + largest**2 for block in blocks)


@settings(deadline=None, max_examples=40)
@given(graphs, st.integers(1, 5))
def test_no_path_leads_through_a_hub_and_none_but_a_hubs_own_are_lost(graph, hub):
    found = all_pairs(two_hop(of(graph), hub=hub))
    assert len(found) == len(set(found))
    known = at_distance_two(graph, through=lambda w: graph.degree[w] <= hub)
    assert set(found) <= known
    assert {p for p in known if max(graph.degree[x] for x in p) <= hub} <= set(found)


def test_a_hub_asks_the_neighbours_who_know_fewest():
    # node 0 has neighbours 1 to 4; i of them lead on to i further nodes each
    edges = [(0, w) for w in range(1, 5)]
    edges += [(w, 10 * w + i) for w in range(1, 5) for i in range(w)]
    graph = Graph.from_edges(torch.tensor(edges))
    found = all_pairs(two_hop(graph, hub=3, sources=torch.tensor([0])))
    assert found == [(0, 10), (0, 20), (0, 21)]  # 3 and 4 have four and five neighbours: hubs themselves
    assert all_pairs(two_hop(graph, hub=3))[:1] == [(0, 10)]


def test_memory_is_bounded_by_the_block_on_a_graph_with_a_giant_hub(monkeypatch):
    leaves = 20_000
    star = torch.stack([torch.zeros(leaves, dtype=torch.long), torch.arange(1, leaves + 1)], 1)
    ring = torch.stack([torch.arange(1, leaves + 1), torch.arange(1, leaves + 1) % leaves + 1], 1)
    graph = Graph.from_edges(torch.cat([star, ring]))
    monkeypatch.setattr(hops, "WALKS_PER_BLOCK", 100_000)
    sizes = [len(block) for block in two_hop(graph)]
    assert sum(sizes) == leaves  # i and i + 2 on the ring; through the hub there would be 200 million
    assert max(sizes) <= 100_000


@settings(deadline=None, max_examples=30)
@given(graphs, st.integers(1, 4), st.integers(0, 99))
def test_feature_neighbors_are_the_nearest_without_link_or_shared_neighbour(graph, k, seed):
    x = torch.randn(len(graph), 5, generator=torch.Generator().manual_seed(seed))
    unit = (x / x.norm(dim=1, keepdim=True)).double()
    wanted = set()
    for u in graph:
        others = sorted((v for v in graph if v != u), key=lambda v: -float(unit[u] @ unit[v]))
        wanted |= {(min(u, v), max(u, v)) for v in others[:k]}
    wanted = {(u, v) for u, v in wanted if not graph.has_edge(u, v) and not list(nx.common_neighbors(graph, u, v))}
    found = all_pairs([feature_neighbors(of(graph), x, k=k)])
    assert len(found) == len(set(found))
    assert set(found) == wanted


@settings(deadline=None, max_examples=30)
@given(graphs, st.integers(0, 99), st.data())
def test_candidates_join_both_kinds_and_those_of_a_node_are_the_nodes_share(graph, seed, data):
    x = torch.randn(len(graph), 5, generator=torch.Generator().manual_seed(seed))
    found = all_pairs(candidates(of(graph), x))
    assert len(found) == len(set(found))
    assert all(u < v and not graph.has_edge(u, v) for u, v in found)
    node = data.draw(st.sampled_from(sorted(graph)))
    own = all_pairs(candidates(of(graph), x, node=node))
    assert all(u == node for u, _ in own)
    assert {(min(p), max(p)) for p in own} == {p for p in found if node in p}


def test_feature_neighbors_do_not_depend_on_their_blocks(monkeypatch):
    graph = of(nx.gnp_random_graph(50, 0.1, seed=3))
    x = torch.randn(50, 8, generator=torch.Generator().manual_seed(0))
    whole = feature_neighbors(graph, x)
    monkeypatch.setattr(nearest, "COSINES_PER_BLOCK", 170)  # three rows at a time
    assert torch.equal(feature_neighbors(graph, x), whole)


def test_feature_neighbours_are_left_out_of_a_graph_too_large_for_them(monkeypatch):
    graph = of(nx.path_graph(6))
    x = torch.eye(6)
    monkeypatch.setattr(retrieval, "FEATURE_NODES", 5)
    assert all_pairs(candidates(graph, x)) == all_pairs(two_hop(graph))


def test_the_count_is_exact_where_the_sample_is_the_graph_and_near_where_it_is_not():
    graph = nx.gnp_random_graph(300, 0.03, seed=4)
    exact = len(at_distance_two(graph))
    assert count_two_hop(of(graph)) == exact
    assert count_two_hop(of(graph), sample=150) == pytest.approx(exact, rel=0.1)


def test_the_share_of_links_is_that_of_the_hidden_ones_among_pairs_two_steps_apart():
    graph = nx.gnp_random_graph(60, 0.1, seed=1)
    near = sorted(at_distance_two(graph))
    far = [(u, v) for u, v in nx.non_edges(graph) if (min(u, v), max(u, v)) not in near][:3]
    hidden = torch.tensor(near[:5] + far)
    assert share_of_links(of(graph), hidden) == pytest.approx(5 / len(near))
    assert 0 < share_of_links(of(graph), hidden[:0]) < 1
    assert 0 < share_of_links(of(nx.empty_graph(3)), torch.tensor([[0, 1]])) <= 0.5


def test_empty_graphs_have_no_candidates():
    for n in (0, 1, 4):
        assert all_pairs(candidates(of(nx.empty_graph(n)), None)) == []
        assert share_of_links(of(nx.empty_graph(n)), torch.zeros(0, 2, dtype=torch.long)) > 0
