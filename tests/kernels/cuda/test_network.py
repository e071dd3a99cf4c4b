"""The network on a GPU against torch's in float64, its specification: as CUDA where there is a GPU, everywhere as the
same source in C++.
"""

import shutil
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from engines import ENGINES, Host, Lanes
from kernel_cases import NASTY, graph_of, some_pairs
from llwlc import datasets
from llwlc._kernels.cuda import driver, network
from llwlc.bases._config import BasisConfig
from llwlc.bases._encoded_links import EncodedLinks, encode_pairs
from llwlc.bases._pair_inputs import PairInputs, unit_rows
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.models._llwlc.presets import PRESETS
from llwlc.models._llwlc.scoring import CANDIDATES_OUTPUT, Scorer
from llwlc.nn import LLwLCNet, NetConfig
from llwlc.nn._gpu_network import GpuNetwork, unsupported_by_cuda, why_not_gpu_network
from llwlc.training._node_features import NodeFeatures
from nets import by_torch, make_net

TOLERANCE = 1e-5  # in probability
ANCHORED = PRESETS["anchored"]


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param()


def features_of(graph: Graph, width: int) -> torch.Tensor | None:
    return torch.randn(graph.num_nodes, width, generator=torch.Generator().manual_seed(5)) if width else None


def assert_agree(engine, net: LLwLCNet, data: EncodedLinks, x: torch.Tensor | None) -> torch.Tensor:
    expected = by_torch(net, data, x)
    made = GpuNetwork(net.to(engine.device), x, engine)
    assert made.takes(data.values.shape[1])
    found = made.encoded(data).cpu()
    assert found.shape == expected.shape
    assert (found.sigmoid() - expected.sigmoid()).abs().max() < TOLERANCE
    return expected


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("width", [24, 0], ids=["features", "no features"])
@pytest.mark.parametrize("case", NASTY)
def test_agrees_with_torch_on_nasty_graphs(engine, case, width, weighted):
    graph = graph_of(NASTY[case], weighted)
    pairs = some_pairs(graph, 20)
    known = PairInputs()(graph, pairs)
    data = encode_pairs(graph, pairs, ANCHORED.basis, about="").with_pair(known)
    config = replace(ANCHORED.net, feature_channels=width, pair_channels=known.shape[1])
    expected = assert_agree(engine, make_net(config), data, features_of(graph, width))
    assert expected.shape[1] == 2
    if case in ("random", "hubs"):
        assert expected.sigmoid().std() > 1e-3, "scores that are all alike would prove nothing"


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    engine=st.sampled_from([Host(), *([driver.get_gpu_engine(0)] if driver.available() else [])]),
    shape=st.fixed_dictionaries(
        {
            "blocks": st.integers(1, 3),
            "channels": st.sampled_from([1, 5, 32, 40]),
            "filters": st.integers(1, 5),
            "filter_hidden": st.sampled_from([1, 7, 32]),
            "skip": st.booleans(),
            "jumping": st.booleans(),
            "ends": st.booleans(),
            "cosines": st.booleans(),
            "filtered_channels": st.sampled_from([0, 3, 64]),
            "feature_channels": st.sampled_from([0, 2, 33, 64]),
            "head": st.sampled_from([1, 20, 48]),
            "distance_cap": st.sampled_from([1, 3, 4]),
            "ranking": st.booleans(),
        }
    ),
    steps=st.sampled_from([1, 4, 10, 16, 21]),
    seed=st.integers(0, 1000),
)
def test_agrees_with_torch_whatever_the_size_of_the_network(engine, shape, steps, seed):
    graph = graph_of(NASTY["hubs"])
    pairs = some_pairs(graph, 8, seed)
    basis = BasisConfig(steps=steps, distance_cap=shape["distance_cap"], start="query" if seed % 2 else "random")
    data = encode_pairs(graph, pairs, basis, about="").with_pair(PairInputs()(graph, pairs))
    net = make_net(NetConfig(**shape, pair_channels=data.pair.shape[1]), seed)
    assert_agree(engine, net, data, features_of(graph, shape["feature_channels"]))


def test_an_empty_null_space_gives_a_score(engine):
    """No live column at all: the readouts still see classes, degrees and features."""
    graph = graph_of(NASTY["random"])
    pairs = some_pairs(graph, 10)
    data = encode_pairs(graph, pairs, ANCHORED.basis, about="")
    dead = {name: torch.zeros_like(getattr(data, name)) for name in ("values", "mask", "residual", "vectors")}
    data = replace(data, **dead).with_pair(PairInputs()(graph, pairs))
    net = make_net(replace(ANCHORED.net, feature_channels=24, pair_channels=data.pair.shape[1]))
    assert assert_agree(engine, net, data, features_of(graph, 24)).sigmoid().std() > 1e-3


def test_a_link_has_the_same_rows_in_any_batch(engine):
    """Tiles that are full, nearly full and nearly empty; links of one to ten of them."""
    cora = datasets.load("cora")
    data = encode_pairs(cora, some_pairs(cora, 40), ANCHORED.basis, about="")
    net = make_net(replace(ANCHORED.net, feature_channels=24, pair_channels=0, pair_inputs=False, ranking=False))
    x = features_of(cora, 24)
    assert_agree(engine, net, data, x)
    made = GpuNetwork(net, x, engine)

    def read(at: torch.Tensor) -> torch.Tensor:
        few = data.batch(at)
        values, vectors = few.basis.values, few.basis.vectors
        given = (few.basis.ptr, values, vectors, few.degree, few.node, few.label.to(torch.uint8))
        rows = network.GpuRows(*(part.to(engine.device) for part in given))
        return network.compute_readouts(engine, made.shape, made.weights, rows)

    every = read(torch.arange(len(data)))
    order = torch.randperm(len(data), generator=torch.Generator().manual_seed(1))
    assert torch.equal(read(order), every[order.to(engine.device)])
    assert torch.equal(read(order[:1]), every[order[:1].to(engine.device)])


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("case", NASTY)
def test_statistics_of_a_pair(engine, case, weighted):
    graph = graph_of(NASTY[case], weighted)
    pairs, there = some_pairs(graph, 30), graph.to(engine.device)
    raw = np.abs(np.random.default_rng(0).standard_normal((graph.num_nodes, 12))).round()
    for unit in (None, unit_rows(raw), unit_rows(csr_array(raw * (raw > 1)))):
        inputs = PairInputs(unit)
        expected, found = inputs(graph, pairs), inputs.on_gpu(engine, there, pairs).cpu()
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)
        assert torch.equal(found, inputs.on_gpu(engine, there, pairs.flip(1)).cpu())


def test_what_it_does_not_know_it_says():
    assert "'sort'" in unsupported_by_cuda(make_net(PRESETS["paper"].net))
    assert "every node" in unsupported_by_cuda(make_net(replace(ANCHORED.net, node_features=True, feature_channels=8)))
    assert not unsupported_by_cuda(make_net(ANCHORED.net))
    assert "not on a GPU" in why_not_gpu_network(make_net(ANCHORED.net))


def test_too_many_columns_for_fast_memory_are_not_taken():
    made = GpuNetwork(make_net(ANCHORED.net), None, Host())
    assert made.takes(10)
    assert not made.takes(1000)


def test_inputs_that_do_not_fit_are_refused_as_torch_refuses_them(engine):
    graph = graph_of(NASTY["random"])
    pairs = some_pairs(graph, 5)
    net = make_net(replace(ANCHORED.net, feature_channels=24, pair_channels=5)).to(engine.device)
    with pytest.raises(InputError, match="reads 24 compact features per node, got 0"):
        GpuNetwork(net, None, engine)
    ready = GpuNetwork(net, torch.zeros(graph.num_nodes, 24), engine)
    with pytest.raises(InputError, match="reads 5 inputs of a pair"):
        ready.encoded(encode_pairs(graph, pairs, ANCHORED.basis, about=""))
    with pytest.raises(InputError, match="distance_cap is not the basis's"):
        ready.pairs(graph, pairs, BasisConfig(distance_cap=5), PairInputs()(graph, pairs))
    wide = encode_pairs(graph, pairs, BasisConfig(distance_cap=5, hops=4), about="").with_pair(
        PairInputs()(graph, pairs)
    )
    with pytest.raises(InputError, match="distance_cap is not the basis's"):
        ready.encoded(wide)


def test_pairs_are_scored_as_their_encoded_links_are(engine):
    """From subgraphs directly: labels by distances, degrees as the basis left them."""
    graph = graph_of(NASTY["hubs"], weighted=True)
    pairs = torch.sort(some_pairs(graph, 30), 1).values
    known = PairInputs()(graph, pairs)
    net = make_net(replace(ANCHORED.net, feature_channels=24, pair_channels=known.shape[1])).to(engine.device)
    made = GpuNetwork(net, features_of(graph, 24), engine)
    there = graph.to(engine.device)
    found = made.pairs(there, pairs.to(engine.device), ANCHORED.basis, known)
    expected = made.encoded(encode_pairs(there, pairs, ANCHORED.basis, about="").with_pair(known))
    assert (found.sigmoid() - expected.sigmoid()).abs().max() < 1e-6


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
@pytest.mark.parametrize(("channels", "group"), [(32, 128), (40, 64)])
def test_scores_with_all_warps_of_a_group_equal_the_reference(channels, group):
    """The warps of a group, without a GPU: a star of more than four tiles, so that some warp has two, and a link of
    one.
    """
    graph = graph_of(nx.compose(nx.star_graph(140), nx.gnm_random_graph(30, 40, seed=1)))
    graph = Graph.from_edges(torch.cat([graph.edges, torch.tensor([[141, 142], [142, 143]])]))
    pairs = torch.tensor([[0, 3], [141, 143]])
    known = PairInputs()(graph, pairs)
    data = encode_pairs(graph, pairs, ANCHORED.basis, about="").with_pair(known)
    config = replace(ANCHORED.net, channels=channels, feature_channels=8, pair_channels=known.shape[1])
    engine, x = Lanes(), features_of(graph, 8)
    assert_agree(engine, make_net(config), data, x)
    assert engine.launched == [("network", group)]
    inputs = PairInputs(unit_rows(csr_array(x.double().numpy().round())))
    torch.testing.assert_close(inputs.on_gpu(engine, graph, pairs), inputs(graph, pairs), rtol=1e-6, atol=1e-6)


@pytest.mark.gpu
@pytest.mark.skipif(not driver.available(), reason="needs CUDA")
class TestOnTheGpu:
    """The scorer, which takes the kernels by itself."""

    @pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
    def test_scores_of_pairs_and_of_links_agree_with_torch(self, weighted, monkeypatch):
        graph = graph_of(NASTY["hubs"], weighted)
        x = features_of(graph, 24)
        features = NodeFeatures(x, unit_rows(np.abs(x.double().numpy())))
        net = make_net(replace(ANCHORED.net, feature_channels=24, pair_channels=features.pair_inputs.channels)).cuda()
        pairs, there = some_pairs(graph, 300), graph.to("cuda")
        ours, spec = Scorer(net, features), Scorer(net, features, by_torch=True)
        launched = []
        launch = driver.GpuEngine.launch
        monkeypatch.setattr(driver.GpuEngine, "launch", lambda self, *a: (launched.append(a[0]), launch(self, *a)))
        found = torch.cat(list(ours.pairs(there, pairs, ANCHORED.basis, CANDIDATES_OUTPUT)))
        assert set(launched) == {"extract", "solve", "pairs", "network"}
        expected = torch.cat(list(spec.pairs(there, pairs, ANCHORED.basis, CANDIDATES_OUTPUT)))
        assert (found.sigmoid() - expected.sigmoid()).abs().max() < TOLERANCE
        data = encode_pairs(there, pairs, ANCHORED.basis, about="").with_pair(ours.inputs(there, pairs))
        assert (ours(data, CANDIDATES_OUTPUT).sigmoid() - expected.sigmoid()).abs().max() < TOLERANCE
        for i in range(0, len(pairs), 97):
            alone = next(ours.pairs(there, pairs[i : i + 1], ANCHORED.basis, CANDIDATES_OUTPUT))
            assert (alone.sigmoid() - found[i : i + 1].sigmoid()).abs().max() < 1e-9

    def test_more_columns_than_fast_memory_takes_go_to_torch(self, monkeypatch):
        graph = graph_of(NASTY["hubs"])
        net = make_net(ANCHORED.net).cuda()
        scorer = Scorer(net, NodeFeatures())
        expected = torch.cat(list(scorer.pairs(graph.to("cuda"), some_pairs(graph, 20), ANCHORED.basis)))
        monkeypatch.setattr(GpuNetwork, "takes", lambda self, kappa: False)
        found = torch.cat(list(scorer.pairs(graph.to("cuda"), some_pairs(graph, 20), ANCHORED.basis)))
        assert (found.sigmoid() - expected.sigmoid()).abs().max() < TOLERANCE
