"""Models by name: heuristics as models, options of recipes."""

import pytest
import torch

from llwlc import datasets, heuristics, metrics, models, splits
from llwlc._fitting.fit import fit_model
from llwlc._predictor import LinkPredictor
from llwlc.errors import InputError
from llwlc.models._recipes import recipe
from people import people


@pytest.fixture(scope="module")
def split():
    return splits.make(datasets.load("cora"), protocol="ncn", seed=0)


ONE_SIDED = [record.name for record in heuristics.HEURISTICS.records() if not record.sides]


@pytest.mark.parametrize("name", [*ONE_SIDED, *heuristics.WALK_HEURISTICS])
def test_a_heuristic_as_a_model_is_the_heuristic_on_the_graph_that_is_given(split, name):
    pairs = torch.cat([split.test_pos[:50], split.test_neg[:50]])
    known = heuristics.HEURISTICS if name in heuristics.HEURISTICS else heuristics.WALK_HEURISTICS
    model = models.make(name)
    for graph in (split.test_graph, split.train_graph):
        assert torch.equal(model.score(graph, pairs), known[name].load()(graph, pairs).double())
        assert torch.equal(model.score(graph, pairs), model.score(graph, pairs.flip(1)))


def test_every_model_has_a_name_and_a_line_about_it():
    untrained = {record.name for record in models.MODELS.records() if not record.trained}
    assert untrained == {*heuristics.HEURISTICS, *heuristics.WALK_HEURISTICS}
    networks = {"mlp", "gcn", "sage", "gae", "seal", "lanczosnet", "buddy", "ncn", "ncnc", "ocn"}
    networks |= {"neognn", "nbfnet", "surelplus"}
    assert set(models.names()) - untrained == {"llwlc", "blend", "auto", "global", "stack", *networks}
    assert all(record.title for record in models.MODELS.records())
    assert all(record.about for record in models.MODELS.records())
    assert all(models.make(name).name == name for name in models.names())


def test_an_unknown_model_is_named_with_the_nearest_one():
    with pytest.raises(InputError, match=r"no model is called 'adamic'; there are .* Did you mean adamic-adar"):
        models.make("adamic")


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


def test_a_heuristic_has_the_metrics_of_its_test_links(split):
    fitted = fit_model(models.make("adamic-adar"), datasets.load("cora"), split, rank_candidates=False)
    scores = (fitted.model.score(split.test_graph, part) for part in (split.test_pos, split.test_neg))
    assert fitted.metrics.test == metrics.evaluate(*scores)
    assert 0.5 < fitted.metrics["auc"] < 1


class Plain(models.LinkModel):
    """The product of degrees times a learned factor; it has a state, and no `from_state`."""

    title = "degrees, scaled"
    unit = "own"

    def fit(self, split, features, **how):
        self.factor = torch.tensor([2.0])
        return self

    def score(self, graph, pairs, population="random"):
        return graph.degree[pairs].double().prod(1) * self.factor

    def state(self):
        return {"factor": self.factor}


class Readable(Plain):
    """The same, which can be read."""

    @classmethod
    def from_state(cls, config, state, graph, features):
        found = cls()
        found.factor = state["factor"]
        return found


@pytest.fixture
def forgotten():
    """Models that a test registers are gone after it."""
    yield
    for record in models.MODELS.records():
        if not record.builtin:
            models.MODELS.remove(record.name)


def test_a_model_with_a_title_and_a_state_is_kept_and_read(tmp_path, forgotten):
    pairs = torch.tensor([[0, 9], [3, 44]])
    fitted = LinkPredictor(model=Readable(), minutes=None).fit(people(), out=tmp_path / "run")
    assert torch.equal(LinkPredictor.load(tmp_path / "run").score(pairs).score, fitted.score(pairs).score)


def test_a_state_that_nothing_reads_is_refused_by_name(tmp_path, forgotten):
    LinkPredictor(model=Plain(), minutes=None).fit(people(), out=tmp_path / "run")
    with pytest.raises(InputError, match=r"Plain has a state .factor, ….* and no from_state"):
        LinkPredictor.load(tmp_path / "run")


def test_a_subclass_is_not_stored_as_its_parent(tmp_path, forgotten):
    class Turned(models.HeuristicModel):
        def __init__(self, name="adamic-adar"):
            super().__init__(name)

        def score(self, graph, pairs, population="random"):
            return -super().score(graph, pairs, population)

    pairs = torch.tensor([[0, 9], [3, 44]])
    turned = LinkPredictor(model=Turned(), minutes=None).fit(people(), out=tmp_path / "run")
    read = LinkPredictor.load(tmp_path / "run")
    assert torch.equal(read.score(pairs).score, turned.score(pairs).score)
    assert read.run_.info.needs.keys() == {"model Turned"}
    models.MODELS.remove("Turned")
    with pytest.raises(InputError, match="needs the model 'Turned'"):
        LinkPredictor.load(tmp_path / "run")


def test_a_title_that_is_registered_is_the_models(forgotten):
    models.register("plain", title="a plain one")(type("Other", (Plain,), {}))
    assert models.make("plain").title == "a plain one"


def test_a_budget_tells_what_training_is_expected_to_take(capfd, monkeypatch):
    monkeypatch.setattr(models.Baseline, "cost", lambda *a, **k: 7200.0)
    LinkPredictor(model="gae", epochs=1, minutes=3, verbose=True).fit(people())
    assert "GAE: all of training is expected to take 7,200 s; no epoch begins after 3 minutes" in capfd.readouterr().err


def test_a_model_is_shown_with_the_parameters_that_are_not_the_defaults():
    class Walks(models.LinkModel):
        def __init__(self, length=2, *, damping=0.5):
            self.length, self.damping, self.weight = length, damping, None

        def fit(self, split, features, **how):
            self.weight = torch.zeros(2, 3)
            return self

        def score(self, graph, pairs, population="random"):
            return graph.degree[pairs].double().prod(1)

        def state(self):
            return {} if self.weight is None else {"weight": self.weight}

    assert repr(Walks()) == "Walks()"
    assert repr(LinkPredictor(model=Walks(3))) == "LinkPredictor(model=Walks(length=3))"
    assert repr(models.make("llwlc", steps=7)) == "LLwLC(steps=7)"
    assert repr(models.make("gae", epochs=3)) == "Baseline(network='gae', epochs=3)"
    assert (Walks().num_parameters, Walks().fit(None, None).num_parameters) == (0, 6)  # those of the state
