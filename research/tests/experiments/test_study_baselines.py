"""OCN with the weights of its public code, against that code's formula written densely."""

import networkx as nx
import pytest
import torch

from llwlc import splits
from llwlc.graph._graph import Graph
from llwlc.models._baseline_features import DeviceFeatures
from llwlc.models._messages import Messages
from llwlc.models._network import BaselineShape
from llwlc.models._recipes import recipe
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources
from research.experiments.study_baselines import BatchOCN, make_study_baseline

N = 30
PLAIN = nx.powerlaw_cluster_graph(N, 4, 0.5, seed=3)
GRAPH = Graph.from_edges(
    torch.tensor(list(PLAIN.edges)), num_nodes=N, x=torch.rand(N, 6, generator=torch.Generator().manual_seed(0))
)
PAIRS = torch.combinations(torch.arange(N))[::3]


def overlaps(pairs):
    """c¹ and c² of the pairs, 0 or 1 in a direction, c² the mean of both, `[pairs, nodes]`."""
    a = torch.from_numpy(nx.to_numpy_array(PLAIN, nodelist=range(N)))
    two = (a @ a > 0).double()
    u, v = pairs.unbind(1)
    return a[u] * a[v], (a[u] * two[v] + a[v] * two[u]) / 2


def formula(net, pairs, sums):
    """The logits by the public code, with `sums` of ⟨c², c¹⟩ from training, for one batch."""
    a = torch.from_numpy(nx.to_numpy_array(PLAIN, nodelist=range(N)))
    scale = (a.sum(1) + 1).rsqrt()
    x = GRAPH.x.double() @ net.input.weight + net.input.bias
    h = net.scale[0] * (scale[:, None] * (a + torch.eye(N)) * scale @ x)
    first, second = overlaps(pairs)
    column = first.sum(0)
    inverse = torch.where(column > 1, 1 / column.clamp(min=1), 0)
    first = first * inverse
    sums = [*sums, float((first * second).sum())] if net.training else sums
    gamma = sum(sums) / len(sums) / first.max()
    second = second - gamma * first
    column = second.sum(0)
    second = second / torch.where(column == 0, 1, column)
    share = torch.sigmoid(net.alpha)
    mixed = share[0] * net.near(first @ h) + share[0] * share[1] * net.far(second @ h)
    return net.head(mixed + net.beta * net.ends(h[pairs[:, 0]] * h[pairs[:, 1]])).squeeze(1), sums


@pytest.fixture
def net():
    torch.manual_seed(1)
    none = dict.fromkeys(("input_dropout", "dropout", "tail_dropout", "head_dropout"), 0.0)
    return BatchOCN(recipe("ocn").changed(hidden=8, **none), BaselineShape(N, 6)).double()


def test_a_score_is_the_public_codes_in_training_and_after_it(net):
    messages, features, sums = Messages.of(GRAPH), DeviceFeatures(GRAPH.x, "cpu"), []
    net.train()
    for batch in torch.split(PAIRS, 40)[:3]:
        # links and negatives are batches of their own
        expected = []
        for part in (batch[: len(batch) // 2], batch[len(batch) // 2 :]):
            logits, sums = formula(net, part, sums)
            expected.append(logits)
        assert torch.allclose(net.training_logits(messages, features, batch)[0], torch.cat(expected), atol=1e-9)
    net.eval()
    expected, _ = formula(net, PAIRS, sums)
    assert torch.allclose(net(messages, features, PAIRS), expected, atol=1e-9)


def test_a_score_depends_on_its_batch(net):
    messages, features = Messages.of(GRAPH), DeviceFeatures(GRAPH.x, "cpu")
    net.eval()
    whole = net(messages, features, PAIRS)
    alone = torch.cat([net(messages, features, pair) for pair in PAIRS.split(1)])
    assert not torch.allclose(whole, alone, atol=1e-2)


def test_a_fit_scores_links_and_other_pairs_apart():
    split = splits.make(GRAPH, protocol="ncn")
    model = make_study_baseline("ocn-batch", epochs=2, hidden=8)
    model.fit(split, NodeFeatures(), seed=0, resources=Resources("cpu"))
    both = torch.cat([split.test_pos, split.test_neg])
    scores = model.score(split.test_graph, both)
    assert torch.equal(scores[: len(split.test_pos)], model.score(split.test_graph, split.test_pos))
    assert torch.equal(scores[len(split.test_pos) :], model.score(split.test_graph, split.test_neg))
