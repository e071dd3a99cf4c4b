"""Batches filled up to one width give what ragged ones give; on a GPU, recorded steps give what plain ones give."""

import copy
from dataclasses import replace

import pytest
import torch

from llwlc import datasets
from llwlc.bases._config import BasisConfig
from llwlc.bases._encoded_links import encode_pairs
from llwlc.models._llwlc import scoring
from llwlc.models._llwlc.config import TrainConfig
from llwlc.models._llwlc.encoded_split import EncodedTrainingLinks
from llwlc.models._llwlc.step import Stepper, padded_width, population_loss, training_tensors
from llwlc.models._llwlc.training import make_optimizer, train_epoch
from llwlc.nn import LLwLCNet, NetConfig

CONFIG = NetConfig(feature_channels=16, dropout=0.0, feature_dropout=0.0)


def some_links(count: int = 300):
    cora = datasets.load("cora")
    draw = torch.Generator().manual_seed(0)
    other = torch.randint(cora.num_nodes, (count, 2), generator=draw)
    other = other[other[:, 0] != other[:, 1]]
    pairs = torch.cat([cora.edges[:count], torch.tensor([[0, 2707]]), other])
    return encode_pairs(cora, pairs, BasisConfig(), about=""), torch.randn(cora.num_nodes, 16, generator=draw)


def training(data, positive: int = 300) -> EncodedTrainingLinks:
    return EncodedTrainingLinks(data, positive, len(data) - positive, torch.zeros(positive, dtype=torch.bool))


def test_each_output_learns_from_its_own_population():
    logits = torch.tensor([[2.0, -1.0], [0.5, 3.0], [-1.0, 0.0]])
    label = torch.tensor([[1.0, 1, 1], [0, 1, 0], [0, 0, 1]])
    loss = torch.nn.functional.binary_cross_entropy_with_logits
    random = loss(logits[:2, 0], label[:2, 0])
    among = loss(logits[[0, 2], 1], label[[0, 2], 0])
    assert population_loss(logits, label).item() == pytest.approx(float(random + among))
    assert population_loss(logits[:, :1], label).item() == pytest.approx(float(random))


def network(seed: int = 0, **changes) -> LLwLCNet:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LLwLCNet(replace(CONFIG, **changes))


@pytest.mark.parametrize("extra", [0, 37])
def test_a_uniform_batch_gives_the_same_scores_and_gradients(extra):
    data, features = some_links()
    net = network().double()
    index = torch.randperm(len(data), generator=torch.Generator().manual_seed(1))[:100]
    width = int(data.sizes[index].max()) + extra
    found = []
    for batch in (data.batch(index), data.uniform_batch(index, width)):
        net.zero_grad()
        scores = net(batch.to("cpu", torch.float64), features.double())
        scores.square().sum().backward()
        found.append((scores.detach(), [p.grad.clone() for p in net.parameters()]))
    (ragged, grads), (uniform, others) = found
    torch.testing.assert_close(uniform, ragged, rtol=1e-12, atol=1e-12)
    for one, two in zip(grads, others, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-9, atol=1e-9)


def test_a_uniform_batch_keeps_its_layout_when_it_moves():
    data, _ = some_links()
    batch = data.uniform_batch(torch.arange(10), 200)
    assert batch.basis.slots == (None, 10, 200)
    assert batch.to("cpu", torch.float64).basis.slots.at is None


@pytest.mark.parametrize("size", [1, 2, 31, 32, 33, 48, 49, 64, 65, 1000, 1025, 3002])
def test_widths_hold_their_links_and_waste_less_than_half(size):
    assert size <= padded_width(size) <= max(32, 1.5 * size)


def test_runs_cover_all_links_and_stay_within_the_bound():
    sizes = torch.randint(2, 500, (9000,), generator=torch.Generator().manual_seed(0))
    order = sizes.argsort(stable=True)
    runs = list(scoring.split_by_size(order, sizes, 40_000))
    assert torch.equal(torch.cat(runs), order)
    assert all(len(run) * int(sizes[run].max()) <= 40_000 and len(run) <= 4096 for run in runs)
    assert [len(run) for run in scoring.split_by_size(order[-3:], sizes, 10)] == [1, 1, 1]


@pytest.mark.parametrize("filter_rate", [1.0, 0.1])
def test_compiled_steps_equal_torch_s(filter_rate):
    """An epoch with dropout, which both draw by link: the same losses, weights, averages and moments to rounding."""
    data, features = some_links()
    config = TrainConfig(batch_size=64, learning_rate=1e-3, filter_rate=filter_rate)
    found = []
    for by_torch in (False, True):
        net = network(dropout=0.5, feature_dropout=0.5)
        mean, optimizer = copy.deepcopy(net), make_optimizer(net, config)
        stepper = Stepper(net, mean, optimizer, features, by_torch=by_torch)
        assert (stepper.compiled is None) == by_torch
        loss = train_epoch(stepper, training(data), config, 0)
        found.append((loss, [*training_tensors(net, optimizer), *mean.parameters()]))
    (one, weights), (two, others) = found
    assert one == pytest.approx(two, rel=1e-4)
    for a, b in zip(weights, others, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-2, atol=1e-3)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
class TestRecorded:
    def test_recorded_steps_equal_plain_ones(self):
        """Two epochs, the same weights to rounding; without dropout, whose draws differ."""
        data, features = some_links()
        data, features = data.to("cuda"), features.cuda()
        config = TrainConfig(batch_size=64, learning_rate=1e-3)
        found = []
        for recorded in (True, False):
            net = network().cuda()
            mean = copy.deepcopy(net)
            stepper = Stepper(net, mean, make_optimizer(net, config), features)
            if not recorded:
                stepper._recordable = lambda links, width: False
            losses = [train_epoch(stepper, training(data), config, epoch) for epoch in range(2)]
            assert bool(stepper._graphs) == recorded
            found.append((losses, [*net.parameters(), *mean.parameters()]))
        (one, weights), (two, others) = found
        assert one == pytest.approx(two, rel=1e-3)
        for a, b in zip(weights, others, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-2, atol=2e-3)

    def test_dropout_is_drawn_anew_and_repeats_by_its_seed(self):
        data, features = some_links()
        data, features = data.to("cuda"), features.cuda()
        config = TrainConfig(batch_size=64, learning_rate=1e-3)
        runs = []
        for _ in range(2):
            net = network(dropout=0.5, feature_dropout=0.5).cuda()
            stepper = Stepper(net, copy.deepcopy(net), make_optimizer(net, config), features)
            runs.append([train_epoch(stepper, training(data), config, epoch) for epoch in range(3)])
        assert runs[0] == pytest.approx(runs[1], rel=1e-4)

    def test_recording_a_cuda_graph_changes_no_weight(self):
        data, features = some_links()
        data, features = data.to("cuda"), features.cuda()
        net = network().cuda()
        mean = copy.deepcopy(net)
        stepper = Stepper(net, mean, make_optimizer(net, TrainConfig()), features)
        before = [t.clone() for t in training_tensors(net, stepper.optimizer)]
        index = torch.arange(64, device="cuda")
        label = torch.ones(64, 2, device="cuda")
        stepper._record(data.uniform_batch(index, 256, data.draws(index, seed=0, epoch=0)), label)
        for a, b in zip(before, training_tensors(net, stepper.optimizer), strict=True):
            assert torch.equal(a, b)
