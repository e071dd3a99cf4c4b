"""Neo-GNN's parts against formulas written densely, as they are in models.py and main_collab.py of
seongjunyun/Neo-GNNs.
"""

import networkx as nx
import numpy as np
import pytest
import torch

from llwlc import splits
from llwlc.graph._graph import Graph
from llwlc.models._baseline import BaselineTrainee, compute_logits
from llwlc.models._baseline_features import DeviceFeatures
from llwlc.models._messages import Messages
from llwlc.models._neognn import NeoGNN, entries, structure, weighted_overlap
from llwlc.models._network import BaselineShape
from llwlc.models._recipes import recipe
from llwlc.models._walks import two_step_walks

PAIRS = torch.combinations(torch.arange(30))


@pytest.fixture(scope="module")
def graph():
    plain = nx.barabasi_albert_graph(30, 3, seed=4)
    x = torch.rand(30, 7, generator=torch.Generator().manual_seed(0))
    return Graph.from_edges(torch.tensor(list(plain.edges)), num_nodes=31, x=torch.cat([x, x[:1]]))


@pytest.fixture(scope="module")
def net(graph):
    torch.manual_seed(2)
    how = recipe("neognn").changed(hidden=8, dropout=0.0, head_dropout=0.0)
    net = NeoGNN(how, BaselineShape(31, 7)).double()
    with torch.no_grad():
        net.alpha.copy_(torch.tensor([0.4, -0.3]))
    return net


def dense(graph, beta=0.1):
    a = np.zeros((31, 31))
    a[tuple(graph.edges.T.numpy())] = 1
    a += a.T
    return a + beta * a @ a


@pytest.mark.parametrize("beta", [0.0, 0.1, 2.0])
def test_s_is_a_plus_beta_a_squared_and_its_counts_are_those_of_its_rows(graph, beta):
    s = structure(Messages.of(graph), beta)
    found = np.zeros((31, 31))
    found[s.walks.key // 31, s.walks.key % 31] = entries(s.walks.code, beta, torch.float64)
    assert np.allclose(found, dense(graph, beta))
    assert torch.equal(s.walks.key, s.walks.key.sort().values)
    rows = s.counts.product(torch.eye(len(s.values)))
    assert torch.allclose(rows.double() @ s.values, torch.from_numpy(dense(graph, beta).sum(1)), atol=1e-6)


def test_the_overlap_is_the_papers_sum_over_all_nodes(graph):
    s, x = dense(graph), torch.randn(31, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = weighted_overlap(two_step_walks(Messages.of(graph)), 0.1, x, PAIRS)
    whole = torch.from_numpy(s) * x
    assert torch.allclose(found, (whole @ whole.T)[PAIRS[:, 0], PAIRS[:, 1]])


def probabilities(net, graph):
    """Of structure, features and mixture, densely."""
    s = torch.from_numpy(dense(graph))
    given = torch.where(s != 0, net.f_edge(s.reshape(-1, 1)).reshape(31, 31), 0)
    x = net.f_node(given.sum(0, keepdim=True).T).squeeze(1)
    overlap = ((s * x) @ (s * x).T)[PAIRS[:, 0], PAIRS[:, 1]]
    by_structure = torch.sigmoid(net.g(overlap.unsqueeze(1)).squeeze(1))
    a = torch.from_numpy(np.eye(31) + (dense(graph, 0.0) > 0))
    scale = a.sum(1).rsqrt()
    h = graph.x.double() @ net.input.weight + net.input.bias
    for i, conv in enumerate(net.convs):
        h = h if i == 0 else torch.relu(h)
        h = scale[:, None] * a * scale @ (h @ conv.lin.weight.T) + conv.bias
    ends = h[PAIRS[:, 0]] * h[PAIRS[:, 1]]
    for lin in net.head.lins[:-1]:
        ends = torch.relu(lin(ends))
    feature = torch.sigmoid(net.head.lins[-1](ends).squeeze(1))
    alpha = torch.softmax(net.alpha, 0)
    return by_structure, feature, alpha[0] * by_structure + alpha[1] * feature


def test_a_score_is_the_log_odds_of_the_public_codes_probability(net, graph):
    *_, mixed = probabilities(net, graph)
    found = compute_logits(net, Messages.of(graph), DeviceFeatures(graph.x, "cpu"), PAIRS)
    assert torch.allclose(found, torch.logit(mixed), atol=1e-9)


def test_far_logits_are_mixed_without_rounding_a_probability_to_one(net):
    far = torch.tensor([-800.0, 60.0, 800.0], dtype=torch.float64)
    assert torch.allclose(net.mixture(far, far), far)
    assert torch.isfinite(net.mixture(far, -far)).all()


def test_it_is_trained_by_the_sum_of_three_losses(net, graph):
    rows = net.training_logits(Messages.of(graph), DeviceFeatures(graph.x, "cpu"), PAIRS)
    for found, expected in zip(rows, probabilities(net, graph), strict=True):
        assert torch.allclose(torch.sigmoid(found), expected)


def test_the_first_step_of_training_has_the_public_loss(graph):
    """With one batch an epoch the reported loss is that of the initial weights."""
    split = splits.make(graph, protocol="random", seed=0, val=0.1, test=0.1)
    how = recipe("neognn").changed(hidden=8, dropout=0.0, head_dropout=0.0, folds=1)
    net = NeoGNN(how, BaselineShape(31, 7))
    features = DeviceFeatures(graph.x, "cpu")
    trainee = BaselineTrainee(net, split, features, 0)
    messages, pos, neg = next(iter(trainee.batches.epoch(0)))
    yes, no = (torch.sigmoid(net.training_logits(messages, features, part)) for part in (pos, neg))
    expected = -(yes + 1e-15).log().mean(1).sum() - (1 - no + 1e-15).log().mean(1).sum()
    assert trainee.train_epoch(0) == pytest.approx(float(expected.detach()), rel=1e-4)


def test_a_graph_without_links_has_scores(net):
    empty = Messages.of(Graph.from_edges(torch.zeros(0, 2, dtype=torch.long), num_nodes=31))
    assert torch.isfinite(compute_logits(net, empty, DeviceFeatures(torch.rand(31, 7), "cpu"), PAIRS)).all()
