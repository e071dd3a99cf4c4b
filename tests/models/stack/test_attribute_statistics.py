"""Attributes of links: statistics against networkx, no leak of a link's own attribute, and a graph that needs them."""

from dataclasses import replace

import networkx
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from llwlc import LinkPredictor, splits
from llwlc._cli.app import app
from llwlc._runs import format as manifest
from llwlc.errors import InputError, RunFolderError
from llwlc.graph import Graph, read_graph
from llwlc.graph._link_attributes import LinkAttributes
from llwlc.models._stack.attribute_statistics import AttributeStatistics
from llwlc.models._stack.statistics import PairStatistics


def planted(seed, num_nodes=240, degree=6, width=0.12):
    """Links join nodes of like temperature; a link's attribute is the temperature of its ends, but for noise. The
    links alone hardly tell: within a temperature they are random and few.
    """
    rng = np.random.default_rng(seed)
    heat = rng.random(num_nodes)
    pairs = np.stack(np.triu_indices(num_nodes, 1), 1)
    near = np.abs(heat[pairs[:, 0]] - heat[pairs[:, 1]]) < width
    links = pairs[near][rng.random(near.sum()) < degree * num_nodes / 2 / near.sum()]
    values = heat[links].mean(1) + rng.normal(0, 0.05, len(links))
    return with_attribute(Graph.from_edges(torch.from_numpy(links), num_nodes=num_nodes), links, values), heat


def with_attribute(graph, links, values):
    found = LinkAttributes.of(("heat",), torch.from_numpy(links), torch.from_numpy(np.asarray(values))[:, None])
    return replace(graph, attributes=found)


def test_statistics_are_those_of_networkx_without_the_pairs_own_link():
    graph, _ = planted(0, num_nodes=40, degree=8)
    known = networkx.Graph()
    known.add_nodes_from(range(40))
    values = graph.attributes.values[:, 0].double().tolist()
    for (u, v), value in zip(graph.attributes.pairs.tolist(), values, strict=True):
        known.add_edge(u, v, heat=value)
    pairs = np.concatenate([graph.edges.numpy()[:20], np.random.default_rng(1).integers(0, 40, (60, 2))])
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    found = AttributeStatistics(graph)(pairs)
    np.testing.assert_array_equal(found, AttributeStatistics(graph)(pairs[:, ::-1]))
    for row, (u, v) in zip(found, pairs.tolist(), strict=True):
        rest = known.copy()
        rest.remove_edges_from([(u, v)])
        means = [np.mean([d["heat"] for *_, d in rest.edges(end, data=True)] or [0.0]) for end in (u, v)]
        both = [(rest[u][x]["heat"], rest[v][x]["heat"]) for x in networkx.common_neighbors(rest, u, v)]
        expected = [min(means), max(means), max(means) - min(means), sum(a * b for a, b in both)]
        expected += [np.mean([pick(ab) for ab in both]) if both else 0.0 for pick in (min, max)]
        np.testing.assert_allclose(row, expected, atol=1e-9)


def test_an_attribute_counts_once_a_link_and_stays_with_it():
    rows = [("a", "b", 1.0), ("b", "a", 3.0), ("b", "c", 5.0), ("c", "c", 9.0), ("c", "a", 7.0)]
    table = {"from": [r[0] for r in rows], "to": [r[1] for r in rows], "years": [r[2] for r in rows]}
    graph = read_graph(table, link_attributes=["years"])
    assert graph.attributes.values[:, 0].tolist() == [2.0, 7.0, 5.0]
    assert graph.report.unused == ()
    part = graph.with_edges(torch.tensor([[1, 2]]))
    assert part.attributes.of_entries(part.indptr, part.indices)[:, 0].tolist() == [5.0, 5.0]
    for wrong, words in (
        (["no"], "has no column 'no'"),
        (["from"], "used already"),
        (["years", "years"], "used already"),
    ):
        with pytest.raises(InputError, match=words):
            read_graph(table, link_attributes=wrong)
    with pytest.raises(InputError, match=r"'years' is empty, infinite or huge in row 2"):
        read_graph(table | {"years": [1.0, None, 2.0, 3.0, 4.0]}, link_attributes=["years"])
    with pytest.raises(InputError, match=r"'kind' is no number.*--relation"):
        read_graph(table | {"kind": ["x", "y", "x", "y", "x"]}, link_attributes=["kind"])


def test_the_stack_does_not_see_the_attribute_of_a_link_it_predicts():
    graph, _ = planted(1)
    split = splits.make(graph, protocol="random", seed=0)
    hidden = torch.cat([split.valid_pos, split.test_pos])
    fitted = LinkPredictor(model="stack", minutes=None).fit(graph, split=split)
    # other attributes of hidden links change nothing that training or testing reads
    values = graph.attributes.values.clone()
    place = graph.attributes.pairs[:, 0] * graph.num_nodes + graph.attributes.pairs[:, 1]
    ends = hidden.sort(1).values
    values[torch.isin(place, ends[:, 0] * graph.num_nodes + ends[:, 1])] = 1e6
    changed = replace(graph, attributes=replace(graph.attributes, values=values))
    stages = {name: replace(getattr(split, name), attributes=changed.attributes) for name in STAGES}
    # the validation stage may read validation links only when it is asked about test links
    other = LinkPredictor(model="stack", minutes=None).fit(changed, split=replace(split, **stages))
    for pairs in (split.train_pos, split.test_pos, split.test_neg):
        one, two = (
            p.model_.score(s.train_graph, pairs) for p, s in ((fitted, split), (other, replace(split, **stages)))
        )
        assert torch.equal(one, two)
    # and the link that is scored on its own graph is scored without its attribute
    with_own = PairStatistics(graph, features=False, attributes=True)
    names = PairStatistics.names(features=False, attributes=("heat",))
    link = graph.edges[:1].numpy()
    without = PairStatistics(graph.with_edges(graph.edges[1:]), features=False, attributes=True)
    own = [at for at, name in enumerate(names) if name.startswith("heat")]
    np.testing.assert_allclose(with_own(link)[:, own], without(link)[:, own], rtol=1e-6)


STAGES = ("train_graph", "valid_graph", "test_graph")


def test_noise_as_an_attribute_gains_nothing():
    """An attribute of each link that says nothing: a leak of a training link's own value would be learned."""
    aucs = []
    for seed in range(1):
        graph = Graph.from_edges(torch.from_numpy(np.array(networkx.gnm_random_graph(200, 700, seed=seed).edges())))
        links = graph.edges.numpy()
        graph = with_attribute(graph, links, np.random.default_rng(seed).random(len(links)) + np.arange(len(links)))
        aucs.append(measure_auc(graph, seed))
    assert np.mean(aucs) < 0.62


def measure_auc(graph, seed):
    split = splits.make(graph, protocol="random", seed=seed)
    model = LinkPredictor(model="stack", minutes=None, seed=seed).fit(graph, split=split)
    label = np.r_[np.ones(len(split.test_pos)), np.zeros(len(split.test_neg))]
    pairs = torch.cat([split.test_pos, split.test_neg.reshape(-1, 2)])
    return roc_auc_score(label, model.model_.score(split.test_graph, pairs).numpy())


def closed(seed, num_nodes=120, degree=20, count=500):
    """A random graph with calls or none on each link, and links that close the most paths of two links with calls."""
    rng = np.random.default_rng(seed)
    pairs = np.stack(np.triu_indices(num_nodes, 1), 1)
    drawn = rng.random(len(pairs)) < degree / (num_nodes - 1)
    calls = drawn & (rng.random(len(pairs)) < 0.5)
    matrix = np.zeros((num_nodes, num_nodes))
    matrix[tuple(pairs[calls].T)] = 1
    matrix += matrix.T
    paths = np.where(drawn, -1, (matrix @ matrix)[tuple(pairs.T)] + rng.random(len(pairs)) / 2)
    closing = np.isin(np.arange(len(pairs)), np.argsort(-paths)[:count])
    links = pairs[drawn | closing]
    return with_attribute(Graph.from_edges(torch.from_numpy(links)), links, calls[drawn | closing] * 1.0), pairs[
        closing
    ]


def test_attributes_find_links_that_the_graph_alone_finds_less_well():
    graph, closing = closed(0)
    aucs = []
    for given in (replace(graph, attributes=None), graph):
        split = splits.make(given, protocol="random", seed=0)
        model = LinkPredictor(model="stack", minutes=None).fit(given, split=split)
        ours = [tuple(sorted(pair)) in set(map(tuple, closing.tolist())) for pair in split.test_pos.tolist()]
        pos, neg = split.test_pos[ours], split.test_neg.reshape(-1, 2)
        score = model.model_.score(split.test_graph, torch.cat([pos, neg])).numpy()
        aucs.append(roc_auc_score(np.r_[np.ones(len(pos)), np.zeros(len(neg))], score))
    assert aucs[1] > aucs[0] + 0.05
    assert aucs[1] > 0.88


def test_a_run_with_attributes_is_read_checked_and_updated(tmp_path):
    file, run = tmp_path / "calls.csv", tmp_path / "run"
    graph, _ = planted(0, num_nodes=60)
    values = graph.attributes.of_entries(graph.indptr, graph.indices)[graph.edge_index[0] < graph.indices][:, 0]
    rows = [f"n{u},n{v},{x:.3f}" for (u, v), x in zip(graph.edges.tolist(), values.tolist(), strict=True)]
    file.write_text("a,b,heat\n" + "\n".join(rows) + "\n")
    shell = CliRunner()
    done = shell.invoke(app, ["fit", str(file), "--link-attributes", "heat", "--model", "stack", "--out", str(run)])
    assert done.exit_code == 0, done.output
    assert "Columns not used" not in done.output
    model = LinkPredictor.load(run)
    assert model.model_.attributes == ("heat",)
    assert model.graph_.attributes.names == ("heat",)
    added = tmp_path / "added.csv"
    added.write_text(f"a,b,heat\nnew,n1,0.5\n{rows[0].rpartition(',')[0]},9\n")
    newer = model.updated_graph(add=added)
    assert newer.attributes.values[:, 0].max().item() == pytest.approx((9 + float(rows[0].rpartition(",")[2])) / 2)
    assert model.score([("new", "n2")], graph=newer).score.isfinite().all()
    added.write_text("a,b\nnew,n1\n")
    with pytest.raises(InputError, match="no column 'heat'"):
        model.updated_graph(add=added)
    with pytest.raises(InputError, match="fitted with the link attributes heat"):
        model.score([("n1", "n2")], graph=replace(model.graph_, attributes=None))
    refused = shell.invoke(app, ["fit", str(file), "--link-attributes", "heat", "--model", "gae", "--out", "x"])
    assert "--link-attributes has no effect on" in " ".join(refused.output.split())
    stored = load_file(run / "graph.safetensors")
    save_file(stored | {"attributes.pairs": stored["attributes.pairs"].flip(0)}, run / "graph.safetensors")
    manifest.write_manifest(run)
    with pytest.raises(RunFolderError, match="link attributes cannot be right"):
        LinkPredictor.load(run)
