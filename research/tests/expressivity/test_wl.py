"""Weisfeiler–Leman tests against networkx and against what is known of the families."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from research.expressivity.atlas import find_unseparated_by_classes
from research.expressivity.families import adjacency, atlas, brec, relabel, rook, shrikhande, skip_link
from research.expressivity.wl import wl1, wl1_classes, wl3, wl3_classes


@given(n=st.integers(1, 9), p=st.floats(0, 1), seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_separated_means_not_isomorphic_and_copies_stay_together(n, p, seed):
    a = adjacency(nx.gnp_random_graph(n, p, seed=seed))
    b = adjacency(nx.gnp_random_graph(n, p, seed=seed + 1))
    assert not wl1(a, relabel(a, seed))
    assert not wl3(a, relabel(a, seed))
    isomorphic = nx.is_isomorphic(nx.from_numpy_array(a), nx.from_numpy_array(b))
    assert not (isomorphic and (wl1(a, b) or wl3(a, b)))
    assert wl3(a, b) or not wl1(a, b)


def test_classes_are_those_of_networkx_hash():
    graphs = [g for g in atlas(6) if len(g) == 6]
    ours = wl1_classes(graphs)
    theirs = []
    for a in graphs:
        g = nx.from_numpy_array(a)
        # one label for all: without any, networkx warns that its start has changed
        nx.set_node_attributes(g, "1", "label")
        theirs.append(nx.weisfeiler_lehman_graph_hash(g, node_attr="label", iterations=6))
    assert len(set(ours)) == len(set(theirs)) == len(set(zip(ours, theirs, strict=True)))


def test_1_wl_leaves_22_graphs_of_seven_nodes_and_3_wl_none():
    graphs = [g for g in atlas() if len(g) == 7]
    assert len(atlas()) == 1252
    assert len(find_unseparated_by_classes(graphs, wl1_classes)) == 22
    assert not find_unseparated_by_classes(graphs, wl3_classes)


def test_what_each_leaves_together():
    assert not wl1(adjacency(nx.cycle_graph(10)), adjacency(nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(5))))
    assert not wl3(adjacency(rook()), adjacency(shrikhande()))
    assert not wl1(adjacency(skip_link(41, 2)), adjacency(skip_link(41, 3)))
    assert wl3(adjacency(skip_link(41, 2)), adjacency(skip_link(41, 3)))
    assert wl1(np.zeros((2, 2)), np.zeros((3, 3)))


@pytest.mark.data
@pytest.mark.parametrize(
    ("category", "separated"), [("basic", 60), ("regular", 50), ("str", 0), ("extension", 100), ("4vtx", 0), ("dr", 0)]
)
def test_1_wl_separates_no_pair_of_brec_and_3_wl_the_published_number(data_root, category, separated):
    data_root(f"brec/{category}.npy")
    pairs = brec(category)
    assert not any(wl1(pair.a, pair.b) for pair in pairs)
    assert sum(wl3(pair.a, pair.b) for pair in pairs) == separated
