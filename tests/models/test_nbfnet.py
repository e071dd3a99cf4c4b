"""NBFNet's layer and score against the formulas of nbfnet/model.py and nbfnet/layer.py of DeepGraphLearning/NBFNet (its
configuration for homogeneous graphs), message by message.
"""

import networkx as nx
import pytest
import torch

from llwlc import models, splits
from llwlc._fitting.fit import fit_model
from llwlc.graph._graph import Graph
from llwlc.models import _nbfnet
from llwlc.models._baseline import compute_logits
from llwlc.models._messages import Messages
from llwlc.models._nbfnet import NBFNet, aggregate
from llwlc.models._network import BaselineShape
from llwlc.models._recipes import recipe

N, WIDTH = 12, 4
PAIRS = torch.combinations(torch.arange(N))


@pytest.fixture(scope="module")
def plain():
    plain = nx.barabasi_albert_graph(N - 1, 2, seed=1)
    plain.add_node(N - 1)  # without neighbours
    return plain


@pytest.fixture(scope="module")
def messages(plain):
    return Messages.of(Graph.from_edges(torch.tensor(list(plain.edges)), num_nodes=N))


@pytest.fixture(scope="module")
def net():
    torch.manual_seed(0)
    return NBFNet(recipe("nbfnet").changed(hidden=WIDTH, layers=3), BaselineShape(N)).double()


def one_by_one(plain, x, start):
    """The aggregation of states `[n, d]` of one source, node by node from the list of what each is sent."""
    rows = []
    logs = torch.tensor([float(plain.degree(w) + 2) for w in range(N)], dtype=x.dtype).log()
    for w in range(N):
        sent = torch.stack([*(x[v] for v in plain[w]), x[w], start[w]])
        mean = sent.mean(0)
        deviation = (sent.square().mean(0) - mean.square()).clamp(min=1e-6).sqrt()
        four = torch.stack([mean, sent.max(0).values, sent.min(0).values, deviation], 1).flatten()
        scale = logs[w] / logs.mean()
        rows.append(torch.stack([four, four * scale, four / scale], 1).flatten())
    return torch.stack(rows)


def test_aggregation_is_that_of_what_each_node_is_sent(plain, messages):
    x, start = torch.randn(2, N, 3, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = aggregate(x, start, messages)
    for source in range(3):
        assert torch.allclose(found[:, source], one_by_one(plain, x[:, source], start[:, source]))


def test_a_score_is_that_of_the_public_codes_iteration(plain, messages, net):
    reached = []
    for source in range(N):
        start = torch.zeros(N, WIDTH, dtype=torch.float64)
        start[source] = net.query
        x = start
        for layer in net.layers:
            both = torch.cat([x, one_by_one(plain, layer.relation * x, start)], 1)
            x = x + torch.relu(layer.norm(layer.lin(both)))
        reached.append(x)
    states = torch.stack(reached)
    u, v = PAIRS.T
    both = (states[u, v] + states[v, u]) / 2
    expected = net.head(torch.cat([both, net.query.expand_as(both)], 1)).squeeze(1)
    assert torch.allclose(compute_logits(net, messages, None, PAIRS), expected, atol=1e-9)


def gradients(net, messages):
    net.zero_grad()
    net.train()(messages, None, PAIRS).square().sum().backward()
    return [p.grad.clone() for p in net.parameters()]


@pytest.mark.parametrize("sources", [1, 5])
def test_chunks_of_sources_change_neither_scores_nor_gradients(messages, net, sources, monkeypatch):
    whole, slope = compute_logits(net, messages, None, PAIRS), gradients(net, messages)
    monkeypatch.setattr(_nbfnet, "LARGEST", sources * len(messages.col) * WIDTH)
    assert torch.allclose(compute_logits(net, messages, None, PAIRS), whole)
    for one, two in zip(gradients(net, messages), slope, strict=True):
        assert torch.allclose(one, two)


def test_as_many_layers_as_steps_are_needed_to_see_the_other_end(net):
    """On a ring, three iterations reach three steps: farther ends are told apart by nothing."""
    ring = Messages.of(Graph.from_edges(torch.tensor([[i, (i + 1) % N] for i in range(N)]), num_nodes=N))
    scores = compute_logits(net, ring, None, torch.tensor([[0, far] for far in range(1, 7)]))
    assert torch.allclose(scores[3:], scores[3])
    assert scores[:4].diff().abs().min() > 1e-6


def test_it_learns_who_belongs_to_one_community():
    """Cliques in a ring, which no features tell apart: hidden links are inside of them."""
    plain = nx.connected_caveman_graph(8, 6)
    graph = Graph.from_edges(torch.tensor(list(plain.edges)), num_nodes=48)
    split = splits.make(graph, protocol="random", seed=0, val=0.1, test=0.2)
    model = models.make("nbfnet", hidden=8, layers=3, epochs=5, batch_size=32)
    assert fit_model(model, graph, split, seed=0, rank_candidates=False).metrics["auc"] > 0.85


def test_no_pairs_have_no_scores(messages, net):
    assert compute_logits(net, messages, None, PAIRS[:0]).shape == (0,)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_wide_states_on_a_gpu_are_those_of_the_cpu():
    """As many sources as a fit on Cora takes together: states of 4,512 columns, and their gradients."""
    plain = nx.barabasi_albert_graph(2000, 3, seed=1)
    graph = Graph.from_edges(torch.tensor(list(plain.edges)))
    x = torch.randn(2000, 141, 32, generator=torch.Generator().manual_seed(0))
    found = []
    for device in ("cpu", "cuda"):
        here = x.to(device).requires_grad_()
        rows = aggregate(here, torch.zeros_like(here), Messages.of(graph, device))
        rows.square().mean().backward()
        found.append((rows.detach().cpu(), here.grad.cpu()))
    for cpu, cuda in zip(*found, strict=True):
        assert torch.allclose(cpu, cuda, rtol=1e-4, atol=1e-5)
