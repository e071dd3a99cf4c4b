"""A checkpoint resumes to the last bit or is refused by name: what is missing or altered is noticed, whoever altered it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from llwlc import splits
from llwlc.errors import InputError
from llwlc.nn import LLwLCNet, NetConfig
from llwlc.training.checkpoint import Checkpoint, content_digest, read_checkpoint, resume, save
from llwlc.training.fingerprint import fingerprint
from llwlc.training.presets import preset
from llwlc.training.records import EpochRecord
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


@pytest.fixture
def file(tmp_path) -> Checkpoint:
    checkpoint = Checkpoint(tmp_path / "checkpoint.safetensors", "ours")
    net, mean, optimizer = state()
    save(checkpoint, net, mean, mean.state_dict(), optimizer, HISTORY)
    return checkpoint


def test_it_comes_back_whole(file):
    net, mean, optimizer = state()
    history, best = resume(file, net, mean, optimizer)
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
    save_file(tensors, path, said | ({"digest": content_digest(tensors, said)} if digest else {}))


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
        resume(file, *state())
    assert "\n" not in str(caught.value)


GAP = json.dumps([HISTORY[1].as_dict()])


@pytest.mark.parametrize("digest", [False, True])
@pytest.mark.parametrize("history", ["[]", "{}", "[1]", "nonsense", "[" * 10_000, GAP, '[{"epoch": 0}]'])
def test_an_empty_or_odd_history_is_refused(file, history, digest):
    rewritten(file.path, dict, digest=digest, history=history)
    with pytest.raises(InputError, match="is damaged"):
        read_checkpoint(file)


def test_one_without_a_digest_is_refused(file):
    save_file(load_file(file.path), file.path, {"mark": "ours", "history": "[]"})
    with pytest.raises(InputError, match="has no digest"):
        read_checkpoint(file)


def test_names_times_and_message_graphs_are_part_of_the_fingerprint():
    graph, options = people(), preset("anchored")
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
    # as it was before names counted: an older run of a graph without names is found again
    assert "-" not in found[1]
    assert found[0].partition("-")[0] == found[1]
