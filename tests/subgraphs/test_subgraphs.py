"""Enclosing subgraphs against a per-link networkx oracle, on real and generated graphs and on nasty pairs."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import shortest_path

from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.subgraphs import _reference as reference
from llwlc.subgraphs._batch import concat
from llwlc.subgraphs._extraction import extract, stream
from llwlc.subgraphs._labels import distance_classes, distance_encoding, drnl


def graph_of(g: nx.Graph) -> Graph:
    edges = torch.tensor(sorted(g.edges), dtype=torch.long).reshape(-1, 2)
    return Graph.from_edges(edges, num_nodes=g.number_of_nodes())


def pairs_of(g: nx.Graph, count: int, seed: int) -> torch.Tensor:
    """Half of them edges where there are any, half of them any two nodes."""
    rng = np.random.default_rng(seed)
    n, edges = g.number_of_nodes(), sorted(g.edges)
    free = [rng.choice(n, 2, replace=False) for _ in range(count if not edges else count // 2)]
    bound = [edges[i] for i in rng.integers(len(edges), size=count - len(free))] if edges else []
    flip = rng.random(count) < 0.5
    both = np.array([*free, *bound]).reshape(-1, 2)
    return torch.as_tensor(np.where(flip[:, None], both[:, ::-1], both).copy())


def oracle(g: nx.Graph, u: int, v: int, hops: int):
    """Nodes with their hop, edges and both distances of one pair, by networkx alone."""
    hop = {}
    for source in (u, v):
        for node, d in nx.single_source_shortest_path_length(g, source, cutoff=hops).items():
            hop[node] = min(d, hop.get(node, d))
    inside = nx.Graph(g.subgraph(hop))
    if inside.has_edge(u, v):
        inside.remove_edge(u, v)
    far = 2 * hops + 1

    def distances(source: int, removed: int):
        rest = nx.Graph(inside)
        rest.remove_node(removed)
        length = nx.single_source_shortest_path_length(rest, source)
        return {node: min(length.get(node, far), far) for node in hop}

    return hop, {frozenset(e) for e in inside.edges}, distances(u, v), distances(v, u)


def assert_equals_oracle(g: nx.Graph, pairs: torch.Tensor, hops: int) -> None:
    subs = extract(graph_of(g), pairs, hops)
    assert torch.equal(subs.pairs, pairs)
    assert bool((subs.row.diff() >= 0).all())
    for b, (u, v) in enumerate(pairs.tolist()):
        hop, edges, dist_u, dist_v = oracle(g, u, v, hops)
        at = slice(int(subs.ptr[b]), int(subs.ptr[b + 1]))
        node = subs.node[at].tolist()
        assert len(node) == len(set(node))
        assert dict(zip(node, subs.hop[at].tolist(), strict=True)) == hop
        assert dict(zip(node, subs.dist_u[at].tolist(), strict=True)) == dist_u
        assert dict(zip(node, subs.dist_v[at].tolist(), strict=True)) == dist_v
        mine = (subs.row >= at.start) & (subs.row < at.stop)
        found = list(zip(subs.node[subs.row[mine]].tolist(), subs.node[subs.col[mine]].tolist(), strict=True))
        assert len(found) == len(set(found)) == 2 * len(edges)
        assert {frozenset(e) for e in found} == edges


@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize(
    "g",
    [
        nx.gnm_random_graph(60, 120, seed=1),
        nx.barabasi_albert_graph(80, 2, seed=2),
        nx.star_graph(30),
        nx.path_graph(12),
        nx.cycle_graph(6),
        nx.complete_graph(9),
        nx.barbell_graph(5, 3),
        nx.disjoint_union(nx.cycle_graph(5), nx.empty_graph(4)),
        nx.empty_graph(5),
        nx.random_geometric_graph(70, 0.2, seed=3),
    ],
    ids=lambda g: f"n{g.number_of_nodes()}m{g.number_of_edges()}",
)
def test_extraction_equals_networkx(g, hops):
    assert_equals_oracle(g, pairs_of(g, 60, seed=hops), hops)


def test_equals_networkx_on_a_thousand_cora_pairs():
    from llwlc import datasets

    cora = datasets.load("cora")
    g = nx.Graph(cora.edges.tolist())
    g.add_nodes_from(range(cora.num_nodes))
    assert_equals_oracle(g, pairs_of(g, 1000, seed=0), 2)


@given(st.integers(2, 14), st.floats(0, 1), st.integers(0, 10**6), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_extraction_of_random_graphs_equals_networkx(n, p, seed, hops):
    g = nx.gnp_random_graph(n, p, seed=seed)
    assert_equals_oracle(g, pairs_of(g, 8, seed), hops)


def test_weights_follow_their_edges():
    g = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [0, 3]]), weight=torch.tensor([1.0, 2.0, 3.0, 4.0]))
    subs = extract(g, torch.tensor([[0, 1], [2, 0]]))
    weight = {(0, 1): 1.0, (1, 2): 2.0, (2, 3): 3.0, (0, 3): 4.0}
    assert subs.weight is not None
    for r, c, w in zip(subs.node[subs.row].tolist(), subs.node[subs.col].tolist(), subs.weight.tolist(), strict=True):
        assert w == weight[min(r, c), max(r, c)]
    assert subs.degree[subs.u].tolist() == [4.0, 5.0]


def test_chunks_and_batches_change_nothing(monkeypatch):
    g = nx.barabasi_albert_graph(300, 3, seed=0)
    graph, pairs = graph_of(g), pairs_of(g, 200, seed=5)
    whole = extract(graph, pairs)
    streamed = concat(list(stream(graph, pairs, batch_size=7)))
    monkeypatch.setattr(reference, "LOOKUPS_PER_CHUNK", 5000)
    chunked = extract(graph, pairs)
    for other in (streamed, chunked):
        for name in ("ptr", "node", "row", "col", "u", "v", "hop", "dist_u", "dist_v"):
            assert torch.equal(getattr(whole, name), getattr(other, name)), name


def test_no_pairs_give_an_empty_batch():
    subs = extract(graph_of(nx.path_graph(4)), torch.zeros(0, 2, dtype=torch.long))
    assert (subs.num_graphs, subs.num_nodes, len(subs.row)) == (0, 0, 0)


def test_a_cap_keeps_a_seeded_subset_that_does_not_depend_on_the_batch():
    g = nx.star_graph(500)
    g.add_edges_from((i, i + 1) for i in range(1, 400))
    graph, pairs = graph_of(g), torch.tensor([[0, 450], [1, 2], [3, 0]])
    capped = extract(graph, pairs, max_nodes_per_hop=20, seed=3)
    for b in range(3):
        hop = capped.hop[capped.ptr[b] : capped.ptr[b + 1]]
        assert torch.bincount(hop)[1:].max() <= 20
    alone = extract(graph, pairs[2:], max_nodes_per_hop=20, seed=3)
    assert torch.equal(alone.node, capped.node[capped.ptr[2] :])
    assert not torch.equal(extract(graph, pairs, max_nodes_per_hop=20, seed=4).node, capped.node)
    swapped = extract(graph, pairs[2:].flip(1), max_nodes_per_hop=20, seed=3)
    assert set(swapped.node.tolist()) == set(alone.node.tolist())
    uncapped = extract(graph, pairs, max_nodes_per_hop=10**6)
    assert torch.equal(uncapped.node, extract(graph, pairs).node)


def seal_drnl(adj: np.ndarray) -> np.ndarray:
    """SEAL's own rule on the adjacency of one subgraph whose nodes 0 and 1 are the pair."""
    rest_u, rest_v = np.delete(np.delete(adj, 1, 0), 1, 1), np.delete(np.delete(adj, 0, 0), 0, 1)
    du = np.insert(shortest_path(rest_u, unweighted=True, indices=0), 1, 0)
    dv = np.insert(shortest_path(rest_v, unweighted=True, indices=0), 0, 0)
    total = du + dv
    with np.errstate(invalid="ignore"):
        half = total // 2
        label = 1 + np.minimum(du, dv) + half * (half + total % 2 - 1)
    label[:2] = 1
    label[~np.isfinite(label)] = 0
    return np.where((du > 4) | (dv > 4), 0, label)


def test_drnl_labels_equal_those_of_seals_code():
    g = nx.barabasi_albert_graph(60, 2, seed=7)
    subs = extract(graph_of(g), pairs_of(g, 50, seed=1), hops=2)
    labels = drnl(subs)
    for b in range(subs.num_graphs):
        lo, hi = int(subs.ptr[b]), int(subs.ptr[b + 1])
        mine = (subs.row >= lo) & (subs.row < hi)
        adj = np.zeros((hi - lo, hi - lo))
        adj[subs.row[mine] - lo, subs.col[mine] - lo] = 1
        assert labels[lo:hi].tolist() == seal_drnl(adj).tolist()


def test_distance_encoding_is_symmetric_and_injective_on_unordered_pairs():
    g = nx.barabasi_albert_graph(60, 2, seed=7)
    graph, pairs = graph_of(g), pairs_of(g, 20, seed=1)
    subs, swapped = extract(graph, pairs), extract(graph, pairs.flip(1))
    code = {}
    for b in range(20):
        at = slice(int(subs.ptr[b]), int(subs.ptr[b + 1]))
        one = dict(zip(subs.node[at].tolist(), distance_encoding(subs)[at].tolist(), strict=True))
        other = dict(zip(swapped.node[at].tolist(), distance_encoding(swapped)[at].tolist(), strict=True))
        assert one == other
    near = torch.minimum(subs.dist_u, subs.dist_v).clamp(max=3).tolist()
    far = torch.maximum(subs.dist_u, subs.dist_v).clamp(max=3).tolist()
    for key, value in zip(zip(near, far, strict=True), distance_encoding(subs).tolist(), strict=True):
        assert code.setdefault(key, value) == value
        assert 0 <= value < distance_classes(3)
    assert len(set(code.values())) == len(code)


@pytest.mark.parametrize(
    ("pairs", "options", "message"),
    [
        ([[0, 1], [2, 2]], {}, "no link to itself"),
        ([[0, 9]], {}, "outside the graph"),
        ([[-1, 0]], {}, "outside the graph"),
        ([[0, 1, 2]], {}, r"shape \[B, 2\]"),
        ([[0.0, 1.0]], {}, "integers"),
        ([[0, 1]], {"hops": 0}, "hops"),
        ([[0, 1]], {"max_nodes_per_hop": 0}, "max_nodes_per_hop"),
    ],
)
def test_bad_pairs_are_refused(pairs, options, message):
    with pytest.raises(InputError, match=message):
        extract(graph_of(nx.path_graph(5)), torch.tensor(pairs), **options)


@pytest.mark.slow
@pytest.mark.data
def test_all_pubmed_links_stream_in_little_memory(data_root):
    import resource

    from llwlc import datasets

    data_root("planetoid/PubMed/raw")
    pubmed = datasets.load("pubmed")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    nodes = [s.num_nodes for s in stream(pubmed, pubmed.edges, batch_size=2048)]
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20
    assert sum(nodes) / pubmed.num_edges == pytest.approx(290.6, abs=0.1)  # by sparse products: docs/datasets.md
    assert grown < 2.0, f"streaming took {grown:.1f} GiB"
