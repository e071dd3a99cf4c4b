"""Neumann boundary conditions around the query pair."""

from __future__ import annotations

import torch

from llwlc.constraints._columns import Constraints, custom, none
from llwlc.constraints._degrees import edge_weight, node_degree
from llwlc.subgraphs._batch import Subgraphs


def neumann(subs: Subgraphs, *, boundary: bool = True, degree: bool = True) -> Constraints:
    """The two Neumann conditions around the query pair: S its one-hop nodes, δS the two-hop nodes adjacent to S.

    With edge weights, sums of weights take the place of counts. Where S or δS is empty, the column is zero.

    Args:
        subs: B subgraphs with N nodes in all.
        boundary: Σ (f(y) − f(x)) = 0 over the edges between y ∈ S and x ∈ δS. The entry of a node is the number of S–δS
            edges at it, positive on S, negative on δS: not its degree, as the paper's text has it, against its own
            equation and examples.
        degree: Σ_{x∈S} d_x f(x) = 0, with the degrees inside the enclosing subgraph.

    Returns:
        `Constraints` with columns `[N, k]`, k the number of conditions asked for.

    >>> import torch, llwlc
    >>> ring = llwlc.Graph.from_edges(torch.tensor([[i, (i + 1) % 10] for i in range(10)]))
    >>> subs = llwlc.subgraphs.extract(ring, torch.tensor([[0, 1]]))
    >>> list(zip(subs.node.tolist(), neumann(subs, degree=False).columns[:, 0].tolist()))
    [(0, 0.0), (1, 0.0), (9, 1.0), (2, 1.0), (8, -1.0), (3, -1.0)]
    """
    columns, names = [], []
    if boundary:
        across = (subs.hop[subs.row] == 1) & (subs.hop[subs.col] == 2)
        weight = edge_weight(subs) * across
        zero = torch.zeros(subs.num_nodes, dtype=torch.float64, device=subs.ptr.device)
        columns.append(zero.index_add(0, subs.row, weight).index_add(0, subs.col, -weight))
        names.append("neumann_boundary")
    if degree:
        columns.append(node_degree(subs) * (subs.hop == 1))
        names.append("neumann_degree")
    return custom(subs, torch.stack(columns, 1), names=names) if columns else none(subs)


def neumann_boundary(subs: Subgraphs) -> Constraints:
    """The condition `boundary` of `neumann` alone."""
    return neumann(subs, degree=False)


def neumann_degree(subs: Subgraphs) -> Constraints:
    """The condition `degree` of `neumann` alone."""
    return neumann(subs, boundary=False)


def neumann_vertex(subs: Subgraphs) -> Constraints:
    """Chung's Neumann conditions, one for each boundary vertex: Σ_{y∈S, y∼x} w(x, y) (f(x) − f(y)) = 0 for every
    x ∈ δS, so that f at x is the mean of its neighbours in S. S and δS as in `neumann`, whose boundary column is minus
    the sum of these. ("Spectral Graph Theory", 1997, chapter 8.)

    There are as many columns as the largest δS of the batch has vertices, in the order of these; a graph with fewer has
    zero columns.

    Args:
        subs: B subgraphs with N nodes in all.

    Returns:
        `Constraints` with columns `[N, k]`.

    >>> import torch, llwlc
    >>> ring = llwlc.Graph.from_edges(torch.tensor([[i, (i + 1) % 10] for i in range(10)]))
    >>> subs = llwlc.subgraphs.extract(ring, torch.tensor([[0, 1]]))
    >>> subs.node.tolist(), neumann_vertex(subs).columns.T.tolist()
    ([0, 1, 9, 2, 8, 3], [[0.0, 0.0, -1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, -1.0, 0.0, 1.0]])
    """
    inward = (subs.hop[subs.row] == 2) & (subs.hop[subs.col] == 1)
    x, y, weight = subs.row[inward], subs.col[inward], edge_weight(subs)[inward]
    on = torch.zeros(subs.num_nodes, dtype=torch.long, device=subs.ptr.device).index_fill(0, x, 1)
    before = torch.cat([on.new_zeros(1), on.cumsum(0)])
    place = before[:-1] - before[subs.ptr[:-1]][subs.graph]  # boundary vertices of the same graph before each node
    width = int(place[x].max()) + 1 if len(x) else 0
    zero = torch.zeros(subs.num_nodes, width, dtype=torch.float64, device=subs.ptr.device)
    columns = zero.index_put((x, place[x]), weight, accumulate=True).index_put((y, place[x]), -weight, accumulate=True)
    return custom(subs, columns, names=[f"neumann_vertex_{i}" for i in range(width)])
