"""The compiled network against torch's in float64, its specification; and a score's bits, whatever is scored beside
it.
"""

import logging
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernel_cases import NASTY, graph_of, some_pairs
from llwlc.bases._config import BasisConfig
from llwlc.bases._encoded_links import EncodedLinks, encode_pairs
from llwlc.bases._pair_inputs import PairInputs
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.models._llwlc.presets import PRESETS
from llwlc.models._llwlc.scoring import CANDIDATES_OUTPUT, Scorer
from llwlc.nn import LLwLCNet, NetConfig
from llwlc.nn._compiled_network import CompiledNetwork
from llwlc.nn._weight_packing import why_not_packable
from llwlc.training._node_features import NodeFeatures
from nets import by_torch, make_net

TOLERANCE = 1e-5  # in probability


def links_of(
    graph: Graph, pairs: torch.Tensor, basis: BasisConfig, width: int
) -> tuple[EncodedLinks, torch.Tensor | None]:
    data = encode_pairs(graph, pairs, basis, about="")
    x = torch.randn(graph.num_nodes, width, generator=torch.Generator().manual_seed(5)) if width else None
    return data, x


def assert_agree(net: LLwLCNet, data: EncodedLinks, x: torch.Tensor | None) -> torch.Tensor:
    expected = by_torch(net, data, x)
    found = CompiledNetwork(net, x).encoded(data)
    assert found.shape == expected.shape
    assert (found.double().sigmoid() - expected.sigmoid()).abs().max() < TOLERANCE
    return expected


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("case", NASTY)
@pytest.mark.parametrize("preset", ["anchored", "paper"])
def test_agrees_with_torch_on_nasty_graphs(preset, case, weighted):
    graph = graph_of(NASTY[case], weighted)
    pairs = some_pairs(graph, 20)
    width = 24 if preset == "anchored" else 0
    data, x = links_of(graph, pairs, PRESETS[preset].basis, width)
    known = PairInputs()(graph, pairs)
    config = replace(PRESETS[preset].net, feature_channels=width, pair_channels=known.shape[1] if width else 0)
    expected = assert_agree(make_net(config), data.with_pair(known) if width else data, x)
    assert expected.shape[1] == (2 if width else 1)
    if case in ("random", "hubs"):
        assert expected.sigmoid().std() > 1e-3, "scores that are all alike would prove nothing"


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
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
            "pooling": st.sampled_from(["class", "sort"]),
            "distance_cap": st.sampled_from([1, 3, 4]),
            "sort_rows": st.sampled_from([5, 31, 90]),
            "ranking": st.booleans(),
        }
    ),
    steps=st.sampled_from([1, 4, 10, 16, 21]),
    seed=st.integers(0, 1000),
)
def test_agrees_with_torch_whatever_the_size_of_the_network(shape, steps, seed):
    graph = graph_of(NASTY["hubs"])
    pairs = some_pairs(graph, 8, seed)
    basis = BasisConfig(steps=steps, distance_cap=shape["distance_cap"], start="query" if seed % 2 else "random")
    data, x = links_of(graph, pairs, basis, shape["feature_channels"])
    known = PairInputs()(graph, pairs)
    net = make_net(NetConfig(**shape, pair_channels=known.shape[1]), seed)
    if shape["pooling"] == "sort" and shape["jumping"] and shape["blocks"] > 1:
        assert why_not_packable(net)
    else:
        assert_agree(net, data.with_pair(known), x)


def test_an_empty_null_space_gives_a_score():
    """No live column at all: the readouts still see classes, degrees and features."""
    graph = graph_of(NASTY["random"])
    pairs = some_pairs(graph, 10)
    data, x = links_of(graph, pairs, PRESETS["anchored"].basis, 24)
    dead = {name: torch.zeros_like(getattr(data, name)) for name in ("values", "mask", "residual", "vectors")}
    known = PairInputs()(graph, pairs)
    data = replace(data, **dead).with_pair(known)
    net = make_net(replace(PRESETS["anchored"].net, feature_channels=24, pair_channels=known.shape[1]))
    assert assert_agree(net, data, x).sigmoid().std() > 1e-3


def big_case(weighted: bool = False) -> tuple[Graph, torch.Tensor, Scorer]:
    graph = graph_of(NASTY["hubs"], weighted)
    x = torch.randn(graph.num_nodes, 24, generator=torch.Generator().manual_seed(5))
    features = NodeFeatures(x, np.abs(x.numpy()) / np.linalg.norm(x.numpy(), axis=1, keepdims=True))
    channels = features.pair_inputs.channels
    net = make_net(replace(PRESETS["anchored"].net, feature_channels=24, pair_channels=channels))
    return graph, some_pairs(graph, 300), Scorer(net, features)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_score_has_the_same_bits_alone_in_any_batch_and_on_any_number_of_threads(weighted):
    graph, pairs, scorer = big_case(weighted)
    basis, before = PRESETS["anchored"].basis, torch.get_num_threads()
    expected = torch.cat(list(scorer.pairs(graph, pairs, basis, CANDIDATES_OUTPUT)))
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(threads))
            again = torch.cat(list(scorer.pairs(graph, pairs[order].flip(1), basis, CANDIDATES_OUTPUT)))
            assert torch.equal(again, expected[order])
    finally:
        torch.set_num_threads(before)
    for i in range(0, len(pairs), 97):
        assert torch.equal(next(scorer.pairs(graph, pairs[i : i + 1], basis, CANDIDATES_OUTPUT)), expected[i : i + 1])
    data = encode_pairs(graph, pairs, basis, about="").with_pair(scorer.inputs(graph, pairs))
    assert torch.equal(scorer(data, CANDIDATES_OUTPUT), expected)


def test_a_basis_made_in_python_is_scored_by_the_same_network():
    """Where no kernel makes the basis, the stages are taken one by one, and the compiled network reads what they
    leave.
    """
    from llwlc import constraints

    graph, pairs, scorer = big_case()
    named = BasisConfig(constraints="neumann_boundary")
    own = BasisConfig(constraints=lambda subs: constraints.by_name(subs, "neumann_boundary"))
    a, b = (torch.cat(list(scorer.pairs(graph, pairs, config))) for config in (named, own))
    assert (a.sigmoid() - b.sigmoid()).abs().max() < TOLERANCE


def test_a_network_that_the_kernel_does_not_know_takes_torch_and_says_so_once(caplog, monkeypatch):
    monkeypatch.setattr("llwlc.models._llwlc.scoring._WARNED", set())
    graph = graph_of(NASTY["hubs"])
    pairs, basis = some_pairs(graph, 10), PRESETS["paper"].basis
    net = make_net(replace(PRESETS["paper"].net, pooling="dgcnn"))
    with caplog.at_level(logging.WARNING, "llwlc"):
        scorers = [Scorer(net, NodeFeatures()) for _ in range(2)]
    assert [r.getMessage().split(": ")[1] for r in caplog.records] == ["readout 'dgcnn' is made in torch"]
    assert scorers[0].compiled is None
    expected = by_torch(net, encode_pairs(graph, pairs, basis, about=""), None)[:, 0]
    found = torch.cat(list(scorers[1].pairs(graph, pairs, basis)))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


class Another(LLwLCNet):
    """A network of somebody's own."""


def test_only_the_network_itself_is_compiled():
    assert "own network" in why_not_packable(Another(NetConfig()))
    assert not why_not_packable(LLwLCNet(NetConfig()))


def test_inputs_that_do_not_fit_are_refused_as_torch_refuses_them():
    graph = graph_of(NASTY["random"])
    pairs = some_pairs(graph, 5)
    net = make_net(replace(PRESETS["anchored"].net, feature_channels=24, pair_channels=5))
    with pytest.raises(InputError, match="reads 24 compact features per node, got 0"):
        CompiledNetwork(net, None)
    ready = CompiledNetwork(net, torch.zeros(graph.num_nodes, 24))
    data = encode_pairs(graph, pairs, PRESETS["anchored"].basis, about="")
    with pytest.raises(InputError, match="reads 5 inputs of a pair"):
        ready.encoded(data)
    with pytest.raises(InputError, match="distance_cap is not the basis's"):
        ready.pairs(graph, pairs, BasisConfig(distance_cap=5), PairInputs()(graph, pairs))
    wide = encode_pairs(graph, pairs, BasisConfig(distance_cap=5, hops=4), about="").with_pair(
        PairInputs()(graph, pairs)
    )
    with pytest.raises(InputError, match="distance_cap is not the basis's"):
        ready.encoded(wide)


def test_half_precision_links_are_scored_in_parts_with_the_bits_of_rounded_ones(monkeypatch):
    graph = graph_of(NASTY["hubs"])
    pairs = some_pairs(graph, 20)
    data, x = links_of(graph, pairs, replace(PRESETS["anchored"].basis, stored_bits=16), 24)
    known = PairInputs()(graph, pairs)
    data = data.with_pair(known)
    ready = CompiledNetwork(
        make_net(replace(PRESETS["anchored"].net, feature_channels=24, pair_channels=known.shape[1])), x
    )
    wanted = ready.encoded(replace(data, vectors=data.vectors.float()))
    for at_once in (7, 1000):
        monkeypatch.setattr("llwlc.nn._compiled_network.FLOAT32_CHUNK", at_once)
        assert torch.equal(ready.encoded(data), wanted)
