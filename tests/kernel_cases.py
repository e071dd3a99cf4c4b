"""Graphs, pairs and comparisons that the kernel tests share."""

import networkx as nx
import numpy as np
import torch

from llwlc import constraints
from llwlc.bases._laplacian import laplacian_of
from llwlc.graph._graph import Graph
from llwlc.linalg._basis import Eigenbasis
from llwlc.subgraphs._batch import Subgraphs

FAMILIES = ["none", "neumann", "neumann_boundary", "neumann_degree", "vertex_deleted", "neumann+vertex_deleted"]
# P L C 1 needs a C
KINDS = [(f, s) for f in FAMILIES for s in ("query", "random", "constraint") if (f, s) != ("none", "constraint")]
# what float32 storage rounds away, and what two orders of float64 summation may differ by
TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-9}

NASTY = {
    "random": nx.gnm_random_graph(60, 120, seed=1),
    "hubs": nx.barabasi_albert_graph(80, 2, seed=2),
    "star": nx.star_graph(30),
    "ring, empty boundary": nx.cycle_graph(6),
    "complete": nx.complete_graph(9),
    "tiny, n below κ": nx.path_graph(4),
    "disconnected, isolated ends": nx.disjoint_union(nx.cycle_graph(5), nx.empty_graph(4)),
    "edgeless": nx.empty_graph(5),
    "barbell": nx.barbell_graph(6, 2),
    "strongly regular": nx.convert_node_labels_to_integers(nx.line_graph(nx.complete_bipartite_graph(4, 4))),
}


def graph_of(g: nx.Graph, weighted: bool = False) -> Graph:
    edges = torch.tensor(sorted(g.edges), dtype=torch.long).reshape(-1, 2)
    weight = 0.5 + torch.rand(len(edges), generator=torch.Generator().manual_seed(3)).double() if weighted else None
    return Graph.from_edges(edges, num_nodes=g.number_of_nodes(), weight=weight)


def some_pairs(graph: Graph, count: int, seed: int = 0) -> torch.Tensor:
    """Edges and other pairs, in both directions, the same pair sometimes twice."""
    draw = torch.Generator().manual_seed(seed)
    free = torch.randint(graph.num_nodes, (2 * count, 2), generator=draw)
    free = free[free[:, 0] != free[:, 1]][:count]
    if not graph.num_edges:
        return free
    bound = graph.edges[torch.randint(graph.num_edges, (count,), generator=draw)]
    return torch.cat([free, bound, bound[: count // 2].flip(1)])


def filtered(subs: Subgraphs, basis: Eigenbasis, f, rows: torch.Tensor) -> torch.Tensor:
    """Rows of V f(R) Vᵀ, one for each graph, ragged behind each other: what a basis means, whatever its signs and
    rotations.
    """
    weight = (basis.vectors.double()[rows] * f(basis.values.double()) * basis.mask)[subs.graph]
    return (basis.vectors.double() * weight).sum(1)


def assert_invariants(subs: Subgraphs, basis: Eigenbasis, columns: torch.Tensor, dtype: torch.dtype) -> None:
    """Live columns are orthonormal, satisfy the constraints and have the residual they claim; dead ones are zero."""
    V = basis.vectors.double()
    LV = laplacian_of(subs, "normalized") @ V
    tolerance = 1e-6 if dtype == torch.float32 else 1e-9
    for b in range(subs.num_graphs):
        at, live = slice(int(subs.ptr[b]), int(subs.ptr[b + 1])), basis.mask[b]
        assert torch.allclose(V[at].T @ V[at], torch.diag(live.double()), atol=tolerance)
        C = columns[at] / columns[at].norm(dim=0).clamp(min=1e-300)
        assert bool(((C.T @ V[at]).abs() <= tolerance).all())
        assert bool((basis.values[b].diff()[live[1:]] >= -tolerance).all())
        assert basis.values[b][~live].eq(0).all()
        assert basis.residual[b][~live].eq(0).all()
        Y = np.linalg.svd(C.numpy(), full_matrices=False) if C.numel() else None
        PLV = LV[at].numpy()
        if Y is not None:
            U = Y[0][:, Y[1] > 1e-9]
            PLV = PLV - U @ (U.T @ PLV)
        gap = np.linalg.norm(PLV - V[at].numpy() * basis.values[b].double().numpy(), axis=0)
        np.testing.assert_allclose(gap, basis.residual[b].numpy(), atol=10 * tolerance)


def assert_same_bases(
    one: tuple[Subgraphs, Eigenbasis], two: tuple[Subgraphs, Eigenbasis], *, dtype=torch.float32, **options
) -> None:
    """Subgraphs equal, bases equal in what a basis means, and the first one with all its invariants; the options of
    `link_bases`.
    """
    (subs, basis), (other, expected) = one, two
    for name in ("ptr", "node", "row", "col", "hop", "dist_u", "dist_v"):
        assert torch.equal(getattr(subs, name), getattr(other, name)), name
    assert basis.vectors.dtype == basis.values.dtype == basis.residual.dtype == dtype
    assert torch.equal(basis.mask, expected.mask)
    assert torch.equal(basis.ptr, expected.ptr)
    scale = max(1.0, float(expected.values.abs().max())) if expected.values.numel() else 1.0
    assert torch.allclose(basis.values, expected.values, atol=TOLERANCE[dtype] * scale, rtol=0)
    for rows in (subs.u, subs.v):
        for f in (lambda x: torch.exp(-x), lambda x: 1 / (1 + x)):
            one, two = filtered(subs, basis, f, rows), filtered(other, expected, f, rows)
            assert torch.allclose(one, two, atol=TOLERANCE[dtype], rtol=0)
    if options.get("laplacian", "normalized") == "normalized":
        draw = {name: options.get(name, 0) for name in ("seed", "epoch")}
        columns = constraints.by_name(subs, options.get("constraints", "neumann"), **draw)
        assert_invariants(subs, basis, columns.columns, dtype)


def hubs(leaves: int = 900, count: int = 3, seed: int = 0) -> nx.Graph:
    """Some hubs that share neighbours, two of them linked, among nodes with few links."""
    g = nx.gnm_random_graph(leaves, leaves, seed=seed)
    rng = np.random.default_rng(seed)
    for hub in range(leaves, leaves + count):
        g.add_edges_from((hub, int(x)) for x in rng.choice(leaves, 2 * leaves // 3, replace=False))
    if count > 1:
        g.add_edge(leaves, leaves + 1)
    return g


def pairs_at_hubs(graph: Graph) -> torch.Tensor:
    """Hubs with each other, hubs with others, others with each other."""
    n = graph.num_nodes
    return torch.cat([torch.tensor([[n - 3, n - 2], [n - 1, n - 3], [n - 1, 5], [7, n - 2]]), some_pairs(graph, 12)])
