"""What the commands do with a run of typed links: explain, report, serve, added links, further columns."""

import csv
import json

import numpy as np
import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from llwlc._cli.app import app
from llwlc._serve.app import make_app
from llwlc.errors import InputError
from llwlc.relations import RelationPredictor, Triples
from llwlc.relations._evidence import PatternCounts


def facts(groups=4):
    """Drugs treat diseases of their group, genes cause them; every drug misses one disease."""
    treats = [(f"drug {d}", "treats", f"disease {i}") for d in range(20) for i in range(12) if d % groups == i % groups]
    causes = [(f"gene {g}", "causes", f"disease {i}") for g in range(12) for i in range(12) if g % groups == i % groups]
    return [fact for at, fact in enumerate(treats) if at % 7] + causes


@pytest.fixture(scope="module")
def model():
    return RelationPredictor(epochs=30).fit(Triples.of(facts()))


@pytest.fixture(scope="module")
def run(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("typed") / "run"
    model.save(folder)
    return folder


def llwlc(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


def test_patterns_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    rows = {(f"n{a}", f"t{r}", f"n{b}") for a, r, b in zip(*rng.integers(0, [[9], [3], [9]], (3, 50)), strict=True)}
    known = Triples.of(sorted(rows))
    edges = {}
    for h, r, t in rows:
        edges.setdefault((h, t), set()).add(r)
        edges.setdefault((t, h), set()).add(f"{r} ←")
    names = known.names
    found = {p.steps: p for p in PatternCounts(known).patterns(*known.find([("n1", "t0", "n5")])[0].tolist())}

    def ways(u, v):
        steps = {(s,): set() for s in edges.get((u, v), ())}
        for x in names:
            if x not in (u, v):
                for s in edges.get((u, x), ()):
                    for s2 in edges.get((x, v), ()):
                        steps.setdefault((s, s2), set()).add(x)
        return steps

    def back(step):
        return step.removesuffix(" ←") if step.endswith("←") else f"{step} ←"

    def by_analogy(u, v):
        """Paths that do not use the link of the pair itself."""
        own = {(u, v): {"t0"}, (v, u): {"t0 ←"}}
        here = {pair: kinds - own.get(pair, set()) for pair, kinds in edges.items()}
        shared = {}
        for (a, x), one in here.items():
            for (y, b), two in here.items():
                if x == y and a != b:
                    shared.setdefault((a, b), set()).update(s for s in one if back(s) in two)
        steps = {(s, back(s), "t0") for y in names if "t0" in here.get((y, v), ()) for s in shared.get((u, y), ())}
        return steps | {
            ("t0", s, back(s)) for y in names if "t0" in here.get((u, y), ()) for s in shared.get((y, v), ())
        }

    expected = {steps: via for steps, via in ways("n1", "n5").items() if steps != ("t0",)}
    expected |= {steps: set() for steps in by_analogy("n1", "n5")}
    assert found.keys() == expected.keys()
    joined = {(u, v): by_analogy(u, v) for u in names for v in names if u != v}
    for steps, pattern in found.items():
        assert set(pattern.via) == expected[steps]
        if len(steps) == 1:
            pairs = [pair for pair, kinds in edges.items() if steps[0] in kinds and pair[0] != pair[1]]
        elif len(steps) == 3:
            pairs = [pair for pair, all_steps in joined.items() if steps in all_steps]
        else:
            pairs = {
                (u, v)
                for (u, x), one in edges.items()
                for (y, v), two in edges.items()
                if x == y and u != v and steps[0] in one and steps[1] in two
            }
        pairs = [pair for pair in pairs if pair != ("n1", "n5")]
        assert pattern.pairs == len(pairs)
        assert pattern.linked == sum((u, "t0", v) in rows for u, v in pairs)


def test_an_explanation_has_the_score_the_ranks_and_the_patterns(model, run, tmp_path):
    link = model.recommend("treats", top=1)[0]
    why = model.explain(link.source, link.target, "treats")
    assert (why.score, why.probability) == pytest.approx((link.score, link.probability))
    others = [(link.source, "treats", name) for name in model.triples_.names]
    known = {tuple(row) for row in model.triples_.find(facts()).tolist()}
    free = [s for s in others if tuple(model.triples_.find([s])[0].tolist()) not in known]
    assert why.num_targets == len(free)
    assert 1 <= why.target_rank <= 3
    assert not why.known
    assert why.patterns[0].share > why.base
    assert model.explain(link.source, link.target).type == "treats"
    shown = llwlc("explain", run, link.source, link.target, "--relation", "treats", "--prior", "0.1")
    assert "if 10 % of the triples are links" in shown
    assert "for comparison" in shown
    for ending in ("json", "html", "txt"):
        llwlc("explain", run, link.source, link.target, "-o", tmp_path / f"why.{ending}")
    assert json.loads((tmp_path / "why.json").read_text())["type"] == "treats"
    assert "<script" not in (tmp_path / "why.html").read_text()
    assert "--edges has no effect" in llwlc("explain", run, "drug 1", "disease 1", "--edges", "3", code=2)
    assert "there is no node" in llwlc("explain", run, "drug 1", "nobody", "--relation", "treats", code=2)


def test_a_report_shows_links_their_evidence_and_types(run, tmp_path):
    evil = Triples.of([(a.replace("drug 0", "<script>x"), r, b) for a, r, b in facts()])
    RelationPredictor(epochs=2).fit(evil).save(tmp_path / "evil")
    for folder in (run, tmp_path / "evil"):
        llwlc("report", folder, "-o", tmp_path / "r.html", "--top", "5")
        page = (tmp_path / "r.html").read_text()
        assert "<script" not in page
        assert "such pairs are linked" in page
        assert "causes" in page
        assert "50 % of the triples are links" in page


def test_a_score_keeps_the_columns_and_says_its_population(run, tmp_path):
    file, out = tmp_path / "ask.csv", tmp_path / "out.csv"
    file.write_text("from,kind,to,who,score\ndrug 1,treats,disease 1,Ada,007\ndrug 2,treats,nobody,Bob,8\n")
    asked = ("score", run, file, "--relation", "kind", "-o", out)
    assert "there is no node 'nobody' (row 2)" in llwlc(*asked, code=2)
    said = llwlc(*asked, "--unknown", "blank", "--prior", "0.2")
    assert "1 typed links scored; probabilities hold if 20 % of the triples are links, and the others have one" in said
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [(row["who"], row["score_given"]) for row in rows] == [("Ada", "007"), ("Bob", "8")]
    expected = RelationPredictor.load(run).score([("drug 1", "treats", "disease 1")], prior=0.2)[0]
    assert float(rows[0]["probability"]) == pytest.approx(expected.probability)
    assert rows[1]["probability"] == ""


def test_new_links_and_their_nodes_are_scored_and_not_proposed(model, run, tmp_path):
    added = tmp_path / "added.csv"
    first = model.recommend("treats", top=1)[0]
    new = [("drug new", "treats", f"disease {i}") for i in (1, 5)] + [first[:3]]
    added.write_text("source,type,target\n" + "\n".join(",".join(row) for row in new) + "\n")
    newer = model.with_links(Triples.of(new))
    old = [row for row in model.triples_.names if row in newer.triples_.names]
    places = [[m.triples_.names.index(name) for name in old] for m in (model, newer)]
    assert np.array_equal(model.factors_.nodes[places[0]].numpy(), newer.factors_.nodes[places[1]].numpy())
    assert first[:3] not in [link[:3] for link in newer.recommend("treats", top=500)]
    mine = newer.recommend("treats", top=1, node="drug new")
    assert [link.target for link in mine] == ["disease 9"]  # the third of its group
    said = llwlc("recommend", run, "--add", added, "--node", "drug new", "--top", "1", "--relation", "treats")
    assert "(+1 nodes, +3 links)" in said
    assert "drug new,treats,disease 9" in said
    asked = tmp_path / "ask.csv"
    asked.write_text("source,type,target\ndrug new,treats,disease 9\n")
    assert "there is no node 'drug new'" in llwlc("score", run, asked, code=2)
    assert "1 typed links scored" in llwlc("score", run, asked, "--add", added)
    added.write_text("source,type,target\ndrug 1,heals,disease 1\n")
    assert "the run has no type of links 'heals'" in llwlc("recommend", run, "--add", added, code=2)
    assert "takes new links and their nodes by --add" in llwlc("recommend", run, "--graph", added, code=2)
    typed = RelationPredictor(epochs=1).fit(model.triples_, node_types=[n.split()[0] for n in model.triples_.names])
    with pytest.raises(InputError, match="knows the type of each node, but not of 'drug new'"):
        typed.with_links(Triples.of(new))


def test_the_page_of_typed_links_answers(model):
    with TestClient(make_app(model, warm=False), base_url="http://127.0.0.1") as client:
        assert client.get("/run").json()["types"] == ["causes", "treats"]
        assert "typed links" in client.get("/").text
        assert client.get("/page.js").status_code == 200
        found = client.get("/recommend", params={"type": "treats", "top": 3}).json()
        assert [link["type"] for link in found["links"]] == ["treats"] * 3
        assert "50 % of the triples" in found["population"]
        link = found["links"][0]
        why = client.get("/explain", params={"u": link["source"], "v": link["target"]}).json()
        assert why["probability"] == pytest.approx(link["probability"])
        asked = {"triples": [[link["source"], "treats", link["target"]]], "prior": 0.5}
        scored = client.post("/score", json=asked).json()["scores"][0]
        assert scored == {**link, "score": scored["score"], "probability": pytest.approx(link["probability"])}
        assert client.get("/nodes", params={"search": "gene 1"}).json()["nodes"][0] == "gene 1"
        for path, query in (("/explain", {"u": "x", "v": "y"}), ("/recommend", {"type": "no"})):
            assert "there is no" in client.get(path, params=query).json()["error"]
        assert client.post("/score", json={"triples": [["a", "b"]]}).status_code == 400


def test_a_pattern_of_no_other_pair_has_no_share():
    known = Triples.of([("a", "cites", "x"), ("x", "names", "b"), ("c", "knows", "d")])
    found = PatternCounts(known).patterns(*known.find([("a", "knows", "b")])[0].tolist())
    assert [(p.steps, p.linked, p.pairs) for p in found] == [(("cites", "names"), 0, 0)]


def test_no_pattern_is_listed_twice(model):
    asked = model.triples_.find([("drug 1", "treats", "disease 1")])[0].tolist()
    steps = [p.steps for p in PatternCounts(model.triples_).patterns(*asked)]
    assert ("treats", "treats ←", "treats") in steps
    assert len(steps) == len(set(steps))


def test_a_fit_begins_with_a_list_and_tells_how_far_to_trust_it(tmp_path):
    file, run, asked = tmp_path / "facts.csv", tmp_path / "run", tmp_path / "asked.csv"
    rows = [(h, "Treats" if at % 5 == 0 else r, t) for at, (h, r, t) in enumerate(facts())]
    file.write_text("\n".join(map(",".join, [("source", "art", "target"), *rows])) + "\n")
    said = llwlc("fit", file, "--relation", "art", "--out", run)
    assert "'Treats', 'treats' differ only in capitals or spaces: each is a type of links of its own." in said
    places = [said.index(part) for part in ("The 10 likeliest missing links", "How far to trust this:", "MRR")]
    assert places == sorted(places)
    llwlc("recommend", run, "--top", 3, "-o", asked)
    assert "3 typed links scored" in llwlc("score", run, asked)  # its column is called "type"
    asked.write_text("source,art,target\ndrug 1,eats,disease 1\ndrug X,treats,disease 1\ndrug 1,,disease 1\n")
    refused = llwlc("score", run, asked, code=2)
    for part in ("3 of 3", "no type of links 'eats' (row 1)", "no node 'drug X' (row 2)", "no name (row 3)"):
        assert part in refused
