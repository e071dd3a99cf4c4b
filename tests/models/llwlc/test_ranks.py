"""Several processes that train one network are one process, but for rounding; the same number of them twice to the last
bit, also when one is killed on the way.
"""

import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest
import torch
from ranked_training import EPOCHS, NET, STEPS, fitted
from safetensors.torch import load_file

from llwlc.bases._config import BasisConfig
from llwlc.bases._encoded_links import encode_pairs
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.models._llwlc.step import population_loss
from llwlc.nn import LLwLCNet, NetConfig
from llwlc.nn._link_dropout import LinkDropout
from llwlc.training._ranks import Ranks

RING = Graph.from_edges(torch.tensor(list(nx.connected_watts_strogatz_graph(60, 6, 0.2, seed=1).edges)))


def test_ranks_share_the_links_of_a_batch_and_none_is_in_two():
    index, label = torch.randperm(101)[:40], torch.rand(40, 3)
    for size in (1, 2, 3, 7):
        parts = [Ranks(rank, size).part(index, label) for rank in range(size)]
        back = [Ranks(rank, size).own(101)[part] for rank, (part, _) in enumerate(parts)]
        assert sorted(torch.cat(back).tolist()) == sorted(index.tolist())
        assert sum(len(label) for _, label in parts) == 40


def test_a_rank_without_a_link_in_the_batch_counts_for_nothing():
    part, label = Ranks(1, 2).part(torch.tensor([0, 2, 4]), torch.ones(3, 3))
    assert part.tolist() == [0]
    assert not label.any()
    assert population_loss(torch.randn(1, 2), label, torch.ones(2)) == 0


def test_the_losses_of_ranks_add_up_to_that_of_the_batch():
    index, logits = torch.arange(30), torch.randn(30, 2, dtype=torch.float64)
    label = (torch.rand(30, 3) < 0.6).double()
    whole, members = population_loss(logits, label), label[:, 1:].sum(0)
    parts = [population_loss(logits[rank::3], Ranks(rank, 3).part(index, label)[1], members) for rank in range(3)]
    torch.testing.assert_close(sum(parts), whole)


def test_fewer_links_than_ranks_are_refused():
    with pytest.raises(InputError, match="fewer than one each"):
        Ranks(0, 4).own(3)


def test_dropout_belongs_to_the_link_and_not_to_its_place():
    data = encode_pairs(RING, RING.edges[:40], BasisConfig(), about="")
    net = LLwLCNet(NetConfig(dropout=0.5, feature_dropout=0.5)).train()
    order = torch.randperm(40)

    def outputs(index: torch.Tensor, epoch: int = 3) -> torch.Tensor:
        return net.outputs(data.batch(index, data.draws(index, seed=5, epoch=epoch)))

    with torch.no_grad():
        whole = outputs(torch.arange(40))
        torch.testing.assert_close(outputs(order), whole[order], rtol=0, atol=1e-5)
        torch.testing.assert_close(
            torch.cat([outputs(order[:11]), outputs(order[11:])]), whole[order], rtol=0, atol=1e-5
        )
        assert not torch.allclose(outputs(torch.arange(40), epoch=4), whole)


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_dropout_drops_its_share_and_keeps_the_mean(share):
    layers = [LinkDropout(share, site) for site in (0, 1)]
    links = torch.arange(1000) * 7919
    kept = [layer.kept(links, torch.ones(1000, 7, 33)) for layer in layers]
    for one in kept:
        assert float((one == 0).double().mean()) == pytest.approx(share, abs=0.005)
        assert float(one.mean()) == pytest.approx(1, abs=0.01)
    both = float(((kept[0] == 0) & (kept[1] == 0)).double().mean())
    assert both == pytest.approx(share**2, abs=0.005)  # two places in the network draw for themselves
    assert (kept[0][0] != kept[0][1]).any()


SCRIPT = Path(__file__).with_name("ranked_training.py")


def torchrun(ranks: int, *words: object) -> subprocess.Popen:
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks))
    command = [sys.executable, *launcher, *map(str, words)]
    return subprocess.Popen(command, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen) -> str:
    with process:
        told, _ = process.communicate(timeout=1800)
    assert process.returncode == 0, told
    return told


@pytest.fixture(scope="module")
def two(tmp_path_factory) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """The weights of two processes, once undisturbed, once with a process killed in the third epoch."""
    calm, killed = tmp_path_factory.mktemp("calm"), tmp_path_factory.mktemp("killed")
    running = [torchrun(2, SCRIPT, calm), torchrun(2, "--max-restarts", 1, SCRIPT, killed, "die")]
    for process in running:
        finished(process)
    assert (killed / "restarted").exists()
    assert not (calm / "restarted").exists()
    return load_file(calm / "weights.safetensors"), load_file(killed / "weights.safetensors")


def test_after_twenty_steps_two_processes_have_the_weights_of_one(two):
    one = fitted(STEPS, None)
    start = LLwLCNet(NET).state_dict()
    assert any((one[name] - start[name]).abs().max() > 0.01 for name in one)
    for name, tensor in one.items():
        torch.testing.assert_close(two[0][f"steps.{name}"], tensor, rtol=0, atol=1e-5)


def test_a_run_whose_worker_was_killed_ends_in_the_weights_of_an_undisturbed_one(two):
    calm, killed = two
    assert set(calm) == set(killed)
    assert all(torch.equal(calm[name], killed[name]) for name in calm)


def test_five_epochs_of_two_processes_end_near_those_of_one(two):
    one = fitted(EPOCHS, None)
    for name, tensor in one.items():
        torch.testing.assert_close(two[0][f"epochs.{name}"], tensor, rtol=0, atol=0.05)


@pytest.mark.slow  # imports everything six times
def test_the_command_fits_in_one_folder_and_a_finished_run_is_read(tmp_path):
    file, out = tmp_path / "edges.csv", tmp_path / "run"
    graph = nx.connected_watts_strogatz_graph(150, 8, 0.1, seed=3)
    file.write_text("source,target\n" + "".join(f"p{a},p{b}\n" for a, b in graph.edges))
    for _ in range(2):
        words = ("-m", "llwlc", "fit", file, "--out", out, "--set", "epochs=2", "--set", "copies=0")
        told = finished(torchrun(2, *words))
        assert told.count("likeliest missing links") == 1  # one process speaks
    assert not [path for path in out.iterdir() if "checkpoint" in path.name or path.name == ".lock"]
