"""What is provable about the networks: sums over sets, filters as matrix functions, symmetry, independence of batch and
order.
"""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch_geometric.nn import GCNConv

from graphs import batch_of
from llwlc import models
from llwlc._support.records import to_mapping as as_json
from llwlc._support.registry import resolve
from llwlc.bases._eigenbasis import eigenbasis
from llwlc.graph._graph import Graph
from llwlc.models._baseline import compute_logits
from llwlc.models._baseline_features import BaselineInput, DeviceFeatures
from llwlc.models._lanczosnet import LanczosConv, affinity
from llwlc.models._messages import Messages
from llwlc.models._ncn import overlap_sum
from llwlc.models._ncnc import exclusive_neighbours
from llwlc.models._network import BaselineShape
from llwlc.models._recipes import recipe
from llwlc.models._seal import num_labels
from llwlc.subgraphs._labels import drnl
from llwlc.training._node_features import NodeFeatures

TRAINED = [record.name for record in models.MODELS.records() if record.args and record.trained]
SMALL = {"hidden": 16, "layers": 2, "head_layers": 2, "permutations": 16, "registers": 64}


@pytest.fixture(scope="module")
def plain():
    return nx.barabasi_albert_graph(60, 3, seed=0)


@pytest.fixture(scope="module")
def graph(plain):
    x = torch.rand(60, 12, generator=torch.Generator().manual_seed(0))
    return Graph.from_edges(torch.tensor(list(plain.edges)), x=x)


@pytest.fixture(scope="module")
def messages(graph):
    return Messages.of(graph)


def network(name, graph, **options):
    record, how = models.MODELS[name], recipe(name).changed(**SMALL, **options)
    torch.manual_seed(0)
    width = 0 if graph.x is None else graph.x.shape[1]
    return resolve(record.args[0])(how, BaselineShape(graph.num_nodes, width, 20), 0)


# ------------------------------------------------------------------------------------------- messages and features


def test_propagation_is_gcns_with_identity_weights(graph, messages):
    conv = GCNConv(12, 12, bias=False)
    torch.nn.init.eye_(conv.lin.weight)
    assert torch.allclose(messages.smooth(graph.x), conv(graph.x, graph.edge_index), atol=1e-6)


def test_gradients_of_propagation_and_sparse_products_are_autograds(graph, messages):
    x = graph.x.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda t: messages.smooth(t[:, :2]), x)
    features = DeviceFeatures(csr_array(np.where(graph.x.numpy() > 0.8, graph.x.numpy(), 0)), "cpu")
    weight = torch.rand(12, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(features.product, weight)


def test_sparse_and_dense_features_give_the_same_product(graph):
    x = torch.where(graph.x > 0.9, graph.x, 0)
    weight = torch.rand(12, 5)
    for rows in (False, True):
        dense = x / x.sum(1, keepdim=True).clamp(min=1e-9) if rows else x
        for given in (x, csr_array(x.numpy())):
            assert torch.allclose(
                DeviceFeatures(given, "cpu", row_sums=rows).product(weight), dense @ weight, atol=1e-6
            )


def test_dropout_of_sparse_features_is_dropout_of_the_matrix():
    features = DeviceFeatures(csr_array(np.eye(2000, dtype=np.float32)), "cpu")
    torch.manual_seed(0)
    kept = features.product(torch.eye(2000), 0.7).diagonal()
    assert kept.unique().tolist() == pytest.approx([0.0, 1 / 0.3])
    assert abs(float((kept > 0).float().mean()) - 0.3) < 0.05


def test_messages_without_a_link_lack_both_its_directions(graph, messages):
    some = graph.edges[::7]
    rest = messages.without(messages.places(some))
    expected = {tuple(e) for e in graph.edges.tolist()} - {tuple(e) for e in some.tolist()}
    assert {tuple(e) for e in rest.graph.edges.tolist()} == expected
    assert torch.equal(rest.graph.degree, torch.bincount(rest.row, minlength=60))


def test_nodes_without_features_begin_with_orthogonal_rows():
    rows = BaselineInput(8, 0, 16)(None)
    assert torch.allclose(rows @ rows.T, torch.eye(8), atol=1e-5)


# ------------------------------------------------------------------------------------------- ncn, ncnc


def test_ncns_sum_is_over_the_common_neighbours(plain, messages):
    pairs = torch.combinations(torch.arange(60))
    rows = torch.rand(60, 5, dtype=torch.float64)
    found = overlap_sum(messages, pairs, rows)
    for (u, v), value in zip(pairs.tolist(), found, strict=True):
        common = sorted(set(plain[u]) & set(plain[v]))
        assert torch.allclose(value, rows[common].sum(0))


def test_ncncs_candidates_are_the_neighbours_of_one_end_alone(plain, messages):
    pairs = torch.combinations(torch.arange(60))
    neighbour, owner = exclusive_neighbours(messages, pairs[:, 0], pairs[:, 1])
    for i, (u, v) in enumerate(pairs.tolist()):
        assert set(neighbour[owner == i].tolist()) == set(plain[u]) - set(plain[v]) - {v}


def test_ncnc_without_weight_for_completion_is_ncn(graph, messages):
    ncn, ncnc = network("ncn", graph), network("ncnc", graph, completion_weight=0.0)
    ncnc.load_state_dict(ncn.state_dict())
    features = DeviceFeatures(graph.x, "cpu")
    pairs = torch.combinations(torch.arange(20))
    assert torch.allclose(
        compute_logits(ncn, messages, features, pairs), compute_logits(ncnc, messages, features, pairs), atol=1e-6
    )


# ------------------------------------------------------------------------------------------- seal, lanczosnet


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_drnl_is_the_papers_formula_and_its_labels_fit_the_embedding(plain, hops):
    """d_u and d_v with the other end removed, by networkx."""
    for u, v in ((0, 1), (4, 30), (10, 11)):
        subs = batch_of([plain], [(u, v)], hops=hops)
        without = {end: plain.copy() for end in (u, v)}
        far = {}
        for end, other in ((u, v), (v, u)):
            without[end].remove_node(other)
            far[end] = nx.single_source_shortest_path_length(without[end], end)
        expected = []
        for w in sorted(plain):
            a, b = far[u].get(w, 99), far[v].get(w, 99)
            if w in (u, v):
                expected.append(1)
            elif max(a, b) > 2 * hops:
                expected.append(0)
            else:
                d = a + b
                expected.append(1 + min(a, b) + (d // 2) * (d // 2 + d % 2 - 1))
        assert drnl(subs).tolist() == expected
        assert max(expected) < num_labels(hops)


def dense_affinity(subs):
    a = torch.zeros(subs.num_nodes, subs.num_nodes, dtype=torch.float64)
    a[subs.row, subs.col] = 1
    scale = a.sum(1).clamp(min=1).rsqrt()
    return scale[:, None] * a * scale + torch.diag((a.sum(1) == 0).double())


@pytest.fixture
def subs():
    lonely = nx.disjoint_union(nx.path_graph(4), nx.empty_graph(1))
    return batch_of([nx.gnp_random_graph(9, 0.4, seed=2), lonely, nx.cycle_graph(6)])


def test_lanczosnets_short_scale_is_powers_of_the_affinity(subs):
    x = torch.rand(subs.num_nodes, 3, dtype=torch.float64)
    s = dense_affinity(subs)
    assert torch.allclose(affinity(x, subs), s @ x)
    found = LanczosConv(3, 4, short=(1, 3), long=(5,)).double().short_scale(x, subs)
    for power, value in zip((1, 3), found, strict=True):
        assert torch.allclose(value, torch.linalg.matrix_power(s, power) @ x)


def test_lanczosnets_long_scale_is_a_function_of_the_laplacian(subs):
    """With a basis of all of a graph's vectors, V f(θ) Vᵀ is f(S): compared graph by graph with a dense
    eigendecomposition.
    """
    conv = LanczosConv(3, 4, short=(1,), long=(2, 5)).double()
    x = torch.rand(subs.num_nodes, 3, dtype=torch.float64)
    # several random vectors a graph: one alone spans no repeated eigenvalue's space
    basis = eigenbasis(
        subs,
        None,
        steps=9,
        start=torch.randn(subs.num_nodes, 3, dtype=torch.float64),
        dtype=torch.float64,
        backend="reference",
    )
    found = conv.long_scale(x, basis)
    s = dense_affinity(subs)
    for begin, end in pairwise(subs.ptr.tolist()):
        theta, vectors = torch.linalg.eigh(s[begin:end, begin:end])
        gain = conv.filter(torch.stack([theta**2, theta**5], 1))
        expected = [vectors @ (gain[:, j : j + 1] * (vectors.T @ x[begin:end])) for j in range(2)]
        assert torch.allclose(found[begin:end], torch.cat(expected, 1), atol=1e-8)


# ------------------------------------------------------------------------------------------- all of them


@pytest.mark.parametrize("name", TRAINED)
def test_a_score_is_symmetric_and_independent_of_batch_and_order(graph, messages, name):
    net = network(name, graph).double()
    features = DeviceFeatures(graph.x, "cpu")
    pairs = torch.combinations(torch.arange(12))
    whole = compute_logits(net, messages, features, pairs)
    assert torch.equal(whole, compute_logits(net, messages, features, pairs.flip(1)))
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(0))
    shuffled = compute_logits(net, messages, features, pairs[order])
    alone = torch.cat([compute_logits(net, messages, features, part) for part in torch.split(pairs, 5)])
    assert torch.allclose(shuffled, whole[order], rtol=1e-9, atol=1e-9)
    assert torch.allclose(alone, whole, rtol=1e-9, atol=1e-9)
    assert whole.std() > 0


def renumbered_scores(name: str, graph: Graph, names: list[str] | None, **options) -> tuple[torch.Tensor, torch.Tensor]:
    """The scores of the same pairs in a graph and in the same one with its nodes in another order."""
    pairs, order = torch.combinations(torch.arange(12)), torch.randperm(60, generator=torch.Generator().manual_seed(1))
    net, back = network(name, graph, **options).double(), torch.argsort(order)
    first = Graph.from_edges(graph.edges, num_nodes=60, x=graph.x, names=names)
    moved = None if names is None else [names[i] for i in back.tolist()]
    second = Graph.from_edges(order[graph.edges], num_nodes=60, x=graph.x[back], names=moved)
    one = compute_logits(net, Messages.of(first), DeviceFeatures(first.x, "cpu"), pairs)
    return one, compute_logits(net, Messages.of(second), DeviceFeatures(second.x, "cpu"), order[pairs])


NAMES = [f"node {i}" for i in range(60)]
DRAWING = ("buddy", "lanczosnet", "surelplus")
"""What draws at random: hashes of nodes, the start vector of a pair, walks."""


@pytest.mark.parametrize("name", TRAINED)
def test_a_score_does_not_depend_on_the_order_of_nodes(graph, name):
    one, two = renumbered_scores(name, graph, NAMES if name in DRAWING else None)
    assert torch.allclose(one, two, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", DRAWING)
def test_without_names_draws_belong_to_node_numbers_and_so_do_their_scores(graph, name):
    """The documented exception."""
    one, two = renumbered_scores(name, graph, None)
    assert not torch.allclose(one, two, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["seal", "lanczosnet"])
def test_methods_on_subgraphs_do_not_see_the_link_they_are_asked_about(graph, name):
    net, features = network(name, graph).double(), DeviceFeatures(graph.x, "cpu")
    pair = graph.edges[:1]
    known = Messages.of(graph)
    hidden = known.without(known.places(pair))
    assert torch.allclose(compute_logits(net, known, features, pair), compute_logits(net, hidden, features, pair))


@pytest.mark.parametrize("name", ["gcn", "sage", "gae", "buddy", "neognn", "nbfnet", "surelplus", "ncn", "ncnc", "ocn"])
def test_encoders_see_a_known_link_which_is_why_it_is_masked_in_training(graph, name):
    """The documented exception: nothing is removed from the messages when a known link is asked about."""
    net, features = network(name, graph).double(), DeviceFeatures(graph.x, "cpu")
    pair = graph.edges[:1]
    known = Messages.of(graph)
    hidden = known.without(known.places(pair))
    assert not torch.allclose(compute_logits(net, known, features, pair), compute_logits(net, hidden, features, pair))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", TRAINED)
def test_a_fitted_method_that_moves_to_a_gpu_scores_as_on_the_cpu(graph, name, sparse):
    x = graph.x * (torch.rand(graph.x.shape, generator=torch.Generator().manual_seed(1)) < 0.05) if sparse else graph.x
    own = Graph.from_edges(graph.edges, x=x)
    options = recipe(name).changed(**SMALL)
    net = resolve(models.MODELS[name].args[0])(options, BaselineShape(60, 12 if options.features else 0, 10), 0)
    config = {"network": name, "recipe": as_json(net.recipe), "shape": as_json(net.shape), "seed": 0}
    fitted = models.Baseline.from_state(config, net.state_dict(), own, NodeFeatures())
    pairs = torch.tensor([[0, 1], [2, 40], [5, 59], [30, 31]])
    here = fitted.score(own, pairs)
    torch.testing.assert_close(fitted.to("cuda").score(own, pairs), here, rtol=1e-4, atol=1e-6)  # in single precision
    assert torch.equal(fitted.to("cpu").score(own, pairs), here)


@pytest.mark.parametrize("name", TRAINED)
def test_gradients_reach_every_parameter(graph, messages, name):
    net = network(name, graph).train()
    net(messages, DeviceFeatures(graph.x, "cpu"), torch.combinations(torch.arange(40))).square().sum().backward()
    dead = [k for k, p in net.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    assert dead in ([], ["labels.bias", "mix.bias"])  # BUDDY's: its batch normalisation takes them out


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("mlp", 564_737),
        ("gcn", 630_529),
        ("sage", 761_601),
        ("gae", 4_629_509),
        ("seal", 139_266),
        ("lanczosnet", 241_548),
        ("buddy", 2_521_121),
        ("neognn", 565_534),
        ("nbfnet", 84_897),
        ("surelplus", 28_417),
        ("ncn", 764_163),
        ("ncnc", 764_163),
        ("ocn", 961_541),
    ],
)
def test_parameter_counts_on_cora_are_those_of_the_docs(name, parameters):
    how = recipe(name, "cora")
    rows = {"seal": 9, "lanczosnet": 38}.get(name, 0)
    net = resolve(models.MODELS[name].args[0])(how, BaselineShape(2708, 1433 if how.features else 0, rows), 0)
    assert net.num_parameters == parameters
    encoder, head = net.groups()
    assert sum(p.numel() for p in encoder + head) == parameters
    assert len(head)
    assert len(encoder)
