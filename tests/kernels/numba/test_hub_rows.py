"""Beside hubs: a capped hop is the reference's, whether long rows are ordered or not, and an ordered row is not read.
The draw goes by names, and takes every neighbour about as often.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_cases import graph_of, hubs, pairs_at_hubs
from llwlc._kernels.numba import extraction
from llwlc._kernels.numba.enclosing_subgraph import long_row
from llwlc.bases._config import BasisConfig
from llwlc.bases._kernel_options import make_extraction_options
from llwlc.graph._graph import Graph
from llwlc.subgraphs import _hub_order as hub_order
from llwlc.subgraphs._extraction import extract, get_adjacency, stream

FIELDS = ("ptr", "node", "row", "col", "u", "v", "hop", "dist_u", "dist_v")


@pytest.fixture
def at_once(monkeypatch):
    """Rows are ordered for the first pair."""
    monkeypatch.setattr(hub_order, "LOOKUPS_PER_SORT", 0)


def is_ordered(graph: Graph) -> bool:
    return hub_order._ASKED[graph].rows is not None


def assert_same(one, two) -> None:
    for name in FIELDS:
        assert torch.equal(getattr(one, name), getattr(two, name)), name
    assert one.weight is None or torch.equal(one.weight, two.weight)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize("cap", [1, 4, 40])
def test_ordered_rows_give_the_reference(at_once, cap, hops, named, weighted):
    plain_graph = graph_of(hubs(), weighted)
    graph = replace(plain_graph, names=[f"n{i}" for i in range(plain_graph.num_nodes)]) if named else plain_graph
    pairs = pairs_at_hubs(graph)
    found = extract(graph, pairs, hops, max_nodes_per_hop=cap, seed=cap, backend="numba")
    assert is_ordered(graph)
    assert_same(found, extract(graph, pairs, hops, max_nodes_per_hop=cap, seed=cap, backend="reference"))


@settings(max_examples=20, deadline=None)
@given(
    leaves=st.integers(150, 600),
    cap=st.integers(1, 12),
    hops=st.integers(1, 4),
    seed=st.integers(-(2**63), 2**63 - 1),
)
def test_ordered_rows_give_the_reference_on_any_graph_and_seed(leaves, cap, hops, seed):
    graph = graph_of(hubs(leaves, 3, leaves))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hub_order, "LOOKUPS_PER_SORT", 0)
        found = extract(graph, pairs_at_hubs(graph), hops, max_nodes_per_hop=cap, seed=seed, backend="numba")
    wanted = extract(graph, pairs_at_hubs(graph), hops, max_nodes_per_hop=cap, seed=seed, backend="reference")
    assert_same(found, wanted)


def test_the_row_of_a_hub_is_not_read(at_once):
    """With other entries in its place the kernel finds the same: it cannot have looked."""
    graph, config = graph_of(hubs(30_000, 1)), BasisConfig(max_nodes_per_hop=5)
    hub = graph.num_nodes - 1
    pairs = torch.cat([pairs_at_hubs(graph)[4:], torch.tensor([[hub, 5], [7, hub]])])
    reach = make_extraction_options(config)
    adjacency = get_adjacency(graph, None, reach, len(pairs))
    assert adjacency.hubs.hub.tolist() == [hub]
    indices = adjacency.indices.copy()
    indices[int(graph.indptr[hub]) :] = 0
    whole, blind = (
        extraction.extract(some, pairs.numpy(), reach) for some in (adjacency, adjacency._replace(indices=indices))
    )
    assert all(np.array_equal(a, b) for a, b in zip(whole, blind, strict=True))
    with_hub = np.add.reduceat(whole.node == hub, whole.ptr[:-1])
    assert with_hub.sum() > 10


def test_rows_are_ordered_when_that_pays_and_nothing_changes_then():
    """First pairs one by one, by looks at the whole row, later ones by the order; and another seed has its own."""
    graph = graph_of(hubs())
    pairs = torch.cat([pairs_at_hubs(graph)] * 5)
    options = {"max_nodes_per_hop": 4, "seed": 3}
    assert hub_order._ASKED.get(graph) is None
    parts, ordered = [], []
    for part in stream(graph, pairs, batch_size=10, backend="numba", **options):
        parts.append(part.node)
        ordered.append(is_ordered(graph))
    assert not ordered[0]
    assert ordered[-1]
    assert torch.equal(torch.cat(parts), extract(graph, pairs, backend="reference", **options).node)
    extract(graph, pairs[:1], max_nodes_per_hop=4, seed=4, backend="numba")
    assert not is_ordered(graph)


def test_only_rows_beyond_the_cap_are_ordered_and_a_larger_cap_reads_its_short_rows(at_once):
    graph = graph_of(hubs(900, 3))
    extract(graph, pairs_at_hubs(graph), max_nodes_per_hop=1, backend="numba")
    rows = hub_order._ASKED[graph].rows
    assert rows.hub.tolist() == [900, 901, 902]
    assert len(rows.neighbor) == int(graph.degree[900:].sum())
    larger = 300  # no row is long for it
    assert long_row(larger) > int(graph.degree.max())
    found = extract(graph, pairs_at_hubs(graph), max_nodes_per_hop=larger, backend="numba")
    assert_same(found, extract(graph, pairs_at_hubs(graph), max_nodes_per_hop=larger, backend="reference"))
    assert hub_order._ASKED[graph].rows is rows
    other = graph_of(hubs(900, 3))
    extract(other, pairs_at_hubs(other), max_nodes_per_hop=larger, backend="numba")
    assert not is_ordered(other)
    extract(other, pairs_at_hubs(other), backend="numba")  # no cap, no order
    assert not is_ordered(other)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_and_batches_change_nothing(at_once, threads, monkeypatch):
    graph = graph_of(hubs())
    pairs = torch.cat([pairs_at_hubs(graph)] * 8)
    whole = extract(graph, pairs, max_nodes_per_hop=6, backend="reference")
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    fresh = graph_of(hubs())
    assert_same(extract(fresh, pairs, max_nodes_per_hop=6, backend="numba"), whole)
    node = torch.cat([s.node for s in stream(fresh, pairs, max_nodes_per_hop=6, batch_size=77, backend="numba")])
    assert torch.equal(node, whole.node)


@pytest.mark.parametrize("backend", ["numba", "reference"])
def test_renumbered_nodes_draw_the_same_nodes(at_once, backend):
    plain_graph = graph_of(hubs())
    n = plain_graph.num_nodes
    order = torch.randperm(n, generator=torch.Generator().manual_seed(3))
    names = [f"n{int(i)}" for i in order.argsort()]
    graph = replace(plain_graph, names=[f"n{i}" for i in range(n)])
    moved = Graph.from_edges(order[plain_graph.edges], num_nodes=n, names=names)
    pairs = pairs_at_hubs(graph)
    one = extract(graph, pairs, max_nodes_per_hop=5, backend=backend)
    two = extract(moved, order[pairs], max_nodes_per_hop=5, backend=backend)
    for b in range(len(pairs)):
        ours, theirs = (set(s.node[s.ptr[b] : s.ptr[b + 1]].tolist()) for s in (one, two))
        assert {graph.name(i) for i in ours} == {moved.name(i) for i in theirs}


def test_every_neighbour_of_a_hub_is_taken_about_as_often(at_once):
    """Over many pairs: an average share of 5 %, with the spread of windows, a tenth at 100 nodes a hop, beside that of
    chance.
    """
    leaves, partners, cap = 2000, 4000, 100
    hub = torch.stack([torch.zeros(leaves, dtype=torch.long), torch.arange(1, leaves + 1)], 1)
    graph = Graph.from_edges(hub, num_nodes=leaves + 1 + partners)
    pairs = torch.stack([torch.zeros(partners, dtype=torch.long), torch.arange(partners) + leaves + 1], 1)
    subs = extract(graph, pairs, 1, max_nodes_per_hop=cap)
    assert bool((subs.ptr.diff() == cap + 2).all())
    taken = torch.bincount(subs.node, minlength=leaves + 1)[1 : leaves + 1].double()
    mean = partners * cap / leaves
    assert taken.mean() == mean
    assert taken.std() / mean < 0.15
    assert 0.5 * mean < taken.min() < taken.max() < 1.6 * mean
    # two pairs do not see the same window
    sets = [set(subs.node[subs.ptr[b] + 2 : subs.ptr[b + 1]].tolist()) for b in range(100)]
    shared = [len(a & b) for a, b in pairwise(sets)]
    assert np.mean(shared) == pytest.approx(cap * cap / leaves, abs=6)


def test_common_neighbours_of_two_hubs_are_drawn_together(at_once):
    """A node that both hubs have is in both windows or in neither: their shares in the draw are those in the rows."""
    graph = graph_of(hubs(3000, 2))
    pairs = torch.tensor([[3000, 3001]])
    common = set(graph.indices[graph.indptr[3000] : graph.indptr[3001]].tolist())
    common &= set(graph.indices[graph.indptr[3001] : graph.indptr[3002]].tolist())
    nodes = [set(extract(graph, pairs, 1, max_nodes_per_hop=200, seed=s).node[2:].tolist()) for s in range(40)]
    share = np.mean([len(some & common) / len(some) for some in nodes])
    assert share == pytest.approx(len(common) / (int(graph.degree[3000:].sum()) - 2 - len(common)), abs=0.03)
