"""The compiled extraction gives the same arrays as the reference, which has networkx for its oracle."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_cases import NASTY, graph_of, some_pairs
from llwlc import datasets
from llwlc._kernels.numba import enclosing_subgraph, packed_subgraphs
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.subgraphs._batch import Subgraphs
from llwlc.subgraphs._extraction import extract, stream

FIELDS = ("ptr", "node", "row", "col", "u", "v", "hop", "dist_u", "dist_v")


def assert_same(one: Subgraphs, other: Subgraphs) -> None:
    for name in FIELDS:
        assert torch.equal(getattr(one, name), getattr(other, name)), name
    assert one.hops == other.hops
    assert (one.weight is None) == (other.weight is None)
    assert one.weight is None or torch.equal(one.weight, other.weight)


def assert_equals_reference(graph: Graph, pairs: torch.Tensor, hops: int = 2, **options) -> None:
    assert_same(
        extract(graph, pairs, hops, backend="numba", **options),
        extract(graph, pairs, hops, backend="reference", **options),
    )


GRAPHS = NASTY | {"path": nx.path_graph(12), "one edge": nx.path_graph(2)}


@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize("name", GRAPHS)
def test_same_arrays_as_the_reference(name, hops):
    graph = graph_of(GRAPHS[name])
    assert_equals_reference(graph, some_pairs(graph, 40), hops)


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(2, 25),
    density=st.floats(0, 0.6),
    hops=st.integers(1, 3),
    cap=st.one_of(st.none(), st.integers(1, 6)),
    seed=st.integers(0, 2**31),
)
def test_same_arrays_on_any_graph_with_any_cap(n, density, hops, cap, seed):
    graph = graph_of(nx.gnp_random_graph(n, density, seed=seed))
    assert_equals_reference(graph, some_pairs(graph, 8, seed), hops, max_nodes_per_hop=cap, seed=seed)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_follow_their_edges(dtype):
    g = graph_of(GRAPHS["hubs"])
    weight = torch.rand(g.num_edges, dtype=dtype, generator=torch.Generator().manual_seed(0))
    graph = Graph.from_edges(g.edges, num_nodes=80, weight=weight)
    assert_equals_reference(graph, some_pairs(graph, 30))


def test_all_links_of_cora_and_as_many_others():
    cora = datasets.load("cora")
    pairs = some_pairs(cora, 2000)
    assert_equals_reference(cora, pairs)
    assert_equals_reference(cora, pairs, 2, max_nodes_per_hop=15, seed=-7)
    assert_equals_reference(cora, pairs[:300], 3)


@pytest.mark.parametrize("hops", [4, 7, 15])
def test_long_distances_equal_the_reference_with_and_without_a_cap(hops):
    """DistanceBits around a ring with a few chords, with and without a cap that leaves neighbours of an end to later
    hops.
    """
    ring = nx.cycle_graph(90)
    ring.add_edges_from([(0, 7), (3, 40), (41, 80), (60, 62)])
    graph = graph_of(ring)
    pairs = some_pairs(graph, 60)
    assert_equals_reference(graph, pairs, hops)
    assert_equals_reference(graph, pairs, hops, max_nodes_per_hop=1, seed=5)


def test_more_hops_than_a_word_has_bits_for():
    graph = graph_of(nx.cycle_graph(50))
    pairs = some_pairs(graph, 10)
    assert_same(extract(graph, pairs, 16), extract(graph, pairs, 16, backend="reference"))
    with pytest.raises(InputError, match="hops is above 15"):
        extract(graph, pairs, 16, backend="numba")


def test_rows_of_hubs_are_searched_not_read():
    """Every pair beside a hub whose neighbours are mostly elsewhere, so that the binary search takes over."""
    leaves = 4000
    hub = torch.stack([torch.zeros(leaves, dtype=torch.long), torch.arange(1, leaves + 1)], 1)
    rest = torch.tensor([[1, 2], [2, 3], [3, 4], [5001, 5000], [5000, 1], [5001, 5002]])
    weight = torch.rand(leaves + 6, generator=torch.Generator().manual_seed(0))
    pairs = torch.tensor([[5001, 5002], [5000, 5002], [1, 5001]])
    for w in (None, weight):
        graph = Graph.from_edges(torch.cat([hub, rest]), weight=w)
        subs = extract(graph, pairs, 2, backend="numba", max_nodes_per_hop=4)
        at_hub = subs.node == 0
        assert bool(at_hub.any())
        assert int(graph.degree[0]) > enclosing_subgraph.LONG_ROW * int(subs.ptr.diff().max())
        assert_equals_reference(graph, pairs, 2, max_nodes_per_hop=4)
        assert_equals_reference(graph, torch.tensor([[0, 5002], [1, 0], [7, 8]]), 2, max_nodes_per_hop=7)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_and_batches_change_nothing(threads, monkeypatch):
    cora = datasets.load("cora")
    pairs = some_pairs(cora, 700)
    whole = extract(cora, pairs, backend="reference")
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    assert_same(extract(cora, pairs, backend="numba"), whole)
    node = torch.cat([s.node for s in stream(cora, pairs, batch_size=333, backend="numba")])
    assert torch.equal(node, whole.node)


def test_no_pairs_and_foreign_memory_layouts():
    cora = datasets.load("cora")
    assert extract(cora, torch.empty(0, 2, dtype=torch.long), backend="numba").num_graphs == 0
    transposed = some_pairs(cora, 20).T.contiguous().T
    assert not transposed.is_contiguous()
    assert_equals_reference(cora, transposed)
    assert_equals_reference(cora, some_pairs(cora, 20).int())


def test_gradients_of_weights_are_left_to_the_reference():
    g = graph_of(GRAPHS["random"])
    graph = Graph(g.indptr, g.indices, weight=torch.ones(len(g.indices)).requires_grad_())
    subs = extract(graph, g.edges[:5])
    assert subs.weight is not None
    assert subs.weight.requires_grad
    assert np.isclose(subs.weight.sum().item(), len(subs.row))


@pytest.mark.parametrize(("words", "budget"), [(0, 0), (300, 1 << 20), (1 << 21, 4000)])
def test_subgraphs_that_were_not_packed_are_extracted_again(words, budget, monkeypatch):
    """Runs too long for the memo, and more runs than it has room for, give the same arrays."""
    cora = datasets.load("cora")
    pairs = some_pairs(cora, 200)
    monkeypatch.setattr(packed_subgraphs, "WORDS", words)
    monkeypatch.setattr(packed_subgraphs, "BUDGET", budget)
    assert_equals_reference(cora, pairs)
