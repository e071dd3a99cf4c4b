"""Compiled blocks and pooling against torch's autograd, and gradients whose last bit no number of threads changes."""

from dataclasses import replace

import pytest
import torch

from kernel_cases import NASTY, graph_of, some_pairs
from llwlc.bases.encoded_links import EncodedLinks, encode
from llwlc.bases.pair_inputs import PairInputs
from llwlc.nn import LLwLCNet, NetConfig
from llwlc.nn.compiled_training import CompiledTraining, not_trainable
from llwlc.support.threads import one_thread
from llwlc.training.presets import PRESETS

WIDTH = 24
STILL = NetConfig(feature_channels=WIDTH, pair_channels=5, dropout=0.0, feature_dropout=0.0)
SHAPES = {
    "anchored": {},
    "one block, one filter": {"blocks": 1, "filters": 1},
    "three blocks, odd sizes": {"blocks": 3, "channels": 5, "filters": 3, "filter_hidden": 7, "head": 20},
    "no skip, no jumping": {"skip": False, "jumping": False},
    "no features, no ends": {"feature_channels": 0, "ends": False},
    "wide": {"channels": 40},
}


def links_of(case: str, weighted: bool = False) -> EncodedLinks:
    graph = graph_of(NASTY[case], weighted)
    pairs = some_pairs(graph, 20)
    return encode(graph, pairs, PRESETS["anchored"].basis, about="").with_pair(PairInputs()(graph, pairs))


def setting(config: NetConfig, data: EncodedLinks, dtype: torch.dtype) -> tuple[LLwLCNet, torch.Tensor | None]:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        net = LLwLCNet(config).to(dtype)
        x = torch.randn(100, config.feature_channels, dtype=dtype) if config.feature_channels else None
    return net, x


def gradients(net: LLwLCNet, out: torch.Tensor) -> dict[str, torch.Tensor]:
    net.zero_grad()
    weight = torch.randn(out.shape, generator=torch.Generator().manual_seed(9)).to(out.dtype)
    (out * weight).sum().backward()
    return {name: p.grad.clone() for name, p in net.named_parameters()}


def assert_same_step(config: NetConfig, data: EncodedLinks, dtype: torch.dtype, tolerance: float) -> None:
    """Outputs, and every gradient by its own largest entry."""
    net, x = setting(config, data, dtype)
    index = torch.randperm(len(data), generator=torch.Generator().manual_seed(1))[: len(data) - 3]
    double = LLwLCNet(config).double()
    double.load_state_dict(net.state_dict())
    expected = double.outputs(data.batch(index).to("cpu", torch.float64), None if x is None else x.double())
    wanted = gradients(double, expected)
    found = CompiledTraining(net, x).outputs(data, index)
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=tolerance)
    # a layer whose true gradient is nothing but rounding is compared with what a layer has usually
    usual = max(float(g.abs().max()) for g in wanted.values())
    for name, grad in gradients(net, found).items():
        scale = max(float(wanted[name].abs().max()), 1e-3 * usual)
        torch.testing.assert_close(grad.double() / scale, wanted[name] / scale, rtol=0, atol=tolerance, msg=name)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_step_is_torch_s_own_whatever_the_size_of_the_network(shape):
    assert_same_step(replace(STILL, **SHAPES[shape]), links_of("hubs"), torch.float32, 1e-4)


@pytest.mark.parametrize("case", NASTY)
def test_a_step_is_torch_s_own_on_nasty_graphs(case):
    assert_same_step(STILL, links_of(case, weighted=case in ("random", "star")), torch.float32, 1e-4)


@pytest.mark.slow  # compiles everything once more
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("case", ["random", "hubs", "star", "strongly regular"])
def test_a_step_is_torch_s_own_to_the_twelfth_digit(case, shape):
    assert_same_step(replace(STILL, **SHAPES[shape]), links_of(case), torch.float64, 1e-12)


def test_dropout_draws_what_it_draws_in_torch():
    data = links_of("random")
    net, x = setting(replace(STILL, dropout=0.5, feature_dropout=0.5), data, torch.float32)
    index = torch.arange(len(data))
    with torch.random.fork_rng():
        torch.manual_seed(7)
        expected = net.outputs(data.batch(index), x)
        torch.manual_seed(7)
        found = CompiledTraining(net, x).outputs(data, index)
    assert net.training
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


def test_no_number_of_threads_changes_a_bit():
    data = links_of("hubs")
    index = torch.arange(len(data)).repeat(4)
    net, x = setting(STILL, data, torch.float32)
    compiled, before, found = CompiledTraining(net, x), torch.get_num_threads(), []
    try:
        for threads in (1, 2, 5, 1):
            torch.set_num_threads(threads)
            with one_thread():  # torch, as in training; kernels keep the number above
                found.append(gradients(net, compiled.outputs(data, index)))
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        for name, grad in other.items():
            assert torch.equal(grad, found[0][name]), name


def test_a_readout_that_sorts_is_trained_by_torch():
    assert "trained in torch" in not_trainable(LLwLCNet(PRESETS["paper"].net))
    assert not not_trainable(LLwLCNet(STILL))


def test_half_precision_is_read_as_the_rounded_vectors_to_the_last_bit():
    data = links_of("hubs")
    kept = replace(data, vectors=data.vectors.half())
    rounded = replace(data, vectors=kept.vectors.float())
    net, x = setting(replace(STILL, feature_channels=WIDTH), data, torch.float32)
    index = torch.randperm(len(data), generator=torch.Generator().manual_seed(1))[: len(data) - 3]
    one, two = (CompiledTraining(net, x).outputs(links, index) for links in (kept, rounded))
    assert torch.equal(one, two)
    ours, theirs = gradients(net, one), gradients(net, two)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
