"""Our network's score of a pair as a channel of typed links: gain, no leak, left out, kept and explained."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from llwlc._cli.app import app
from llwlc.errors import RunFolderError
from llwlc.relations import RelationPredictor, Triples, _pair_network, _predictor
from llwlc.relations._factors import train_factors
from llwlc.relations._pair_channels import TypedScorer, fit_weights
from llwlc.relations._pair_network import (
    MOST_NODES,
    PairNetwork,
    fit_pair_network,
    hide_pairs,
    type_shares,
    why_no_network,
)


def near(num_nodes=150, share=0.75, seed=0):
    """Nodes on a square; near ones are linked by a random type each: paths tell which pairs, factors hardly."""
    rng = np.random.default_rng(seed)
    place = rng.random((num_nodes, 2))
    distance = np.linalg.norm(place[:, None] - place[None], axis=2)
    one, other = np.nonzero(np.triu(distance < 0.17, 1))
    kept = rng.random(len(one)) < share
    one, other = one[kept], other[kept]
    turned = rng.random(len(one)) < 0.5
    one, other = np.where(turned, other, one), np.where(turned, one, other)
    return Triples.of([(f"n{u:03}", f"t{rng.integers(2)}", f"n{v:03}") for u, v in zip(one, other, strict=True)])


@pytest.fixture(scope="module")
def model():
    return RelationPredictor(epochs=12).fit(near())


def test_the_network_helps_where_pairs_tell_links(model):
    assert model.network_note_ == ""
    assert model.network_ is not None
    assert model.weights_[-1] > 0
    assert model.metrics_["mrr"] > 1.3 * model.factor_metrics_["mrr"]


def test_no_pair_is_trained_on_that_graph_or_features_know():
    triples = near()
    seen, hidden = hide_pairs(triples, seed=0)
    pairs = {frozenset(pair) for pair in hidden.tolist()}
    assert len(pairs) == len(hidden) == round(0.4 * len({frozenset(row) for row in triples.rows[:, [0, 2]].tolist()}))
    left = [row for row in triples.rows.tolist() if frozenset((row[0], row[2])) not in pairs]
    assert seen.rows.tolist() == left
    expected = np.zeros((triples.num_nodes, 4))
    for u, kind, v in left:
        expected[u, kind] += 1
        expected[v, 2 + kind] += 1
    expected = np.sqrt(expected / np.maximum(expected.sum(1, keepdims=True), 1))
    np.testing.assert_allclose(type_shares(seen).numpy(), expected, atol=1e-6)


def test_hidden_links_are_in_nothing_that_is_measured(monkeypatch):
    """The network is fitted to the training part, and its weight chosen on scores from that part; then it reads all."""
    triples, read, fitted = near(), [], []
    zeros = torch.zeros(triples.num_nodes, triples.num_nodes)
    monkeypatch.setattr(PairNetwork, "scores", lambda self, known: read.append(known) or zeros)
    monkeypatch.setattr(
        _pair_network, "fit_pair_network", lambda known, seed: fitted.append(known) or PairNetwork(None, None)
    )
    monkeypatch.setattr(_predictor, "fit_weights", lambda scorer, *_, seed: np.ones(scorer.num_channels))
    valid, test = np.arange(60), np.arange(60, 120)
    RelationPredictor(epochs=1).fit(triples, valid=valid, test=test)
    train = triples.rows[120:].tolist()
    assert [known.rows.tolist() for known in (*fitted, *read)] == [train, train, triples.rows.tolist()]


def test_a_score_does_not_read_the_link_of_its_pair():
    triples = near(90)
    network = fit_pair_network(triples, seed=0)
    scores = network.scores(triples)
    assert torch.equal(scores, fit_pair_network(triples, seed=0).scores(triples))
    assert torch.equal(scores, scores.T)
    assert float(scores.diagonal().abs().max()) == 0
    off = scores[~torch.eye(len(scores), dtype=torch.bool)].double()
    assert (float(off.mean()), float(off.std())) == (pytest.approx(0, abs=1e-4), pytest.approx(1, abs=1e-3))
    # only the shares of types know it, and no pair was trained on whose links they knew
    u, _, v = triples.rows[3].tolist()
    fewer = triples.select(np.arange(len(triples)) != 3)
    features = type_shares(triples)
    one, other = (network.raw_scores(part, features) for part in (triples, fewer))
    assert one[u, v] == other[u, v]
    assert not torch.equal(one, other)


def test_a_network_that_tells_nothing_is_left_out():
    """Scores of pairs that are noise gain nothing, whatever the noise; those that know the answers are used."""
    triples = near(80)
    order = np.random.default_rng(1).permutation(len(triples))
    asked, known = triples.rows[order[:60]], triples.select(np.sort(order[60:]))
    scorer = TypedScorer(train_factors(known.rows, 80, 2, 6, seed=0), known)
    plain = fit_weights(scorer, asked, triples.rows, seed=0)
    for seed in range(3):
        noise = torch.randn(80, 80, generator=torch.Generator().manual_seed(seed))
        found = fit_weights(replace(scorer, network=noise + noise.T), asked, triples.rows, seed=0)
        assert (found is None) if plain is None else np.array_equal(found, np.append(plain, 0))
    truth = torch.zeros(80, 80)
    truth[asked[:, 0], asked[:, 2]] = truth[asked[:, 2], asked[:, 0]] = 1
    assert fit_weights(replace(scorer, network=truth), asked, triples.rows, seed=0)[-1] > 1


def test_a_fit_without_gain_has_no_network():
    """Links between random nodes: nothing tells them, so nothing is stored, and the reason is said."""
    rng = np.random.default_rng(0)
    rows = np.unique(rng.integers(0, [100, 2, 100], (700, 3)), axis=0)
    model = RelationPredictor(epochs=4).fit(Triples.of([(f"n{a}", f"t{r}", f"n{b}") for a, r, b in rows if a != b]))
    assert model.network_ is None
    assert model.network_note_ == "validation links are not ranked better with it"
    assert model.weights_ is None or len(model.weights_) == 4


def test_it_is_said_where_there_is_none():
    few = Triples.of([("a", "x", "b"), ("b", "x", "c"), ("c", "x", "c")])
    assert why_no_network(few) == "2 linked pairs are fewer than 200"
    dense = [(f"n{u:02}", "x", f"n{v:02}") for u in range(40) for v in range(u)]
    assert why_no_network(Triples.of(dense)) == "100 % of all pairs are linked"
    many = MOST_NODES + 1
    ring = Triples.of([(f"n{u:03}", "x", f"n{(u + 1) % many:03}") for u in range(many)])
    assert why_no_network(ring) == f"it scores all pairs, and {many} nodes are more than {MOST_NODES}"


def test_a_run_keeps_it_and_explains_by_it(model, tmp_path):
    run = tmp_path / "run"
    model.save(run)
    again = RelationPredictor.load(run)
    names, types = model.triples_.names, model.triples_.types
    asked = [(names[u], types[u % 2], names[v]) for u in range(0, 60, 3) for v in range(61, 140, 5)]
    assert again.score(asked) == model.score(asked)
    assert again.recommend(top=20) == model.recommend(top=20)
    u, kind, v = asked[0]
    found, at = again.explain(u, v, kind), again.triples_.find([asked[0]])[0]
    assert found.network == float(model.network_[at[0], at[2]])
    assert f"{found.network_weight * found.network:+.2f} to the log-odds" in found.to_text()
    # two targets of one question, whose other channels are equal: the scores differ by what the network adds
    without = replace(model.scorer_, weights=np.append(model.weights_[:-1], 0))
    both = [scorer.targets(at[:1], at[1:2])[0] for scorer in (model.scorer_, without)]
    np.testing.assert_allclose(both[0] - both[1], model.weights_[-1] * model.network_[at[0]].double(), atol=1e-9)
    # links that are new: known pairs keep their scores, a new node has the mean
    newer = again.with_links(Triples.of([("a new one", types[0], names[0]), (names[1], types[1], "zz")]))
    order = [newer.triples_.names.index(name) for name in names]
    assert torch.equal(newer.network_[order][:, order], model.network_)
    assert float(newer.network_[newer.triples_.names.index("zz")].abs().max()) == 0
    assert np.isfinite(newer.score([("zz", types[0], names[2])])[0].score)
    shown = CliRunner().invoke(app, ["explain", str(run), u, v, "--relation", kind])
    assert "our network's score of the pair" in shown.output
    stored = load_file(run / "relations.safetensors")
    for wrong in (stored["network"][:-1], stored["network"] * float("nan"), stored["network"].triu(), None):
        given = {name: x for name, x in stored.items() if name != "network"}
        given |= {} if wrong is None else {"network": wrong.contiguous()}
        save_file(given, run / "relations.safetensors")
        with pytest.raises(RunFolderError, match="cannot be right"):
            RelationPredictor.load(run)
