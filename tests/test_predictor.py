"""What LinkPredictor promises: a score belongs to the pair and the graph alone; recommendations are the best missing
links.
"""

import math
from dataclasses import replace
from functools import cache

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.base import clone
from typer.main import get_command

from llwlc._candidates.retrieval import find_candidates
from llwlc._cli.app import app
from llwlc._cli.tables import describe_expected_links
from llwlc._predictor import LinkPredictor
from llwlc.errors import InputError, NotFittedError
from llwlc.graph._graph import Graph
from llwlc.graph._pair_file import resolve_pairs
from llwlc.heuristics._neighbors import common_neighbors
from llwlc.models._base import LinkModel, score_pairs
from llwlc.models._llwlc.scoring import CANDIDATES_OUTPUT, Scorer
from llwlc.models._registry import MODELS
from llwlc.ranking._ranking import retriever_of
from llwlc.ranking._recommendations import compute_distances
from people import QUICK, people, relabelled

PAIRS = [("Person 03", "Person 44"), ("Person 10", "Person 11")]

SAME = {"rtol": 0, "atol": 1e-6}


@cache
def fitted(preset: str, features: bool) -> LinkPredictor:
    return LinkPredictor(preset, cache=None, minutes=None, **QUICK).fit(people(features=features))


@pytest.fixture(params=["anchored", "paper"])
def any_model(request):
    return fitted(request.param, True)


@pytest.fixture
def model():
    return fitted("anchored", True)


@pytest.fixture
def plain():
    """A model without features."""
    return fitted("anchored", False)


def held_out(model) -> torch.Tensor:
    split = model.run_.split
    return torch.cat([split.test_pos, split.test_neg])


def test_a_score_depends_on_the_pair_alone(any_model):
    pairs = held_out(any_model)
    whole = any_model.score(pairs)
    alone = [any_model.score(pair[None]) for pair in pairs]
    torch.testing.assert_close(torch.cat([s.probability for s in alone]), whole.probability, **SAME)
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(0))
    for size in (3, 17):
        parts = [any_model.score(part).probability for part in torch.split(pairs[order], size)]
        torch.testing.assert_close(torch.cat(parts), whole.probability[order], **SAME)
    assert torch.equal(any_model.score(pairs.flip(1)).score, whole.score)


def test_a_score_survives_saving_and_loading(any_model, tmp_path):
    pairs = held_out(any_model)
    any_model.save(tmp_path / "run")
    again = LinkPredictor.load(tmp_path / "run")
    torch.testing.assert_close(again.score(pairs).probability, any_model.score(pairs).probability, **SAME)
    assert again.recommend(top=3) == any_model.recommend(top=3)
    assert again.metrics_ == any_model.metrics_


@pytest.mark.parametrize("which", ["model", "plain"])
@pytest.mark.parametrize("raw", [True, False])
def test_a_score_does_not_depend_on_how_nodes_are_numbered(which, raw, request):
    model = request.getfixturevalue(which)
    pairs, graph = held_out(model), people(features=which == "model")
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(5))
    other = relabelled(graph, order)
    found = model.score(order[pairs], graph=other if raw else replace(other, x=None))
    torch.testing.assert_close(found.probability, model.score(pairs).probability, **SAME)


POLICIES = [
    ("anchored", {"max_nodes_per_hop": 5}),
    ("anchored", {"start": "random"}),
    ("anchored", {"constraints": "neumann", "start": "constraint"}),
    ("anchored", {"constraints": "vertex_deleted"}),
    ("anchored", {"constraints": "neumann_degree+vertex_deleted", "count": 3}),
    ("paper", {}),
    ("paper", {"constraints": "vertex_deleted", "max_nodes_per_hop": 5}),
    ("unconstrained", {}),
]


@pytest.mark.filterwarnings("ignore:.*pairs reach")
@pytest.mark.parametrize(("preset", "options"), POLICIES)
def test_draws_belong_to_names_so_no_numbering_of_nodes_changes_a_score(preset, options):
    """Every preset and constraint policy, starts drawn at random and capped hops too. Weights as they were drawn serve
    as well as trained ones.
    """
    graph = people(features=preset == "anchored")
    model = LinkPredictor(preset, cache=None, minutes=None, **(QUICK | {"epochs": 1, "ranking": False} | options)).fit(
        graph
    )
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(5))
    pairs = held_out(model)
    found = model.score(order[pairs], graph=relabelled(graph, order)).score
    torch.testing.assert_close(found, model.score(pairs).score, rtol=0, atol=1e-4)


@pytest.mark.slow
def test_all_held_out_pairs_of_cora_under_relabelling_and_batching():
    from llwlc import datasets

    graph = datasets.load("cora")
    model = LinkPredictor(cache=None, minutes=None, fraction=0.1, epochs=1, copies=0, negative_pool=1).fit(graph)
    pairs = held_out(model)
    whole = model.score(pairs).probability
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(5))
    other = Graph.from_edges(order[graph.edges], names=[str(i) for i in torch.argsort(order).tolist()])
    torch.testing.assert_close(model.score(order[pairs], graph=other).probability, whole, **SAME)
    parts = [model.score(part).probability for part in torch.split(pairs.flip(0, 1), 100)]
    torch.testing.assert_close(torch.cat(parts).flip(0), whole, **SAME)


def test_pairs_go_by_name_by_number_and_as_an_array(model):
    names = [("Person 03", "Person 44"), ("Person 10", "Person 11")]
    numbers = torch.tensor([[3, 44], [10, 11]])
    wanted = model.score(numbers).score
    assert torch.equal(model.score(names).score, wanted)
    assert torch.equal(model.score(numbers.numpy()).score, wanted)
    assert torch.equal(model.score(numbers.numpy().astype(np.int32)).score, wanted)
    assert model.score(torch.zeros(0, 2, dtype=torch.long)).score.shape == (0,)
    assert model.score([]).probability.shape == (0,)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("Person 03", "Preson 44")], "no node 'Preson 44'. Did you mean 'Person 44'?"),
        ([("Person 03", "Person 03")], "no link to itself"),
        (torch.tensor([[0, 90]]), "outside the graph"),
        ([("Person 03", "Person 44"), ("Person 03",)], r"two nodes, got .*\('Person 03',\)"),
        (["Person 03", "Person 44"], "two nodes, got 'Person 03'"),
        (torch.tensor([0, 1]), "shape"),
        (torch.tensor([[0.0, 1.0]]), "integers"),
    ],
)
def test_bad_pairs_are_refused(model, pairs, message):
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        model.score(pairs)


@pytest.mark.parametrize("prior", [0.5, 0.3, 0.01])
def test_a_prior_moves_probabilities_by_bayes_rule(model, prior):
    pairs = held_out(model)
    even, stated = model.score(pairs), model.score(pairs, prior=prior)
    assert torch.equal(even.score, stated.score)
    odds = even.probability / (1 - even.probability) * prior / (1 - prior)
    torch.testing.assert_close(stated.probability, odds / (1 + odds))


@pytest.mark.parametrize("prior", [0, 1, -0.1, 1.5, float("nan")])
def test_a_prior_outside_0_to_1_is_refused(model, prior):
    with pytest.raises(InputError, match="prior"):
        model.score(torch.tensor([[0, 1]]), prior=prior)
    with pytest.raises(InputError, match="prior"):
        model.recommend(prior=prior)


def test_recommendations_are_the_best_of_all_candidates(model):
    """The whole graph is on the shortlist, so the list is what the network and its calibration say of every
    candidate.
    """
    graph, fitted = model.graph_, model.fitted_
    every = find_candidates(retriever_of(graph, fitted.features, fitted.ranking.candidates)).pairs
    scorer = Scorer(fitted.model.fitted, fitted.features)
    score = torch.cat(list(scorer.pairs(graph, every, fitted.model.basis, CANDIDATES_OUTPUT)))
    found = model.recommend(top=25)
    calibration = fitted.ranking.calibrate(found.missing_per_known).calibration
    log_ratio = calibration.log_ratio(score, common_neighbors(graph, every) > 0)
    assert [r.candidate_score for r in found] == pytest.approx(log_ratio.sort(descending=True).values[:25].tolist())
    share = torch.sigmoid(log_ratio + math.log(found.missing_per_known)).sort(descending=True).values[:25]
    assert [r.probability for r in found] == pytest.approx(share.tolist())
    assert all(r.probability_low <= r.probability <= r.probability_high for r in found)
    assert found.candidates == len(every)
    assert found.expected[1] <= found.expected[0] + 0.2
    assert found.expected[0] == pytest.approx(float(share.mean()))
    pairs = torch.tensor([[graph.names.index(r.source), graph.names.index(r.target)] for r in found])
    assert not graph.has_edges(pairs).any()
    assert len({frozenset(p) for p in pairs.tolist()}) == 25
    assert [r.common_neighbors for r in found] == common_neighbors(graph, pairs).tolist()
    assert all(0 < r.probability < 1 for r in found)


@pytest.mark.parametrize("name", ["llwlc", "adamic-adar", "gae"])
def test_a_pair_has_one_score_everywhere(name):
    """The log-odds among random pairs, in `score`, in a list and in an explanation, whatever the model."""
    options = {"llwlc": QUICK, "gae": {"epochs": 2}}.get(name, {})
    model = LinkPredictor(model=name, minutes=None, cache=None, **options).fit(people())
    found = model.recommend(top=9)
    pairs = [(r.source, r.target) for r in found]
    even = model.score(pairs)
    assert torch.equal(even.score, torch.tensor([r.score for r in found], dtype=torch.float64))
    torch.testing.assert_close(even.probability, torch.sigmoid(even.score))
    raw = score_pairs(model.model_, model.graph_, resolve_pairs(pairs, model.graph_))
    assert torch.equal(even.score.argsort(), raw.argsort())
    if name == "llwlc":
        for population in ("random", "candidates"):
            found = model.explain(*pairs[0], population=population).predictions
            assert [part.score for part in found] == pytest.approx([float(even.score[0])] * 2, abs=1e-5)


def test_a_nodes_list_is_the_whole_list_read_for_that_node(model):
    whole = model.recommend(top=10**6)
    own = model.recommend(node="Person 40", top=10**6)
    wanted = {frozenset((r.source, r.target)): r.probability for r in whole if "Person 40" in (r.source, r.target)}
    assert {frozenset((r.source, r.target)): r.probability for r in own} == pytest.approx(wanted)


def test_more_missing_links_mean_larger_chances_by_more_than_their_number(model):
    """With twenty-one times as many links missing, the odds grow by that, and further since pairs like the missing ones
    are no longer taken for non-links where the curve is fitted.
    """
    few, many = (
        {frozenset((r.source, r.target)): r.probability for r in model.recommend(top=30, missing_share=share)}
        for share in (0.02, 0.3)
    )
    both = few.keys() & many.keys()
    assert len(both) > 20
    odds = [many[pair] / (1 - many[pair]) / (few[pair] / (1 - few[pair])) for pair in both]
    assert min(odds) >= (0.3 / 0.7) / (0.02 / 0.98)


def test_a_list_says_which_share_is_missing_and_whether_that_is_assumed(model):
    few, usual = model.recommend(top=5, missing_share=0.02), model.recommend(top=5)
    assert few.missing_share == pytest.approx(0.02)
    assert (few.share_assumed, usual.share_assumed) == (False, True)
    assert few.condition == "if 2 % of all links are missing"
    assert usual.condition.endswith("% of all links are missing, which is assumed")
    assert "as stated" in describe_expected_links(few)
    assert "an assumption" in describe_expected_links(usual)
    assert (
        "which is assumed"
        in model.explain(usual[0].source, usual[0].target, population="candidates").predictions[0].about
    )


def test_explanation_and_list_give_a_pair_the_same_probability(model):
    for share in (0.02, 0.3):
        link = model.recommend(top=1, missing_share=share)[0]
        told = model.explain(link.source, link.target, population="candidates", missing_share=share).predictions[0]
        assert (told.probability, told.low, told.high) == pytest.approx(
            (link.probability, link.probability_low, link.probability_high), abs=1e-3
        )


def test_a_saved_run_is_calibrated_for_a_share_as_the_fitted_one(model, tmp_path):
    model.save(tmp_path / "run")
    again = LinkPredictor.load(tmp_path / "run", cache=None)
    assert again.fitted_.ranking == model.fitted_.ranking
    assert list(again.recommend(top=5, missing_share=0.2)) == list(model.recommend(top=5, missing_share=0.2))


def test_a_prior_is_the_share_of_candidates_and_a_precision_that_of_the_list(model):
    whole = model.recommend(top=10**6, prior=0.05)
    assert sum(r.probability for r in whole) == pytest.approx(0.05 * len(whole), rel=1e-6)
    wanted = whole[9].probability
    cut = model.recommend(precision=wanted, prior=0.05)
    mean = [sum(r.probability for r in whole[:k]) / k for k in range(1, len(whole) + 1)]
    assert len(cut) == sum(value >= wanted for value in mean)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"missing_share": 0.1, "prior": 0.1}, "give one of them"),
        ({"top": 3, "precision": 0.1}, "give one of them"),
        ({"missing_share": 0}, "above 0 and below 1"),
        ({"missing_share": 1}, "above 0 and below 1"),
        ({"precision": 0}, "precision is above 0"),
        ({"budget": 0}, "budget is a whole number of at least 1"),
        ({"top": "3"}, "top is a whole number"),
        ({"between": ("a", "b")}, "fitted without node types"),
    ],
)
def test_wishes_that_cannot_be_met_are_refused_in_words(model, options, why):
    with pytest.raises(InputError, match=why):
        model.recommend(**options)


def test_kinds_are_kept_and_links_lie_between_them(tmp_path):
    graph = people()
    node_types = ["left" if i % 3 else "right" for i in range(graph.num_nodes)]
    LinkPredictor(cache=None, minutes=None, device="cpu", **QUICK).fit(
        graph, node_types=node_types, out=tmp_path / "run"
    )
    model = LinkPredictor.load(tmp_path / "run", device="cpu")
    label = dict(zip(graph.names, node_types, strict=True))
    found = model.recommend(top=50, between=("left", "right"))
    assert len(found) == 50
    assert all({label[r.source], label[r.target]} == {"left", "right"} for r in found)
    within = model.recommend(top=50, between=("left", "left"))
    assert all(label[r.source] == label[r.target] == "left" for r in within)
    with pytest.raises(InputError, match="no node has the type 'up': choose from left, right"):
        model.recommend(between=("left", "up"))
    with pytest.raises(InputError, match="the graph has 90 nodes"):
        LinkPredictor(cache=None, minutes=None, **QUICK).fit(graph, node_types=["a"])


def test_recommendations_do_not_depend_on_the_chunk(model, monkeypatch):
    wanted = model.recommend(top=15)
    monkeypatch.setattr("llwlc.models._llwlc.scoring.CHUNK", 97)
    assert [(r.source, r.target, r.distance) for r in model.recommend(top=15)] == [
        (r.source, r.target, r.distance) for r in wanted
    ]


def test_recommendations_of_a_node_are_its_own(model):
    found = model.recommend(node="Person 40", top=7)
    assert len(found) == 7
    assert {r.source for r in found} == {"Person 40"}
    assert [r.candidate_score for r in found] == sorted((r.candidate_score for r in found), reverse=True)
    linked = {model.graph_.name(v) for u, v in model.graph_.edge_index.T.tolist() if u == 40}
    assert not linked & {r.target for r in found}
    with pytest.raises(InputError, match=r"Did you mean 'Person 40'\?"):
        model.recommend(node="Persn 40")


def test_recommending_none_or_more_than_there_are(model):
    with pytest.raises(InputError, match="top is a whole number of at least 1"):
        model.recommend(top=0)
    found = model.recommend(top=10**9)
    assert len(found) == found.candidates


def test_distances_are_those_of_networkx():
    graph = nx.disjoint_union(nx.gnp_random_graph(40, 0.05, seed=2), nx.path_graph(9))
    pairs = [(u, v) for u in graph for v in graph if u < v and not graph.has_edge(u, v)]
    away = dict(nx.all_pairs_shortest_path_length(graph))
    wanted = [d if (d := away[u].get(v, 99)) <= 5 else None for u, v in pairs]
    whole = Graph.from_edges(torch.tensor(list(graph.edges)), num_nodes=len(graph))
    assert compute_distances(whole, torch.tensor(pairs)) == wanted
    assert compute_distances(Graph.from_edges(torch.tensor([[0, 1]]), num_nodes=3), torch.tensor([[0, 2]])) == [None]


def test_distances_beside_a_hub():
    resource = pytest.importorskip("resource")
    spokes = torch.stack([torch.zeros(20_000, dtype=torch.int64), torch.arange(1, 20_001)], 1)
    wheel = Graph.from_edges(torch.cat([spokes, torch.tensor([[20_001, 20_000]])]))
    pairs = torch.stack([torch.arange(1, 2_001), torch.arange(2_001, 4_001)], 1)
    assert compute_distances(wheel, torch.tensor([[5, 20_001], [0, 20_001]])) == [3, 2]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert set(compute_distances(wheel, pairs)) == {2}
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**10
    assert grown < 100  # MB; 2,000 neighbourhoods of 20,000 nodes take several hundred


def test_a_list_does_not_depend_on_the_lists_asked_for_before(model, tmp_path):
    def ask(some: LinkPredictor, share: float | None) -> list:
        return [(link.source, link.target, link.probability) for link in some.recommend(top=30, missing_share=share)]

    model.save(tmp_path / "run")
    first, other = (LinkPredictor.load(tmp_path / "run") for _ in range(2))
    lists = [ask(first, share) for share in (None, 0.3, None)]
    assert lists[0] == lists[2] != lists[1]
    assert lists[1] == ask(other, 0.3)


def test_an_updated_graph_is_what_is_scored_on(plain):
    graph = plain.graph_
    near = [w for w in range(60, 70) if w != 3]
    more = torch.cat([graph.edges, torch.tensor([[3, w] for w in near] + [[80, w] for w in near])])
    updated = replace(graph, indptr=(new := Graph.from_edges(more, num_nodes=90)).indptr, indices=new.indices)
    pair = [("Person 03", "Person 80")]
    before, after = plain.score(pair).score, plain.score(pair, graph=updated).score
    assert after != before  # ten friends in common that there were not
    assert torch.equal(plain.score(pair).score, before)


def test_an_updated_graph_has_weights_where_the_run_has_them(plain):
    graph, pair = plain.graph_, [("Person 03", "Person 80")]
    weights = torch.rand(len(graph.edges), generator=torch.Generator().manual_seed(0)) + 0.5
    heavy = Graph.from_edges(graph.edges, num_nodes=90, weight=weights, names=graph.names)
    assert torch.equal(plain.score(pair, graph=heavy).score, plain.score(pair).score)
    other = LinkPredictor(cache=None, minutes=None)
    other.run_ = replace(plain.run_, graph=heavy)
    assert torch.equal(other.score(pair, graph=heavy).score, other.score(pair).score)
    with pytest.raises(InputError, match="have weights and the updated graph's have none"):
        other.score(pair, graph=graph)


def with_new_node(graph: Graph, *, x: bool) -> Graph:
    edges = torch.cat([graph.edges, torch.tensor([[90, 1], [90, 2]])])
    known = people().x
    return Graph.from_edges(edges, x=torch.cat([known, known[1:2]]) if x else None, names=[*graph.names, "Newcomer"])


def test_a_new_node_needs_features_only_where_the_model_has_them(model, plain):
    pair = [("Newcomer", "Person 03")]
    assert plain.score(pair, graph=with_new_node(plain.graph_, x=False)).score.isfinite().all()
    assert model.score(pair, graph=with_new_node(model.graph_, x=True)).score.isfinite().all()
    with pytest.raises(InputError, match="1 nodes without known features, such as 'Newcomer'"):
        model.score(pair, graph=with_new_node(model.graph_, x=False))
    wide = with_new_node(model.graph_, x=True)
    with pytest.raises(InputError, match="4 columns, but the model was fitted on 6"):
        model.score(pair, graph=replace(wide, x=wide.x[:, :4]))


def test_before_fitting_there_is_nothing_to_ask():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        LinkPredictor().score([("a", "b")])
    with pytest.raises(InputError, match="no preset is called 'best'"):
        LinkPredictor("best").fit(people())
    with pytest.raises(InputError, match="no option is called 'epoch'"):
        LinkPredictor(epoch=3).fit(people())
    with pytest.raises(InputError, match="epochs must be a whole number from 1 to 1000000, got 'many'"):
        LinkPredictor(epochs="many").fit(people())


def test_a_complete_circle_has_nothing_to_recommend(plain):
    full = nx.complete_graph(90)
    run = replace(plain.run_, graph=Graph.from_edges(torch.tensor(list(full.edges)), names=plain.graph_.names))
    other = LinkPredictor(cache=None, minutes=None)
    other.run_ = run
    assert len(other.recommend()) == 0


class Degrees(LinkModel):
    """A model of one's own, without a name."""

    unit = "own"

    def fit(self, split, features, **how):
        return self

    def score(self, graph, pairs, population="random"):
        return graph.degree[pairs].double().prod(1).log1p()


def test_parameters_are_stored_as_given_and_fit_changes_none():
    given = {"preset": "paper", "seed": 3, "minutes": None, "cache": None, **QUICK}
    first = LinkPredictor(**given)
    twin = clone(first)
    assert first.get_params() == twin.get_params() == LinkPredictor(**given).get_params()
    assert {name: first.get_params()[name] for name in given} == given
    assert (
        repr(first)
        == "LinkPredictor(preset='paper', seed=3, minutes=None, cache=None, epochs=2, copies=0, negative_pool=1)"
    )
    before, graph = first.get_params(), people()
    scores = [
        first.fit(graph).score(PAIRS).score,
        first.fit(graph).score(PAIRS).score,
        twin.fit(graph).score(PAIRS).score,
    ]
    assert first.get_params() == before
    assert torch.equal(scores[0], scores[1])  # fitting twice equals two objects
    assert torch.equal(scores[0], scores[2])
    other = first.set_params(seed=4, epochs=1).fit(graph)
    assert (other.fitted_.seed, len(other.model_.history)) == (4, 1)


def test_a_finished_run_is_read_by_the_same_call_on_the_same_or_another_predictor(tmp_path):
    first, graph, seen = LinkPredictor(model="gae", epochs=2, minutes=None), people(), []
    first.fit(graph, out=tmp_path / "run")
    for again in (first, clone(first), LinkPredictor.load(tmp_path / "run")):
        again.fit(graph, out=tmp_path / "run", on_epoch=seen.append)
        assert torch.equal(again.score(PAIRS).score, first.score(PAIRS).score)
    assert not seen


def test_a_model_of_ones_own_is_fitted_kept_and_read(tmp_path):
    mine, graph = LinkPredictor(model=Degrees(), minutes=None), people()
    try:
        mine.fit(graph, out=tmp_path / "run")
        assert mine.model_ is not mine.model  # a copy is fitted
        pairs = torch.tensor([[0, 9], [3, 44]])
        raw = graph.degree[pairs].double().prod(1).log1p()
        assert torch.equal(mine.score(pairs).score, mine.fitted_.calibration.log_odds(raw))
        assert torch.equal(LinkPredictor.load(tmp_path / "run").score(pairs).score, mine.score(pairs).score)
        assert len(mine.recommend(top=5)) == 5
    finally:
        MODELS.remove("Degrees")
    with pytest.raises(InputError, match=r"needs the model 'Degrees' \(from test_predictor\.py\)"):
        LinkPredictor.load(tmp_path / "run")


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"minutes": -3}, "minutes is above 0"),
        ({"minutes": "3"}, "minutes is above 0"),
        ({"minutes": float("nan")}, "minutes is above 0"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"model": 7}, "model is a name or a LinkModel, got int"),
        ({"model": "katz", "preset": "paper"}, "a preset is one of our network"),
        ({"model": Degrees(), "epochs": 3}, "has its options already"),
    ],
)
def test_parameters_are_checked_by_fit_and_not_before(parameters, why, tmp_path):
    predictor = LinkPredictor(**{"model": "katz", **parameters})
    with pytest.raises(InputError, match=why):
        predictor.fit(people(), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_options_that_would_be_ignored_are_refused(plain):
    with pytest.raises(InputError, match="leave graph out, or engine"):
        plain.recommend(graph=plain.graph_, engine=object())


def test_an_evaluation_says_that_it_trains(plain, capfd):
    fitted = LinkPredictor(model="gae", epochs=2, minutes=None, verbose=True).fit(people())
    found = fitted.evaluate("ncn", seed=1)
    assert found.epochs == 2
    assert "training GAE again on a split of protocol ncn, seed 1" in capfd.readouterr().err


def test_python_and_the_command_line_have_the_same_defaults():
    usual = LinkPredictor().get_params()
    said = {option.name: option.default for option in get_command(app).commands["fit"].params}
    for name in ("preset", "model", "seed", "minutes", "device"):
        assert said[name] == usual[name], name


def test_only_a_graph_is_fitted():
    with pytest.raises(InputError, match=r"datasets\.load"):
        LinkPredictor(cache=None, minutes=None).fit("cora")
    assert repr(LinkPredictor(cache=None, minutes=None)) == "LinkPredictor(minutes=None, cache=None)"
