"""SUREL+'s walks against the walk matrix, and its score against sampler/random_walks.py, train.py (gather) and model.py
of VeritasYin/SUREL_Plus, set by set.
"""

import networkx as nx
import numpy as np
import pytest
import torch

from llwlc.graph._graph import Graph
from llwlc.models._baseline import compute_logits
from llwlc.models._baseline_features import DeviceFeatures
from llwlc.models._messages import Messages
from llwlc.models._network import BaselineShape
from llwlc.models._recipes import recipe
from llwlc.models._surelplus import SURELPlus
from llwlc.models._walk_sets import walk_sets

N = 24
NODES = torch.arange(N)
PAIRS = torch.combinations(NODES)


@pytest.fixture(scope="module")
def plain():
    plain = nx.barabasi_albert_graph(N - 1, 2, seed=2)
    plain.add_node(N - 1)  # without neighbours
    return plain


@pytest.fixture(scope="module")
def graph(plain):
    x = torch.rand(N, 5, generator=torch.Generator().manual_seed(0))
    return Graph.from_edges(torch.tensor(list(plain.edges)), num_nodes=N, x=x)


def dense(messages, walks, steps, nodes=NODES, seed=0):
    """The shares as `[nodes, N, steps + 1]`."""
    sets = walk_sets(messages, nodes, walks=walks, steps=steps, seed=seed)
    out = torch.zeros(len(nodes), N, steps + 1, dtype=torch.float64)
    out[sets.key // N, sets.key % N] = sets.share
    assert sets.sizes.tolist() == (out.sum(2) > 0).sum(1).tolist()
    return out


def test_walks_land_as_often_as_the_walk_matrix_says(plain, graph):
    """Each share of 4,000 walks is within five standard deviations of its probability."""
    found = dense(Messages.of(graph), 4000, 3).numpy()
    a = nx.to_numpy_array(plain, nodelist=range(N))
    a[N - 1, N - 1] = 1  # a node without neighbours stays
    step, expected = a / a.sum(1, keepdims=True), np.eye(N)
    for t in range(4):
        deviation = np.sqrt(expected * (1 - expected) / 4000)
        assert (np.abs(found[:, :, t] - expected) <= 5 * deviation + 1e-12 + (t == 1) / 4000).all()
        expected = expected @ step


@pytest.mark.parametrize("walks", [3, 10, 50])
def test_first_steps_are_spread_evenly_over_neighbours(plain, graph, walks):
    found = dense(Messages.of(graph), walks, 1)
    for u in plain:
        first = (found[u, :, 1] * walks).round().long()
        at = set(first.nonzero().flatten().tolist())
        degree = plain.degree(u)
        assert at <= (set(plain[u]) or {u})
        assert len(at) == min(walks, max(degree, 1))
        assert int(first.sum()) == walks
        counts = first[first > 0]
        assert int(counts.max() - counts.min()) <= 1


def test_a_set_belongs_to_its_node_and_seed(graph):
    messages = Messages.of(graph)
    whole = dense(messages, 20, 3)
    some = torch.tensor([7, 2, 23])
    assert torch.equal(dense(messages, 20, 3, some), whole[some])
    assert not torch.equal(dense(messages, 20, 3, seed=1), whole)


def make(width, **options):
    torch.manual_seed(3)
    how = recipe("surelplus").changed(hidden=6, walks=8, steps=2, head_dropout=0.0, **options)
    return SURELPlus(how, BaselineShape(N, width), 0).double()


@pytest.mark.parametrize("width", [0, 5])
def test_a_score_is_the_public_codes_of_both_orders(graph, width):
    net, messages = make(width), Messages.of(graph)
    z = dense(messages, 8, 2)

    def embed(share):
        return net.second(torch.relu(net.first(share)))

    def pooled(u, v):
        inside = z[u].sum(1) > 0
        return (embed(z[u][inside]) + embed(z[v][inside])).mean(0)

    expected = []
    for u, v in PAIRS.tolist():
        left, right = pooled(u, v), pooled(v, u)
        if width:
            rows = net.mix(torch.relu(graph.x.double() @ net.input.weight + net.input.bias))
            left, right = torch.cat([left, rows[u]]), torch.cat([right, rows[v]])
        expected.append((net.head(torch.cat([left, right])) + net.head(torch.cat([right, left]))) / 2)
    features = DeviceFeatures(graph.x, "cpu") if width else None
    assert torch.allclose(compute_logits(net, messages, features, PAIRS), torch.cat(expected), atol=1e-9)


def test_a_graph_without_links_and_no_pairs_have_scores():
    net = make(0)
    empty = Messages.of(Graph.from_edges(torch.zeros(0, 2, dtype=torch.long), num_nodes=N))
    assert torch.isfinite(compute_logits(net, empty, None, PAIRS)).all()
    assert compute_logits(net, empty, None, PAIRS[:0]).shape == (0,)
