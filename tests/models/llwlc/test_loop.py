"""The loop: the same seed gives the same bits, also after a kill; what it keeps, when it stops, and that it learns."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch.nn.utils import parameters_to_vector

from llwlc import datasets, metrics, splits
from llwlc._support.ragged import expand, pointer
from llwlc._support.threads import use_one_thread
from llwlc.bases._config import BasisConfig
from llwlc.bases._encoded_links import FIELD_TYPES, EncodedLinks, encode_pairs
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.models._llwlc import scoring
from llwlc.models._llwlc.config import TrainConfig
from llwlc.models._llwlc.encoded_split import EncodedTrainingLinks
from llwlc.models._llwlc.scoring import Scorer
from llwlc.models._llwlc.step import Stepper
from llwlc.models._llwlc.training import ValidationLinks, batches, make_optimizer, populations, train_network
from llwlc.nn import LLwLCNet, NetConfig
from llwlc.nn._conv import SpectralMLP
from llwlc.splits._negatives import NonEdges
from llwlc.training._checkpoint import Checkpoint
from llwlc.training._compact_features import fit_compactor
from llwlc.training._loop import validation_score
from llwlc.training._node_features import NodeFeatures

NET = NetConfig(feature_channels=4, channels=8, filters=2, filter_hidden=8, filtered_channels=8, head=8)
CONFIG = TrainConfig(epochs=4, batch_size=16, learning_rate=5e-3)
FEATURES = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))


NODES = NodeFeatures(FEATURES)


def scores(net: LLwLCNet, data: EncodedLinks, features: torch.Tensor) -> torch.Tensor:
    return Scorer(net, NodeFeatures(features))(data)


def training(data: EncodedLinks, positive: int) -> EncodedTrainingLinks:
    """Links without candidates among them."""
    return EncodedTrainingLinks(data, positive, len(data) - positive, torch.zeros(positive, dtype=torch.bool))


def problem() -> tuple[EncodedLinks, int, tuple[EncodedLinks, EncodedLinks]]:
    """Links of a small graph, a pool of negatives behind them, and some of both to validate on."""
    g = nx.connected_watts_strogatz_graph(60, 6, 0.1, seed=1)
    graph = Graph.from_edges(torch.tensor(list(g.edges)))
    order = torch.randperm(graph.num_edges, generator=torch.Generator().manual_seed(0))
    train_pos, valid_pos = graph.edges[order[:60]], graph.edges[order[60:90]]
    free = NonEdges(60, graph.edges)
    negative = free.at(torch.randperm(len(free), generator=torch.Generator().manual_seed(1))[:180])
    message = graph.with_edges(graph.edges[order[:60]])
    links, *valid = (
        encode_pairs(message, pairs, BasisConfig(), about="")
        for pairs in (torch.cat([train_pos, negative[:150]]), valid_pos, negative[150:])
    )
    return links, 60, (valid[0], valid[1])


@pytest.fixture(scope="module")
def small():
    return problem()


def make_net(seed: int = 0) -> LLwLCNet:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return LLwLCNet(NET)


def run(small, config=CONFIG, *, seed: int = 0, **options):
    links, positive, valid = small
    net = make_net(seed)
    if "checkpoint" in options:
        options["checkpoint"] = Checkpoint(options["checkpoint"], options.pop("mark", ""))
    given = training(links, positive)
    history = train_network(net, lambda _: given, ValidationLinks(*valid), config, features=NODES, **options).history
    return net, history


def bits(net: LLwLCNet) -> dict[str, bytes]:
    return {k: v.numpy().tobytes() for k, v in net.state_dict().items()}


def test_same_seed_same_weights_to_the_last_bit(small):
    a, first = run(small)
    torch.manual_seed(99)  # the global state plays no part
    b, second = run(small)
    assert bits(a) == bits(b)
    assert first == second
    other, _ = run(small, TrainConfig(epochs=4, batch_size=16, learning_rate=5e-3, seed=1))
    assert bits(other) != bits(a)


def test_training_leaves_the_global_seed_and_threads_alone(small):
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    run(small, TrainConfig(epochs=1, batch_size=16))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("average", [0.0, 0.99])
@pytest.mark.parametrize("stop", [0, 1, 2])
def test_killed_after_an_epoch_and_resumed_is_never_killed(small, tmp_path, stop, average):
    config = TrainConfig(epochs=4, batch_size=16, learning_rate=5e-3, average=average)
    whole, history = run(small, config)
    file = tmp_path / "checkpoint.safetensors"

    def kill(record):
        if record.epoch == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(small, config, checkpoint=file, on_epoch=kill)
    seen = []
    # other first weights: all of them must come from the checkpoint
    resumed, again = run(small, config, seed=7, checkpoint=file, on_epoch=lambda r: seen.append(r.epoch))
    assert seen == list(range(stop + 1, 4))
    assert bits(resumed) == bits(whole)
    assert again == history
    assert list(tmp_path.iterdir()) == [file]


def test_a_finished_run_is_not_trained_on(small, tmp_path):
    file = tmp_path / "checkpoint.safetensors"
    whole, history = run(small, checkpoint=file)
    before = file.read_bytes()
    again, same = run(small, seed=7, checkpoint=file, on_epoch=lambda _: pytest.fail("trained again"))
    assert bits(again) == bits(whole)
    assert same == history
    assert file.read_bytes() == before


def test_interrupted_inside_an_epoch(small, tmp_path, monkeypatch):
    """The checkpoint is whole at every moment: here the writing of the next one is cut short."""
    whole, _ = run(small)
    file = tmp_path / "checkpoint.safetensors"
    replaced = []

    def cut(source, target):
        if len(replaced) == 2:
            Path(source).write_bytes(b"half")
            raise KeyboardInterrupt
        replaced.append(target)
        os.rename(source, target)

    monkeypatch.setattr("llwlc._support.files.os.replace", cut)
    with pytest.raises(KeyboardInterrupt):
        run(small, checkpoint=file)
    monkeypatch.undo()
    resumed, _ = run(small, checkpoint=file)
    assert bits(resumed) == bits(whole)


@pytest.mark.parametrize(
    ("damage", "why"), [("cut", "is damaged"), ("mark", "belongs to another run"), ("file", "belongs to another run")]
)
def test_a_checkpoint_that_cannot_be_resumed_is_refused(small, tmp_path, damage, why):
    file = tmp_path / "checkpoint.safetensors"
    run(small, TrainConfig(epochs=1, batch_size=16), checkpoint=file, mark="ours")
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-100])
    elif damage == "file":
        save_file({"x": torch.zeros(1)}, file)
    before = file.read_bytes()
    with pytest.raises(InputError, match=why):
        run(small, checkpoint=file, mark="theirs" if damage == "mark" else "ours")
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"batch_size": 1},
        {"learning_rate": 0.0},
        {"patience": 0},
        {"fraction": 0.0},
        {"fraction": 2.0},
        {"fraction": float("nan")},
        {"select": "acc"},
        {"select": "hits@x"},
        {"negative_pool": 0},
        {"copies": -1},
        {"edge_dropout": 1.0},
        {"average": 1.0},
        {"seed": -1},
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_named(wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(InputError, match=f"{name} (is|must be) .* got {value!r}"):
        TrainConfig(**wrong)


SCRIPT = """
import sys
from pathlib import Path
import torch
from safetensors.torch import load_file, save_file
from llwlc.bases._encoded_links import EncodedLinks
from llwlc.nn import LLwLCNet, NetConfig
from llwlc.nn._conv import SpectralMLP
from llwlc.training._checkpoint import Checkpoint
from llwlc.models._llwlc.config import TrainConfig
from llwlc.models._llwlc.encoded_split import EncodedTrainingLinks
from llwlc.models._llwlc.training import ValidationLinks, train_network
from llwlc.training._node_features import NodeFeatures

torch.set_num_threads(1)
torch.manual_seed(0)
net, stored = LLwLCNet(NetConfig(**eval(sys.argv[2]))), load_file("problem")
parts = [EncodedLinks(**{k[2:]: v for k, v in stored.items() if k[0] == str(i)}) for i in range(3)]
links = EncodedTrainingLinks(parts[0], 60, len(parts[0]) - 60, torch.zeros(60, dtype=torch.bool))
train_network(net, lambda _: links, ValidationLinks(parts[1], parts[2]), TrainConfig(**eval(sys.argv[3])), features=NodeFeatures(stored["features"]),
      checkpoint=Checkpoint(Path("checkpoint"), ""), on_epoch=lambda record: (print(record.epoch, flush=True), sys.stdin.readline()))
save_file(net.state_dict(), sys.argv[1])
"""


@pytest.mark.slow
def test_kill_nine_at_any_moment_ends_in_the_same_weights(small, tmp_path):
    config = TrainConfig(epochs=12, patience=12, batch_size=8)
    whole, _ = run(small, config)
    parts = [small[0], *small[2]]
    stored = {f"{i}.{k}": getattr(part, k) for i, part in enumerate(parts) for k in (*FIELD_TYPES, "ptr")}
    save_file(stored | {"features": FEATURES}, tmp_path / "problem")

    def start() -> subprocess.Popen[str]:
        command = [sys.executable, "-c", SCRIPT, "killed", repr(asdict(NET)), repr(asdict(config))]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=tmp_path, stdin=pipe, stdout=pipe, text=True)

    for epochs, wait in ((2, 0.0), (3, 0.03)):
        with start() as process:
            assert process.stdin is not None
            assert process.stdout is not None
            done = []
            for _ in range(epochs):  # each epoch waits to be read, or a slow reader would find the training over
                done.append(process.stdout.readline().strip())
                process.stdin.write("\n")
                process.stdin.flush()
            time.sleep(wait)  # somewhere inside the next epoch
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
    assert "0" not in done, "the second start went on from the first one's checkpoint"
    with start() as process:
        rest = process.communicate()[0].split()
    assert process.returncode == 0
    assert rest[-1] == "11"
    assert len(rest) < 8
    assert {k: v.numpy().tobytes() for k, v in load_file(tmp_path / "killed").items()} == bits(whole)


def test_the_epoch_that_validates_best_is_kept(small):
    _, _, valid = small
    net, history = run(small, TrainConfig(epochs=6, batch_size=16, learning_rate=5e-2, average=0.0, patience=6))
    values = [record.valid for record in history]
    assert len(set(values)) > 1
    kept = validation_score("auc", *(scores(net, part, FEATURES) for part in valid))
    assert kept == max(values)
    # and it is the first of that value: training to there and no further gives the same network
    until = TrainConfig(epochs=values.index(max(values)) + 1, batch_size=16, learning_rate=5e-2, average=0.0)
    assert bits(run(small, until)[0]) == bits(net)


@pytest.mark.parametrize("patience", [1, 3])
def test_training_stops_when_validation_does_not_improve(small, patience, monkeypatch):
    values = iter([0.5, 0.6, 0.6, 0.55, 0.5, 0.4, 0.9])
    monkeypatch.setattr("llwlc.training._loop.validation_score", lambda *_: next(values))
    _, history = run(small, TrainConfig(epochs=7, batch_size=16, patience=patience))
    assert len(history) == 2 + patience


def test_validation_score_is_the_metric_asked_for():
    g = torch.Generator().manual_seed(0)
    pos, neg = 1 + torch.randn(30, generator=g), torch.randn(40, generator=g)
    assert validation_score("auc", pos, neg) == metrics.auc(pos, neg)
    assert validation_score("mrr", pos, neg) == metrics.mrr(pos, neg)
    assert validation_score("hits@10", pos, neg) == metrics.hits_at_k(pos, neg, 10).value


@settings(deadline=None, max_examples=40)
@given(count=st.integers(0, 300), size=st.integers(1, 20), seed=st.integers(0, 99))
def test_batches_hold_every_position_once(count, size, seed):
    g = torch.Generator().manual_seed(seed)
    parts = batches(torch.randint(1, 50, (count,), generator=g), size, g)
    assert sorted(i for part in parts for i in part.tolist()) == list(range(count))
    assert all(len(part) <= size for part in parts)
    assert len(parts) == max(1, -(-count // size))


def test_batches_are_of_like_size_in_random_order():
    sizes = torch.arange(1000)
    parts = batches(sizes, 50, torch.Generator().manual_seed(0))
    spread = [int(sizes[part].max() - sizes[part].min()) for part in parts]
    assert max(spread) < 100
    first = [int(sizes[part].min()) for part in parts]
    assert first != sorted(first)
    other = batches(sizes, 50, torch.Generator().manual_seed(1))
    assert not torch.equal(torch.cat(parts), torch.cat(other))


def test_negatives_differ_from_epoch_to_epoch(small, monkeypatch):
    links, positive, _ = small
    taken: list[set[int]] = [set()]
    step = Stepper.__call__

    def spy(self, data, index, *rest, **draws):
        if data is links:
            taken[-1] |= set(index.tolist())
        return step(self, data, index, *rest, **draws)

    monkeypatch.setattr(Stepper, "__call__", spy)
    run(small, TrainConfig(epochs=3, batch_size=16), on_epoch=lambda _: taken.append(set()))
    everything = set(range(positive))
    for epoch in taken[:3]:
        assert {i for i in epoch if i < positive} == everything
        assert len({i for i in epoch if i >= positive}) == positive
    assert taken[0] != taken[1] != taken[2]


def test_few_negatives_are_used_several_times_and_every_link_once(small, monkeypatch):
    links, positive, valid = small
    few = encode_some(links, torch.arange(positive + 7))
    taken: list[int] = []
    step = Stepper.__call__

    def spy(self, data, index, *rest, **draws):
        if data is few:
            taken.extend(index.tolist())
        return step(self, data, index, *rest, **draws)

    monkeypatch.setattr(Stepper, "__call__", spy)
    given = training(few, positive)
    train_network(
        make_net(), lambda _: given, ValidationLinks(*valid), TrainConfig(epochs=1, batch_size=16), features=NODES
    )
    count = torch.bincount(torch.tensor(taken))
    assert count[:positive].tolist() == [1] * positive
    assert set(count[positive:].tolist()) == {positive // 7, positive // 7 + 1}


def test_populations_are_told_apart(small):
    links, positive, _ = small
    member = torch.arange(positive) % 2 == 0
    given = EncodedTrainingLinks(links, positive, 100, member)
    assert given.candidates == len(links) - positive - 100
    index = torch.tensor([0, 1, positive, positive + 99, positive + 100])
    wanted = [[1, 1, 1], [1, 1, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert populations(index, given).tolist() == wanted


def test_of_several_negatives_a_link_each_weighs_its_part(small, monkeypatch):
    links, positive, valid = small
    few = encode_some(links, torch.arange(3 * positive))
    taken, sums = [], []
    step = Stepper.__call__

    def spy(self, data, index, label, *rest, **draws):
        if data is few:
            taken.extend(index.tolist())
            sums.append((label[:, 1] * label[:, 0]).sum() - (label[:, 1] * (1 - label[:, 0])).sum())
        return step(self, data, index, label, *rest, **draws)

    monkeypatch.setattr(Stepper, "__call__", spy)
    config = TrainConfig(epochs=1, batch_size=16, negatives=2)
    train_network(make_net(), lambda _: training(few, positive), ValidationLinks(*valid), config, features=NODES)
    assert sorted(taken) == list(range(3 * positive))
    assert torch.stack(sums).sum().abs() < 1e-5  # the last, smaller batch of each kind comes at any step


def test_filters_may_learn_at_another_rate():
    net = make_net()
    groups = make_optimizer(net, TrainConfig(learning_rate=1e-3, filter_rate=0.5)).param_groups
    assert [group["lr"] for group in groups] == [1e-3, 5e-4]
    inside = {id(p) for part in net.modules() if isinstance(part, SpectralMLP) for p in part.parameters()}
    assert {id(p) for p in groups[1]["params"]} == inside
    assert sum(len(group["params"]) for group in groups) == len(list(net.parameters()))
    assert len(make_optimizer(net, TrainConfig()).param_groups) == 1


def test_scores_do_not_depend_on_batching(small, monkeypatch):
    links, _, _ = small
    net = make_net()
    large = scores(net, links, FEATURES)
    assert large.dtype == torch.float64
    for rows in (1, 100, 1000):
        monkeypatch.setattr(scoring, "BATCH_ROWS", rows)
        torch.testing.assert_close(scores(net, links, FEATURES), large, rtol=0, atol=1e-9)
    alone = [scores(net, encode_some(links, torch.tensor([i])), FEATURES) for i in range(0, len(links), 20)]
    torch.testing.assert_close(torch.cat(alone), large[::20], rtol=0, atol=1e-9)


def encode_some(links: EncodedLinks, index: torch.Tensor) -> EncodedLinks:
    """Some of the links, as data."""
    rows, _ = expand(links.ptr[index], links.sizes[index])
    some = {k: getattr(links, k)[index] for k in ("sizes", "values", "mask", "residual")}
    some |= {k: getattr(links, k)[rows] for k in ("vectors", "node", "label", "degree")}
    return EncodedLinks(**some, ptr=pointer(some["sizes"]))


def test_scoring_changes_nothing_of_the_network(small):
    net = make_net().train()
    before = bits(net)
    scores(net, small[0], FEATURES)
    assert net.training
    assert bits(net) == before
    assert next(net.parameters()).dtype == torch.float32


def test_one_thread_gives_the_threads_back():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    with use_one_thread():
        inside = torch.get_num_threads()
    after = torch.get_num_threads()
    torch.set_num_threads(threads)
    assert (inside, after) == (1, 2)


def test_the_moving_average_follows_the_weights(small):
    """Without an average what is kept is the network itself; with one it lies between first and last weights."""
    plain, _ = run(small, TrainConfig(epochs=1, batch_size=16, average=0.0))
    mean, _ = run(small, TrainConfig(epochs=1, batch_size=16, average=0.99))
    first, last, kept = (parameters_to_vector(net.parameters()).detach() for net in (make_net(), plain, mean))
    assert 0 < (kept - first).norm() < (last - first).norm()


def test_it_learns_on_cora():
    graph = datasets.load("cora")
    split = splits.make(graph, protocol="seal", seed=0)
    table = fit_compactor(graph.x, 16)(graph.x)
    pairs = torch.cat([split.train_pos[:200], split.train_neg[:600]])
    links = encode_pairs(split.train_graph, pairs, BasisConfig(), about="")
    held = [
        encode_pairs(split.valid_graph, part[:200], BasisConfig(), about="")
        for part in (split.valid_pos, split.valid_neg)
    ]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = LLwLCNet(NetConfig(feature_channels=16))
    config = TrainConfig(epochs=6, batch_size=32, learning_rate=2e-3)
    given = training(links, 200)
    history = train_network(
        net, lambda _: given, ValidationLinks(held[0], held[1]), config, features=NodeFeatures(table)
    ).history
    assert history[-1].loss < 0.8 * history[0].loss
    assert max(record.valid for record in history) > 0.85
