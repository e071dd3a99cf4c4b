"""`tune` judges settings by links hidden from training, and by nothing that depends on the test links."""

import json
import math
import shlex
from dataclasses import replace
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pyarrow.csv
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

import llwlc
from llwlc import splits
from llwlc._cli.app import app
from llwlc._tuning.search import TimeTooShortError, choose_metric
from llwlc._tuning.space import DEFAULT_MODELS, SPACE, Setting, draw_setting
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.models import HeuristicModel
from llwlc.splits._folds import make_folds
from llwlc.splits._linksplit import PARTS, STAGES
from people import QUICK, people


def graph_of(seed: int, *, time: bool = False) -> Graph:
    edges = torch.tensor(list(nx.gnm_random_graph(40, 150, seed=seed).edges))
    when = torch.randperm(150, generator=torch.Generator().manual_seed(seed)) if time else None
    return Graph.from_edges(edges, num_nodes=40, time=when)


def unordered(pairs: torch.Tensor) -> set[tuple[int, int]]:
    return set(map(tuple, pairs.sort(1).values.tolist()))


def hidden_from(split, graph):
    """The split and the graph as somebody has them to whom nothing is known of the test links but their number."""
    links = torch.cat([split.train_pos, split.valid_pos])
    blank = torch.zeros_like(split.test_pos)
    return replace(split, test_pos=blank, test_neg=torch.zeros_like(split.test_neg)), graph.with_edges(links)


@settings(deadline=None, max_examples=15)
@given(st.sampled_from(["random", "seal", "ncn", "buddy", "heart", "temporal"]), st.integers(0, 30), st.integers(1, 4))
def test_folds_hide_other_links_each_time_and_depend_on_no_test_link(protocol, seed, count):
    graph = graph_of(seed, time=protocol == "temporal")
    more = {"num_hard": 20} if protocol == "heart" else {}
    split = splits.make(graph, protocol=protocol, seed=seed, **more)
    known, folds = make_folds(split, graph, count)
    test = unordered(split.test_pos)
    assert unordered(known.edges) == unordered(torch.cat([split.train_pos, split.valid_pos]))
    hidden = [unordered(fold.test_pos) for fold in folds]
    assert all(hidden)
    assert len(set().union(*hidden)) == sum(map(len, hidden))
    for fold in folds:
        # in time, later links are as unknown to a fold as missing ones, and may be drawn as non-links to train on
        assert splits.audit(fold, None if protocol == "temporal" else known).ok
        assert not unordered(torch.cat([fold.train_pos, fold.valid_pos, fold.test_pos])) & test
        assert all(not unordered(getattr(fold, stage).edges) & test for stage in STAGES)
    blind = make_folds(*hidden_from(split, graph), count)[1]
    for fold, other in zip(folds, blind, strict=True):
        assert all(torch.equal(getattr(fold, name), getattr(other, name)) for name in PARTS)
        assert all(getattr(fold, name).digest == getattr(other, name).digest for name in STAGES)


def test_folds_of_a_split_in_time_hide_the_latest_links():
    graph = graph_of(3, time=True)
    split = splits.make(graph, protocol="temporal")
    when = {
        tuple(pair): t for pair, t in zip(graph.edges.tolist(), graph.time[edges_once(graph)].tolist(), strict=True)
    }
    last = None
    for fold in make_folds(split, graph, 3)[1]:
        times = [[when[tuple(p)] for p in part.tolist()] for part in (fold.train_pos, fold.valid_pos, fold.test_pos)]
        assert max(times[0]) < min(times[1]) <= max(times[1]) < min(times[2])
        assert last is None or max(times[2]) < last
        last = min(times[2])


def edges_once(graph: Graph) -> torch.Tensor:
    row, col = graph.edge_index
    return row < col


def test_known_non_links_are_in_the_folds_unless_the_fit_is_measured_by_them():
    graph = graph_of(1)
    known = splits.fresh_negatives(splits.make(graph), epoch=9)[:60]
    split = splits.with_known_negatives(splits.make(graph, protocol="random"), graph, known)
    measured = unordered(split.test_neg)
    for fold in make_folds(split, graph, 2)[1]:
        assert unordered(fold.known_neg) == unordered(known) - measured


def test_too_few_links_are_refused():
    ring = Graph.from_edges(torch.stack([torch.arange(20), torch.arange(1, 21) % 20], 1))
    with pytest.raises(InputError, match="too few for 20 folds"):
        make_folds(splits.make(ring, protocol="seal"), ring, 20)


def test_the_score_of_a_setting_is_that_of_its_model_on_the_hidden_links():
    graph = people(features=False)
    found = llwlc.LinkPredictor(model="adamic-adar", seed=4).tune(
        graph, models=["adamic-adar"], minutes=None, trials=5, metric="auc"
    )
    assert len(found) == 1  # there is nothing to draw
    _, folds = make_folds(splits.make(graph, protocol="random", seed=4), graph, 3)
    for fold, score in zip(folds, found[0].scores, strict=True):
        pairs = torch.cat([fold.test_pos, fold.test_neg])
        label = [1] * len(fold.test_pos) + [0] * len(fold.test_neg)
        oracle = dict(nx_adamic_adar(fold.test_graph, pairs))
        assert score == pytest.approx(roc_auc_score(label, [oracle[tuple(p)] for p in pairs.tolist()]), abs=1e-9)
    assert found.links == len(folds[0].test_pos)


def nx_adamic_adar(graph, pairs):
    whole = nx.Graph(list(map(tuple, graph.edges.tolist())))
    whole.add_nodes_from(range(graph.num_nodes))
    for u, v in pairs.tolist():
        yield (u, v), sum(1 / math.log(whole.degree[w]) for w in nx.common_neighbors(whole, u, v))


def test_a_search_by_trials_is_the_same_twice_and_sees_no_test_link():
    graph, split = people(), splits.make(people(), protocol="random", seed=1)
    predictor = llwlc.LinkPredictor("paper", cache=None, minutes=None, seed=1, **(QUICK | {"steps": 6}))
    options = {"models": ["llwlc", "katz"], "minutes": None, "trials": 3, "folds": 1}
    found = predictor.tune(graph, split=split, **options)
    blind, rest = hidden_from(split, graph)
    again = predictor.tune(rest, split=blind, **options)
    assert [(trial.setting, trial.scores) for trial in found] == [(trial.setting, trial.scores) for trial in again]
    assert [trial.mean for trial in found] == sorted((trial.mean for trial in found), reverse=True)
    settings_ = [trial.setting for trial in found]
    assert {setting.model for setting in settings_} == {"llwlc", "katz"}
    ours = [setting for setting in settings_ if setting.model == "llwlc"]
    assert len(ours) == 2
    assert all(setting.preset == "paper" and setting.plain_options["steps"] == 6 for setting in ours)
    assert len({str(setting) for setting in ours}) == 2
    assert not hasattr(predictor, "run_")
    fitted = llwlc.LinkPredictor(**found.parameters, cache=None, minutes=None).fit(graph)
    assert fitted.model_.name == found.best.model


def test_a_search_ends_with_its_time_and_says_what_is_missing():
    found = llwlc.LinkPredictor(model="adamic-adar").tune(people(), models=["adamic-adar", "katz"], minutes=1e-9)
    assert all(len(trial.scores) < 3 for trial in found)
    with pytest.raises(InputError, match=r"no setting was fitted on all 3 folds.*increase minutes"):
        _ = found.best


@pytest.mark.parametrize(("minutes", "own", "enough"), [(4.0, 10.0, True), (0.7, 10.0, False), (4.0, 0.3, False)])
def test_a_model_that_needs_more_than_its_share_is_given_it_where_the_time_allows(monkeypatch, minutes, own, enough):
    """A fit of half a minute, in a search whose shares are a twelfth of the time."""
    asked = []

    def fit(setting, known, fold, options, node_types, given):
        asked.append(given)
        if given < 0.5:
            raise TimeTooShortError("too short", minutes=0.5)
        return SimpleNamespace(test={"auc": 0.75})

    monkeypatch.setattr("llwlc._tuning.search._fit", fit)
    predictor = llwlc.LinkPredictor(model="katz", minutes=own)
    found = predictor.tune(people(), models=["katz"], minutes=minutes, metric="auc", trials=1)
    assert asked[0] == pytest.approx(min(minutes / 12, own))
    if enough:
        assert found[0].scores == (0.75,) * 3
        assert all(0.5 <= given <= own for given in asked[1:])
    else:
        assert len(asked) == 1
        assert found[0].problem == "a fit takes 0.5 minutes at least: increase the time budget"


def test_a_setting_that_fails_stands_last_with_its_reason():
    @llwlc.models.register("picky")
    class Picky(HeuristicModel):
        def __init__(self, name="common-neighbors"):
            super().__init__(name)

        def fit(self, split, features, **how):
            raise InputError("this graph is not to my taste")

    try:
        found = llwlc.LinkPredictor(model="picky").tune(people(), models=["picky", "katz"], minutes=None, trials=2)
    finally:
        llwlc.models.MODELS.remove("picky")
    assert [trial.setting.model for trial in found] == ["katz", "picky"]
    assert found[1].problem == "this graph is not to my taste"
    assert found.to_arrow()["mean"].to_pylist()[1] is None
    assert "to my taste" in found._repr_html_()


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"minutes": None}, "give minutes, trials or both"),
        ({"folds": 0}, "folds"),
        ({"metric": "accuracy"}, "metric must be one of auc, ap"),
        ({"models": ["no-such"]}, "no-such"),
        ({"models": ["cosine"]}, "compares features"),
        ({"trials": 0}, "trials"),
    ],
)
def test_wrong_usage_is_refused_before_any_work(options, wanted):
    with pytest.raises(InputError, match=wanted):
        llwlc.LinkPredictor(model="katz").tune(people(features=False), **options)


def test_hits_with_few_non_links_give_way_to_auc():
    fold = make_folds(splits.make(graph_of(0), protocol="ncn"), graph_of(0), 1)[1][0]
    assert choose_metric(None, fold) == "auc"
    assert choose_metric("hits@10", fold) == "hits@10"
    assert choose_metric(None, replace(fold, test_neg=torch.zeros(1000, 2, dtype=torch.long))) == "hits@100"
    assert choose_metric(None, replace(fold, metric="mrr")) == "mrr"


@pytest.mark.parametrize("model", SPACE)
def test_every_option_that_is_searched_is_one_of_its_model(model):
    rng = np.random.default_rng(0)
    for _ in range(20):
        setting = draw_setting(Setting("katz"), [model], rng)
        words = setting.words
        assert setting.make_model().name == model
        given = dict(word.split("=") for word in words if "=" in word)
        assert set(given) == set(SPACE[model])
    assert set(SPACE) <= set(llwlc.models.names())
    assert set(DEFAULT_MODELS) <= set(llwlc.models.names())


def test_the_command_writes_a_table_and_says_the_command_of_the_best(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people(features=False).to_csv("friends.csv")
    words = ["tune", "friends.csv", "--model", "katz", "--model", "adamic-adar", "--folds", "2", "--trials", "2"]
    done = CliRunner().invoke(app, [*words, "--source", "source", "--seed", "3", "-o", "tried.csv"])
    assert done.exit_code == 0, done.output
    table = pyarrow.csv.read_csv("tried.csv")
    assert table["rank"].to_pylist() == [1, 2]
    assert set(table["model"].to_pylist()) == {"katz", "adamic-adar"}
    assert json.loads(table["options"][0].as_py()) == {}
    command = shlex.split(done.output.partition("Best: ")[2].splitlines()[0])
    best = table["model"][0].as_py()
    assert command == shlex.split(
        f"llwlc fit friends.csv --source source --model {best} --protocol random --seed 3 --minutes 10 --out run"
    )
    assert CliRunner().invoke(app, command[1:]).exit_code == 0
    assert llwlc.LinkPredictor.load("run").model_.name == best
    lines = CliRunner().invoke(app, [*words, "--format", "jsonl"])
    assert [json.loads(line)["rank"] for line in lines.stdout.splitlines() if line.startswith("{")] == [1, 2]
