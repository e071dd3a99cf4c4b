"""Beside hubs on a GPU: a capped hop is the reference's where long rows are ordered, and an ordered row is not read."""

import shutil
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engines import ENGINES, Host, Lanes, extract
from kernel_cases import graph_of, hubs, pairs_at_hubs
from llwlc import subgraphs
from llwlc._kernels.cuda import driver, extraction, hub_rows
from llwlc._kernels.numba import hub_rows as on_cpu
from llwlc._kernels.numba.enclosing_subgraph import long_row
from llwlc._support.counter_hash import CAP_STREAM
from llwlc.graph._graph import Graph
from llwlc.subgraphs import _hub_order as hub_order
from llwlc.subgraphs._extraction import extract_checked

FIELDS = ("ptr", "node", "row", "col", "u", "v", "hop", "dist_u", "dist_v")


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param()


def assert_reference(
    engine, graph: Graph, pairs: torch.Tensor, hops: int, cap: int, seed: int, longer_than: int
) -> None:
    found = extract(engine, graph, pairs, hops=hops, cap=cap, seed=seed, longer_than=longer_than)
    wanted = extract_checked(graph, pairs, hops, cap, seed, "reference", graph.identity)
    for name in FIELDS:
        assert torch.equal(getattr(found, name), getattr(wanted, name)), name
    assert found.weight is None or torch.equal(found.weight, wanted.weight)


@pytest.mark.parametrize("slots", [64, 2048])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize("cap", [1, 4, 40])
def test_ordered_rows_give_the_reference(engine, cap, hops, named, weighted, slots, monkeypatch):
    monkeypatch.setattr(extraction, "HASH_TABLES", [extraction.HashTable(slots, 32 if slots == 64 else 128)])
    graph = graph_of(hubs(), weighted)
    if named:
        graph = replace(graph, names=[f"n{i}" for i in range(graph.num_nodes)])
    assert_reference(engine, graph, pairs_at_hubs(graph), hops, cap, cap, int(long_row(cap)))


@settings(max_examples=40, deadline=None)
@given(
    engine=st.sampled_from([Host(), *([driver.get_gpu_engine(0)] if driver.available() else [])]),
    leaves=st.integers(20, 300),
    cap=st.integers(1, 12),
    hops=st.integers(1, 4),
    seed=st.integers(-(2**63), 2**63 - 1),
    longer_than=st.integers(0, 40),
)
def test_whichever_rows_are_ordered(engine, leaves, cap, hops, seed, longer_than):
    """Also rows that are shorter than the cap, down to all of them."""
    graph = graph_of(hubs(leaves, 3, leaves))
    assert_reference(engine, graph, pairs_at_hubs(graph), hops, cap, seed, longer_than)


def test_no_row_is_long(engine):
    graph = graph_of(hubs(60))
    assert_reference(engine, graph, pairs_at_hubs(graph), 2, 5, 0, 10_000)


@pytest.mark.parametrize("named", [False, True])
def test_rows_are_ordered_as_on_a_cpu(engine, named, monkeypatch):
    graph = graph_of(hubs(300, 5))
    known = torch.from_numpy(np.random.default_rng(0).integers(-(2**63), 2**63 - 1, graph.num_nodes)) if named else None
    wanted = on_cpu.hub_rows(
        graph.indptr.numpy(),
        graph.indices.numpy(),
        np.empty(0, np.uint64) if known is None else known.numpy().view(np.uint64),
        -3,
        CAP_STREAM,
        50,
    )
    assert len(wanted.hub) == 5
    for at_once in (1, 450, 1 << 24):  # one row at a time, two, all
        monkeypatch.setattr(hub_rows, "NEIGHBOR_CHUNK", at_once)
        there = [None if x is None else x.to(engine.device) for x in (graph.indptr, graph.indices, known)]
        found = hub_rows.hub_rows(*there, -3, CAP_STREAM, 50)
        for one, two in zip(found, wanted, strict=False):
            assert one.tolist() == two.tolist()


def test_the_row_of_a_hub_is_not_read(engine):
    """With other entries in its place the kernel finds the same: it cannot have looked, but for searches of links that
    are not of the hub.
    """
    graph = graph_of(hubs(30_000, 1))
    hub = graph.num_nodes - 1
    pairs = torch.cat([pairs_at_hubs(graph)[4:], torch.tensor([[7, 12], [19, 5]])])
    order = hub_rows.hub_rows(*(x.to(engine.device) for x in (graph.indptr, graph.indices)), None, 0, CAP_STREAM, 100)
    assert order.hub.tolist() == [hub]
    blind = graph.indices.clone()
    row = slice(int(graph.indptr[hub]), int(graph.indptr[hub + 1]))
    blind[row] = torch.arange(row.stop - row.start)  # still sorted; all of them are nodes
    found = []
    for indices in (graph.indices, blind):
        indptr, indices, there = (x.to(engine.device) for x in (graph.indptr, indices, pairs))
        ragged = extraction.extract(
            engine, indptr, indices, there,
            hops=2, cap=5, seed=0, stream=CAP_STREAM, with_edges=False, draw_ids=None, hubs=order,
        )  # fmt: skip
        found.append([x.tolist() for x in (ragged.ptr, ragged.node, ragged.hop)])
    assert found[0] == found[1]
    assert found[0][1].count(hub) > 5


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
@pytest.mark.parametrize(("group", "slots"), [(32, 256), (64, 256), (128, 512), (64, 64)])
def test_capped_hops_beside_hubs_with_all_lanes_equal_the_reference(group, slots, monkeypatch):
    """With a table of 64 places most links are too large for it."""
    monkeypatch.setattr(extraction, "HASH_TABLES", [extraction.HashTable(slots, group)])
    g = nx.compose(hubs(250, 3), nx.star_graph(range(253, 450)))
    g.add_edge(250, 253)
    graph = graph_of(g, weighted=True)
    pairs = torch.tensor([[250, 251], [252, 5], [3, 9], [253, 7]])
    for hops, cap in ((1, 5), (2, 5), (2, 30)):
        assert_reference(Lanes(), graph, pairs, hops, cap, 1, 40)


@pytest.mark.gpu
@pytest.mark.skipif(not driver.available(), reason="needs CUDA")
def test_the_public_functions_order_rows_when_that_pays(monkeypatch):
    graph = graph_of(hubs(30_000, 3))
    there, pairs = graph.to("cuda"), torch.cat([pairs_at_hubs(graph)] * 20)
    for count in (1, len(pairs)):
        found = subgraphs.extract(there, pairs[:count], max_nodes_per_hop=20)
        wanted = subgraphs.extract(graph, pairs[:count], max_nodes_per_hop=20)
        for name in FIELDS:
            assert torch.equal(getattr(found, name).cpu(), getattr(wanted, name)), name
        assert (hub_order._ASKED[there].rows is None) == (count == 1)
