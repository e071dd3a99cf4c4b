"""What random draws know a node by: its name, whatever its number."""

import random
import string

import torch

from llwlc.graph import _identity as identity
from llwlc.graph._graph import Graph
from llwlc.graph._identity import HASHED, compute_identities

NAMES = ["Ada", "Bob", "007", "-3", "雪", "", "\ud800", "12", "0", "9" * 18, "9" * 19, "1.5"]


def test_an_identity_belongs_to_the_name_alone():
    wanted = dict(zip(NAMES, compute_identities(NAMES).tolist(), strict=True))
    for seed in range(5):
        shuffled = random.Random(seed).sample(NAMES, 7)
        assert compute_identities(shuffled).tolist() == [wanted[name] for name in shuffled]
    assert all(0 <= found < 2**63 for found in wanted.values())
    assert len(set(wanted.values())) == len(NAMES)


def test_a_number_stands_for_itself_and_a_hash_is_beyond_all_of_them():
    assert compute_identities(["12", "0", "9" * 18]).tolist() == [12, 0, 10**18 - 1]
    assert (compute_identities(["007", "-3", "9" * 19, "1.5", "٣"]) >= HASHED).all()


def test_names_with_equal_hashes_keep_distinct_draws_after_renumbering(monkeypatch):
    monkeypatch.setattr(identity, "identity_of", lambda name: ord(name[0]))
    found = dict(zip(["ab", "aa", "b", "ac"], compute_identities(["ab", "aa", "b", "ac"]).tolist(), strict=True))
    assert sorted(found.values()) == [0, 1, 2, 3]
    assert (
        dict(zip(["b", "ac", "aa", "ab"], compute_identities(["b", "ac", "aa", "ab"]).tolist(), strict=True)) == found
    )
    assert len(set(compute_identities(["same"] * 5).tolist())) == 5


def test_a_hundred_thousand_names_have_different_identities():
    rng = random.Random(0)
    names = {"".join(rng.choices(string.ascii_letters, k=8)) for _ in range(100_000)}
    assert len(set(compute_identities(sorted(names)).tolist())) == len(names)


def test_a_graph_and_its_message_graphs_keep_identities():
    graph = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]), names=["a", "b", "c"])
    assert torch.equal(graph.with_edges(graph.edges[:1]).identity, graph.identity)
    assert Graph.from_edges(graph.edges).identity is None
    other = Graph.from_edges(graph.edges, names=["c", "b", "a"])
    assert torch.equal(other.identity, graph.identity.flip(0))
