"""A network trained on some pairs and tested on others: halves, a run on the paper's pairs, and its table."""

import networkx as nx
import numpy as np
import pytest

from research.experiments.cell import Cell
from research.experiments.lines import Line
from research.experiments.rendering import render
from research.experiments.table import Selection
from research.expressivity.families import Pair, load_suite
from research.expressivity.rpc import compare_pair
from research.expressivity.transfer import PairNet, TransferSection, divide, measure_transfer, train


def test_halves_share_no_pair_and_follow_the_seed():
    pairs = load_suite("csl")
    training, testing = divide(pairs, 0)
    assert {pair.name for pair in training} | {pair.name for pair in testing} == {pair.name for pair in pairs}
    assert len(training) + len(testing) == len(pairs)
    assert [pair.name for pair in divide(pairs, 0)[1]] == [pair.name for pair in testing]
    assert [pair.name for pair in divide(pairs, 1)[1]] != [pair.name for pair in testing]


def cycles(n):
    """A cycle of 2 n nodes and two of n: equal for message passing."""
    pair = nx.cycle_graph(2 * n), nx.disjoint_union(nx.cycle_graph(n), nx.cycle_graph(n))
    return Pair(f"C{2 * n} | 2 C{n}", *map(nx.to_numpy_array, pair))


@pytest.mark.parametrize("deleted", [0, 1])
def test_a_trained_network_separates_other_pairs_and_no_copies(deleted):
    net = PairNet(deleted, 0)
    losses = train(net, [cycles(4), cycles(5)], epochs=3, seed=0)
    assert losses[-1] <= losses[0]
    other = compare_pair(net.embed, cycles(3))
    assert other.separated
    assert other.reliable
    order = np.random.default_rng(0).permutation(6)
    same = cycles(3).a
    assert not compare_pair(net.embed, Pair("copy", same, same[np.ix_(order, order)])).separated


def test_the_table_has_a_row_for_each_number_of_deleted_vertices():
    section = TransferSection("")
    cell = section.cells(Selection(seeds=(0,)))[1]
    short = Cell("transfer", "brec", "", "subsets", {**cell.options, "suites": ["paper"], "epochs": 1})
    line = Line(cell, measure_transfer(short, "cpu", None))
    assert line["num_pairs"] == 1
    body = section.body([line], Selection())
    assert [row[0] for row in body] == ["none", "1", "2"]
    assert body[1][4] == "1"
    assert body[0][4] == "0"
    assert "separated" in render((section,), [line], Selection())
