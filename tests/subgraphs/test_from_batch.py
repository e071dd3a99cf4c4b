"""Subgraphs.from_batch: whatever order and direction PyG's edges have, the graph that they stand for; and refusals."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data, HeteroData

import oracle
from graphs import batch_of
from llwlc import constraints
from llwlc.bases import eigenbasis, link_bases, stream_bases
from llwlc.errors import InputError
from llwlc.graph import Graph
from llwlc.linalg import spectral_filter
from llwlc.subgraphs import Subgraphs, concat, distance_encoding, drnl, extract
from pyg_graphs import adjacency, kernel, laplacian, nasty, weighted

F64 = torch.float64
BATCHES = {"plain": nasty, "weighted": weighted}
BACKENDS = ["numba", "reference"]


def dense(subs: Subgraphs, b: int) -> np.ndarray:
    at, n = int(subs.ptr[b]), int(subs.ptr[b + 1] - subs.ptr[b])
    A = np.zeros((n, n))
    weight = torch.ones(len(subs.row)) if subs.weight is None else subs.weight
    for i, j, w in zip(subs.row.tolist(), subs.col.tolist(), weight.tolist(), strict=True):
        if at <= i < at + n:
            A[i - at, j - at] = w
    return A


@pytest.mark.parametrize("kind", ["normalized", "combinatorial"])
@pytest.mark.parametrize("given", BATCHES)
def test_whole_graphs_have_the_spectrum_of_the_dense_laplacian(given, kind):
    made = list(BATCHES[given]().values())
    subs = Subgraphs.from_batch(Batch.from_data_list(made))
    assert torch.equal(subs.node, torch.arange(subs.num_nodes))
    basis = eigenbasis(subs, complete=True, laplacian=kind, dtype=F64)
    for b, data in enumerate(made):
        A = adjacency(data)
        np.testing.assert_allclose(dense(subs, b), A, atol=1e-14)
        found = basis.values[b][basis.mask[b]].numpy()
        np.testing.assert_allclose(found, np.linalg.eigvalsh(laplacian(A, kind)), atol=1e-10)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("given", BATCHES)
def test_a_filtered_signal_is_the_dense_one_and_no_batch_changes_it(given, backend):
    made = list(BATCHES[given]().values())
    batch = Batch.from_data_list(made)
    subs = Subgraphs.from_batch(batch)
    together = eigenbasis(subs, constraints.components(subs), start=batch.x, steps=12, dtype=F64, backend=backend)
    y = spectral_filter(together, lambda r: torch.exp(-r), batch.x.double())
    for b, data in enumerate(made):
        A, s = adjacency(data), oracle.rows(subs, b)
        expected = oracle.function(laplacian(A, "normalized"), kernel(A, "normalized"), lambda r: np.exp(-r))
        np.testing.assert_allclose(y[s].numpy(), expected @ data.x.double().numpy(), atol=1e-9)
        alone = Subgraphs.from_batch(data)
        for start in ("random", "constraint"):
            cons, one_cons = (constraints.vertex_deleted(x, count=2) for x in (subs, alone))
            if not cons.count or not one_cons.count:
                continue
            whole = eigenbasis(subs, cons, start=start, dtype=F64, backend=backend)[b]
            one = eigenbasis(alone, one_cons, start=start, dtype=F64, backend=backend)
            torch.testing.assert_close(whole.values, one.values, atol=1e-9, rtol=0)


@pytest.mark.parametrize("given", BATCHES)
def test_roots_are_enclosing_subgraphs_by_networkx(given):
    made = [x for x in BATCHES[given]().values() if x.num_nodes > 1]
    batch = Batch.from_data_list(made)
    G = nx.Graph()
    G.add_nodes_from(range(batch.num_nodes))
    for at, data in zip(batch.ptr.tolist(), made, strict=False):
        for i, j in zip(*adjacency(data).nonzero(), strict=True):
            G.add_edge(at + int(i), at + int(j), w=adjacency(data)[i, j])
    for keep in (False, True):
        pairs = torch.stack([batch.ptr[:-1], batch.ptr[:-1] + 1])
        subs = Subgraphs.from_batch(batch, pairs, hops=2, keep_link=keep)
        assert subs.roots == "link"
        assert torch.equal(subs.pairs.t(), pairs)
        for b, (u, v) in enumerate(pairs.t().tolist()):
            reach = [nx.single_source_shortest_path_length(G, x, cutoff=2) for x in (u, v)]
            inside = nx.Graph(G.subgraph(set(reach[0]) | set(reach[1])))
            if not keep and inside.has_edge(u, v):
                inside.remove_edge(u, v)
            assert_same_graph(subs, b, inside)
        same = extract(Graph.from_edges(torch.tensor(list(G.edges)), num_nodes=len(G)), pairs.t())
        for name in ("node", "hop", "dist_u", "dist_v"):
            assert torch.equal(getattr(subs, name), getattr(same, name)), name
    for hops in (1, 2):
        around = Subgraphs.from_batch(batch, torch.arange(batch.num_nodes), hops=hops)
        assert around.roots == "node"
        for v in range(batch.num_nodes):
            hop = nx.single_source_shortest_path_length(G, v, cutoff=hops)
            s = oracle.rows(around, v)
            assert dict(zip(around.node[s].tolist(), around.hop[s].tolist(), strict=True)) == hop
            assert_same_graph(around, v, G.subgraph(hop))


def assert_same_graph(subs: Subgraphs, b: int, expected: nx.Graph) -> None:
    node, A = subs.node[oracle.rows(subs, b)].tolist(), dense(subs, b)
    assert sorted(node) == sorted(expected)
    np.testing.assert_allclose(A, nx.to_numpy_array(expected, nodelist=node, weight="w"), atol=1e-14)


@given(st.integers(1, 9), st.integers(0, 20), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_random_edge_lists_of_pyg_give_the_same_adjacency(n, edges, seed):
    g = torch.Generator().manual_seed(seed)
    index = torch.randint(n, (2, edges), generator=g)
    data = Data(edge_index=index, edge_weight=torch.rand(edges, generator=g, dtype=F64) + 0.1, num_nodes=n)
    subs = Subgraphs.from_batch(data)
    np.testing.assert_allclose(dense(subs, 0), adjacency(data), atol=1e-12)
    replace_free = Subgraphs(subs.ptr, subs.node, subs.row, subs.col, subs.weight)
    replace_free.check()


def test_the_start_of_a_node_is_exact_at_the_node():
    data = nasty()["shuffled"]
    subs = Subgraphs.from_batch(data, torch.tensor([2, 5]), hops=2)
    for backend in BACKENDS:
        basis = eigenbasis(subs, constraints.shells(subs), steps=6, dtype=F64, backend=backend)
        for b in range(2):
            s = oracle.rows(subs, b)
            L, C = oracle.laplacian(subs, b), constraints.shells(subs).columns[s].numpy()
            V, r = basis.vectors[s].numpy(), basis.values[b].numpy()
            for degree in range(6):  # one start vector: its row is exact up to degree κ − 1
                np.testing.assert_allclose(
                    (V * r**degree) @ V.T[:, 0], oracle.function(L, C, lambda x, d=degree: x**d)[:, 0], atol=1e-9
                )


def test_gradients_reach_the_weights_of_a_one_directed_list():
    data = nasty()["one direction"]
    weight = torch.rand(9, dtype=F64, generator=torch.Generator().manual_seed(0)) + 0.5

    def loss(w: torch.Tensor) -> torch.Tensor:
        basis = eigenbasis(Subgraphs.from_batch(data, weight=w), complete=True, dtype=F64)
        return spectral_filter(basis, lambda r: torch.exp(-r), data.x.double()).square().sum()

    assert torch.autograd.gradcheck(loss, weight.requires_grad_())


@pytest.mark.parametrize("kind", ["normalized", "combinatorial"])
@pytest.mark.parametrize("given", BATCHES)
def test_components_span_the_kernel(given, kind):
    made = list(BATCHES[given]().values())
    subs = Subgraphs.from_batch(Batch.from_data_list(made))
    columns = constraints.by_name(subs, "components", laplacian=kind).columns.numpy()
    for b, data in enumerate(made):
        C, K = columns[oracle.rows(subs, b)], kernel(adjacency(data), kind)
        assert np.linalg.matrix_rank(C) == K.shape[1]
        np.testing.assert_allclose(C - K @ (K.T @ C), 0, atol=1e-10)


def test_shells_are_mean_zero_at_each_distance():
    batch = Batch.from_data_list([x for x in weighted().values() if x.num_nodes])
    subs = Subgraphs.from_batch(batch, torch.arange(batch.num_nodes), hops=3)
    columns = constraints.shells(subs).columns
    assert columns.shape[1] == 3
    for h in (1, 2, 3):
        torch.testing.assert_close(columns[:, h - 1], torch.where(subs.hop == h, subs.degree.double(), 0))


def test_whole_graphs_move_and_join_and_say_what_they_are():
    subs = Subgraphs.from_batch(Batch.from_data_list(list(nasty().values())))
    twice = concat([subs, subs.to("cpu")])
    assert (twice.num_graphs, twice.roots) == (2 * subs.num_graphs, "graph")
    twice.check()
    assert "whole" not in repr(subs)
    assert repr(subs).startswith("Subgraphs(10 graphs, ")
    assert not hasattr(subs, "nothing")


NEEDS = {
    "neumann": lambda s: constraints.neumann(s),
    "shells": lambda s: constraints.shells(s),
    "query start": lambda s: eigenbasis(s),
    "drnl": lambda s: drnl(s),
    "pairs": lambda s: s.pairs,
}


@pytest.mark.parametrize("name", NEEDS)
def test_what_needs_a_root_says_so(name):
    with pytest.raises(InputError, match=r"whole graphs.*(roots=|tensor)"):
        NEEDS[name](Subgraphs.from_batch(nasty()["shuffled"]))


def test_what_needs_a_pair_says_so_around_a_node():
    subs = Subgraphs.from_batch(nasty()["shuffled"], torch.tensor([0]))
    for ask in (drnl, distance_encoding):
        with pytest.raises(InputError, match="around one node, not a pair"):
            ask(subs)
    assert constraints.neumann(subs).count == 2


# edges that a user wrote down by hand: one backend, or both, computed other eigenvalues of them without a word


def by_hand(change) -> Subgraphs:
    subs = batch_of([nx.cycle_graph(5)], [(0, 2)])
    row, col = change(torch.stack([subs.row, subs.col]))
    return replace(subs, row=row, col=col)


WRONG = {
    "not sorted by row": lambda e: e[:, [3, 1, 2, 0, 4, 9, 6, 7, 8, 5]],
    "lacks its other direction": lambda e: e[:, e[0] < e[1]],
    r"edge \(2, 2\) is a self-loop": lambda e: torch.cat([e[:, :5], torch.tensor([[2], [2]]), e[:, 5:]], 1),
    "is there twice": lambda e: e[:, [0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9]],
    "some are outside": lambda e: e + 1,
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("message", WRONG)
def test_edges_out_of_order_or_one_directed_are_refused(message, backend):
    with pytest.raises(InputError, match=f"{message}.*from_batch"):
        eigenbasis(by_hand(WRONG[message]), backend=backend)
    eigenbasis(by_hand(lambda e: e), backend=backend)


def test_two_links_in_pygs_form_are_read_by_name():
    data = nasty()["one direction"]
    links = torch.tensor([[0, 1], [3, 5]])  # the pairs (0, 3) and (1, 5)
    subs, basis = link_bases(data, edge_label_index=links, steps=4)
    assert subs.pairs.tolist() == [[0, 3], [1, 5]]
    graph = Graph.from_edges(data.edge_index.t())
    same, expected = link_bases(graph, links.t(), steps=4)
    assert torch.equal(subs.node, same.node)
    torch.testing.assert_close(basis.values, expected.values)
    data.edge_label_index = links
    assert torch.equal(link_bases(data, steps=4)[1].values, basis.values)
    assert torch.equal(extract(data).node, subs.node)
    assert len(list(stream_bases(data, batch_size=1, steps=4))) == 2
    with pytest.raises(InputError, match=r"by name, edge_label_index"):
        link_bases(data, links)
    with pytest.raises(InputError, match=r"edge_label_index=\.\.\."):
        link_bases(graph, torch.tensor([[0, 1, 2], [3, 4, 5]]))


HETERO = HeteroData()
HETERO["a"].x, HETERO["a", "b"].edge_index = torch.ones(2, 1), torch.zeros(2, 0, dtype=torch.long)
RING = nasty()["one direction"]
REFUSED = {
    r"got Tensor: Data\(edge_index": lambda: Subgraphs.from_batch(torch.zeros(2, 3).long()),
    r"got list.*Batch\.from_data_list": lambda: Subgraphs.from_batch([RING]),
    r"several edge types.*to_homogeneous": lambda: Subgraphs.from_batch(HETERO),
    r"no edge_index: set data\.edge_index": lambda: Subgraphs.from_batch(Data(x=torch.ones(3, 1))),
    r"adj_t instead": lambda: Subgraphs.from_batch(Data(x=torch.ones(3, 1), adj_t=torch.eye(3))),
    r"\[2, E\], got \(9, 2\).*\.t\(\)": lambda: Subgraphs.from_batch(Data(edge_index=RING.edge_index.t(), num_nodes=7)),
    r"names node 6, but data has 3 nodes": lambda: Subgraphs.from_batch(Data(edge_index=RING.edge_index, num_nodes=3)),
    r"edge_weight must have one number.*\(4,\)": lambda: Subgraphs.from_batch(
        Data(edge_index=RING.edge_index, edge_weight=torch.ones(4), num_nodes=7)
    ),
    r"edge_weight is nan at edge 0": lambda: Subgraphs.from_batch(
        Data(edge_index=RING.edge_index, edge_weight=torch.full((9,), float("nan")), num_nodes=7)
    ),
    r"weight is -1 at edge 0": lambda: Subgraphs.from_batch(RING, weight=-torch.ones(9)),
    r"data has no 'strength', it has edge_index, num_nodes, x": lambda: Subgraphs.from_batch(RING, weight="strength"),
    r"roots must be None for whole graphs.*'node'": lambda: Subgraphs.from_batch(RING, "node"),
    r"got \(5, 2\).*roots\.t\(\)": lambda: Subgraphs.from_batch(RING, torch.zeros(5, 2).long()),
    r"bool.*nonzero": lambda: Subgraphs.from_batch(RING, torch.ones(7, dtype=torch.bool)),
    r"roots name node 9, but the batch has 7": lambda: Subgraphs.from_batch(RING, torch.tensor([9])),
    r"pair 0 of roots, \(1, 1\), is a node with itself": lambda: Subgraphs.from_batch(RING, torch.tensor([[1], [1]])),
    r"pair 0 of roots, \(0, 8\), joins two graphs": lambda: Subgraphs.from_batch(
        Batch.from_data_list([RING, RING]), torch.tensor([[0], [8]])
    ),
    r"edge \(0, 8\) joins two graphs": lambda: Subgraphs.from_batch(
        Data(edge_index=torch.tensor([[0], [8]]), batch=torch.arange(10) // 7, num_nodes=10)
    ),
    r"hops must be a whole number": lambda: Subgraphs.from_batch(RING, torch.tensor([0]), hops=0),
    r"got a Graph: subgraphs\.extract": lambda: Subgraphs.from_batch(Graph.from_edges(RING.edge_index.t())),
    r"subs must be Subgraphs, got Data: Subgraphs\.from_batch": lambda: eigenbasis(RING),
    r"no links were given": lambda: link_bases(RING),
    r"two forms": lambda: link_bases(RING, torch.tensor([[0, 1]]), edge_label_index=torch.tensor([[0], [1]])),
    r"edge_label_index must be.*\(3, 2\).*\.t\(\)": lambda: link_bases(RING, edge_label_index=torch.zeros(3, 2).long()),
    r"concat needs at least one": lambda: concat([]),
    r"one kind of root": lambda: concat([Subgraphs.from_batch(RING), Subgraphs.from_batch(RING, torch.tensor([0]))]),
}


@pytest.mark.parametrize("message", REFUSED)
def test_wrong_calls_are_told_what_to_give(message):
    with pytest.raises(InputError, match=message):
        REFUSED[message]()
