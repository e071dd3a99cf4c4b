"""Methods behind one interface: fitted on a split, asked for scores."""

import pytest
import torch

from llwlc import baselines, datasets, heuristics, metrics, splits
from llwlc.baselines.recipes import recipe
from llwlc.errors import InputError


@pytest.fixture(scope="module")
def split():
    return splits.make(datasets.load("cora"), protocol="ncn", seed=0)


@pytest.mark.parametrize("name", [*heuristics.HEURISTICS, *heuristics.WALKS])
def test_an_untrained_score_is_its_heuristic_on_what_the_test_stage_knows(split, name):
    pairs = torch.cat([split.test_pos[:50], split.test_neg[:50]])
    known = heuristics.HEURISTICS if name in heuristics.HEURISTICS else heuristics.WALKS
    score = baselines.get(name).fit(datasets.load("cora"), split, seed=3).score(pairs)
    assert torch.equal(score, known[name].load()(split.test_graph, pairs))
    other = baselines.get(name).fit(datasets.load("cora"), split).score(pairs, split.train_graph)
    assert torch.equal(other, known[name].load()(split.train_graph, pairs))
    assert torch.equal(score, baselines.get(name).fit(datasets.load("cora"), split).score(pairs.flip(1)))


def test_every_method_has_a_name_and_a_line_about_it():
    untrained = {record.name for record in baselines.METHODS.records() if not record.trained}
    assert untrained == {*heuristics.HEURISTICS, *heuristics.WALKS}
    assert set(baselines.names()) - untrained == {
        "mlp",
        "gcn",
        "sage",
        "gae",
        "seal",
        "lanczosnet",
        "buddy",
        "ncn",
        "ncnc",
    }
    assert all(record.title for record in baselines.METHODS.records())
    assert all(record.about for record in baselines.METHODS.records())


def test_an_unknown_method_is_named_with_the_nearest_one():
    with pytest.raises(InputError, match=r"no method is called 'adamic'; there are .* Did you mean adamic-adar"):
        baselines.get("adamic")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dropout": 5}, "dropout is from 0 to below 1, got 5"),
        ({"hidden": "abc"}, "hidden is a whole number, got 'abc'"),
        ({"hidden": 0}, "hidden is above 0, got 0"),
        ({"epochs": 0}, "epochs is above 0"),
        ({"negatives": 0}, "negatives is above 0"),
        ({"learning_rate": 0}, "learning_rate is above 0"),
        ({"learning_rate": float("nan")}, "learning_rate is above 0"),
        ({"learning_rate": "fast"}, "learning_rate is a number"),
        ({"select": "foo"}, "select is 'foo', and must be auc, mrr or hits@K"),
        ({"optimizer": "foo"}, "optimizer is 'foo', and must be adam or adamw"),
        ({"activation": "foo"}, "activation is 'foo', and must be relu or"),
        ({"mask": 1}, "mask is true or false"),
        ({"epoch": 3}, "no option of a method is called 'epoch'"),
    ],
)  # fmt: skip
def test_options_outside_their_range_are_refused_in_a_sentence(options, words):
    with pytest.raises(InputError, match=words):
        recipe("gae").changed(**options)


def test_an_untrained_score_has_the_metrics_of_its_test_links(split):
    fitted = baselines.get("adamic-adar").fit(datasets.load("cora"), split)
    assert fitted.metrics == metrics.evaluate(fitted.score(split.test_pos), fitted.score(split.test_neg))
    assert 0.5 < fitted.metrics["auc"] < 1
