"""The families neumann_vertex, contraction and marking: columns against their definition, and what they do to a
spectrum."""

import networkx as nx
import numpy as np
import pytest
import torch

import oracle
from llwlc import constraints
from llwlc.bases._eigenbasis import eigenbasis
from llwlc.bases._link_bases import link_bases
from llwlc.graph._graph import Graph
from llwlc.linalg._health import health
from llwlc.subgraphs._extraction import extract

NAMES = ["neumann_vertex", "contraction", "marking"]


def graph_of(seed: int = 0, *, weighted: bool = False) -> Graph:
    g = nx.gnp_random_graph(24, 0.14, seed=seed)
    weight = torch.rand(g.number_of_edges(), generator=torch.Generator().manual_seed(seed)) + 0.5 if weighted else None
    return Graph.from_edges(torch.tensor(list(g.edges)), num_nodes=24, weight=weight)


PAIRS = torch.tensor([[0, 1], [5, 9], [3, 17], [20, 2]])


def definition(subs, b: int, name: str) -> np.ndarray:
    """The columns of one graph, from its dense adjacency matrix."""
    rows = oracle.rows(subs, b)
    A = -oracle.laplacian(subs, b, "combinatorial")
    np.fill_diagonal(A, 0)
    hop, u, v = subs.hop[rows].numpy(), int(subs.u[b]) - rows.start, int(subs.v[b]) - rows.start
    if name != "neumann_vertex":
        column = np.zeros(len(A))
        column[u], column[v] = 1, 1 if name == "marking" else -1
        return column[:, None]
    columns = []
    for x in np.flatnonzero(hop == 2):
        near = np.flatnonzero((hop == 1) & (A[x] != 0))
        if len(near):
            column = np.zeros(len(A))
            column[x], column[near] = A[x, near].sum(), -A[x, near]
            columns.append(column)
    return np.stack(columns, 1) if columns else np.zeros((len(A), 0))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_columns_equal_their_definition(name, weighted):
    subs = extract(graph_of(weighted=weighted), PAIRS)
    columns = constraints.by_name(subs, name).columns
    for b in range(len(PAIRS)):
        want, found = definition(subs, b, name), columns[oracle.rows(subs, b)].numpy()
        sign = np.where(want[:1] * found[:1, : want.shape[1]] < 0, -1, 1) if name == "contraction" else 1
        np.testing.assert_allclose(found[:, : want.shape[1]] * sign, want, atol=1e-12)
        assert not found[:, want.shape[1] :].any()


def test_the_boundary_column_is_minus_the_sum_of_those_of_its_vertices():
    subs = extract(graph_of(weighted=True), PAIRS)
    each, together = constraints.neumann_vertex(subs), constraints.neumann(subs, degree=False)
    torch.testing.assert_close(-each.columns.sum(1), together.columns[:, 0])


@pytest.mark.parametrize("start", ["query", "random"])
@pytest.mark.parametrize("name", NAMES)
def test_bases_are_orthogonal_and_depend_on_neither_batch_nor_order(name, start):
    graph, options = graph_of(), {"constraints": name, "start": start, "steps": 6, "dtype": torch.float64}
    subs, basis = link_bases(graph, PAIRS, **options)
    assert health(basis, constraints.by_name(subs, name)).ok
    assert basis.mask.any(1).all()
    for b, pair in enumerate(PAIRS):
        one, alone = link_bases(graph, pair[None].flip(1), **options)
        torch.testing.assert_close(alone.values[0], basis.values[b], atol=1e-9, rtol=0)
        rows = oracle.rows(subs, b)
        back = torch.argsort(one.node)[torch.argsort(torch.argsort(subs.node[rows]))]
        torch.testing.assert_close((alone.vectors[back]).abs(), basis.vectors[rows].abs(), atol=1e-7, rtol=0)


@pytest.mark.parametrize("graph", [nx.karate_club_graph(), nx.cycle_graph(7), nx.complete_graph(6)])
def test_contraction_turns_the_spectrum_by_an_effective_resistance(graph):
    """The product of the non-zero eigenvalues, R_uv / 2 times that of L, against the pseudo-inverse and against the
    trees of the contracted graph."""
    plain = nx.Graph(graph.edges)
    made = Graph.from_edges(torch.tensor(list(plain.edges)))
    u, v = 0, len(plain) - 1
    subs = extract(made, torch.tensor([[u, v]]), hops=9)
    basis = eigenbasis(
        subs, constraints.contraction(subs), complete=True, laplacian="combinatorial", dtype=torch.float64
    )
    values = basis.values[0][basis.mask[0]].numpy()
    open_ = plain.copy()
    if open_.has_edge(u, v):
        open_.remove_edge(u, v)  # as extraction does
    L = nx.laplacian_matrix(open_, nodelist=range(len(open_))).toarray().astype(float)
    whole, inverse = np.linalg.eigvalsh(L), np.linalg.pinv(L, 1e-10)  # numpy 2.5 keeps a zero
    resistance = inverse[u, u] + inverse[v, v] - 2 * inverse[u, v]
    assert abs(values[0]) < 1e-9
    np.testing.assert_allclose(values[1:].prod() / whole[1:].prod(), resistance / 2, rtol=1e-9)
    assert (values <= whole[1:] + 1e-9).all()  # interlacing
    assert (values >= whole[:-1] - 1e-9).all()
    keep = np.delete(np.eye(len(L)), v, 1)  # the Laplacian of the contracted graph, v merged into u
    keep[v, u] = 1
    trees = np.linalg.det((keep.T @ L @ keep)[1:, 1:])
    np.testing.assert_allclose(trees, resistance * np.linalg.det(L[1:, 1:]), rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_empty_batches_and_edgeless_graphs(name):
    graph = graph_of()
    assert constraints.by_name(extract(graph, PAIRS[:0]), name).columns.shape[0] == 0
    bare = extract(Graph.from_edges(torch.tensor([[0, 1]]), num_nodes=4), torch.tensor([[2, 3]]))
    assert eigenbasis(bare, constraints.by_name(bare, name)).vectors.isfinite().all()
