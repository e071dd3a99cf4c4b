"""Lanczos under linear constraints for a ragged batch of operators: chunks of like size, padded, solved, joined."""

from __future__ import annotations

import torch
from torch import Tensor

from llwlc.linalg.basis import Eigenbasis
from llwlc.linalg.krylov import TOLERANCE, RitzPairs, all_pairs, ritz_pairs
from llwlc.linalg.operator import Chunk, Operator, chunks
from llwlc.linalg.projector import Projector, direct, orthonormal_range, vertex_deleted

BUDGET = {"cpu": 1 << 17, "cuda": 1 << 26}
"""Padded entries at work at once: what stays in a CPU's cache, and what keeps a GPU busy."""


def lanczos(
    operator: Operator,
    columns: Tensor | None = None,
    *,
    start: Tensor,
    steps: int,
    deleted: tuple[Tensor, Tensor] | None = None,
    complete: bool = False,
    dtype: torch.dtype = torch.float32,
) -> Eigenbasis:
    """Ritz pairs of PLP for every graph of a ragged batch, computed in float64 and stored in `dtype`.

    Shapes: `columns [N, k]` of C, zero where a graph has no such constraint; `start [N, b]`; `deleted`: degrees and marks, both `[N]`,
    where the columns are vertex-deleted ones and the closed-form projector serves. A graph with an entry that is not finite gets
    no live column; the others do not notice. `complete=True` returns all n − rank eigenpairs of each graph, whatever `steps`.

    >>> row, col = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> path = Operator(torch.tensor([0, 3]), row, col, -torch.ones(4), torch.tensor([1.0, 2.0, 1.0]))
    >>> basis = lanczos(path, torch.ones(3, 1), start=torch.tensor([[1.0], [0.0], [0.0]]), steps=3)
    >>> basis.values.round(decimals=4).tolist(), basis.mask.tolist()
    ([[1.0, 3.0, 0.0]], [[True, True, False]])
    """
    operator = Operator(operator.ptr, operator.row, operator.col, operator.value.detach(), operator.diagonal.detach())
    operator, start = operator.double(), start.detach().double()
    columns = start.new_zeros(len(start), 0) if columns is None else columns.detach().double()
    graphs = finite_graphs(operator, columns, start)
    # all pairs of a graph are a dense problem of its own size: one graph at a time
    budget = 0 if complete else BUDGET["cuda" if operator.ptr.is_cuda else "cpu"]
    pieces: list[tuple[Chunk, RitzPairs]] = []
    for chunk in chunks(operator, graphs, width=2 * steps + columns.shape[1] + start.shape[1], budget=budget):
        if complete:
            pairs = all_pairs(chunk.apply, orthonormal_range(chunk.pad(columns)).Y[0])
        else:
            project = projector_of(chunk, columns, deleted)
            pairs = ritz_pairs(chunk.apply, project, chunk.pad(start), steps, chunk.operator.bound, TOLERANCE[dtype])
        pieces.append((chunk, pairs))
    kappa = max((p.values.shape[1] for _, p in pieces), default=0) if complete else steps
    return join(pieces, operator.ptr, kappa, dtype)


def finite_graphs(operator: Operator, *rows: Tensor) -> Tensor:
    """The numbers of the graphs that have nodes and whose entries are all finite."""
    bad = ~operator.diagonal.isfinite()
    bad = bad.index_put((operator.row[~operator.value.isfinite()],), bad.new_ones(()))
    for x in rows:
        bad = bad | ~x.isfinite().all(1)
    worst = torch.zeros(len(operator.ptr) - 1, dtype=torch.long, device=bad.device)
    worst = worst.index_add(0, operator.graph, bad.long())
    return ((worst == 0) & (operator.ptr.diff() > 0)).nonzero()[:, 0]


def projector_of(chunk: Chunk, columns: Tensor, deleted: tuple[Tensor, Tensor] | None) -> Projector:
    """The closed form where it applies, else the direct one."""
    if deleted is None:
        return direct(orthonormal_range(chunk.pad(columns)))
    degree, marks = (chunk.pad(x[:, None])[:, :, 0] for x in deleted)
    return vertex_deleted(degree, marks)


def join(pieces: list[tuple[Chunk, RitzPairs]], ptr: Tensor, kappa: int, dtype: torch.dtype) -> Eigenbasis:
    """Chunks back to one ragged basis; graphs in no chunk stay dead."""
    count, rows = len(ptr) - 1, int(ptr[-1])
    values = torch.zeros(count, kappa, dtype=dtype, device=ptr.device)
    residual, mask = torch.zeros_like(values), torch.zeros_like(values, dtype=torch.bool)
    vectors = torch.zeros(rows, kappa, dtype=dtype, device=ptr.device)
    for chunk, pairs in pieces:
        live = pairs.values.shape[1]
        values[chunk.graphs, :live] = pairs.values.to(dtype)
        residual[chunk.graphs, :live] = pairs.residual.to(dtype)
        mask[chunk.graphs, :live] = pairs.mask
        vectors[chunk.nodes, :live] = chunk.unpad(pairs.vectors).to(dtype)
    return Eigenbasis(values, vectors, mask, residual, ptr)
