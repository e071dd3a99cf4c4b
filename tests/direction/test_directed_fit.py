"""A directed fit from the file to the list: existence as without direction, directions beside it."""

import json

import networkx
import pytest
import torch
from starlette.testclient import TestClient
from test_model import planted
from typer.testing import CliRunner

from browsing import browser, quiet_page, serving
from llwlc import Graph, LinkPredictor, predict_missing_links
from llwlc._cli.app import app
from llwlc._direction.columns import ArcColumns
from llwlc._report.measurements import measure_test_links
from llwlc._report.page import report_html, write_report
from llwlc._runs import fit_run
from llwlc._serve.app import make_app
from llwlc._support.text import html_text
from llwlc.errors import InputError, RunFolderError

MODEL = "adamic-adar"


def named(graph: Graph) -> Graph:
    return Graph.from_edges(graph.arcs, names=[f"n{i:03d}" for i in range(graph.num_nodes)], directed=True)


@pytest.fixture(scope="module")
def graph():
    return named(planted(90, 700, both=0.2))


@pytest.fixture(scope="module")
def run(graph, tmp_path_factory):
    folder = tmp_path_factory.mktemp("directed") / "run"
    LinkPredictor(model=MODEL, directed=True).fit(graph, out=folder)
    return folder


def test_existence_is_that_of_the_undirected_fit(graph, run):
    directed, without = LinkPredictor.load(run), LinkPredictor(model=MODEL).fit(graph)
    assert directed.metrics_.test.as_dict() == without.metrics_.test.as_dict()
    assert without.metrics_.direction is None
    pairs = torch.cat([graph.edges[:50], torch.randint(90, (50, 2), generator=torch.Generator().manual_seed(0))])
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    both = directed.score(pairs), directed.score(pairs.flip(1))
    exists = without.score(pairs).probability
    chances = directed.run_.directions(pairs)
    for found, way in zip(both, (chances.forward, chances.backward), strict=True):
        assert torch.allclose(found.probability, exists * way)
        assert torch.allclose(found.direction, way)
        assert torch.allclose(torch.sigmoid(found.score), found.probability)


@pytest.mark.parametrize("options", [{"model": "llwlc", "epochs": 1, "steps": 4}, {"model": "stack"}])
def test_scores_of_existence_are_the_bits_of_the_undirected_fit(graph, options):
    """So the AUC of existence is that of the undirected fit on every graph, and not only within its error."""
    directed, without = (
        LinkPredictor(minutes=None, cache=None, **options, **further).fit(graph) for further in ({"directed": True}, {})
    )
    pairs = torch.cat([graph.edges, torch.randint(90, (300, 2), generator=torch.Generator().manual_seed(1))])
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    for population in ("random", "candidates"):
        one, other = (run.fitted_.model.score(run.graph_, pairs, population) for run in (directed, without))
        assert torch.equal(one, other)
    assert directed.fitted_.calibration == without.fitted_.calibration
    assert directed.metrics_.test.as_dict() == without.metrics_.test.as_dict()


def test_an_undirected_fit_computes_and_stores_nothing_of_directions(graph, tmp_path, monkeypatch):
    def refuse(*_):
        raise AssertionError("a column of directions was computed")

    monkeypatch.setattr(ArcColumns, "at", refuse)
    model = LinkPredictor(model=MODEL).fit(graph, out=tmp_path / "run")  # of a graph that knows its directions
    assert model.graph_.forward is None
    assert all(part.forward is None for part in (model.run_.split.train_graph, model.run_.split.test_graph))
    model.recommend(top=5)
    report_html(model, top=2)
    assert model.score(graph.edges[:5]).direction is None
    assert not (tmp_path / "run" / "direction.json").exists()
    assert "directions" not in model.metrics_.stages
    with pytest.raises(AssertionError, match="column of directions"):
        LinkPredictor(model=MODEL, directed=True).fit(graph)


@pytest.mark.parametrize(("model", "next_step"), [(None, "make_new_plan"), ("stack", "fit_model")])
def test_directions_are_fitted_inside_the_time_budget(graph, monkeypatch, model, next_step):
    """The plan, or the training of a model without one, is for the time that the model of directions leaves."""
    steps = []
    monkeypatch.setattr(fit_run, "fit_directions", lambda *_, **__: steps.append("directions"))

    def stop(*_, **__):
        steps.append(next_step)
        raise InputError("enough")

    monkeypatch.setattr(fit_run, next_step, stop)
    with pytest.raises(InputError, match="enough"):
        LinkPredictor(model=model, minutes=1, directed=True, cache=None).fit(graph)
    assert steps == ["directions", next_step]


def test_tune_compares_existence_and_its_command_fits_directions(graph, tmp_path):
    options = {"models": [MODEL, "katz"], "minutes": None, "trials": 2}
    found = LinkPredictor(model=MODEL, directed=True).tune(graph, **options)
    without = LinkPredictor(model=MODEL).tune(graph, **options)
    assert [trial.scores for trial in found] == [trial.scores for trial in without]
    assert "--directed" in found.command()
    assert "--directed" not in without.command()
    assert LinkPredictor(**found.parameters).directed
    with pytest.raises(InputError, match="directed=True"):
        LinkPredictor(model=MODEL, directed=True).tune(graph.without_direction(), **options)
    edges, shell = tmp_path / "follows.csv", CliRunner()
    graph.to_csv(edges)
    words = ["tune", str(edges), "--directed", "--model", MODEL, "--trials", "1", "--folds", "1"]
    tuned = shell.invoke(app, words)
    assert tuned.exit_code == 0, tuned.output
    assert "--directed --model" in " ".join(tuned.output.split())
    refused = shell.invoke(app, [*words, "--bipartite"])
    assert refused.exit_code == 2
    assert "leave one of them out" in " ".join(refused.output.split())


def test_a_stored_run_scores_the_same(graph, run, tmp_path):
    first = LinkPredictor(model=MODEL, directed=True).fit(graph)
    loaded = LinkPredictor.load(run)
    assert loaded.directed
    assert loaded.metrics_.direction == first.metrics_.direction
    for one, other in zip(first.score(graph.edges), loaded.score(graph.edges), strict=True):
        assert torch.equal(one, other)
    again = LinkPredictor(model=MODEL, directed=True).fit(graph, out=run)  # read, not repeated
    assert torch.equal(again.score(graph.edges).score, loaded.score(graph.edges).score)
    with pytest.raises(RunFolderError, match="another run"):
        LinkPredictor(model=MODEL).fit(graph, out=run)


def test_recommended_links_point_from_source_to_target(graph, run):
    model = LinkPredictor.load(run)
    found = model.recommend(top=60)
    assert found.directed
    assert [link.probability for link in found] == sorted((link.probability for link in found), reverse=True)
    for link in found:
        score = model.score([(link.source, link.target)])
        assert link.direction == pytest.approx(float(score.direction))
        assert link.score == pytest.approx(float(score.score))
        assert link.probability_low <= link.probability <= link.probability_high
    assert found.to_arrow().column_names[-1] == "direction"
    # the ring of three groups: 0 → 1 → 2 → 0
    right = [(int(link.target[1:]) - int(link.source[1:])) % 3 == 1 for link in found[:10]]
    assert sum(right) >= 9


def test_a_likely_reciprocal_link_is_two(graph):
    mutual = Graph.from_edges(torch.cat([graph.arcs, graph.arcs.flip(1)]), names=graph.names, directed=True)
    found = LinkPredictor(model=MODEL, directed=True).fit(mutual).recommend(top=200)
    ends = {(link.source, link.target) for link in found}
    assert len({pair[::-1] for pair in ends} & ends) > 150


def test_lists_of_a_node_and_of_sets_of_nodes(graph, run):
    model = LinkPredictor.load(run)
    found = model.recommend(node="n004", top=20)
    assert {"n004" in (link.source, link.target) for link in found} == {True}
    sources, targets = ["n000", "n003", "n006", "n009"], [f"n{i:03d}" for i in range(20, 90)]
    scoped = model.recommend(source_nodes=sources, target_nodes=targets, top=20)
    assert len(scoped) > 0
    assert all(link.source in sources and link.target in targets for link in scoped)
    few = model.recommend(precision=0.01)
    assert len(few) > 0
    assert sum(link.probability for link in few) / len(few) >= 0.01


def test_an_updated_graph_keeps_its_direction(graph, run):
    model = LinkPredictor.load(run)
    updated = model.updated_graph(add=[("n000", "n044"), ("n089", "n001")])
    assert updated.forward is not None
    before, after = (model.score([("n000", "n055")], graph=g) for g in (None, updated))
    assert before.direction != after.direction
    with pytest.raises(InputError, match="directed=True"):
        model.score([("n000", "n055")], graph=graph.without_direction())


def test_a_score_of_a_link_does_not_read_its_own_direction(run, graph):
    model = LinkPredictor.load(run)
    u, v = graph.arcs[0].tolist()
    turned = torch.cat([torch.tensor([[v, u]]), graph.arcs[1:]])
    other = Graph.from_edges(turned, names=graph.names, directed=True)
    if not graph.has_edges(torch.tensor([[u, v]])) or [v, u] in graph.arcs.tolist():
        pytest.skip("the first link points both ways")
    one, two = (model.score([(graph.name(u), graph.name(v))], graph=g).direction for g in (graph, other))
    assert torch.equal(one, two)


def test_parts_that_do_not_belong_together_are_refused(run, tmp_path):
    import shutil

    from llwlc._runs.format import write_manifest

    for number, change in enumerate(("remove", "weights")):
        copy = tmp_path / str(number)
        shutil.copytree(run, copy)
        file = copy / "direction.json"
        if change == "remove":
            file.unlink()
        else:
            file.write_text(json.dumps(json.loads(file.read_text()) | {"antisymmetric": [1e400]}))
        write_manifest(copy)
        with pytest.raises(RunFolderError, match="direction"):
            LinkPredictor.load(copy)


def test_explanations_say_which_way_and_why(graph):
    model = LinkPredictor(minutes=None, cache=None, epochs=1, steps=4, directed=True).fit(graph)
    there, back = model.explain("n000", "n001"), model.explain("n001", "n000")
    assert (there.direction.source, there.direction.target) == ("n000", "n001")
    assert there.direction.forward == pytest.approx(back.direction.backward)
    assert there.direction.forward > 0.8
    assert "Direction, if there is a link: n000 → n001" in there.to_text()
    assert "n000 → n001" in there.to_html()
    assert json.loads(there.to_json())["direction"]["forward"] == there.direction.forward
    with client_of(model) as client:
        for u, v, asked in (("n000", "n001", there), ("n001", "n000", back)):
            told = client.get("/explain", params={"u": u, "v": v}).json()["direction"]
            assert (told["source"], told["forward"]) == (u, pytest.approx(asked.direction.forward))


def client_of(model):
    return TestClient(make_app(model, warm=False), base_url="http://127.0.0.1:8765")


def test_the_server_tells_directions_as_the_library_does(run):
    model, pairs = LinkPredictor.load(run), [("n000", "n055"), ("n055", "n000")]
    with client_of(model) as client:
        told = client.post("/score", json={"pairs": pairs}).json()["scores"]
    said = model.score(pairs)
    for name in ("score", "probability", "direction"):
        assert [row[name] for row in told] == pytest.approx(getattr(said, name).tolist())


def test_a_report_measures_whether_there_is_a_link_as_without_direction(graph, run, tmp_path):
    without = LinkPredictor(model=MODEL).fit(graph.without_direction())
    ours, expected = measure_test_links(LinkPredictor.load(run)), measure_test_links(without)
    assert ours.links.tolist() == pytest.approx(expected.links.tolist())
    assert ours.reliability == expected.reliability
    done = CliRunner().invoke(app, ["report", str(run), "-o", str(tmp_path / "report.html"), "--top", "3"])
    assert done.exit_code == 0, done.output


def test_a_report_shows_which_way_links_point_and_why(graph, run):
    """The column, the measured sentence, the numbers of the graph and the reasons: those of the library."""
    model = LinkPredictor.load(run)
    page, found = report_html(model, top=5), model.recommend(top=5)
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert data["directed"]
    assert '<button data-key="way">direction</button>' in page
    assert html_text(model.metrics_.direction.sentence) in page
    both = len(graph.arcs) - graph.num_edges
    assert f"<td>links one way, both ways</td><td>{graph.num_edges - both:,}, {both:,}</td>" in page
    for row, link in zip(data["links"], found, strict=True):
        assert (data["names"][row["u"]], data["names"][row["v"]]) == (link.source, link.target)
        assert row["way"] == pytest.approx(link.direction, abs=1e-4)
        pair = torch.tensor([[graph.names.index(link.source), graph.names.index(link.target)]])
        chances = model.run_.directions(pair)
        assert row["direction"]["probabilities"] == pytest.approx([float(part[0]) for part in chances], abs=1e-4)
        effects = model.run_.directions.effects(pair[0])
        for name, effect, _ in row["direction"]["parts"]:
            assert effect == pytest.approx(effects[name], abs=0.01)
    plain = report_html(LinkPredictor(model=MODEL).fit(graph.without_direction()), top=2)
    assert "direction</button>" not in plain
    assert "both ways" not in plain


def test_the_report_and_the_served_page_have_a_column_of_directions(graph, run, tmp_path):
    model = LinkPredictor.load(run)
    with client_of(model) as client:
        told = client.get("/run").json()
        assert told["directed"]
        assert told["direction"] == model.metrics_.direction.sentence
    with client_of(LinkPredictor(model=MODEL).fit(graph.without_direction())) as client:
        told = client.get("/run").json()
        assert (told["directed"], told["direction"]) == (False, None)
    found = model.recommend(top=20)
    wanted = [f"{link.direction:.3f}" for link in found]
    write_report(model, tmp_path / "report.html", top=20)
    with browser() as opened, serving(model) as (address, _):
        page, complaints = quiet_page(opened)
        page.goto((tmp_path / "report.html").as_uri())
        assert page.locator("#table tbody tr td:nth-child(8)").all_inner_texts() == wanted
        assert page.locator("#detail h3").first.inner_text() == f"{found[0].source} → {found[0].target}"
        assert f"{found[0].source} → {found[0].target} {found[0].direction:.3f}" in page.inner_text("#detail")
        page.goto(address)
        page.wait_for_selector("#direction-about")
        page.click("#everyone")
        page.wait_for_selector("#links tbody tr")
        assert page.locator("#links tbody tr td:nth-child(7)").all_inner_texts() == wanted
        assert "Direction: right for" in page.inner_text("#direction-about")
        page.fill("#pairs", "n000, n055")
        page.click("#score")
        page.wait_for_selector("#scores tbody tr")
        scored = model.score([("n000", "n055")]).direction
        assert page.locator("#scores tbody tr td:nth-child(5)").all_inner_texts() == [f"{float(scored[0]):.3f}"]
        assert complaints == []


def test_a_graph_that_lost_its_direction_is_refused(graph):
    with pytest.raises(InputError, match="read it with directed=True"):
        LinkPredictor(model=MODEL, directed=True).fit(graph.without_direction())


def test_a_networkx_digraph_in_one_call(graph):
    digraph = networkx.DiGraph([(graph.name(u), graph.name(v)) for u, v in graph.arcs.tolist()])
    found = predict_missing_links(digraph, top=3, model=MODEL, directed=True)
    assert len(found) == 3
    assert found.directed


def test_fit_score_recommend_and_evaluate_work_on_a_directed_run(graph, tmp_path):
    edges, run = tmp_path / "follows.csv", tmp_path / "run"
    graph.to_csv(edges)
    shell = CliRunner()
    fitted = shell.invoke(app, ["fit", str(edges), "--directed", "--model", MODEL, "--out", str(run)])
    assert fitted.exit_code == 0, fitted.output
    assert "Direction: right for" in " ".join(fitted.output.split())
    (tmp_path / "pairs.csv").write_text("source,target,direction\nn000,n001,up\nn001,n000,down\n")
    scored = shell.invoke(app, ["score", str(run), str(tmp_path / "pairs.csv"), "-o", str(tmp_path / "out.csv")])
    assert scored.exit_code == 0, scored.output
    rows = (tmp_path / "out.csv").read_text().splitlines()
    assert rows[0] == "source,target,direction_given,score,probability,direction"
    one, other = (float(row.split(",")[-1]) for row in rows[1:])
    assert one > 0.5 > other
    listed = shell.invoke(app, ["recommend", str(run), "--top", "3", "-o", str(tmp_path / "top.csv")])
    assert listed.exit_code == 0, listed.output
    assert (tmp_path / "top.csv").read_text().splitlines()[0].endswith(",direction")
    again = shell.invoke(app, ["evaluate", str(run), "--protocol", "ncn", "--seeds", "1"])
    assert "not which way it points" in again.output
    refused = shell.invoke(app, ["fit", str(edges), "--directed", "--bipartite", "--out", str(tmp_path / "other")])
    assert refused.exit_code == 2
    assert "--directed has nothing to tell with --bipartite" in " ".join(refused.output.split())
    assert not (tmp_path / "other").exists()
    refused = shell.invoke(app, ["fit", "cora", "--directed", "--out", str(tmp_path / "other")])
    assert refused.exit_code == 2
