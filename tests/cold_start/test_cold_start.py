"""Nodes that are new and have no links: scored by their features, listed, and the unknown ones named."""

import numpy as np
import pandas
import pytest
import torch
from scipy.sparse import csr_array
from typer.testing import CliRunner

from llwlc import Graph, LinkPredictor
from llwlc._cli.app import app
from llwlc._cold_start.columns import NUM_STATISTICS, ColdStartColumns
from llwlc._cold_start.model import _fit, fit_cold_start
from llwlc.errors import InputError
from llwlc.metrics import auc
from llwlc.training._node_features import NodeFeatures

MODEL = "resource-allocation"


def town(n: int = 160, districts: int = 4, seed: int = 0) -> tuple[list[tuple[str, str]], pandas.DataFrame]:
    """People of districts, who mostly know people of their own; the table of people tells interests that go with the
    district, and others that do not."""
    rng = np.random.default_rng(seed)
    home = np.arange(n) % districts
    names = [f"r{i:03d}" for i in range(n)]
    links = {
        (names[u], names[v])
        for u in range(n)
        for v in range(u + 1, n)
        if rng.random() < (0.2 if home[u] == home[v] else 0.005)
    }
    interests = (home[:, None] == np.arange(districts)) * 1.0 + 0.5 * rng.standard_normal((n, districts))
    other = rng.standard_normal((n, 6))
    columns = {f"i{k}": column for k, column in enumerate(np.concatenate([interests, other], 1).T)}
    return sorted(links), pandas.DataFrame({"node": names} | columns)


@pytest.fixture(scope="module")
def parts():
    """A run on the first people, and the table of the last, who are new."""
    links, people = town()
    new = {f"r{i:03d}" for i in range(140, 160)}
    known = [link for link in links if not new & set(link)]
    graph = Graph.read(known, features=people[~people.node.isin(new)], isolated="keep")
    hidden = [link for link in links if len(new & set(link)) == 1]
    model = LinkPredictor(model=MODEL).fit(graph)
    return model, people[people.node.isin(new)], hidden


def test_links_of_new_nodes_are_told_from_other_pairs(parts):
    model, new_nodes, hidden = parts
    graph = model.updated_graph(new_nodes=new_nodes)
    assert graph.num_nodes == 160
    rng = np.random.default_rng(1)
    linked = {frozenset(pair) for pair in hidden}
    other = [(str(rng.choice(new_nodes.node)), f"r{rng.integers(140):03d}") for _ in range(400)]
    other = [pair for pair in other if frozenset(pair) not in linked]
    found, reverse = (
        model.score(hidden + other, graph=graph),
        model.score([p[::-1] for p in hidden + other], graph=graph),
    )
    assert torch.equal(found.score, reverse.score)
    ours = auc(found.score[: len(hidden)], found.score[len(hidden) :])
    x = dict(zip(graph.names, graph.x.numpy(), strict=True))
    cosine = [x[u] @ x[v] / np.linalg.norm(x[u]) / np.linalg.norm(x[v]) for u, v in hidden + other]
    assert ours > 0.75  # knowing all districts gives 0.85
    assert ours > auc(cosine[: len(hidden)], cosine[len(hidden) :]) + 0.03
    alone = model.score([hidden[0]], graph=graph)
    assert torch.equal(alone.score, found.score[:1])
    assert torch.allclose(torch.sigmoid(found.score), found.probability.double())


def test_pairs_of_known_nodes_are_scored_as_before(parts):
    model, new_nodes, _ = parts
    pairs = [("r000", "r004"), ("r001", "r050")]
    graph = model.updated_graph(new_nodes=new_nodes)
    assert torch.equal(model.score(pairs).score, model.score(pairs, graph=graph).score)


def test_a_list_of_one_new_node_and_of_all(parts):
    model, new_nodes, hidden = parts
    graph = model.updated_graph(new_nodes=new_nodes)
    found = model.recommend(node="r143", top=10, graph=graph)
    assert len(found) == 10
    assert all(link.source == "r143" for link in found)
    assert [link.score for link in found] == sorted((link.score for link in found), reverse=True)
    assert sum(int(link.target[1:]) % 4 == 143 % 4 for link in found) >= 8
    score = model.score([(found[3].source, found[3].target)], graph=graph)
    assert found[3].score == pytest.approx(float(score.score))
    assert found[3].probability_low <= found[3].probability <= found[3].probability_high
    everyone = model.recommend(source_nodes=list(new_nodes.node), top=60, graph=graph)
    assert {link.source for link in everyone} <= set(new_nodes.node)
    ends = {frozenset((link.source, link.target)) for link in everyone}
    assert len(ends) == 60
    true = len(ends & {frozenset(pair) for pair in hidden})
    assert true > 2 * 60 * len(hidden) / everyone.candidates
    few = model.recommend(node="r143", target_nodes=["r000", "r003"], exclude=[("r000", "r143")], top=5, graph=graph)
    assert [link.target for link in few] == ["r003"]
    sure = model.recommend(node="r143", precision=0.1, graph=graph)
    assert 0 < len(sure) < 160


def test_new_nodes_with_links_are_scored_by_the_model(parts):
    model, new_nodes, _ = parts
    graph = model.updated_graph(new_nodes=new_nodes, add=[("r140", "r000"), ("r140", "r004")])
    pair = [("r140", "r008")]
    own = model.fitted_.calibration.log_odds(model.model_.score(graph, torch.tensor([[140, 8]])))
    assert model.score(pair, graph=graph).score == pytest.approx(own)


def test_columns_are_those_of_plain_loops():
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.standard_normal((12, 5)).astype(np.float32))
    x = x / x.norm(dim=1, keepdim=True)
    links = np.triu(rng.random((12, 12)) < 0.4, 1)
    links[:, 0] = links[0] = False
    a = (links + links.T).astype(float)
    columns = ColdStartColumns.of(csr_array(a), NodeFeatures(x, x.numpy()))
    other = np.arange(1, 12)
    found = columns.at(np.zeros(11, dtype=np.int64), other)
    for v, row in zip(other, found, strict=True):
        near = np.flatnonzero(a[v])
        mean = x.numpy()[near].mean(0) if len(near) else np.zeros(5)
        length = np.linalg.norm(mean) + 1e-9
        wanted = [x[0] @ x[v], x.numpy()[0] @ mean, x.numpy()[0] @ mean / length]
        np.testing.assert_allclose(row[:3], wanted, atol=1e-6)
        assert row[7] == pytest.approx(np.log1p(len(near)))


def test_what_was_measured_is_what_hidden_nodes_give():
    """The AUC that is stated, on four fifths of the links, is close below that of nodes hidden from all of it."""
    links, people = town(240)
    graph = Graph.read(links, features=people)
    cold = torch.arange(240) % 10 == 3
    edges = graph.edges
    rest = graph.with_edges(edges[~cold[edges].any(1)])
    model = fit_cold_start(rest, NodeFeatures.of(graph.x, None))
    hidden = edges[cold[edges].sum(1) == 1]
    nodes = cold.nonzero()[:, 0]
    other = torch.stack([nodes.repeat(40), torch.randint(240, (40 * len(nodes),))], 1)
    other = other[~graph.has_edges(other) & (other[:, 0] != other[:, 1])]
    true = auc(model.log_odds(hidden, cold)[:, 0], model.log_odds(other, cold)[:, 0])
    assert model.auc == pytest.approx(true, abs=0.07)
    assert model.auc > model.auc_of_cosine


def test_without_features_a_new_node_needs_links(parts):
    _, new_nodes, _ = parts
    model = LinkPredictor(model=MODEL).fit(Graph.read(town()[0]))
    with pytest.raises(InputError, match=r"fitted without features.*--add"):
        model.updated_graph(new_nodes=new_nodes)
    with pytest.raises(InputError, match="features already"):
        model.updated_graph(new_nodes=new_nodes, features=new_nodes)


def test_values_that_are_filled_in_are_named(tmp_path):
    """Of the table of new nodes: which nodes lack which columns, and which nodes lack a row."""
    links, people = town()
    known = [link for link in links if max(link) < "r140"]
    (tmp_path / "links.csv").write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in known))
    people[people.node < "r139"].to_csv(tmp_path / "people.csv", index=False)  # one node of the links has no row
    new = people[people.node >= "r140"].copy()
    new.loc[new.node == "r150", "i0"] = None
    new.loc[new.node.isin(["r150", "r151"]), "i5"] = None
    new.to_csv(tmp_path / "new.csv", index=False)
    shell, run = CliRunner(), str(tmp_path / "run")
    options = ["--features", str(tmp_path / "people.csv"), "--isolated", "keep", "--model", MODEL, "--out", run]
    fitted = shell.invoke(app, ["fit", str(tmp_path / "links.csv"), *options])
    assert "has no row for 1 of 140 nodes ('r139')" in " ".join(fitted.output.split())
    (tmp_path / "since.csv").write_text("source,target\nzoe,r000\n")  # a new node without a row
    words = ["--new-nodes", str(tmp_path / "new.csv"), "--add", str(tmp_path / "since.csv"), "--top", "3", "-o", "-"]
    listed = shell.invoke(app, ["recommend", run, *words])
    assert listed.exit_code == 0, listed.output
    said = " ".join(listed.output.split())
    assert "3 missing values (1 in 'i0', 2 in 'i5') of 2 nodes ('r150', 'r151') got the mean that their column" in said
    assert "1 new node has no row of features ('zoe')" in said


def test_score_and_recommend_take_new_nodes(tmp_path):
    links, people = town()
    known = [link for link in links if max(link) < "r140"]
    (tmp_path / "links.csv").write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in known))
    people[people.node < "r140"].to_csv(tmp_path / "people.csv", index=False)
    people[people.node >= "r140"].to_csv(tmp_path / "new.csv", index=False)
    (tmp_path / "pairs.csv").write_text("a,b\nr141,r001\nr141,r002\nr000,nobody\nr141,somebody\n")
    shell, run = CliRunner(), str(tmp_path / "run")
    options = ["--features", str(tmp_path / "people.csv"), "--isolated", "keep", "--model", MODEL, "--out", run]
    fitted = shell.invoke(app, ["fit", str(tmp_path / "links.csv"), *options])
    assert fitted.exit_code == 0, fitted.output
    new = ["--new-nodes", str(tmp_path / "new.csv")]
    listed = shell.invoke(app, ["recommend", run, *new, "--top", "20", "-o", str(tmp_path / "top.csv")])
    assert listed.exit_code == 0, listed.output
    assert "pairs of new nodes" in " ".join(listed.output.split())
    rows = (tmp_path / "top.csv").read_text().splitlines()
    assert len(rows) == 21
    assert all(row.split(",")[0] >= "r140" for row in rows[1:])
    refused = shell.invoke(app, ["score", run, str(tmp_path / "pairs.csv"), *new, "-o", "-"])
    assert refused.exit_code == 2
    assert "'nobody'" in refused.output
    assert "'somebody'" in refused.output
    scored = shell.invoke(app, ["score", run, str(tmp_path / "pairs.csv"), *new, "--unknown", "blank", "-o", "-"])
    assert scored.exit_code == 0, scored.output
    assert "fitted on nodes whose links were hidden" in " ".join(scored.output.split())
    cells = [line.split(",") for line in scored.output.splitlines() if line.startswith("r141,r00")]
    assert float(cells[0][2]) > float(cells[1][2])  # r001 is of the same district
    people[people.node >= "r139"].to_csv(tmp_path / "new.csv", index=False)  # one that the run knows
    (tmp_path / "since.csv").write_text("source,target\nr140,r000\n")  # one that has a link
    mixed = [*new, "--add", str(tmp_path / "since.csv"), "--top", "20", "-o", str(tmp_path / "mixed.csv")]
    listed = shell.invoke(app, ["recommend", run, *mixed])
    assert listed.exit_code == 0, listed.output
    assert "2 of the 21 new nodes are known to the run or have links ('r139', 'r140')" in " ".join(
        listed.output.split()
    )
    sources = {row.split(",")[0] for row in (tmp_path / "mixed.csv").read_text().splitlines()[1:]}
    assert sources
    assert min(sources) > "r140"


def test_a_rare_category_does_not_decide_a_pair():
    """A product of features that is zero up to rounding in all pairs of the fit has no weight in another pair."""
    columns = np.random.default_rng(0).standard_normal((200, NUM_STATISTICS + 3))
    columns[:, -1] *= 1e-10
    fitted = _fit(columns, columns[:, 0] + columns[:, -2] > 0)
    assert fitted.weights[-1] == 0
    assert fitted.weights[0] > 0
    assert fitted.weights[-2] > 0
