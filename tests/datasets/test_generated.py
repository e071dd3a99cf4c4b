"""Generated graphs have the size and shape of their originals; statistics agree with extraction."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
import torch

from llwlc import datasets
from llwlc.datasets.__main__ import main
from llwlc.datasets._statistics import subgraph_sizes
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.subgraphs._extraction import extract


def clustering(graph, nodes=2000):
    g = nx.Graph(graph.edges.tolist())
    return nx.average_clustering(g, np.random.default_rng(0).choice(list(g), min(nodes, len(g)), replace=False))


def test_coauthor_like_has_the_original_shape():
    graph = datasets.generate("coauthor-like", scale=0.05)
    assert (graph.num_nodes, graph.num_edges) == (11_793, 64_273)
    degree = graph.degree.double()
    assert int((degree == 0).sum()) == 0
    assert degree.max() > 15 * degree.mean()  # heavy tail
    assert degree.median() < degree.mean()
    assert 0.65 < clustering(graph) < 0.8  # cliques: in a random graph it would be 0.001
    assert int(graph.time.min()) >= 1963
    assert int(graph.time.max()) == 2019
    assert graph.weight.min() == 1  # papers together
    assert graph.weight.max() > 3


def test_vessel_like_has_the_original_shape():
    graph = datasets.generate("vessel-like", scale=0.01)
    share = torch.bincount(graph.degree) / graph.num_nodes
    assert graph.num_nodes == 35_385
    assert abs(2 * graph.num_edges / graph.num_nodes - 3.02) < 0.05
    assert share[1:5].sum() > 0.95
    assert share.argmax() == 3
    # vessels are short: an edge is far shorter than the distance of two random nodes
    u, v = graph.edges.T
    length = (graph.x[u] - graph.x[v]).norm(dim=1)
    assert length.max() < 0.5
    assert (graph.x - graph.x[torch.randperm(len(graph.x))]).norm(dim=1).mean() > 5 * length.mean()
    assert torch.allclose(graph.x.std(0), torch.ones(3), atol=1e-3)


@pytest.mark.parametrize("kind", ["coauthor-like", "vessel-like"])
def test_generated_graphs_follow_the_seed(kind):
    one, again, other = (datasets.generate(kind, seed=seed, scale=0.005) for seed in (3, 3, 4))
    assert torch.equal(one.edges, again.edges)
    assert not torch.equal(one.edges, other.edges)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coauthor-like", "vessel-like"])
def test_generated_graphs_have_the_original_size(name):
    graph, info = datasets.load(name), datasets.info(name)
    assert (graph.num_nodes, graph.num_edges) == (info.nodes, info.edges)


@pytest.mark.parametrize(("kind", "scale"), [("cora-like", 1), ("vessel-like", 0), ("vessel-like", 11)])
def test_generate_refuses_what_it_cannot_make(kind, scale):
    with pytest.raises(InputError):
        datasets.generate(kind, scale=scale)


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_subgraph_sizes_are_those_of_extraction(hops):
    graph = datasets.generate("coauthor-like", scale=0.002, seed=1)
    pairs = torch.cat(
        [graph.edges[:100], torch.randint(graph.num_nodes, (100, 2), generator=torch.Generator().manual_seed(0))]
    )
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    assert np.array_equal(subgraph_sizes(graph, pairs, hops, chunk=64), extract(graph, pairs, hops).ptr.diff().numpy())


def test_statistics_of_a_sample_are_near_those_of_all():
    graph = datasets.load("cora")
    full, part = datasets.statistics(graph), datasets.statistics(graph, exact=1000, sample=1500)
    assert (full.nodes, full.edges, full.features, full.links, part.links) == (2708, 5278, 1433, 5278, 1500)
    assert full.degree == pytest.approx(3.898, abs=1e-3)
    assert part.two_hop[0] == pytest.approx(full.two_hop[0], rel=0.1)


def test_statistics_need_a_link():
    with pytest.raises(InputError, match="no links"):
        datasets.statistics(Graph.from_edges(torch.empty(0, 2, dtype=torch.long), num_nodes=3))


def test_the_command_prints_a_table(capsys):
    assert main(["cora"]) == 0
    assert capsys.readouterr().out.splitlines()[2].startswith("| cora | 2,708 | 5,278 | 1,433 | 3.90 |")


def test_the_command_fails_on_what_it_does_not_know_without_a_traceback():
    bad = subprocess.run([sys.executable, "-m", "llwlc.datasets", "coara"], capture_output=True, text=True, check=False)
    assert bad.returncode == 2
    assert "no dataset is called 'coara'" in bad.stderr
    assert "Traceback" not in bad.stderr
