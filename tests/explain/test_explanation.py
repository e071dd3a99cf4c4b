"""An explanation says what the model does: every removal is the score on the graph without it, every contribution adds
up, every name is text.
"""

import json
import re
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise, permutations

import networkx as nx
import pytest
import torch

from browsing import browser, quiet_page
from llwlc._predictor import LinkPredictor
from llwlc.bases._pair_inputs import PairInputs
from llwlc.errors import InputError
from llwlc.explain import _explainer as explaining
from llwlc.explain._parts import list_parts, log_odds_of, logits, shapley_values
from llwlc.explain._paths import find_paths
from llwlc.explain._removal import EnclosingSubgraph
from llwlc.graph._graph import Graph
from llwlc.subgraphs._extraction import extract
from people import QUICK, people

HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e"


@cache
def fitted(preset: str, features: bool = True) -> LinkPredictor:
    return LinkPredictor(preset, cache=None, minutes=None, **QUICK).fit(people(features=features))


@pytest.fixture(params=["anchored", "paper"])
def model(request):
    return fitted(request.param)


@pytest.fixture
def anchored():
    return fitted("anchored")


def some_pairs(model: LinkPredictor) -> list[tuple[int, int]]:
    """A link and a pair that is none."""
    split = model.run_.split
    return [tuple(split.test_pos[0].tolist()), tuple(split.test_neg[0].tolist())]


def number(model: LinkPredictor, name: str) -> int:
    return list(model.graph_.names).index(name)


def test_every_removal_is_the_score_on_the_graph_without_those_edges(model):
    for u, v in some_pairs(model):
        found = model.explain(model.graph_.name(u), model.graph_.name(v))
        edges = {frozenset(edge) for edge in model.graph_.edges.tolist()}
        whole = torch.logit(model.score(torch.tensor([[u, v]])).probability)[0]
        asked = [*found.edges[:6], *found.edges[-3:], *found.paths[:4]]
        for removal in asked:
            way = [number(model, name) for name in removal.nodes]
            gone = {frozenset(step) for step in pairwise(way)}
            left = model.graph_.with_edges(torch.tensor([sorted(e) for e in sorted(edges - gone, key=sorted)]))
            said = model.score(torch.tensor([[u, v]]), graph=left)
            assert removal.probability == pytest.approx(float(said.probability[0]), abs=2e-5)
            assert removal.lost == pytest.approx(float(whole - torch.logit(said.probability[0])), abs=2e-4)


@pytest.mark.parametrize("preset", ["anchored", "paper"])
def test_subgraphs_without_edges_are_those_of_the_graph_without_them(preset):
    graph = people()
    config = fitted(preset).model_.basis
    generator = torch.Generator().manual_seed(3)
    for pair in [(0, 1), (5, 40), tuple(graph.edges[7].tolist())]:
        around = EnclosingSubgraph.of(graph, pair, config, PairInputs())
        removed = torch.rand(12, around.num_edges, generator=generator) < torch.linspace(0, 1, 12).unsqueeze(1)
        altered = around._without(removed)
        inputs = torch.cat([data.pair for data in around.encoded(removed)])
        ids = around.subs.node[around.edges]
        for b, gone in enumerate(removed):
            keep = {tuple(e) for e in graph.edges.tolist()} - {tuple(sorted(e)) for e in ids[gone].tolist()}
            left = graph.with_edges(torch.tensor(sorted(keep)))
            alone = extract(left, torch.tensor([sorted(pair)]), config.hops)
            begin, end = altered.ptr[b], altered.ptr[b + 1]
            told = {}
            for subs, a, z in ((altered, begin, end), (alone, 0, alone.num_nodes)):
                rows = zip(*(x[a:z].tolist() for x in (subs.node, subs.hop, subs.dist_u, subs.dist_v)), strict=True)
                mine = (subs.row >= a) & (subs.row < z)
                links = sorted(zip(subs.node[subs.row[mine]].tolist(), subs.node[subs.col[mine]].tolist(), strict=True))
                told[subs is altered] = sorted(rows), links
            assert told[True] == told[False]
            torch.testing.assert_close(inputs[b : b + 1], PairInputs()(left, torch.tensor([sorted(pair)])))


def test_an_explanation_is_the_same_from_both_ends_and_the_same_twice(model):
    for u, v in some_pairs(model):
        a, b = model.graph_.name(u), model.graph_.name(v)
        assert model.explain(a, b) == model.explain(b, a) == model.explain(a, b)


def test_an_explanation_has_the_score_of_score_and_treats_links_as_absent(model):
    (u, v), (a, b) = some_pairs(model)
    link, none = (model.explain(model.graph_.name(i), model.graph_.name(j)) for i, j in ((u, v), (a, b)))
    assert link.linked
    assert not none.linked
    said = model.score(torch.tensor([[u, v], [a, b]]), prior=0.5)
    for found, score, chance in zip((link, none), said.score, said.probability, strict=True):
        assert found.predictions[0].score == pytest.approx(float(score), abs=1e-5)
        assert found.probability == pytest.approx(float(chance), abs=1e-6)
    edges = {frozenset(e.nodes) for e in link.edges}
    assert frozenset((link.source, link.target)) not in edges


def test_an_explanation_among_candidates_equals_recommend(anchored):
    best = anchored.recommend(top=3)
    for link in best:
        found = anchored.explain(link.source, link.target, population="candidates")
        said = found.predictions[0]
        assert said.population == "candidates"
        assert said.probability == pytest.approx(link.probability, abs=1e-6)
        assert said.low == pytest.approx(link.probability_low, abs=1e-6)
        assert said.high == pytest.approx(link.probability_high, abs=1e-6)
        assert said.score == pytest.approx(link.score, abs=1e-5)
        line = re.search(r"^  score (-?[0-9.]+) \(log-odds among random pairs", found.to_text(), re.MULTILINE)
        assert float(line[1]) == pytest.approx(link.score, abs=1e-3)  # not by what candidates are ranked by
        assert len(found.common_neighbors) == link.common_neighbors


def test_parts_add_up_and_are_shapley_values_by_their_definition(model):
    explainer = model.explainer_
    net = explainer.scorer.net
    u, v = some_pairs(model)[0]
    link, references = explainer.readouts(torch.tensor([sorted((u, v))])), explainer.references[:5]
    for name in ("random", "candidates"):
        population = explainer.population(name, 0.5, None)
        with torch.inference_mode():
            found = shapley_values(net, link, references, population)
            parts = list_parts(net)

            def value(chosen, population=population, parts=parts):
                rows = references.clone()
                for i in chosen:
                    rows[:, parts[i].begin : parts[i].end] = link[:, parts[i].begin : parts[i].end]
                return float(log_odds_of(net, rows, population).mean())

            everyone = range(len(parts))
            worth = {frozenset(s): value(s) for k in range(len(parts) + 1) for s in combinations(everyone, k)}
        for i in everyone if len(parts) < 7 else (0, 4):
            orders = list(permutations(everyone))
            gains = [worth[frozenset(o[: o.index(i) + 1])] - worth[frozenset(o[: o.index(i)])] for o in orders]
            assert found[i] == pytest.approx(sum(gains) / len(gains), abs=1e-9)
        assert sum(found) == pytest.approx(worth[frozenset(everyone)] - worth[frozenset()], abs=1e-9)


def test_the_parts_are_the_columns_of_the_readout_and_the_heads_are_the_networks(model):
    explainer = model.explainer_
    pairs = torch.tensor(some_pairs(model))
    readout = explainer.readouts(pairs)
    parts = list_parts(explainer.scorer.net)
    assert [p.begin for p in parts[1:]] == [p.end for p in parts[:-1]]
    assert parts[-1].end == readout.shape[1]
    with torch.inference_mode():
        out, _ = logits(explainer.scorer.net, readout)
    score = model.fitted_.calibration.log_odds(out[:, 0])
    torch.testing.assert_close(score, model.score(pairs).score, rtol=0, atol=1e-5)


def test_without_an_eigenvector_the_filters_see_a_basis_that_lacks_it(model):
    explainer = model.explainer_
    u, v = some_pairs(model)[0]
    found = model.explain(model.graph_.name(u), model.graph_.name(v))
    around = explainer.enclosing_subgraph(u, v)
    whole = around.encoded(torch.zeros(1, around.num_edges, dtype=torch.bool))[0]
    net, features = explainer.scorer.net, explainer.scorer.features
    population = explainer.population("random", 0.5, None)
    with torch.inference_mode():
        for effect in found.eigenvectors[:4]:
            vectors, mask = whole.vectors.clone(), whole.mask.clone()
            vectors[:, effect.index], mask[:, effect.index] = 0, False
            lacking = replace(whole, vectors=vectors, mask=mask)
            odds = [
                float(
                    log_odds_of(
                        net, net.readout(d.batch(torch.tensor([0])).to("cpu", torch.float64), features), population
                    )
                )
                for d in (whole, lacking)
            ]
            assert effect.lost == pytest.approx(odds[0] - odds[1], abs=1e-9)
            assert effect.value == pytest.approx(float(whole.values[0, effect.index]))


def test_shared_features_make_up_the_cosine(anchored):
    u, v = some_pairs(anchored)[0]
    found = anchored.explain(anchored.graph_.name(u), anchored.graph_.name(v))
    unit = anchored.fitted_.features.unit
    assert found.cosine == pytest.approx(float(unit[u] @ unit[v]), abs=1e-6)
    assert sum(f.share for f in found.features) == pytest.approx(found.cosine, abs=1e-6)  # six columns, all named
    assert fitted("anchored", False).explain("Person 00", "Person 01").features == ()


def test_the_most_similar_link_of_a_link_that_stands_twice_in_the_readout_is_its_double(anchored, monkeypatch):
    explainer = explaining.Explainer.of(
        anchored.graph_, anchored.fitted_, anchored.explainer_.ranking, anchored.run_.split.valid_neg
    )
    links, known = explainer.links
    double = known.clone()
    double[5] = known[9]
    explainer.__dict__["links"] = (links, double)
    found = explainer.explain(*links[9].tolist())
    nearest = found.similar[0]
    assert {nearest.source, nearest.target} == {anchored.graph_.name(i) for i in links[5].tolist()}
    assert nearest.distance == pytest.approx(0, abs=1e-5)
    own = {found.source, found.target}
    assert all({s.source, s.target} != own for s in found.similar)


def test_paths_are_those_of_networkx():
    graph = nx.gnp_random_graph(14, 0.35, seed=2)
    if graph.has_edge(0, 1):
        graph.remove_edge(0, 1)
    theirs = {tuple(p) for p in nx.all_simple_paths(graph, 0, 1, cutoff=3)}
    ours = find_paths(torch.tensor(list(graph.edges)), 0, 1, 10_000)
    assert set(ours) == theirs
    assert len(ours) == len(theirs)
    assert [len(p) for p in ours] == sorted(len(p) for p in ours)
    assert find_paths(torch.tensor(list(graph.edges)), 0, 1, 3) == ours[:3]


def test_a_hub_is_bounded_and_says_so(monkeypatch):
    model = fitted("anchored")
    whole = model.explain("Person 00", "Person 01")
    few = model.explain("Person 00", "Person 01", max_edges=10)
    assert len(few.edges) == 10
    assert few.num_subgraph_edges == whole.num_subgraph_edges > 10
    assert any(f"10 of {few.num_subgraph_edges:,} edges were tried" in note for note in few.notes)
    assert any("compare the pair with different ones" in note for note in few.notes)
    assert {prediction.about.split(",")[0] for prediction in few.predictions} == {"by score", "by recommend"}
    told = {edge.nodes: edge.lost for edge in whole.edges}
    assert all(edge.lost == pytest.approx(told[edge.nodes], abs=1e-6) for edge in few.edges)
    at_ends = [edge for edge in few.edges if {few.source, few.target} & set(edge.nodes)]
    assert len(at_ends) == 10  # the nearest come first
    monkeypatch.setattr(explaining, "MAX_COPIED_EDGES", 5 * whole.num_subgraph_edges)
    assert len(model.explain("Person 00", "Person 01").edges) == 5
    monkeypatch.setattr(explaining, "MAX_DRAWN_NODES", 12)
    drawn = model.explain("Person 00", "Person 01").drawing
    assert len(drawn.nodes) == 12
    assert drawn.all_nodes > 12
    assert [drawn.nodes[i].name for i in (0, 1)] == ["Person 00", "Person 01"]


def test_nodes_without_links_are_explained_too():
    graph = people()
    lonely = Graph.from_edges(
        graph.edges[(graph.edges != 3).all(1) & (graph.edges != 4).all(1)], num_nodes=90, x=graph.x, names=graph.names
    )
    model = LinkPredictor("anchored", cache=None, minutes=None, **QUICK).fit(lonely)
    found = model.explain("Person 03", "Person 04")
    assert found.edges == found.paths == found.common_neighbors == ()
    assert found.drawing.all_nodes == 2
    json.loads(found.to_json())
    assert "Person 03" in found.to_text()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("Person 00", "Persn 01"), "no node 'Persn 01'"),
        (("Person 00", "Person 00"), "two nodes, got 'Person 00' twice"),
    ],
)
def test_bad_pairs_are_refused_with_a_sentence(anchored, asked, message):
    with pytest.raises(InputError, match=message):
        anchored.explain(*asked)


def test_bad_options_are_refused_with_a_sentence(anchored):
    for options, message in (
        ({"population": "all"}, "population is random or candidates"),
        ({"max_edges": -1}, "max_edges is at least 0"),
        ({"prior": 0.0}, "above 0 and below 1"),
        ({"missing_share": 2.0}, "missing share"),
    ):
        with pytest.raises(InputError, match=message):
            anchored.explain("Person 00", "Person 01", **options)


def test_any_name_is_text_in_json_html_and_on_a_terminal(anchored):
    names = [HOSTILE if i == 0 else f"</style><img src=x onerror=alert({i})>" for i in range(90)]
    run = replace(anchored.run_, graph=replace(anchored.graph_, names=names))
    model = LinkPredictor("anchored", cache=None, minutes=None)
    model.run_ = run
    found = model.explain(names[0], names[1])
    for html in (found.to_html(), found._repr_html_()):
        assert "<script>" not in html
        assert "<img" not in html
        assert "\u202e" not in html
        assert "&lt;script&gt;" in html
    assert json.loads(found.to_json())["source"] == HOSTILE
    assert HOSTILE in found.to_text()


def test_json_has_every_field_and_only_finite_numbers(model):
    found = model.explain("Person 00", "Person 01")
    data = json.loads(found.to_json())
    assert set(data) == set(found.as_dict())
    assert data["predictions"][0]["probability"] == found.probability
    assert {node["name"] for node in data["drawing"]["nodes"]} >= {"Person 00", "Person 01"}


def test_an_explanation_can_be_plotted(anchored):
    pytest.importorskip("matplotlib")
    found = anchored.explain("Person 00", "Person 01")
    figure = found.plot(eigenvector=1)
    assert len(figure.axes[0].collections[0].get_offsets()) == len(found.drawing.nodes)
    with pytest.raises(InputError, match="eigenvector is 0 to"):
        found.plot(eigenvector=99)


def test_a_long_name_stands_whole_in_the_headline_and_short_in_the_rows(anchored):
    long = "L" * 300
    found = anchored.explain("Person 00", "Person 41")
    renamed = replace(found, source=long, edges=(replace(found.edges[0], nodes=(long, "Ada")),))
    text, page = renamed.to_text(), renamed.to_html()
    assert text.splitlines()[0].startswith(long)
    assert sum(long in line for line in text.splitlines()) == 1
    assert "LLL…LLL" in text
    assert page.count(long) == 2  # title and headline
    assert "Content-Security-Policy" in page


def test_features_are_called_as_in_their_file(tmp_path, anchored):
    graph = people()
    rows = "".join(f"{name},{i},{'ab'[i % 2]}\n" for i, name in enumerate(graph.names))
    (tmp_path / "nodes.csv").write_text("node,age,kind\n" + rows)
    (tmp_path / "edges.csv").write_text(
        "source,target\n" + "".join(f"{graph.name(a)},{graph.name(b)}\n" for a, b in graph.edges.tolist())
    )
    read = Graph.from_csv(tmp_path / "edges.csv", features=tmp_path / "nodes.csv")
    titles = [replace(anchored.explainer_, graph=read)._title(k) for k in range(3)]
    assert titles == ["age", "kind=a", "kind=b"]
    assert replace(anchored.explainer_, graph=graph)._title(2) == "column 2"


def test_on_a_narrow_screen_no_word_of_the_page_breaks(anchored, tmp_path):
    (tmp_path / "why.html").write_text(anchored.explain("Person 00", "Person 41").to_html(), encoding="utf-8")
    with browser() as opened:
        page, complaints = quiet_page(opened, viewport={"width": 380, "height": 800})
        page.goto((tmp_path / "why.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
        # three lines of text at most
        heights = page.locator(".llwlc tr").evaluate_all("found => found.map((row) => row.offsetHeight)")
        assert max(heights) < 70
        assert complaints == []
