"""HeaRT's own files, in its layout: read where they are, refused by name where they are damaged."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from llwlc import datasets, splits
from llwlc.errors import InputError
from llwlc.graph._graph import Origin
from people import people


@pytest.fixture
def graph():
    return replace(people(), origin=Origin("people"))


@pytest.fixture
def folder(graph, tmp_path, monkeypatch):
    monkeypatch.setenv("LLWLC_DATA", str(tmp_path))
    made = splits.make(replace(graph, origin=None), protocol="heart", seed=0, num_hard=40)
    place = tmp_path / "heart" / "people"
    place.mkdir(parents=True)
    for part in ("train", "valid", "test"):
        np.savetxt(place / f"{part}_pos.txt", getattr(made, f"{part}_pos").flip(0).numpy(), fmt="%d", delimiter="\t")
    for part in ("valid", "test"):
        np.save(place / f"heart_{part}_samples.npy", getattr(made, f"{part}_neg").flip(0).numpy())
    return place


def test_the_published_split_is_taken_whatever_the_seed_and_says_so(graph, folder):
    one, two = (splits.make(graph, protocol="heart", seed=seed) for seed in (1, 2))
    assert torch.equal(one.test_neg, torch.from_numpy(np.load(folder / "heart_test_samples.npy")))
    assert {tuple(p) for p in one.valid_pos.tolist()} == {
        tuple(p) for p in np.loadtxt(folder / "valid_pos.txt", dtype=int).tolist()
    }
    ends, kept = one.test_pos.unsqueeze(1), one.test_neg
    assert (ends == kept[..., :1]).any(2).logical_or((ends == kept[..., 1:]).any(2)).all()  # each row is of its link
    assert torch.equal(one.train_pos, two.train_pos)
    assert not torch.equal(one.train_neg, two.train_neg)
    assert one.notes == ("HeaRT's published split and negatives",)
    assert not any("regenerated" in note for note in one.notes)
    assert one.metric == "mrr"
    assert splits.audit(one, graph).ok


def test_a_graph_without_that_name_or_with_other_numbers_of_negatives_has_none_of_it(graph, folder):
    other = splits.make(replace(graph, origin=Origin("others")), protocol="heart", seed=0, num_hard=40)
    assert any("regenerated" in note for note in other.notes)
    fewer = splits.make(graph, protocol="heart", seed=0, num_hard=20)
    assert fewer.test_neg.shape[1] == 20


def test_self_loops_of_the_published_files_are_dropped_with_their_negatives_and_counted(graph, folder):
    # Citeseer's training links hold 48 of them; no node is linked to itself
    whole = splits.make(graph, protocol="heart", seed=0)
    loops = np.array([[3, 3], [5, 5], [3, 3]])
    for part in ("train", "test"):
        np.savetxt(folder / f"{part}_pos.txt", np.r_[loops, np.loadtxt(folder / f"{part}_pos.txt")], fmt="%d")
    samples = np.load(folder / "heart_test_samples.npy")
    np.save(folder / "heart_test_samples.npy", np.r_[samples[:3], samples])
    split = splits.make(graph, protocol="heart", seed=0)
    for name in ("train_pos", "train_neg", "valid_pos", "test_pos", "test_neg"):
        assert torch.equal(getattr(split, name), getattr(whole, name))
    assert split.notes[1:] == (
        "3 self-loops of train_pos.txt dropped: a link joins two nodes",
        "3 self-loops of test_pos.txt dropped, with their negatives: a link joins two nodes",
    )
    assert splits.audit(split, graph).ok


def test_a_negative_that_is_published_twice_for_one_link_is_allowed_with_its_count(graph, folder):
    # HeaRT's script fills short lists at random: its Citeseer files have twelve of these
    samples = np.load(folder / "heart_test_samples.npy")
    samples[0, 1] = samples[0, 0]
    np.save(folder / "heart_test_samples.npy", samples)
    split = splits.make(graph, protocol="heart", seed=0)
    assert split.repeated["test_neg repeated"] == 1
    assert "test_neg repeated, as published: 1" in split.notes
    assert splits.audit(split, graph).ok


@pytest.mark.data
def test_the_published_citeseer_is_read_without_its_self_loops(data_root):
    data_root("heart/citeseer/train_pos.txt")
    graph = datasets.load("citeseer")
    split = splits.make(graph, protocol="heart", seed=0)
    assert [len(part) for part in (split.train_pos, split.valid_pos, split.test_pos)] == [3870, 227, 455]
    assert split.valid_neg.shape == (227, 500, 2)
    assert "48 self-loops of train_pos.txt dropped: a link joins two nodes" in split.notes
    assert splits.audit(split, graph).ok


def short(folder):
    np.save(folder / "heart_test_samples.npy", np.load(folder / "heart_test_samples.npy")[:-1])


def outside(folder):
    np.save(folder / "heart_valid_samples.npy", np.load(folder / "heart_valid_samples.npy") + 1000)


def stranger(folder):
    found = np.loadtxt(folder / "test_pos.txt", dtype=int)
    found[0] = 0, 89
    np.savetxt(folder / "test_pos.txt", found, fmt="%d")


def pickled(folder):
    np.save(folder / "heart_test_samples.npy", np.array([{}], dtype=object), allow_pickle=True)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (short, "rows of pairs of node numbers"),
        (outside, "names nodes outside 0 to 89"),
        (stranger, "names the link 0 89, which the graph does not have"),
        (pickled, "cannot be read"),
        (lambda f: (f / "train_pos.txt").unlink(), "lacks train_pos.txt"),
        (lambda f: (f / "train_pos.txt").write_text("a b\n"), "is not a list of pairs"),
        (lambda f: (f / "train_pos.txt").write_text("1 2 3\n"), "has 3 columns"),
    ],
)
def test_damaged_files_are_refused_by_name(graph, folder, damage, said):
    damage(folder)
    with pytest.raises(InputError, match=said):
        splits.make(graph, protocol="heart", seed=0)
