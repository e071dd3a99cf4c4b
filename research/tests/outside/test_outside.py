"""Trials with hidden links: what is hidden, what is compared, what is stored."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from typer.testing import CliRunner

from llwlc.errors import InputError
from research.cli.app import app
from research.outside import table
from research.outside.lines import order_trials, read_lines
from research.outside.networks import find_networks, hide_links, read_graph


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """Two small networks, one for each use."""
    folder = tmp_path / "data" / "corpus"
    folder.mkdir(parents=True)
    rows = ["name\tdomain\tnodes\tedges\torigin\tuse"]
    for name, use in (("clubs", "tune"), ("secret", "final")):
        graph = nx.relaxed_caveman_graph(12, 7, 0.15, seed=len(name))
        with gzip.open(folder / f"{name}.txt.gz", "wt") as file:
            file.writelines(f"{b} {a}\n" for a, b in graph.edges)
        rows.append(f"{name}\tsocial\t{len(graph)}\t{graph.number_of_edges()}\tmade here\t{use}")
    (folder / "networks.tsv").write_text("\n".join(rows) + "\n")
    monkeypatch.setenv("LLWLC_DATA", str(tmp_path / "data"))
    return tmp_path


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_hidden_and_known_links_are_all_links_and_depend_on_the_hiding_alone(share):
    links = np.column_stack([np.arange(500), np.arange(500) + 1])
    known, hidden = hide_links(links, "a", share, 0)
    assert len(hidden) == round(500 * share)
    both = np.concatenate([known, hidden])
    np.testing.assert_array_equal(both[np.lexsort(both.T[::-1])], links)
    np.testing.assert_array_equal(hidden, hide_links(links, "a", share, 0)[1])
    for other in (("a", share, 1), ("b", share, 0)):
        assert not np.array_equal(hidden, hide_links(links, *other)[1])


def test_a_network_of_another_use_is_not_opened_by_name(corpus):
    assert [network.name for network in find_networks(["tune"], None, 1)] == ["clubs"]
    links = read_graph(find_networks(["tune"], ["clubs"], 1)[0]).edges
    assert (links[:, 0] < links[:, 1]).all()
    with pytest.raises(InputError, match=r"no network of use tune .* is called 'secret'"):
        find_networks(["tune"], ["secret"], 1)
    with pytest.raises(InputError, match="with 5000 links or more"):
        find_networks(["tune"], ["clubs"], 5_000)


def test_a_named_dataset_keeps_its_features():
    cora = find_networks(["datasets"], ["cora"], 1)[0]
    graph = read_graph(cora)
    assert (graph.num_nodes, graph.num_edges) == (cora.nodes, cora.edges)
    assert graph.x is not None


def test_the_first_share_comes_first_and_each_round_has_all_networks(corpus):
    networks = find_networks(["tune", "final"], None, 1)
    rounds = [(t.share, t.hiding) for t, each in order_trials(networks, ["a"], (0.1, 0.2, 0.05), 2, 1.0)][::2]
    assert rounds == [(0.1, 0), (0.1, 1), (0.2, 0), (0.2, 1), (0.05, 0), (0.05, 1)]


def test_several_processes_leave_the_lines_of_one(corpus):
    alone, several = corpus / "alone.jsonl", corpus / "several.jsonl"
    words = "outside --model adamic-adar --share 0.1 --share 0.2 --hidings 1 --links 50"
    for results, processes in ((alone, 1), (several, 2)):
        ran = CliRunner().invoke(app, f"{words} --results {results} --processes {processes}".split())
        assert ran.exit_code == 0, ran.output
    first, second = ({each["share"]: each["stated"] for each in read_lines(path)} for path in (alone, several))
    assert first == second
    assert set(first) == {0.1, 0.2}


def line(network: str, expected: float, low: float, high: float, observed: float, **more) -> dict:
    bins = [[50.0] + [0.0] * 9, [50 * expected] + [0.0] * 9, [50 * observed] + [0.0] * 9]
    lists = {"50": [expected, low, high, observed], "bins": bins, "assumed": 0.1}
    trial = {"network": network, "share": 0.1, "hiding": 0, "model": "m", "minutes": 1.0, "hidden": 30, "use": "tune"}
    return trial | {"commit": "abc", "stated": lists, "default": lists} | more


def test_the_table_has_errors_of_network_means_and_the_coverage_of_lists():
    lines = [
        line("a", 0.5, 0.4, 0.6, 0.4),
        line("a", 0.5, 0.4, 0.6, 0.7, hiding=1),
        line("b", 0.2, 0.1, 0.3, 0.1),
        line("c", 0.9, 0.8, 1.0, 0.0, hidden=20),  # fewer than half as many links are hidden
    ]
    first = dict(zip(table.COLUMNS, table.make_rows(lines)[0], strict=True))
    assert first["lists, networks"] == "3, 2"
    assert first["predicted / observed"] == "35.0 / 32.5"
    assert first["mean |error|"] == "7.5"  # |50 − 55| and |20 − 10|
    assert first["largest"] == "10.0"
    assert first["mean error"] == "+2.5"
    assert first["in 90 % range"] == "67"
    deviations = (2 * 1.6449 / 0.2) * np.array([0.1, -0.2, 0.1])
    assert float(first["variance of standardised errors"]) == pytest.approx(float((deviations**2).mean()), abs=0.01)


def test_trials_are_run_once_and_shown_with_a_picture(corpus):
    results, picture = corpus / "outside.jsonl", corpus / "outside.png"
    words = f"outside --model adamic-adar --share 0.1 --hidings 1 --links 50 --results {results}".split()
    first = CliRunner().invoke(app, [*words, "--figure", str(picture)])
    assert first.exit_code == 0, first.output
    stored = results.read_text()
    found = read_lines(results)
    assert [each["network"] for each in found] == ["clubs"]
    predicted, low, high, observed = found[0]["stated"]["50"]
    assert 0 <= low <= high <= 1
    assert observed * 50 == pytest.approx(round(observed * 50))
    assert found[0]["stated"]["assumed"] == 0.1 != found[0]["default"]["assumed"]
    assert 0 < predicted < 1
    assert picture.stat().st_size > 1_000
    again = CliRunner().invoke(app, words)
    assert (again.exit_code, results.read_text()) == (0, stored)
    shown = CliRunner().invoke(app, [*words, "--show"])
    assert "adamic-adar, true share, 10 %" in shown.stdout


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("outside --use both", "--use is tune, final or datasets"),
        ("outside --share 1.5", "--share is above 0 and below 1"),
        ("outside --show --results none.jsonl", "has no such trial"),
    ],
)
def test_a_trial_of_unknown_data_or_options_is_refused(corpus, line, message):
    result = CliRunner().invoke(app, line.split())
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_damaged_line_is_named(tmp_path):
    file = tmp_path / "lines.jsonl"
    file.write_text(json.dumps(line("a", 0.5, 0.4, 0.6, 0.4)) + "\n{\n")
    with pytest.raises(InputError, match="line 2 is damaged"):
        read_lines(file)


@pytest.mark.skipif(shutil.which("sh") is None, reason="no shell")
def test_the_script_of_the_tables_makes_them_and_the_picture(corpus):
    small = {
        "USES": "tune",
        "NETWORKS": "clubs",
        "MODELS": "adamic-adar",
        "SHARES": "0.1",
        "HIDINGS": "1",
        "LINKS": "1",
    }
    places = {"OUT": str(corpus / "lines.jsonl"), "FIGURE": str(corpus / "figure.png"), "PYTHON": sys.executable}
    script = Path(__file__).parents[2] / "outside_tables.sh"
    command, env = ["sh", str(script)], os.environ | small | places | {"PROCESSES": "1"}
    ran = subprocess.run(command, env=env, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "adamic-adar, true share, 10 %" in ran.stdout
    assert "adamic-adar, default share, 10 %" in ran.stdout
    assert len(read_lines(corpus / "lines.jsonl")) == 1
    assert (corpus / "figure.png").exists()
