"""A graph that keeps which way its links point."""

import networkx
import pytest
import torch

from llwlc import Graph
from llwlc.graph import GraphWarning
from llwlc.graph._edge_list import EdgeList

ARCS = [("a", "b"), ("b", "a"), ("c", "b"), ("d", "a"), ("c", "d"), ("c", "a")]


def arcs(graph: Graph) -> set[tuple[str, str]]:
    return {(graph.name(u), graph.name(v)) for u, v in graph.arcs.tolist()}


def test_reading_keeps_the_direction_where_asked():
    graph = Graph.read(ARCS, directed=True)
    assert arcs(graph) == set(ARCS)
    assert "1 edge both ways, 4 one way" in graph.report.line
    assert Graph.read(ARCS[2:]).forward is None
    assert repr(graph) == "Graph(num_nodes=4, num_edges=5, names, directed)"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_direction_survives_writing_to_files_and_reading(tmp_path, ending):
    pairs = torch.tensor([[0, 1], [1, 0], [2, 1], [2, 0]])
    graph = Graph.from_edges(pairs, weight=torch.tensor([2.0, 1.0, 5.0, 4.0]), names=list("abc"), directed=True)
    file = tmp_path / f"edges.{ending}"
    graph.to_csv(file) if ending == "csv" else graph.to_parquet(file)
    back = Graph.read(file, directed=True)
    assert arcs(back) == arcs(graph)
    assert torch.equal(back.weight, graph.weight)
    assert back.arc_weight.tolist() == [1.5, 1.5, 4.0, 5.0]


def test_columns_that_were_guessed_are_named(tmp_path):
    file = tmp_path / "odd.csv"
    file.write_text("Who follows,is followed by\na,b\nb,c\na,c\n")
    with pytest.warns(GraphWarning, match="Links point from 'Who follows' to 'is followed by'"):
        Graph.read(file, directed=True)
    file.write_text("source,target\na,b\nb,c\na,c\n")
    assert not any("Links point" in note for note in Graph.read(file, directed=True).report.warnings)


def test_direction_survives_a_round_trip_by_networkx():
    digraph = networkx.DiGraph(ARCS)
    graph = Graph.from_networkx(digraph, directed=True)
    assert arcs(graph) == set(ARCS)
    assert set(graph.to_networkx().edges) == set(ARCS)


def test_subgraphs_keep_the_direction_of_their_edges():
    graph = Graph.read(ARCS, directed=True)
    some = graph.edges[torch.tensor([0, 2])]
    part = graph.with_edges(some)
    assert arcs(part) == {(u, v) for u, v in ARCS if [*sorted([ord(u) - 97, ord(v) - 97])] in some.tolist()}
    flags = torch.tensor([True, False, True, False, True])
    assert torch.equal(EdgeList(graph).select(flags).forward, graph.with_edges(graph.edges[flags]).forward)
    assert graph.without_direction().arcs.tolist() == graph.edge_index.T.tolist()


def test_without_directions_every_link_is_two_arcs():
    graph = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
    assert graph.arcs.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1]]
    assert graph.arc_weight is None
