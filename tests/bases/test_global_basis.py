"""The basis of a whole graph: against a dense eigensolver, and against all that must not change it."""

import networkx as nx
import numpy as np
import pytest
import torch

from llwlc.bases._global_basis import global_basis
from llwlc.graph._graph import Graph


def graph_of(g: nx.Graph) -> Graph:
    return Graph.from_edges(torch.tensor(list(nx.convert_node_labels_to_integers(g).edges)), num_nodes=len(g))


def spectrum(g: nx.Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All eigenvalues of the normalised Laplacian of a graph without isolated nodes, its vectors, its degrees."""
    g = nx.convert_node_labels_to_integers(g)
    values, vectors = np.linalg.eigh(nx.normalized_laplacian_matrix(g, range(len(g))).toarray())
    return values, vectors, np.array([g.degree(v) for v in range(len(g))])


GRAPHS = {
    "grid": nx.grid_2d_graph(23, 31),
    "blocks": nx.stochastic_block_model(
        [60, 60, 60], [[0.2, 0.02, 0.02], [0.02, 0.2, 0.02], [0.02, 0.02, 0.2]], seed=2
    ),
    "small world": nx.connected_watts_strogatz_graph(600, 6, 0.1, seed=1),
    "clusters": nx.disjoint_union(nx.cycle_graph(40), nx.cycle_graph(40)),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_it_is_what_a_dense_eigensolver_finds_without_the_trivial_vectors(name):
    g = GRAPHS[name]
    values, vectors, degree = spectrum(g)
    bipartite = sum(nx.is_bipartite(g.subgraph(c)) for c in nx.connected_components(g))
    own = slice(nx.number_connected_components(g), len(values) - bipartite)
    values, vectors = values[own], vectors[:, own]
    basis = global_basis(graph_of(g), low=12, high=7)
    found = basis.values.numpy()
    low, high = int((found < 1).sum()), int((found >= 1).sum())
    assert 12 >= low > 5
    assert 7 >= high > 1
    expected = np.r_[values[:low], values[len(values) - high :]]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    # a function of the matrix, so that signs and rotations do not enter; and no cluster is cut
    psi = basis.vectors.numpy() * np.sqrt(degree[:, None] / degree.sum())
    for part, at in ((slice(0, low), slice(0, low)), (slice(low, None), slice(len(values) - high, None))):
        ours, theirs = psi[:, part], vectors[:, at]
        f = np.exp(-found[part])
        np.testing.assert_allclose((ours * f) @ ours.T, (theirs * f) @ theirs.T, atol=2e-4)
    assert values[low] - values[low - 1] > 1e-5
    assert values[len(values) - high] - values[len(values) - high - 1] > 1e-5


def test_the_mean_square_of_a_vector_is_one_by_degree():
    graph = graph_of(GRAPHS["blocks"])
    degree = graph.degree.numpy()
    psi = global_basis(graph, low=5, high=5).vectors.numpy()
    np.testing.assert_allclose(psi.T @ (degree[:, None] * psi) / degree.sum(), np.eye(10), atol=1e-8)


def test_it_goes_along_with_the_numbers_of_the_nodes():
    graph = graph_of(GRAPHS["small world"])
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(0))
    moved = Graph.from_edges(order[graph.edges], num_nodes=graph.num_nodes)
    one, other = (global_basis(g, low=20, high=10) for g in (graph, moved))
    torch.testing.assert_close(one.values, other.values, atol=1e-6, rtol=0)

    def kernel(basis, at):
        rows = basis.vectors[at]
        return (rows * (-4 * basis.values).exp()) @ rows.T

    some = torch.arange(0, 600, 7)
    torch.testing.assert_close(kernel(one, some), kernel(other, order[some]), atol=1e-3, rtol=0)


def test_vectors_of_a_component_are_zero_on_the_others_and_fragments_have_none():
    g = nx.disjoint_union_all([nx.grid_2d_graph(8, 9), nx.path_graph(3), nx.empty_graph(2), nx.complete_graph(5)])
    basis = global_basis(graph_of(g), low=6, high=0)
    assert basis.vectors.shape == (72 + 3 + 2 + 5, len(basis.values))
    assert not basis.vectors[72:77].any()
    assert (basis.vectors[:72].abs().amax(0) > 0).sum() == len(basis.values)
    product = (basis.vectors[0] * basis.vectors[77]).abs().max()
    assert product < 1e-8


@pytest.mark.parametrize(
    "g",
    [nx.empty_graph(3), nx.complete_graph(6), nx.star_graph(5), nx.path_graph(2), nx.complete_bipartite_graph(3, 4)],
)
def test_a_graph_of_one_cluster_or_without_links_has_an_empty_basis(g):
    edges = torch.tensor(list(g.edges), dtype=torch.long).reshape(-1, 2)
    basis = global_basis(Graph.from_edges(edges, num_nodes=len(g)), low=2, high=1)
    assert basis.values.shape == (0,)
    assert basis.vectors.shape == (len(g), 0)


def test_the_ends_of_a_small_spectrum_do_not_overlap():
    g = nx.cycle_graph(9)
    basis = global_basis(graph_of(g), low=64, high=32)
    values, _, _ = spectrum(g)
    np.testing.assert_allclose(basis.values.numpy(), values[1:], atol=1e-8)


def test_bipartite_components_have_their_alternating_vector_projected_out():
    g = nx.disjoint_union(nx.grid_2d_graph(6, 7), nx.cycle_graph(8))
    basis = global_basis(graph_of(g), low=0, high=10)
    assert basis.values.max() < 2 - 1e-3


def test_a_large_graph_has_as_many_vectors_as_memory_allows(monkeypatch):
    monkeypatch.setattr("llwlc.bases._global_basis.MAX_ENTRIES", 180 * 5)
    basis = global_basis(graph_of(GRAPHS["blocks"]))
    assert 5 <= len(basis.values) <= 10  # at most five at either end
