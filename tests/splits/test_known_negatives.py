"""Known non-links: each in one part, trained on in every epoch, measured by, never recommended."""

from dataclasses import replace
from functools import cache

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from typer.testing import CliRunner

import llwlc
from llwlc import splits
from llwlc._cli.app import app
from llwlc._fitting.fingerprint import content_digest
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.models._batches import Batches
from llwlc.models._llwlc.encoded_split import EncodedSplit
from llwlc.models._llwlc.presets import PRESETS
from llwlc.models._recipes import Recipe
from llwlc.training._resources import Resources
from people import QUICK, people


def graph_of(seed: int) -> Graph:
    drawn = nx.gnm_random_graph(40, 120, seed=seed)
    return Graph.from_edges(torch.tensor(list(drawn.edges)), num_nodes=40)


def non_links(graph: Graph, count: int, seed: int) -> torch.Tensor:
    """Pairs without a link, some of them twice and in both directions."""
    rng = np.random.default_rng(seed)
    pairs = torch.from_numpy(rng.integers(graph.num_nodes, size=(4 * count + 8, 2)))
    pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & ~graph.has_edges(pairs)][:count]
    return torch.cat([pairs, pairs[: count // 4].flip(1)])


def unordered(pairs: torch.Tensor) -> set[tuple[int, int]]:
    return set(map(tuple, pairs.reshape(-1, 2).sort(1).values.tolist()))


@settings(deadline=None, max_examples=25)
@given(st.sampled_from(["random", "seal", "ncn", "paper", "buddy"]), st.integers(0, 50), st.integers(0, 150))
def test_every_known_non_link_is_in_one_part_and_nothing_leaks(protocol, seed, count):
    graph = graph_of(seed)
    plain = splits.make(graph, protocol=protocol, seed=seed)
    known = non_links(graph, count, seed)
    split = splits.with_known_negatives(plain, graph, known)
    assert splits.audit(split, graph).ok
    wanted = unordered(known)
    parts = {name: unordered(getattr(split, name)) & wanted for name in ("valid_neg", "test_neg")}
    training = unordered(split.known_train_neg)
    assert training | parts["valid_neg"] | parts["test_neg"] == wanted == unordered(split.known_neg)
    assert len(training) + len(parts["valid_neg"]) + len(parts["test_neg"]) == len(wanted)
    for name, found in parts.items():
        assert len(getattr(split, name)) == max(len(getattr(plain, name)), len(found))
        assert unordered(getattr(plain, name)) & wanted <= found
        # the rest is what was there before
        assert unordered(getattr(split, name)) - wanted <= unordered(getattr(plain, name))
    share = len(split.valid_pos) / graph.num_edges
    assert abs(len(parts["valid_neg"]) - share * len(wanted)) <= 2 + len(unordered(plain.valid_neg) & wanted)
    for one, other in ((split.train_pos, plain.train_pos), (split.test_pos, plain.test_pos)):
        assert torch.equal(one, other)


def held_out(split):
    return unordered(torch.cat([split.valid_neg, split.test_neg, split.valid_pos, split.test_pos]))


@pytest.mark.parametrize("count", [0, 7, 60, 400])
def test_each_draw_of_training_negatives_has_their_share(count):
    graph = graph_of(1)
    split = splits.with_known_negatives(splits.make(graph, protocol="ncn"), graph, non_links(graph, count, 3))
    training = unordered(split.known_train_neg)
    for epoch in range(4):
        drawn = splits.fresh_negatives(split, epoch=epoch)
        assert len(drawn) == len(unordered(drawn)) == len(split.train_pos)
        assert len(unordered(drawn) & training) == min(len(training), len(drawn))
        assert not unordered(drawn) & (held_out(split) | unordered(split.train_pos))
    assert torch.equal(split.train_neg, splits.fresh_negatives(split, epoch=0))


def test_the_models_train_on_them_and_on_no_held_out_one():
    graph = people()
    split = splits.with_known_negatives(splits.make(graph, protocol="random"), graph, non_links(graph, 80, 5))
    training = unordered(split.known_train_neg)
    assert 50 < len(training) < 80
    batches = Batches(split, Recipe(negatives=3), seed=1, device=torch.device("cpu"))
    for epoch in range(3):
        seen = torch.cat([batch.neg for batch in batches.epoch(epoch)])
        assert training <= unordered(seen)
        assert not unordered(seen) & held_out(split)
        count = pd.Series([tuple(pair) for pair in seen.sort(1).values.tolist()]).value_counts()
        assert set(count[list(training)]) == {3}  # three negatives a link, so each of them three times
    preset = PRESETS["anchored"].changed(negative_pool=2).resolve_defaults(len(split.train_pos), hard=False)
    pool = EncodedSplit(split, preset, resources=Resources())._training_pairs[len(split.train_pos) :]
    assert training <= unordered(pool)
    assert not unordered(pool) & held_out(split)


@cache
def fitted(model: str):
    """A run with the pairs of each circle's first people known to be no links, and these pairs."""
    graph = people()
    ends = [(u, v) for u in range(90) for v in range(u) if u // 30 == v // 30 and u % 30 < 12 and v % 30 < 12]
    known = torch.tensor([pair for pair in ends if not graph.has_edges(torch.tensor([pair]))])
    return llwlc.LinkPredictor(model=model, minutes=None).fit(graph, negatives=known), known


def test_a_run_keeps_them_and_recommends_none(tmp_path):
    model, known = fitted("adamic-adar")
    split = model.run_.split
    assert unordered(split.known_neg) == unordered(known)
    assert splits.audit(split, model.graph_).ok
    plain = llwlc.LinkPredictor(model="adamic-adar", minutes=None).fit(people())
    digests = [content_digest(people(), each) for each in (split, plain.run_.split, replace(split, known_neg=None))]
    assert len(set(digests)) == 3
    assert model.run_.info.fingerprint != plain.run_.info.fingerprint
    model.save(tmp_path / "run")
    again = llwlc.LinkPredictor.load(tmp_path / "run")
    assert torch.equal(again.run_.split.known_neg, split.known_neg)
    named = {frozenset((f"Person {u:02d}", f"Person {v:02d}")) for u, v in known.tolist()}
    before = {frozenset((x.source, x.target)) for x in plain.recommend(top=300)}
    assert before & named
    for graph in (None, again.updated_graph(add=[("Person 00", "Person 89")], features=None)):
        after = {frozenset((x.source, x.target)) for x in again.recommend(top=300, graph=graph)}
        assert after
        assert not after & named
    assert not {frozenset((x.source, x.target)) for x in again.recommend(node="Person 03", top=80)} & named


def test_the_network_learns_from_them():
    """Held-out known non-links look like links of their circle until the network is trained on others of their kind."""
    known = fitted("adamic-adar")[1]
    network = llwlc.LinkPredictor(minutes=None, cache=None, **(QUICK | {"epochs": 10}))
    plain, model = clone(network).fit(people()), network.fit(people(), negatives=known)
    split = model.run_.split
    asked = split.test_neg[: len(unordered(split.known_neg) & unordered(split.test_neg))]
    assert len(asked) > 5
    assert float(model.score(asked).score.mean()) < float(plain.score(asked).score.mean()) - 0.1


def test_another_split_of_the_run_has_them_too():
    model, known = fitted("adamic-adar")
    measured = model.evaluate("ncn", seed=3)
    assert measured["num_negatives"] == len(splits.make(model.graph_, protocol="ncn", seed=3).test_neg)
    assert len(known) > 50
    with pytest.raises(InputError, match="negatives of its own"):
        splits.with_known_negatives(splits.make(model.graph_, protocol="heart", num_hard=20), model.graph_, known)


@pytest.mark.parametrize(
    ("negatives", "wanted"),
    [
        ([("Person 01", "Person 01")], "with itself"),
        ([("Person 01", "Zoe")], "known non-links: .*'Zoe'"),
        (torch.tensor([[0, 0]]), "with itself"),
        (torch.tensor([[0, 90]]), "from 0 to 89"),
    ],
)
def test_bad_pairs_are_refused_in_one_line(negatives, wanted):
    with pytest.raises(InputError, match=wanted) as error:
        llwlc.LinkPredictor(model="adamic-adar").fit(people(), negatives=negatives)
    assert "\n" not in str(error.value)


def test_the_command_takes_a_file_and_refuses_links(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = people(features=False)
    graph.to_csv("friends.csv")
    names = [[graph.name(u), graph.name(v)] for u, v in non_links(graph, 40, 2).tolist()]
    pd.DataFrame(names, columns=["a", "b"]).to_csv("never.csv", index=False)
    u, v = graph.edges[0].tolist()
    pd.DataFrame([*names, [graph.name(u), graph.name(v)]], columns=["a", "b"]).to_csv("wrong.csv", index=False)
    fit = ["fit", "friends.csv", "--model", "adamic-adar", "--out", "run", "--negatives"]
    refused = CliRunner().invoke(app, [*fit, "wrong.csv"])
    assert refused.exit_code == 2
    assert f"1 of 41 known non-links are links of the graph, such as '{graph.name(u)}'" in refused.output
    done = CliRunner().invoke(app, [*fit, "never.csv"])
    assert done.exit_code == 0, done.output
    assert "40 known non-links among the negatives" in (tmp_path / "run" / "MODEL_CARD.md").read_text()
    assert unordered(llwlc.LinkPredictor.load("run").run_.split.known_neg) == unordered(non_links(graph, 40, 2))
