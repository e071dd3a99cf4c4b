"""A checkpoint resumes to the last bit or is refused by name: what is missing or altered is noticed, whoever altered
it.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from llwlc import splits
from llwlc._fitting.fingerprint import content_digest as digest_of
from llwlc._fitting.fingerprint import fingerprint as fingerprint_of
from llwlc.errors import InputError
from llwlc.models._llwlc.config import TrainConfig
from llwlc.models._llwlc.model import LLwLC
from llwlc.models._llwlc.presets import find_preset
from llwlc.models._llwlc.training import LLwLCTrainee
from llwlc.nn import LLwLCNet, NetConfig
from llwlc.training._checkpoint import Checkpoint, checkpoint_checksum, read_checkpoint, write_checkpoint
from llwlc.training._epoch_record import EpochRecord
from llwlc.training._loop import resume
from llwlc.training._node_features import NodeFeatures
from people import people

HISTORY = [EpochRecord(0, 0.7, 0.8, 0.8), EpochRecord(1, 0.6, 0.9, 0.9)]


def state() -> tuple[LLwLCNet, LLwLCNet, torch.optim.Optimizer]:
    torch.manual_seed(0)
    net = LLwLCNet(NetConfig(channels=4, filters=2, filter_hidden=4, head=4))
    mean = LLwLCNet(net.config)
    optimizer = torch.optim.Adam(net.parameters())
    for parameter in net.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    return net, mean, optimizer


def trainee() -> LLwLCTrainee:
    """A network to continue with, and nothing to train it on."""
    net, mean, optimizer = state()
    found = LLwLCTrainee(net, None, None, TrainConfig(), features=NodeFeatures())
    found.mean, found.optimizer = mean, optimizer
    return found


def fingerprint(graph, split, chosen) -> str:
    return fingerprint_of(digest_of(graph, split), LLwLC(chosen), chosen.train.seed)


@pytest.fixture
def file(tmp_path) -> Checkpoint:
    checkpoint = Checkpoint(tmp_path / "checkpoint.safetensors", "ours")
    net, mean, optimizer = state()
    states = {"net": net.state_dict(), "mean": mean.state_dict(), "best": mean.state_dict()}
    write_checkpoint(checkpoint, states, optimizer, HISTORY)
    return checkpoint


def test_a_checkpoint_is_read_back_exactly(file):
    _, mean, _ = state()
    history, best = resume(file, trainee())
    assert history == HISTORY
    assert all(torch.equal(best[name], tensor) for name, tensor in mean.state_dict().items())


def test_one_flipped_bit_anywhere_is_refused(file):
    whole = file.path.read_bytes()
    step = max(1, len(whole) // 300)
    for at in [*range(0, len(whole), step), len(whole) - 1]:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        file.path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"is damaged|belongs to another run"):
            read_checkpoint(file)


def rewritten(path: Path, change, *, digest: bool, **about: str) -> None:
    """Other content, under a digest that fits it or under the old one."""
    with safe_open(path, "pt") as opened:
        said = opened.metadata() | about
    tensors = change(load_file(path))
    save_file(tensors, path, said | ({"digest": checkpoint_checksum(tensors, said)} if digest else {}))


def without(prefix: str):
    return lambda tensors: {name: tensor for name, tensor in tensors.items() if not name.startswith(prefix)}


def wider(tensors):
    return tensors | {name: torch.zeros(7, 7) for name in tensors if name.endswith("exp_avg")}


@pytest.mark.parametrize("digest", [False, True])
@pytest.mark.parametrize(
    "change", [without("adam."), without("adam.0.exp_avg"), without("best."), without("net."), without("mean."), wider]
)
def test_missing_or_other_state_is_refused(file, change, digest):
    rewritten(file.path, change, digest=digest)
    with pytest.raises(InputError, match="is damaged") as caught:
        resume(file, trainee())
    assert "\n" not in str(caught.value)


GAP = json.dumps([HISTORY[1].as_dict()])


@pytest.mark.parametrize("digest", [False, True])
@pytest.mark.parametrize("history", ["[]", "{}", "[1]", "nonsense", "[" * 10_000, GAP, '[{"epoch": 0}]'])
def test_an_empty_or_odd_history_is_refused(file, history, digest):
    rewritten(file.path, dict, digest=digest, history=history)
    with pytest.raises(InputError, match="is damaged"):
        read_checkpoint(file)


def test_a_checkpoint_without_a_digest_is_refused(file):
    save_file(load_file(file.path), file.path, {"mark": "ours", "history": "[]"})
    with pytest.raises(InputError, match="has no digest"):
        read_checkpoint(file)


def test_names_times_and_message_graphs_are_part_of_the_fingerprint():
    graph, options = people(), find_preset("anchored")
    split = splits.make(graph, protocol="random", seed=0)
    timed = replace(graph, time=torch.zeros(len(graph.indices)))
    found = [
        fingerprint(graph, split, options),
        fingerprint(replace(graph, names=None), split, options),
        fingerprint(replace(graph, names=[f"Someone {i}" for i in range(90)]), split, options),
        fingerprint(timed, split, options),
        fingerprint(replace(timed, time=timed.time + 1), split, options),
        fingerprint(graph, replace(split, train_graph=graph), options),
        fingerprint(graph, replace(split, test_graph=graph), options),
    ]
    assert len(set(found)) == len(found)
    assert fingerprint(people(), splits.make(people(), protocol="random", seed=0), options) == found[0]
