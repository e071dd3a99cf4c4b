"""Marking and deletion, against networkx's Weisfeiler–Lehman hashes."""

from collections import Counter
from itertools import combinations

import networkx as nx
import pytest

from research.expressivity.families import adjacency, paper
from research.expressivity.marking import separates

PAIRS = [
    (nx.cycle_graph(8), nx.disjoint_union(nx.cycle_graph(4), nx.cycle_graph(4))),
    (nx.random_regular_graph(3, 10, seed=1), nx.random_regular_graph(3, 10, seed=2)),
    (nx.random_regular_graph(4, 9, seed=5), nx.random_regular_graph(4, 9, seed=6)),
    (nx.path_graph(6), nx.star_graph(5)),
    (nx.petersen_graph(), nx.petersen_graph()),
]


def hashes(graph, k, how):
    found = Counter()
    for chosen in combinations(graph, k):
        copy = graph.copy()
        nx.set_node_attributes(copy, {v: str(int(v in chosen)) for v in copy}, "mark")
        if how == "deleted":
            copy.remove_nodes_from(chosen)
        found[nx.weisfeiler_lehman_graph_hash(copy, node_attr="mark", iterations=len(graph))] += 1
    return found


@pytest.mark.parametrize("how", ["marked", "deleted"])
@pytest.mark.parametrize("k", [0, 1, 2])
def test_multisets_of_classes_are_those_of_hashes(how, k):
    for a, b in PAIRS:
        expected = hashes(a, k, how) != hashes(b, k, how)
        assert separates(adjacency(a), adjacency(b), k, how) == expected


@pytest.mark.parametrize("how", ["marked", "deleted"])
def test_rook_and_shrikhande_take_two_perturbed_vertices(how):
    """One is not enough for either; two are for both: the similarity that the paper states, on its own pair."""
    _, (_, a, b) = paper()
    assert [separates(a, b, k, how) for k in (1, 2)] == [False, True]
