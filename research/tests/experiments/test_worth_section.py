"""The study of constraints: paired gains, the test over graphs against scipy, and which graphs get more seeds."""

import itertools

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from llwlc.errors import InputError
from research.corpus.networks import corpus_folder, read_networks, select_networks
from research.experiments.graphs import load_graph
from research.experiments.lines import Line
from research.experiments.table import Selection
from research.experiments.worth_section import (
    FAMILIES,
    NETWORKS,
    SEEDS,
    WorthSection,
    find_undecided,
    make_worth_rows,
)

ROWS = make_worth_rows("anchored")
GRAPHS = ("cora", "citeseer", f"corpus/{NETWORKS[0]}", f"corpus/{NETWORKS[1]}")


def lines_of(gain, seeds=SEEDS):
    """A line for each family, graph and seed; `gain(title, graph, seed)` over a random reference."""
    draw = np.random.default_rng(0)
    base = {(graph, seed): draw.uniform(0.6, 0.9) for graph in GRAPHS for seed in range(20)}
    found = []
    for row, graph, seed in itertools.product(ROWS, GRAPHS, seeds):
        if graph in row.data:
            value = base[graph, seed] + gain(row.title, graph, seed)
            found.append(Line(row.cell("accuracy", graph, seed), {"valid_auc": value, "auc": value / 2}))
    return found


def noisy(title, graph, seed):
    """None for the reference, a gain of a point on every graph for the boundary, noise for the others."""
    if title == "no constraint":
        return 0.0
    draw = np.random.default_rng(abs(hash((list(FAMILIES).index(title), GRAPHS.index(graph), seed))))
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


@pytest.mark.skipif(not corpus_folder().exists(), reason="the corpus is not at hand")
def test_networks_are_those_for_choices():
    uses = {network.name: network for network in read_networks()}
    assert {uses[name].use for name in NETWORKS} == {"tune"}
    assert len({uses[name].group for name in NETWORKS}) >= 6
    name = next(network.name for network in select_networks("final"))
    with pytest.raises(InputError, match="for 'final'"):
        load_graph(f"corpus/{name}")
