"""Rook and Shrikhande: what deleting k vertices tells apart, which 2-FWL cannot."""

from itertools import combinations

import networkx as nx
import pytest
import torch

from graphs import batch_of
from llwlc import constraints
from llwlc.bases._eigenbasis import eigenbasis
from llwlc.linalg._projector import vertex_deleted_projector


def rook():
    return nx.convert_node_labels_to_integers(nx.line_graph(nx.complete_bipartite_graph(4, 4)))


def shrikhande():
    """The Cayley graph of ℤ₄ × ℤ₄ with ±(1, 0), ±(0, 1), ±(1, 1)."""
    graph = nx.Graph()
    for x in range(4):
        for y in range(4):
            for a, b in ((1, 0), (0, 1), (1, 1)):
                graph.add_edge(4 * x + y, 4 * ((x + a) % 4) + (y + b) % 4)
    return graph


def spectra(graph, k):
    """The eigenvalues of PLP for every k-subset of deleted vertices, `[(16 over k), 16]`."""
    subsets = torch.tensor(list(combinations(range(16), k)))
    deleted = torch.zeros(len(subsets), 16, dtype=torch.bool).scatter_(1, subsets, True)
    L = torch.tensor(nx.laplacian_matrix(graph, nodelist=range(16)).toarray()).double()
    eye = torch.eye(16, dtype=torch.float64).expand(len(subsets), 16, 16)
    P = vertex_deleted_projector(L.diagonal().expand(len(subsets), 16), deleted)(eye)
    return torch.linalg.eigvalsh(P @ L @ P)


def multiset(rows):
    """Distinct rows with their counts; the offset keeps round numbers away from where rounding is undecided."""
    distinct, counts = torch.unique((rows * 1e6 + 0.123).round(), dim=0, return_counts=True)
    return distinct, counts


def same(a, b):
    return all(x.shape == y.shape and torch.equal(x, y) for x, y in zip(multiset(a), multiset(b), strict=True))


@pytest.mark.parametrize(("k", "expected"), [(1, True), (2, True), (3, True), (4, False)])
def test_spectra_over_deleted_subsets(k, expected):
    assert same(spectra(rook(), k), spectra(shrikhande(), k)) == expected


@pytest.mark.parametrize("k", [3, 4])
def test_relabelled_copies_agree(k):
    for graph in (rook(), shrikhande()):
        order = torch.randperm(16, generator=torch.Generator().manual_seed(k)).tolist()
        assert same(spectra(graph, k), spectra(nx.relabel_nodes(graph, dict(enumerate(order))), k))


def test_singular_values_of_the_constraint_matrices_agree():
    """Against the paper: with original degrees, the constraint matrices of the two graphs have the same spectrum."""
    subs = batch_of([rook(), shrikhande()], pairs=[(0, 0), (0, 0)])
    one, two = constraints.vertex_deleted(subs, count="all").columns.split(16)
    assert torch.allclose(torch.linalg.svdvals(one), torch.linalg.svdvals(two))


def test_the_spectra_are_those_of_the_complete_constrained_basis():
    graphs = [rook(), shrikhande()] * 3
    subs = batch_of(graphs, pairs=[(0, 0)] * 6)
    cons = constraints.vertex_deleted(subs, count=4, seed=5)
    basis = eigenbasis(subs, cons, steps=16, complete=True, laplacian="combinatorial", dtype=torch.float64)
    for b, graph in enumerate(graphs):
        deleted = cons.deleted[subs.ptr[b] : subs.ptr[b + 1]]
        L = torch.tensor(nx.laplacian_matrix(graph, nodelist=range(16)).toarray()).double()
        P = vertex_deleted_projector(L.diagonal()[None], deleted[None])(torch.eye(16, dtype=torch.float64)[None])[0]
        found = basis.values[b][basis.mask[b]]
        assert len(found) == 12
        everywhere = torch.cat([found, torch.zeros(4)]).sort().values
        assert torch.allclose(everywhere, torch.linalg.eigvalsh(P @ L @ P), atol=1e-9)


@pytest.mark.data
def test_these_are_the_two_graphs_of_sr16622(data_root):
    file = data_root("strongly_regular/sr16622.g6")
    given = [nx.from_graph6_bytes(line) for line in file.read_bytes().split()]
    ours = [rook(), shrikhande()]
    matches = [[nx.is_isomorphic(a, b) for b in ours] for a in given]
    assert sorted(matches) == [[False, True], [True, False]]
