"""A basis for each edge of each graph: Krylov spaces of PAP, A the adjacency matrix, P deleting both ends of the edge.

Let H = G − {u, v}, s_u and s_v the neighbours of the ends in H. V, R span the block Krylov space of A_H at
[s_u, s_v, s_u ∘ s_v, 1], so V f(R) Vᵀ is exactly f(A_H) on these signals for polynomials f of degree below κ / 4, in
O(m κ) for an edge and O(m² κ) for a graph: no eigendecomposition of the graph. Paths from u to v that avoid the edge
begin and end in s_u and s_v and stay in H, which is why deletion helps: for a cycle through the edge,

    3: Σ s_u s_v        4: s_uᵀ A s_v        5: s_uᵀ A² s_v − Σ s_u s_v d
    6: s_uᵀ A³ s_v − Σ d (s_u ∘ A s_v + s_v ∘ A s_u) + s_uᵀ A s_v − Σ s_u s_v diag A³

over the nodes of H, with A and the degrees d those of H. Nothing of this is given to a network: its inputs are the
block, V and R.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from llwlc._support.ragged import expand, pointer
from llwlc.linalg._basis import Eigenbasis
from llwlc.linalg._batch_lanczos import lanczos
from llwlc.linalg._operator import Operator

BLOCK = 4
"""Start vectors: s_u, s_v, both, and ones."""


@dataclass(frozen=True)
class RootedBatch:
    """The bases around all edges of some graphs with n nodes and R edges in all, N rows.

    Shapes: `basis` of R roots; `start [N, 4]`; `alive [N, 1]`, 0 where a node is deleted; `mark [N, 1]`, 1 at the two
    ends of the edge; `node [N]`, the node that a
    row is; `root [N]`, the edge that it belongs to; `ends [2, R]`; `graph [n]`; `num_graphs`.
    """

    basis: Eigenbasis
    start: Tensor
    alive: Tensor
    mark: Tensor
    node: Tensor
    root: Tensor
    ends: Tensor
    graph: Tensor
    num_graphs: int

    def to(self, device: str) -> RootedBatch:
        moved = {name: x.to(device) for name, x in vars(self).items() if isinstance(x, Tensor)}
        return RootedBatch(self.basis.to(device), **moved, num_graphs=self.num_graphs)


def make_rooted(adjacency: list[np.ndarray], *, deleted: bool = True, steps: int = 3 * BLOCK) -> RootedBatch:
    """The bases around all edges of these graphs. Without `deleted` there is no constraint: H = G.

    >>> batch = make_rooted([np.ones((3, 3)) - np.eye(3)])
    >>> batch.ends.tolist(), batch.alive[:, 0].tolist()
    ([[0, 0, 1], [1, 2, 2]], [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0])
    """
    sizes = torch.tensor([len(A) for A in adjacency])
    first = pointer(sizes)[:-1].tolist()
    rows: list[Tensor] = []
    blocks, entries, ends, marks, count = [], [], [], [], 0
    for at, A in zip(first, map(torch.from_numpy, adjacency), strict=True):
        u, v = torch.triu(A, 1).nonzero().t()
        num_edges, n = len(u), len(A)
        near = A[torch.stack([u, v])].double()  # [2, R, n]
        mark = torch.zeros(num_edges, n, dtype=torch.float64)
        mark[torch.arange(num_edges), u] = mark[torch.arange(num_edges), v] = 1.0
        marks.append(mark.flatten())
        kept = 1 - mark if deleted else torch.ones_like(mark)
        su, sv = near * kept
        blocks.append(torch.stack([su, sv, su * sv, kept], 2).flatten(0, 1))
        offset = count + n * torch.arange(num_edges)
        entries.append((A.nonzero().t()[:, None, :] + offset[:, None]).flatten(1))
        ends.append(torch.stack([u, v]) + at)
        rows.append((at + torch.arange(n)).repeat(num_edges))
        count += n * num_edges
    start, (row, col) = torch.cat(blocks), torch.cat(entries, 1)
    num_roots = torch.tensor([end.shape[1] for end in ends])
    sizes_of_roots = sizes.repeat_interleave(num_roots)
    ptr = pointer(sizes_of_roots)
    operator = Operator(
        ptr, row, col, torch.ones(len(row), dtype=torch.float64), torch.zeros(count, dtype=torch.float64)
    )
    root, mark = expand(ptr[:-1], sizes_of_roots)[1], torch.cat(marks)
    basis = lanczos(operator, _unit_columns(mark) if deleted else None, start=start, steps=steps)
    graph = torch.arange(len(adjacency)).repeat_interleave(sizes)
    return RootedBatch(
        basis,
        start.float(),
        start[:, 3:].float(),
        mark[:, None].float(),
        torch.cat(rows),
        root,
        torch.cat(ends, 1),
        graph,
        len(adjacency),
    )


def _unit_columns(mark: Tensor) -> Tensor:
    """C `[N, 2]`: e_u and e_v of each root."""
    at = mark.nonzero()[:, 0].reshape(-1, 2)
    columns = mark.new_zeros(len(mark), 2)
    columns[at[:, 0], 0] = columns[at[:, 1], 1] = 1.0
    return columns
