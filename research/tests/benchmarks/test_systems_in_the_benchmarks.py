"""The systems of the paper's tables in the corpus benchmark and in the ranking of recommendations, by name alone."""

import networkx as nx
import pytest
import torch

from llwlc import datasets, models
from llwlc.graph._graph import Graph
from research.benchmarks import recommend
from research.corpus import measure
from research.experiments.cell import Cell

SYSTEMS = ("ocn", "neognn", "nbfnet", "surelplus")


@pytest.fixture
def graph():
    """Six groups of twelve nodes, without features."""
    plain = nx.planted_partition_graph(6, 12, 0.5, 0.01, seed=0)
    return Graph.from_edges(torch.tensor(list(plain.edges)), num_nodes=72)


@pytest.fixture
def short(monkeypatch):
    """Fits of one epoch."""
    make = models.make
    monkeypatch.setattr(models, "make", lambda name: make(name, epochs=1))


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_has_lines_of_the_corpus(name, graph, monkeypatch):
    monkeypatch.setattr(measure, "load_network", lambda _: graph)
    line = measure.corpus_line(Cell("corpus", "made", "random", name, {"minutes": 0.01}))
    assert measure.has_budget(name)
    assert 0 <= line["auc"] <= 1
    assert line["list"][0]["precision"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_has_lines_of_recommendations(name, graph, short, monkeypatch):
    monkeypatch.setattr(datasets, "load", lambda _: graph)
    line = recommend.measure("made", 0, "ncn", "cpu", name)
    assert line["method"] == name
    listed = line["held_out"]["methods"]
    assert 0 <= listed["llwlc"]["average_precision"]["value"] <= 1
    assert len(listed) > 5
