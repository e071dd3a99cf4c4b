"""Runs of baselines and heuristics: fitted, written, read, scored, ranked and measured as ours are."""

import json
import shutil

import pytest
import torch
from typer.testing import CliRunner

from llwlc import models, splits
from llwlc._cli.app import app
from llwlc._fitting.fit import fit_model
from llwlc._predictor import LinkPredictor
from llwlc.errors import InputError
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources
from people import people, relabelled

PAIRS = torch.tensor([[a, b] for a in range(20) for b in range(40, 90, 3)])
SLOW = ("ncnc", "seal", "lanczosnet", "neognn", "nbfnet", "surelplus", "ocn")
MODELS = [
    *("stack", "mlp", "gcn", "gae", "buddy", "ncn", "adamic-adar", "katz", "cosine"),
    *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW),
]


def options(method: str) -> dict:
    return {"epochs": 2} if models.MODELS[method].trained and method != "stack" else {}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A finished run of each method, its folder and the predictor that wrote it, fitted when it is first asked for."""
    made = {}

    def run(method: str):
        if method not in made:
            folder = tmp_path_factory.mktemp("runs") / method
            model = LinkPredictor(model=method, device="cpu", cache=None, minutes=None, **options(method))
            made[method] = folder, model.fit(people(), out=folder)
        return made[method]

    return run


@pytest.mark.parametrize("method", MODELS)
def test_a_run_that_is_read_has_the_scores_and_the_list_of_the_one_that_was_written(runs, method):
    folder, model = runs(method)
    again = LinkPredictor.load(folder, device="cpu")
    torch.testing.assert_close(again.score(PAIRS).probability, model.score(PAIRS).probability, rtol=0, atol=1e-6)
    ours, theirs = model.recommend(top=20), again.recommend(top=20)
    assert [(a.source, a.target) for a in ours] == [(b.source, b.target) for b in theirs]
    assert model.metrics_.ranking is not None
    then, now = model.metrics_.ranking, again.evaluate_ranking()
    assert (now.title, now.found, now.hidden) == (models.MODELS[method].title, then.found, then.hidden)
    assert now.methods[now.title].average_precision.value == pytest.approx(
        then.methods[then.title].average_precision.value, abs=0.01
    )


@pytest.mark.parametrize("method", ["gcn", "adamic-adar", "stack"])
def test_scores_are_those_of_the_method_itself_on_all_links(runs, method):
    _, model = runs(method)
    graph = people()
    split = splits.make(graph, protocol="random", seed=0)
    fitted = fit_model(models.make(method, **options(method)), graph, split, rank_candidates=False)
    score = fitted.calibration.log_odds(fitted.model.score(graph, PAIRS))
    torch.testing.assert_close(model.score(PAIRS).score, score)


def test_the_run_says_what_it_is(runs):
    folder, model = runs("gcn")
    assert "GCN" in (folder / "MODEL_CARD.md").read_text().splitlines()[2]
    assert next(iter(json.loads((folder / "metrics.json").read_text())["ranking"]["methods"])) == "GCN"
    with pytest.raises(InputError, match="a run of GCN"):
        model.explain("Person 01", "Person 02")


def test_the_same_fit_is_read_and_another_one_refused(runs):
    folder, _ = runs("gcn")
    again = LinkPredictor(model="gcn", device="cpu", cache=None, minutes=None, epochs=2).fit(people(), out=folder)
    assert torch.equal(again.score(PAIRS).score, LinkPredictor.load(folder, device="cpu").score(PAIRS).score)
    with pytest.raises(InputError, match="another run"):
        LinkPredictor(model="sage", device="cpu", cache=None, minutes=None, epochs=2).fit(people(), out=folder)
    with pytest.raises(InputError, match="another run"):
        LinkPredictor(model="gcn", device="cpu", cache=None, minutes=None, epochs=3).fit(people(), out=folder)


def test_an_interrupted_fit_goes_on_to_the_same_weights(tmp_path, runs):
    class Stopped(Exception):
        pass

    def stop(record):
        raise Stopped

    def model():
        return LinkPredictor(model="gcn", device="cpu", cache=None, minutes=None, epochs=2)

    with pytest.raises(Stopped):
        model().fit(people(), out=tmp_path / "run", on_epoch=stop)
    after = model().fit(people(), out=tmp_path / "run")
    whole = runs("gcn")[1]
    assert all(
        torch.equal(a, b) for a, b in zip(after.model_.state().values(), whole.model_.state().values(), strict=True)
    )


def test_evaluate_trains_the_same_recipe_on_another_split(runs):
    _, model = runs("gcn")
    found = model.evaluate("ncn", seed=3)
    assert found.epochs == 2
    assert found.ranking is None


@pytest.mark.parametrize("method", ["gcn", "adamic-adar"])
def test_an_updated_graph_is_scored_by_names_whatever_the_order_of_its_nodes(runs, method):
    _, model = runs(method)
    graph = people()
    order = torch.randperm(90, generator=torch.Generator().manual_seed(3))
    moved = relabelled(graph, order)
    names = [(graph.name(int(a)), graph.name(int(b))) for a, b in PAIRS[:50]]
    torch.testing.assert_close(model.score(names, graph=moved).score, model.score(names).score)
    torch.testing.assert_close(model.score(order[PAIRS[:50]], graph=moved).score, model.score(names).score)


def test_a_node_that_a_baseline_has_not_seen_is_named(runs):
    _, model = runs("gcn")
    graph = people()
    stranger = type(graph).from_edges(graph.edges, num_nodes=90, names=["Eve", *[graph.name(i) for i in range(1, 90)]])
    with pytest.raises(InputError, match="GCN knows only the nodes it was fitted on, and 'Eve'"):
        model.score([("Eve", "Person 01")], graph=stranger)


def test_model_and_preset_together_are_refused(tmp_path):
    with pytest.raises(InputError, match="give one of them"):
        LinkPredictor("paper", model="gae").fit(people())
    ran = CliRunner().invoke(app, ["fit", "cora", "--model", "gae", "--preset", "paper", "--out", str(tmp_path / "r")])
    assert ran.exit_code == 2
    assert not (tmp_path / "r").exists()


def test_an_unknown_model_or_option_is_refused_before_any_work():
    with pytest.raises(InputError, match="gaee"):
        LinkPredictor(model="gaee").fit(people())
    with pytest.raises(InputError, match="no option of a method is called 'steeps'"):
        LinkPredictor(model="lanczosnet", steeps=3).fit(people())
    with pytest.raises(InputError, match="katz takes no option 'epochs'"):
        LinkPredictor(model="katz", epochs=3).fit(people())


def test_a_score_by_features_needs_features():
    with pytest.raises(InputError, match="compares features"):
        LinkPredictor(model="cosine", device="cpu").fit(people(features=False))


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("gae", lambda c: c.update(model="os.system"), "no model is called"),
        ("gae", lambda c: c["options"].update(network="os.system"), "no model is called"),
        ("gae", lambda c: c["options"].update(network="katz"), "the model's network"),
        ("gae", lambda c: c["options"]["recipe"].update(hidden=10**9), "hidden is '1000000000'"),
        ("gae", lambda c: c["options"]["recipe"].update(hops=10**9), "hops is '1000000000'"),
        ("gae", lambda c: c["options"]["recipe"].update(activation="system"), "activation is 'system'"),
        ("gae", lambda c: c["options"]["recipe"].update(hidden=8), "not"),
        ("gae", lambda c: c["options"]["shape"].update(num_nodes=10**30), "num_nodes"),
        ("gae", lambda c: c["options"].update(seed=-1), "seed is '-1'"),
        ("gae", lambda c: c.update(options=None), "names no model with its options"),
        ("gae", lambda c: c.update(model=[1]), "names no model with its options"),
        ("katz", lambda c: c.pop("seed"), "seed"),
        ("katz", lambda c: c.update(seed={"a": 1}), "the seed is"),
        ("katz", lambda c: c.update(seed=-1), "the seed is '-1'"),
        ("katz", lambda c: c.update(options={"name": "os.system"}), "no heuristic"),
    ],
)
def test_an_altered_run_is_refused_in_words(runs, tmp_path, name, change, said):
    from llwlc._runs.format import write_manifest

    folder = tmp_path / "run"
    shutil.copytree(runs(name)[0], folder)
    config = json.loads((folder / "config.json").read_text())
    change(config)
    (folder / "config.json").write_text(json.dumps(config))
    write_manifest(folder)
    with pytest.raises(InputError, match=said):
        LinkPredictor.load(folder)


@pytest.mark.parametrize(("name", "title", "change"), [("gcn", "GCN", "epochs=2"), ("stack", "stack", "negatives=5")])
def test_from_the_command_line(tmp_path, name, title, change):
    rows = "\n".join(f"{a},{b}" for a, b in people().edges.tolist())
    (tmp_path / "edges.csv").write_text("source,target\n" + rows + "\n")
    (tmp_path / "pairs.csv").write_text("source,target\n1,2\n3,80\n")
    run, call = str(tmp_path / "run"), CliRunner().invoke
    ran = call(app, ["fit", str(tmp_path / "edges.csv"), "--model", name, "--set", change, "--out", run])
    assert ran.exit_code == 0, ran.output
    assert title in ran.output
    for command in (
        ["score", run, str(tmp_path / "pairs.csv")],
        ["recommend", run],
        ["evaluate", run],
        ["evaluate", run, "--ranking"],
    ):
        ran = call(app, command)
        assert ran.exit_code == 0, ran.output
    ran = call(app, ["evaluate", run, "--protocol", "ncn", "--seeds", "2"])
    assert ran.exit_code == 0, ran.output
    assert "HR@20" in ran.output


def test_a_table_of_hits_states_its_false_positive_rates():
    from llwlc import datasets
    from llwlc._runs.model_card import result_notes

    graph = datasets.load("cora")
    split = splits.make(graph, protocol="paper", seed=0)
    fitted = fit_model(models.make("common-neighbors"), graph, split, rank_candidates=False)
    said = result_notes(fitted, split)
    assert "527 negatives in one pool" in said
    assert "false-positive rate of HR@50 at 9.49 %, HR@100 at 19 %" in said  # 50 and 100 of 527


def test_only_heuristics_that_walk_from_each_node_are_expected_to_take_long():
    split = splits.make(people(), protocol="random", seed=0)
    known = {"features": NodeFeatures(), "resources": Resources(torch.device("cpu"))}
    assert models.make("adamic-adar").cost(split, **known) == 0
    assert models.make("pagerank").cost(split, **known) > 0
