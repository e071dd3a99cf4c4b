"""The compiled step against torch's autograd, and gradients whose last bit no number of threads changes."""

import copy
from dataclasses import replace

import pytest
import torch

from kernel_cases import NASTY, graph_of, some_pairs
from llwlc._support.threads import use_one_thread
from llwlc.bases._encoded_links import EncodedLinks, encode_pairs
from llwlc.bases._pair_inputs import PairInputs
from llwlc.errors import InputError
from llwlc.models._llwlc.presets import PRESETS
from llwlc.models._llwlc.step import population_loss
from llwlc.nn import LLwLCNet, NetConfig
from llwlc.nn._compiled_training import CompiledTraining, why_not_kernel_training

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
    return encode_pairs(graph, pairs, PRESETS["anchored"].basis, about="").with_pair(PairInputs()(graph, pairs))


def setting(config: NetConfig, data: EncodedLinks, dtype: torch.dtype) -> tuple[LLwLCNet, torch.Tensor | None]:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        net = LLwLCNet(config).to(dtype)
        x = torch.randn(100, config.feature_channels, dtype=dtype) if config.feature_channels else None
    return net, x


def labels_of(count: int, outputs: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    """Links and non-links, some in both populations, some in one, some in none; and how many members the populations
    have, of which these are a part.
    """
    draw = torch.Generator().manual_seed(9)
    label = torch.rand(count, 1 + outputs, generator=draw)
    label[:, 0] = label[:, 0].round()
    label[:, 1:] *= label[:, 1:] > 0.3
    return label, label[:, 1:].sum(0) + 1


def by_torch(net: LLwLCNet, x: torch.Tensor | None, data: EncodedLinks, index: torch.Tensor, **draws: int):
    """The loss and its gradients by name, of torch in float64."""
    double = LLwLCNet(net.config).double().train(net.training)
    double.load_state_dict(net.state_dict())
    bits = data.draws(index, **draws) if draws else None
    out = double.outputs(data.batch(index, bits).to("cpu", torch.float64), None if x is None else x.double())
    label, members = labels_of(len(index))
    loss = population_loss(out, label.double(), members.double())
    loss.backward()
    return loss.item(), {name: p.grad for name, p in double.named_parameters()}


def by_kernel(net: LLwLCNet, x: torch.Tensor | None, data: EncodedLinks, index: torch.Tensor, seed=0, epoch=0):
    compiled = CompiledTraining(net, x)
    loss, gradient = compiled.gradient(data, index, *labels_of(len(index)), seed=seed, epoch=epoch)
    assert gradient.dtype == next(net.parameters()).dtype
    names = [name for name, _ in net.named_parameters()]
    return loss, dict(zip(names, compiled.flat.cut(gradient), strict=True))


def assert_same_gradients(found: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor], tolerance: float) -> None:
    """Every gradient by its own largest entry."""
    # a layer whose true gradient is nothing but rounding is compared with what a layer has usually
    usual = max(float(g.abs().max()) for g in wanted.values())
    for name, grad in found.items():
        scale = max(float(wanted[name].abs().max()), 1e-3 * usual)
        torch.testing.assert_close(grad.double() / scale, wanted[name] / scale, rtol=0, atol=tolerance, msg=name)


def assert_same_step(config: NetConfig, data: EncodedLinks, dtype: torch.dtype, tolerance: float) -> None:
    net, x = setting(config, data, dtype)
    index = torch.randperm(len(data), generator=torch.Generator().manual_seed(1))[: len(data) - 3]
    expected, wanted = by_torch(net, x, data, index)
    loss, found = by_kernel(net, x, data, index)
    assert loss == pytest.approx(expected, abs=tolerance)
    assert_same_gradients(found, wanted, tolerance)


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


@pytest.mark.parametrize("shape", SHAPES)
def test_dropout_draws_what_it_draws_in_torch(shape):
    data = links_of("random")
    net, x = setting(
        replace(STILL, **SHAPES[shape], dropout=0.5, feature_dropout=0.3 if shape != "wide" else 0.0),
        data,
        torch.float32,
    )
    index = torch.arange(len(data))
    for draws in ({"seed": 0, "epoch": 0}, {"seed": 2**62, "epoch": 7}):
        expected, wanted = by_torch(net, x, data, index, **draws)
        loss, found = by_kernel(net, x, data, index, **draws)
        assert loss == pytest.approx(expected, abs=1e-5)
        assert_same_gradients(found, wanted, 1e-4)


def test_dropout_is_off_where_nothing_is_trained():
    data = links_of("random")
    net, x = setting(replace(STILL, dropout=0.5, feature_dropout=0.5), data, torch.float32)
    index = torch.arange(len(data))
    expected, wanted = by_torch(net.eval(), x, data, index)
    loss, found = by_kernel(net, x, data, index, seed=1, epoch=1)
    assert loss == pytest.approx(expected, abs=1e-5)
    assert_same_gradients(found, wanted, 1e-4)


@pytest.mark.parametrize("count", [1, 2, 11, 12, 13, 29, 97])
def test_batches_of_any_size_one_after_the_other(count):
    """Memory is reused: what a larger batch has left must not be read."""
    data = links_of("random")
    net, x = setting(STILL, data, torch.float32)
    compiled, draw = CompiledTraining(net, x), torch.Generator().manual_seed(count)
    for size in (120, count):
        index = torch.randint(len(data), (size,), generator=draw)
        loss, gradient = compiled.gradient(data, index, *labels_of(size), seed=0, epoch=0)
    expected, wanted = by_torch(net, x, data, index)
    assert loss == pytest.approx(expected, abs=1e-5)
    names = [name for name, _ in net.named_parameters()]
    assert_same_gradients(dict(zip(names, compiled.flat.cut(gradient), strict=True)), wanted, 1e-4)


def test_features_that_are_zero_and_huge():
    """A row without length has no direction: its cosine is zero, and so is the gradient."""
    data = links_of("random")
    net, x = setting(STILL, data, torch.float32)
    x[::2], x[1::4] = 0, x[1::4] * 1e3
    index = torch.arange(len(data))
    expected, wanted = by_torch(net, x, data, index)
    loss, found = by_kernel(net, x, data, index)
    assert loss == pytest.approx(expected, rel=1e-4)
    assert_same_gradients(found, wanted, 1e-3)


def test_logits_far_out_overflow_nowhere():
    data = links_of("random")
    net, x = setting(STILL, data, torch.float32)
    with torch.no_grad():
        net.head[-1].bias.fill_(500.0)
        net.ranking.bias.fill_(-500.0)
    index = torch.arange(len(data))
    expected, wanted = by_torch(net, x, data, index)
    loss, found = by_kernel(net, x, data, index)
    assert loss == pytest.approx(expected, rel=1e-5)
    assert_same_gradients(found, wanted, 1e-4)


def test_no_number_of_threads_changes_a_bit():
    data = links_of("hubs")
    index = torch.arange(len(data)).repeat(4)
    net, x = setting(replace(STILL, dropout=0.5, feature_dropout=0.5), data, torch.float32)
    compiled, before, found = CompiledTraining(net, x), torch.get_num_threads(), []
    try:
        for threads in (1, 2, 5, 1):
            torch.set_num_threads(threads)
            with use_one_thread():  # torch, as in training; kernels keep the number above
                found.append(compiled.gradient(data, index, *labels_of(len(index)), seed=0, epoch=0))
    finally:
        torch.set_num_threads(before)
    for loss, gradient in found[1:]:
        assert loss == found[0][0]
        assert torch.equal(gradient, found[0][1])


def test_links_that_the_network_cannot_read_are_refused():
    data = links_of("random")
    net, x = setting(STILL, data, torch.float32)
    index = torch.arange(4)
    with pytest.raises(InputError, match="PairInputs"):
        CompiledTraining(net, x).gradient(data.with_pair(None), index, *labels_of(4), seed=0, epoch=0)
    small, x = setting(replace(STILL, distance_cap=1), data, torch.float32)
    with pytest.raises(InputError, match="distance class"):
        CompiledTraining(small, x).gradient(data, index, *labels_of(4), seed=0, epoch=0)


def test_a_network_stays_what_it_was_for_everybody_else():
    """Its parameters become parts of one vector: their names, shapes and values stay, and so does what a copy has."""
    net, x = setting(STILL, links_of("random"), torch.float32)
    before, copied = {name: w.clone() for name, w in net.state_dict().items()}, copy.deepcopy(net)
    flat = CompiledTraining(net, x).flat
    assert {name: w.shape for name, w in net.state_dict().items()} == {name: w.shape for name, w in before.items()}
    assert all(torch.equal(w, before[name]) for name, w in net.state_dict().items())
    other = copy.deepcopy(net)
    flat.vector.zero_()
    assert all(not w.any() for w in net.state_dict().values())
    for kept in (copied, other):
        assert all(torch.equal(w, before[name]) for name, w in kept.state_dict().items())


def test_a_readout_that_sorts_is_trained_by_torch():
    assert "trained in torch" in why_not_kernel_training(LLwLCNet(PRESETS["paper"].net))
    assert not why_not_kernel_training(LLwLCNet(STILL))


def test_half_precision_is_read_as_the_rounded_vectors_to_the_last_bit():
    data = links_of("hubs")
    kept = replace(data, vectors=data.vectors.half())
    rounded = replace(data, vectors=kept.vectors.float())
    net, x = setting(replace(STILL, feature_channels=WIDTH), data, torch.float32)
    index = torch.randperm(len(data), generator=torch.Generator().manual_seed(1))[: len(data) - 3]
    labels = labels_of(len(index))
    one, two = (CompiledTraining(net, x).gradient(links, index, *labels, seed=0, epoch=0) for links in (kept, rounded))
    assert one[0] == two[0]
    assert torch.equal(one[1], two[1])
