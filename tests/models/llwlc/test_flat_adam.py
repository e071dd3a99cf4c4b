"""Adam on one vector takes the steps that torch's takes on every parameter, and leaves its state where torch would."""

import copy

import pytest
import torch

from llwlc.models._llwlc.config import TrainConfig
from llwlc.models._llwlc.flat_adam import FlatAdam
from llwlc.models._llwlc.step import training_tensors
from llwlc.models._llwlc.training import make_optimizer
from llwlc.nn import LLwLCNet, NetConfig
from llwlc.nn._flat_parameters import FlatParameters


def network() -> LLwLCNet:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return LLwLCNet(NetConfig(feature_channels=16, pair_channels=5))


@pytest.mark.parametrize("filter_rate", [1.0, 0.1])
def test_the_same_steps_as_torch_s_own(filter_rate):
    config = TrainConfig(learning_rate=1e-2, filter_rate=filter_rate)
    net, mean, draw = network(), network(), torch.Generator().manual_seed(1)
    other, other_mean = copy.deepcopy(net), copy.deepcopy(mean)
    optimizer, plain = make_optimizer(net, config), make_optimizer(other, config)
    training_tensors(net, optimizer)
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    flat = FlatParameters(parameters)
    one = FlatAdam(optimizer, flat, net, mean)
    name_of = {id(p): name for name, p in net.named_parameters()}
    for step in range(5):
        gradient = torch.randn(len(flat.vector), generator=draw)
        for p, part in zip(parameters, flat.cut(gradient), strict=True):
            other.get_parameter(name_of[id(p)]).grad = part.clone()
        one.step(gradient, 0.5)
        plain.step()
        for a, b in zip(other_mean.parameters(), other.parameters(), strict=True):
            a.data.lerp_(b.data, 0.5)
        assert all(int(state["step"]) == step + 1 for state in optimizer.state.values())
    for found, wanted in ((net, other), (mean, other_mean)):
        for name, p in found.named_parameters():
            torch.testing.assert_close(p, wanted.get_parameter(name), rtol=1e-6, atol=1e-7)
    states = optimizer.state_dict()["state"], plain.state_dict()["state"]
    assert states[0].keys() == states[1].keys()
    for i, state in states[1].items():
        for name, wanted in state.items():
            torch.testing.assert_close(states[0][i][name], wanted, rtol=1e-5, atol=1e-8)


def test_it_goes_on_from_the_state_that_it_finds():
    config = TrainConfig(learning_rate=1e-2)
    found = []
    for interrupted in (False, True):
        net, draw = network(), torch.Generator().manual_seed(1)
        optimizer = make_optimizer(net, config)
        training_tensors(net, optimizer)
        one = FlatAdam(optimizer, FlatParameters(list(net.parameters())), net, None)
        for step in range(6):
            if interrupted and step == 3:
                kept, weights = copy.deepcopy(optimizer.state_dict()), copy.deepcopy(net.state_dict())
                net = network()
                net.load_state_dict(weights)
                optimizer = make_optimizer(net, config)
                optimizer.load_state_dict(kept)
                one = FlatAdam(optimizer, FlatParameters(list(net.parameters())), net, None)
            one.step(torch.randn(net.num_parameters, generator=draw), 0.0)
        found.append(net)
    for a, b in zip(*(net.parameters() for net in found), strict=True):
        assert torch.equal(a, b)


def test_its_state_is_torch_s():
    net, config = network(), TrainConfig(learning_rate=1e-2)
    ours, torchs = (
        make_optimizer(net, config),
        torch.optim.Adam(net.parameters(), lr=1e-2, fused=True, capturable=False),
    )
    training_tensors(net, ours)
    torchs.load_state_dict(ours.state_dict())
    ours.load_state_dict(torchs.state_dict())
    assert ours.state_dict()["param_groups"] == torchs.state_dict()["param_groups"]
