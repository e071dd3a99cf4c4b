"""Edges by their numbers are those of `Graph.edges`; a graph of some of them is the one that `with_edges` makes, in
memory or mapped.
"""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from llwlc import Graph
from llwlc.graph import _edge_list as edge_list
from llwlc.graph._edge_list import EdgeList


def random_graph(n: int, m: int, seed: int, *, values: bool) -> Graph:
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(0, n, (m, 2), generator=generator)
    weight = torch.rand(m, generator=generator) + 0.1 if values else None
    time = torch.randint(0, 9, (m,), generator=generator) if values else None
    return Graph.from_edges(edges, num_nodes=n + 2, weight=weight, time=time)


@pytest.fixture(params=[1 << 21, 7], ids=["at once", "in parts"])
def part(request, monkeypatch):
    monkeypatch.setattr(edge_list, "AT_ONCE", request.param)


GRAPHS = [(1, 1, False), (6, 9, True), (40, 160, False), (40, 160, True), (15, 400, True)]


@pytest.mark.usefixtures("part")
@pytest.mark.parametrize("shape", GRAPHS, ids=str)
@pytest.mark.parametrize("mapped", [False, True])
def test_edges_by_number_and_graphs_of_some_edges(shape, mapped, tmp_path, monkeypatch):
    monkeypatch.setenv("LLWLC_CACHE", str(tmp_path / "cache"))
    n, m, values = shape
    graph = random_graph(n, m, 3, values=values)
    graph = replace(graph, folder=Path("a packed graph")) if mapped else graph
    edges, generator = EdgeList(graph), torch.Generator().manual_seed(0)
    order = torch.randperm(len(edges), generator=generator)
    assert torch.equal(edges.at(order), graph.edges[order])
    assert torch.equal(torch.cat([graph.edges[:0], *edges.parts()]), graph.edges)
    assert torch.equal(edges.numbers(graph.edges[order].flip(1)), order)
    every = torch.cartesian_prod(torch.arange(-1, n + 4), torch.arange(-1, n + 4))
    known = {tuple(edge): i for i, edge in enumerate(graph.edges.tolist())}
    assert edges.numbers(every).tolist() == [known.get((min(p), max(p)), -1) for p in every.tolist()]
    if graph.time is not None:
        row, col = graph.edge_index
        assert torch.equal(edges.once(graph.time), graph.time[row < col])
        assert torch.equal(edges.once(graph.weight), graph.weight[row < col])
    for share in (0.0, 0.5, 1.0):
        flags = torch.rand(len(edges), generator=generator) < share
        found, wanted = edges.select(flags), graph.with_edges(graph.edges[flags])
        for name in ("indptr", "indices", "weight", "time"):
            a, b = getattr(found, name), getattr(wanted, name)
            assert (a is None) == (b is None)
            assert a is None or (a.dtype == b.dtype and torch.equal(a, b)), name
        assert edges.equals_selected(found, flags)
        assert len(edges) == 0 or not edges.equals_selected(found, ~flags)
    assert not mapped or not list((tmp_path / "cache").iterdir())  # files without a name


def test_another_weight_or_another_link_is_noticed():
    graph = random_graph(20, 60, 1, values=True)
    edges, flags = EdgeList(graph), torch.ones(graph.num_edges, dtype=torch.bool)
    assert edges.equals_selected(graph, flags)
    other = graph.weight.clone()
    other[5] += 1
    assert not edges.equals_selected(replace(graph, weight=other), flags)
    assert not edges.equals_selected(replace(graph, weight=None), flags)
    fewer = flags.clone()
    fewer[3] = False
    elsewhere = flags.clone()
    elsewhere[4] = False
    assert not edges.equals_selected(edges.select(fewer), elsewhere)
