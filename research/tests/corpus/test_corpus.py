"""The corpus: folds without overlap, lines that are continued, Holm's rule and ranks by their definitions."""

import gzip
import json
from dataclasses import asdict

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.stats import ttest_1samp
from typer.testing import CliRunner

from llwlc.errors import DatasetError, InputError
from llwlc.graph._graph import Graph
from llwlc.models import Blend
from research.cli.app import app
from research.corpus.comparison import ScoreTable, differences, holm, rank_models
from research.corpus.folds import corpus_splits
from research.corpus.measure import corpus_line
from research.corpus.members import list_table, member_lines
from research.corpus.networks import load_network, read_networks, select_networks
from research.corpus.report import make_report
from research.corpus.runs import in_child, make_cells
from research.experiments.cell import Cell
from research.experiments.lines import Line, read_lines


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """Two networks to tune on, one of them small, and a final one."""
    folder = tmp_path / "data" / "corpus"
    folder.mkdir(parents=True)
    made = {
        "small": ("social", nx.karate_club_graph(), "tune"),
        "large": ("spatial", nx.convert_node_labels_to_integers(nx.grid_2d_graph(17, 17)), "tune"),
        "closed": ("social", nx.karate_club_graph(), "final"),
    }
    rows = ["name\tdomain\tnodes\tedges\torigin\tuse"]
    for name, (domain, graph, use) in made.items():
        with gzip.open(folder / f"{name}.txt.gz", "wt") as file:
            file.writelines(f"{u} {v}\n" for u, v in graph.edges)
        rows.append(f"{name}\t{domain}(made)\t{len(graph)}\t{graph.number_of_edges()}\tnetworkx\t{use}")
    (folder / "networks.tsv").write_text("\n".join(rows) + "\n")
    monkeypatch.setenv("LLWLC_DATA", str(tmp_path / "data"))
    return folder


def line(network, model, auc, seed=0, **more) -> Line:
    cell = Cell("corpus", network, "random", model, {}, seed=seed)
    return Line(cell, {"auc": auc, "ap": auc, "seconds": 1.0, **more})


def test_networks_are_read_by_use_and_the_final_ones_refused(corpus):
    assert [(n.name, n.group, n.num_links) for n in read_networks()] == [
        ("closed", "social", 78),
        ("small", "social", 78),
        ("large", "spatial", 544),
    ]
    assert [n.name for n in select_networks("tune")] == ["small", "large"]
    assert load_network("small").num_edges == 78
    with pytest.raises(InputError, match="closed is a network for 'final'"):
        select_networks("tune", ["closed"])
    with pytest.raises(InputError, match="no network of the corpus is called 'smal'"):
        select_networks("tune", ["smal"])
    (corpus / "networks.tsv").write_text("nothing\n1\n")
    with pytest.raises(DatasetError, match="not the table of the corpus"):
        read_networks()


def test_folds_test_each_link_once_and_hide_it_from_training():
    graph = Graph.from_edges(torch.tensor(list(nx.karate_club_graph().edges)))
    splits = corpus_splits(graph, 3, 5)
    tested = torch.cat([split.test_pos for split in splits])
    assert sorted(tested.tolist()) == sorted(graph.edges.tolist())
    for split in splits:
        assert not split.train_graph.has_edges(torch.cat([split.test_pos, split.valid_pos])).any()
        assert split.train_graph.has_edges(split.train_pos).all()
        assert split.test_graph.num_edges == graph.num_edges - len(split.test_pos)
        assert not split.test_graph.has_edges(split.test_pos).any()
        negatives = torch.cat([split.train_neg, split.valid_neg, split.test_neg])
        assert not graph.has_edges(negatives[len(split.train_neg) :]).any()
        assert len(negatives.unique(dim=0)) == len(negatives)
        assert len(split.test_neg) == len(split.test_pos)
    assert torch.equal(splits[2].test_pos, corpus_splits(graph, 3, 5)[2].test_pos)
    assert len(corpus_splits(graph, 3, 1)) == 1


def test_cells_have_folds_where_networks_are_small_and_minutes_where_models_take_them(corpus):
    cells = make_cells(select_networks("tune"), ["llwlc", "stack", "katz"], [0, 1], 5, 2.0)
    options = {(cell.data, cell.method): cell.options for cell in cells}
    assert len(cells) == 12
    assert options["small", "llwlc"] == {"folds": 5, "minutes": 2.0}
    assert options["small", "katz"] == {"folds": 5}
    assert options["large", "stack"] == {}


def test_a_child_writes_a_line_for_each_cell_and_says_what_failed(corpus, tmp_path):
    file, failed, given = tmp_path / "lines.jsonl", tmp_path / "failed", tmp_path / "cells.json"
    cells = make_cells(select_networks("tune", ["small"]), ["cosine", "katz"], [0], 5, 2.0)
    given.write_text(json.dumps([asdict(cell) for cell in cells]))
    before = torch.get_num_threads()
    in_child(str(given), str(file), str(failed))
    torch.set_num_threads(before)
    (entry,) = read_lines(file)
    assert entry.cell == cells[1]
    assert entry["auc"] == pytest.approx(np.mean(entry["folds"]["auc"]))
    assert {"commit", "machine", "seconds", "peak_mb", "num_test_links"} <= entry.found.keys()
    assert "cosine" in failed.read_text()
    assert "InputError" in failed.read_text()


def test_one_fit_of_a_blend_tells_what_each_member_and_their_sums_score(corpus, monkeypatch):
    monkeypatch.setattr(Blend, "default_members", ("stack", "mlp", "katz"))
    measured = corpus_line(Cell("corpus", "small", "random", "blend", {"minutes": 9.0}))
    (members,) = measured["members"]
    assert list(members) == ["stack", "mlp", "sum"]
    assert sum(measured["weights"][0].values()) == pytest.approx(1, abs=1e-3)
    alone = corpus_line(Cell("corpus", "small", "random", "stack", {}))
    assert members["stack"] == {"auc": pytest.approx(alone["auc"]), "ap": pytest.approx(alone["ap"])}
    (best,) = measured["list"]
    assert 0 < best["found"] <= best["hidden"]
    assert 0 <= best["precision"]["blend"]["10"] <= 1
    assert {"Adamic–Adar", "paths of length 3"} <= best["precision"].keys()


@pytest.mark.slow
def test_the_command_measures_what_is_missing_and_shows_it(corpus, tmp_path):
    file, picture = tmp_path / "lines.jsonl", tmp_path / "ranks.png"
    common = ["corpus", "--results", str(file), "--models", "stack,common-neighbors,shortest-path"]
    first = CliRunner().invoke(app, [*common, "--networks", "small"])
    assert first.exit_code == 0, first.output
    assert [entry.cell.method for entry in read_lines(file)] == ["stack", "common-neighbors", "shortest-path"]
    size = file.stat().st_size
    both = CliRunner().invoke(app, [*common, "--figure", str(picture)])
    assert both.exit_code == 0, both.output
    assert "[3/3]" in both.output  # of six cells
    assert len(read_lines(file)) == 6
    assert file.read_bytes()[:size].count(b"\n") == 3
    assert "2 networks on which all 3 models have lines, 6 splits" in both.output
    assert "FINAL" not in both.output
    assert picture.read_bytes()[:4] == b"\x89PNG"
    shown = CliRunner().invoke(app, [*common, "--show", "--against", "shortest-path"])
    assert "AUC minus that of shortest-path" in shown.output
    final = CliRunner().invoke(app, [*common, "--show", "--use", "final"])
    assert "OPENING THE FINAL NETWORKS" in final.output


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["--use", "all"], "--use is tune or final"),
        (["--models", "stak"], "no model is called 'stak'"),
        (["--networks", "closed"], "closed is a network for 'final'"),
        (["--figure", "ranks.txt"], "--figure ends in"),
        (["--show", "--results", "none.jsonl"], "no network has lines of all these models"),
    ],
)
def test_bad_options_are_refused_before_any_work(corpus, line, message):
    result = CliRunner().invoke(app, ["corpus", *line])
    assert result.exit_code == 2
    assert message in result.stderr


def test_differences_are_paired_and_holms_rule_is_his():
    rng = np.random.default_rng(0)
    values = rng.random((2, 6))
    lines = [line("a", model, values[m, s], s) for m, model in enumerate(("x", "y")) for s in range(6)]
    lines += [line("a", "x", 0.1, 6), line("b", "x", 0.5)]  # splits and networks that only one has do not count
    scores = ScoreTable.of(lines, ("x", "y"), "auc")
    assert list(scores.values) == ["a"]
    assert scores.mean("x") == pytest.approx(values[0].mean())
    (found,) = differences(scores, "x", "y")
    expected = ttest_1samp(values[0] - values[1], 0)
    assert found.p == pytest.approx(expected.pvalue)
    assert found.mean / found.error == pytest.approx(expected.statistic)
    assert holm([0.005, 0.03, 0.02, 0.9]) == [True, False, False, False]
    assert holm([0.005, 0.015, 0.02, 0.9]) == [True, True, True, False]
    assert holm([]) == []


def test_ranks_and_their_critical_difference_are_demsars():
    rows = {"a": (0.9, 0.8, 0.7), "b": (0.6, 0.6, 0.5), "c": (0.5, 0.6, 0.4), "d": (0.9, 0.7, 0.6)}
    models = ("x", "y", "z")
    lines = [line(n, m, v) for n, row in rows.items() for m, v in zip(models, row, strict=True)]
    ranks = rank_models(ScoreTable.of(lines, models, "auc"))
    assert ranks.models == models
    np.testing.assert_allclose(ranks.mean, [(1 + 1.5 + 2 + 1) / 4, (2 + 1.5 + 1 + 2) / 4, 3])
    assert ranks.critical == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 4)), abs=1e-3)  # q of three models, his table
    with pytest.raises(InputError, match="two models and two networks"):
        rank_models(ScoreTable.of(lines[:3], models, "auc"))


def test_a_report_needs_its_reference():
    with pytest.raises(InputError, match="not among the models"):
        make_report([line("a", "x", 0.5)], ["x"], {"a": "social"}, "y")


def test_the_members_of_a_blend_are_compared_as_if_measured_alone_and_lists_by_domain():
    lines = []
    for network, found in (("a", 3), ("b", 1)):
        members = [{"stack": {"auc": 0.8, "ap": 0.7}, "sum": {"auc": 0.9, "ap": 0.6}}]
        lists = [
            {"hidden": 4, "found": found, "candidates": 9, "precision": {"blend": {"10": 0.3}, "Katz": {"10": 0.1}}}
        ]
        lines.append(line(network, "blend", 0.85, members=members, list=lists))
    more = member_lines(lines)
    assert sorted({entry.cell.method for entry in more}) == ["blend/stack", "blend/sum"]
    table = ScoreTable.of([*lines, *more], ["blend", "blend/stack", "blend/sum"], "auc")
    assert [one.mean for one in differences(table, "blend", "blend/stack")] == pytest.approx([0.05, 0.05])
    header, recall, blend, katz = list_table(lines, "blend", {"a": "social", "b": "spatial"})
    assert header[:4] == ["list", "all @10", "all @50", "all @200"]
    assert [recall[1], recall[4], recall[7]] == ["50.0", "75.0", "25.0"]
    assert (blend[:3], katz[:2]) == (["blend", "30.0", ""], ["Katz", "10.0"])
    report = make_report([*lines, *more], ["blend", "blend/stack"], {"a": "social", "b": "spatial"}, "blend")
    assert "precision in percent of the lists of blend" in report
