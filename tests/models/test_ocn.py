"""OCN's parts by brute force on networkx graphs, and its score as model.py (predictor cn5) and NeighborOverlap_large.py
of qingpingmo/OCN compute it, densely, with the divisors and the orthogonalisation that differ.
"""

import networkx as nx
import pytest
import torch

from llwlc.graph._graph import Graph
from llwlc.models._baseline import compute_logits
from llwlc.models._baseline_features import DeviceFeatures
from llwlc.models._messages import Messages
from llwlc.models._network import BaselineShape
from llwlc.models._ocn import OCN, divisors, shared_nodes
from llwlc.models._recipes import recipe
from llwlc.models._walks import two_step_walks

N = 26
PAIRS = torch.combinations(torch.arange(N))


@pytest.fixture(scope="module")
def plain():
    plain = nx.disjoint_union(nx.powerlaw_cluster_graph(24, 3, 0.5, seed=3), nx.path_graph(2))
    plain.remove_edge(24, 25)  # two nodes without neighbours
    return plain


@pytest.fixture(scope="module")
def graph(plain):
    x = torch.rand(N, 6, generator=torch.Generator().manual_seed(0))
    return Graph.from_edges(torch.tensor(list(plain.edges)), num_nodes=N, x=x)


def make(**options):
    torch.manual_seed(1)
    how = recipe("ocn").changed(
        hidden=8, input_dropout=0.0, dropout=0.0, tail_dropout=0.0, head_dropout=0.0, batch_size=10, **options
    )
    return OCN(how, BaselineShape(N, 6)).double()


def test_the_codes_of_walks_are_a_and_a_squared(plain, graph):
    a = torch.from_numpy(nx.to_numpy_array(plain, nodelist=range(N))).long()
    every = torch.cartesian_prod(torch.arange(N), torch.arange(N))
    code = two_step_walks(Messages.of(graph)).find(*every.unbind(1)).reshape(N, N)
    assert torch.equal(code & 1, a)
    assert torch.equal(code >> 1, a @ a)
    nodes = torch.tensor([3, 24, 0])
    col, found, owner = two_step_walks(Messages.of(graph)).rows(nodes)
    rows = torch.zeros(3, N, dtype=torch.long)
    rows[owner, col] = found.long()
    assert torch.equal(rows, (2 * (a @ a) + a)[nodes])


def second_order(plain, u, v):
    """The neighbours of u that a walk of two steps joins to v."""
    return {w for w in plain[u] if set(plain[w]) & set(plain[v])}


@pytest.mark.parametrize("batch_size", [1, 10, 1000])
def test_divisors_count_the_links_that_share_a_node_each_link_removed_for_itself(plain, graph, batch_size):
    first, second = torch.ones(N, dtype=torch.float64), torch.ones(N, dtype=torch.float64)
    share = min(1, batch_size / plain.number_of_edges())
    for u, v in list(plain.edges):
        rest = plain.copy()
        rest.remove_edge(u, v)
        for w in nx.common_neighbors(rest, u, v):
            first[w] += share
        for a, b in ((u, v), (v, u)):
            for w in second_order(rest, a, b):
                second[w] += share / 2
    found = divisors(Messages.of(graph), batch_size)
    assert torch.allclose(found[0], first)
    assert torch.allclose(found[1], second)


def weights(plain, graph, pairs):
    """c¹ and c² as matrices `[pairs, nodes]`."""
    first, second = torch.zeros(2, len(pairs), N, dtype=torch.float64)
    for i, (u, v) in enumerate(pairs.tolist()):
        first[i, list(set(plain[u]) & set(plain[v]))] = 1
        for a, b in ((u, v), (v, u)):
            second[i, list(second_order(plain, a, b))] += 0.5
    d1, d2 = divisors(Messages.of(graph), 10)
    return first / d1, second / d2


def test_shared_nodes_are_those_of_both_orders(plain, graph):
    net = make()
    encoded = net.encode(Messages.of(graph), DeviceFeatures(graph.x, "cpu"))
    found = shared_nodes(encoded, PAIRS)
    for value, expected in zip((found.first, found.second), weights(plain, graph, PAIRS), strict=True):
        dense = torch.zeros(len(PAIRS), N, dtype=torch.float64)
        dense.index_put_((found.owner, found.node), value, accumulate=True)
        assert torch.allclose(dense, expected)
    first, second = weights(plain, graph, PAIRS)
    assert torch.allclose(found.products(encoded.near), torch.stack([(first * second).sum(), (first * first).sum()]))


def test_training_makes_second_order_orthogonal_to_common_neighbours(plain, graph):
    """Gram and Schmidt over all pairs that were trained on, whatever the batches."""
    net = make().train()
    for part in torch.split(PAIRS, 50):
        net(Messages.of(graph), DeviceFeatures(graph.x, "cpu"), part)
    first, second = weights(plain, graph, PAIRS)
    gamma = net.products[0] / net.products[1]
    assert gamma > 0
    assert float(((second - gamma * first) * first).sum()) == pytest.approx(0, abs=1e-9)
    before = net.products.clone()
    compute_logits(net, Messages.of(graph), DeviceFeatures(graph.x, "cpu"), PAIRS)
    assert torch.equal(net.products, before)  # scoring changes nothing


@pytest.mark.parametrize("options", [{}, {"layers": 3, "residual": True, "propagation": "mean"}])
def test_a_score_is_the_public_codes_formula(plain, graph, options):
    net = make(**options)
    with torch.no_grad():
        net.alpha.copy_(torch.tensor([0.3, -0.8]))
        net.products.copy_(torch.tensor([3.0, 4.0]))
    a = torch.from_numpy(nx.to_numpy_array(plain, nodelist=range(N)))
    if options:
        step = a / a.sum(1, keepdim=True).clamp(min=1) + torch.eye(N)
    else:
        scale = (a.sum(1) + 1).rsqrt()
        step = scale[:, None] * (a + torch.eye(N)) * scale
    x = graph.x.double() @ net.input.weight + net.input.bias
    powers = [torch.linalg.matrix_power(step, i + 1) @ x for i in range(len(net.scale))]
    h = sum(s * power for s, power in zip(net.scale, powers, strict=True))
    first, second = weights(plain, graph, PAIRS)
    share = torch.sigmoid(net.alpha)
    mixed = share[0] * net.near(first @ h) + share[0] * share[1] * net.far((second - 0.75 * first) @ h)
    expected = net.head(mixed + net.beta * net.ends(h[PAIRS[:, 0]] * h[PAIRS[:, 1]])).squeeze(1)
    found = compute_logits(net, Messages.of(graph), DeviceFeatures(graph.x, "cpu"), PAIRS)
    assert torch.allclose(found, expected, atol=1e-9)
