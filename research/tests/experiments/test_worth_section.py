"""The study of constraints: paired gains, the test over graphs against scipy, and which graphs get more seeds."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from llwlc.errors import InputError
from llwlc.models._llwlc.presets import PRESETS
from research.corpus.networks import corpus_folder, read_networks, select_networks
from research.experiments.graphs import load_graph
from research.experiments.lines import Line, read_lines
from research.experiments.table import Selection
from research.experiments.worth_section import (
    FAMILIES,
    LINKS,
    LONG,
    NETWORKS,
    SEEDS,
    WorthSection,
    estimate_seconds,
    find_undecided,
    make_worth_rows,
)

ROOT = Path(__file__).parents[3]
ROWS = make_worth_rows("anchored")
GRAPHS = ("cora", "citeseer", "corpus/WebKB-wisconsin-link1", "corpus/football")


def lines_of(gain, seeds=SEEDS, graphs=GRAPHS, commit="a"):
    """A line for each family, graph and seed; `gain(title, graph, seed)` over a random reference."""
    draw = np.random.default_rng(0)
    base = {(graph, seed): draw.uniform(0.6, 0.9) for graph in graphs for seed in range(20)}
    found = []
    for row, graph, seed in itertools.product(ROWS, graphs, seeds):
        if graph in row.data:
            value = base[graph, seed] + gain(row.title, graph, seed)
            found.append(Line(row.cell("worth", graph, seed), {"valid_auc": value, "auc": value / 2, "commit": commit}))
    return found


def noisy(title, graph, seed):
    """None for the reference, a gain of a point on every graph for the boundary, noise for the others."""
    if title == "no constraint":
        return 0.0
    draw = np.random.default_rng(abs(hash((list(FAMILIES).index(title), list(LINKS).index(graph), seed))))
    return draw.normal(0.01 if title == "boundary" else 0.0, 0.001)


def test_gains_are_paired_and_tested_over_graphs():
    lines = lines_of(noisy)
    section = WorthSection("", ROWS)
    gains = section.gains(lines, Selection())
    assert list(gains) == list(FAMILIES)[1:]
    boundary = gains["boundary"]
    for graph in GRAPHS:
        expected = [100 * noisy("boundary", graph, seed) for seed in SEEDS]
        assert boundary["validation"].by_graph[graph] == pytest.approx(expected)
        assert boundary["test"].by_graph[graph] == pytest.approx([value / 2 for value in expected])
    assert boundary["validation"].p == pytest.approx(ttest_1samp(boundary["validation"].graphs, 0).pvalue)
    rows = {row[0]: row for row in section.body(lines, Selection())}
    assert rows["boundary"][4] == "differs"
    assert rows["boundary"][-2:] == ["4", "20"]
    assert all(row[4] == "no difference shown" for title, row in rows.items() if title != "boundary")


def test_a_gain_within_one_to_three_errors_asks_for_more_seeds():
    draws = {"boundary": (0.01, 0.0), "marking": (0.001, 0.002)}  # 1 of spread 0: decided; 1 of 2: |t| = 1.1

    def gain(title, graph, seed):
        mean, spread = draws.get(title, (0.0, 0.0))
        return mean + spread * (-2, -1, 0, 1, 2)[seed % 5] / np.sqrt(2.5) + 1e-9 * seed * (title == "boundary")

    section = WorthSection("", ROWS, by_graph=True)
    lines = lines_of(gain)
    assert {title for title, _ in find_undecided(section, lines)} == {"marking"}
    assert "marking on cora" in section.notes(lines, Selection())[-1]
    further = lines_of(gain, range(5, 15))
    (row,) = [row for row in section.body(lines + further, Selection()) if row[:2] == ["cora", "marking"]]
    assert row[-1] == "15"


def test_runs_of_other_commits_are_no_pairs():
    section, lines = WorthSection("", ROWS), lines_of(noisy)
    own = [line for line in lines if line.cell.options["constraints"] == "neumann_boundary"]
    others = [line for line in lines if line not in own]
    changed = [Line(line.cell, {**line.found, "commit": "b"}) for line in own]
    gains = section.gains(others + changed, Selection())
    assert not gains["boundary"]["validation"].by_graph
    assert len(gains["marking"]["validation"].by_graph) == len(GRAPHS)


def test_the_verdict_follows_the_rule_and_waits_for_all_pairs():
    section = WorthSection("", ROWS)
    part = section.decide(lines_of(noisy))
    assert not part.complete
    assert part.pairs == 7 * len(GRAPHS) * len(SEEDS)
    assert "No verdict yet" in str(part)
    verdict = section.decide(lines_of(noisy, graphs=tuple(LINKS)))
    assert verdict.complete
    assert verdict.best == "boundary"
    assert verdict.earning == ("boundary",)
    worse = section.decide(lines_of(lambda *key: -noisy(*key), graphs=tuple(LINKS)))
    assert (worse.best, worse.earning) == ("no constraint", ())


@pytest.mark.parametrize("method", ["anchored", "paper"])
def test_a_run_that_is_cut_off_leaves_pairs_of_all_graphs(method):
    cells = WorthSection("", make_worth_rows(method)).cells(Selection())
    assert len(cells) == len(FAMILIES) * len(LINKS) * len(SEEDS)
    short = [cell for cell in cells if estimate_seconds(cell) <= LONG]
    assert cells[: len(short)] == short
    assert [cell.seed for cell in short] == sorted(cell.seed for cell in short)
    assert len({(cell.data, cell.seed) for cell in cells[:5]}) == 1


def test_the_default_constraint_is_the_one_of_the_verdict():
    """The default is set by one line, the preset `anchored`; it must follow once the study is complete."""
    lines = read_lines(ROOT / "research" / "results" / "paper.jsonl")
    verdict = WorthSection("", ROWS).decide(lines)
    if verdict.complete:
        assert PRESETS["anchored"].basis.constraints == FAMILIES[verdict.best]["constraints"]
    else:
        assert PRESETS["anchored"].basis.constraints in [options["constraints"] for options in FAMILIES.values()]


@pytest.mark.skipif(not corpus_folder().exists(), reason="the corpus is not at hand")
def test_networks_are_those_for_choices():
    uses = {network.name: network for network in read_networks()}
    assert {uses[name].use for name in NETWORKS} == {"tune"}
    assert len({uses[name].group for name in NETWORKS}) >= 6
    assert {name: uses[name].num_links for name in NETWORKS} == NETWORKS
    name = next(network.name for network in select_networks("final"))
    with pytest.raises(InputError, match="for 'final'"):
        load_graph(f"corpus/{name}")
