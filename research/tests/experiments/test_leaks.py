"""Leaks put back what extraction takes out, and nothing else."""

import networkx as nx
import numpy as np
import pytest
import torch

from llwlc import splits
from llwlc.bases._config import BasisConfig
from llwlc.bases._encoded_links import encode_pairs
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.subgraphs._extraction import extract
from research.experiments.leaks import add_link, are_links, encode_with_link, make_leaked_split

RING = nx.cycle_graph(12)
GRAPH = Graph.from_edges(torch.tensor([*RING.edges, (0, 6), (3, 9)]), num_nodes=12)
PAIRS = torch.tensor([[0, 1], [0, 6], [2, 7]])


def dense(subs, b) -> np.ndarray:
    """The adjacency matrix of one subgraph by the graph's node ids."""
    found = np.zeros((12, 12))
    own = (subs.row >= subs.ptr[b]) & (subs.row < subs.ptr[b + 1])
    found[subs.node[subs.row[own]], subs.node[subs.col[own]]] += 1
    return found


def test_the_link_stays_in_the_subgraph_where_the_pair_is_one():
    plain = extract(GRAPH, PAIRS)
    assert are_links(GRAPH, PAIRS).tolist() == [True, True, False]
    kept = add_link(plain, are_links(GRAPH, PAIRS), labels=False)
    for b, (u, v) in enumerate(PAIRS.tolist()):
        difference = dense(kept, b) - dense(plain, b)
        wanted = np.zeros((12, 12))
        if b < 2:
            wanted[u, v] = wanted[v, u] = 1
        assert (difference == wanted).all()
    assert (kept.row.diff() >= 0).all()
    assert torch.equal(kept.dist_u, plain.dist_u)


def test_the_labels_of_the_ends_say_so_too():
    plain, which = extract(GRAPH, PAIRS), are_links(GRAPH, PAIRS)
    kept = add_link(plain, which, labels=True)
    changed = (kept.dist_u != plain.dist_u) | (kept.dist_v != plain.dist_v)
    assert changed.nonzero().ravel().tolist() == sorted([*plain.u[which].tolist(), *plain.v[which].tolist()])
    assert kept.dist_u[kept.v[which]].tolist() == [1, 1]


def test_pairs_that_are_no_links_are_encoded_as_ever():
    config = BasisConfig(start="random", laplacian="combinatorial")
    away = torch.tensor([[2, 7], [1, 8]])
    ours, plain = encode_with_link(GRAPH, away, config, labels=True), encode_pairs(GRAPH, away, config, about="")
    for name in ("values", "node", "label", "degree", "sizes"):
        assert torch.allclose(getattr(ours, name).double(), getattr(plain, name).double(), atol=1e-4)
    own = encode_with_link(GRAPH, PAIRS[:2], config, labels=False)
    assert (own.degree - encode_pairs(GRAPH, PAIRS[:2], config, about="").degree).sum() == 4


def test_a_leaked_split_has_the_leak_it_names():
    split = splits.make(GRAPH, protocol="random", val=0.2, test=0.2)
    epoch = make_leaked_split(GRAPH, split, "test epoch")
    assert torch.equal(epoch.valid_pos, split.test_pos)
    assert torch.equal(epoch.train_pos, split.train_pos)
    assert (
        make_leaked_split(GRAPH, split, "messages").test_graph.num_edges == GRAPH.num_edges > split.test_graph.num_edges
    )
    with pytest.raises(InputError, match="no leak is called 'label'"):
        make_leaked_split(GRAPH, split, "label")
