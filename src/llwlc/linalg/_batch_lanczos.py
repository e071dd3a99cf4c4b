"""Lanczos under linear constraints for a ragged batch of operators: buckets of similar size, padded, solved, joined."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from llwlc.linalg._basis import Eigenbasis
from llwlc.linalg._krylov import TOLERANCE, RitzPairs, all_eigenpairs, complete_pairs, ritz_pairs
from llwlc.linalg._operator import Bucket, Operator, split_operator
from llwlc.linalg._projector import Projector, direct_projector, orthonormal_range, vertex_deleted_projector
from llwlc.linalg._tape import Tape

BUDGET = {"cpu": 1 << 19, "cuda": 1 << 26}
"""Padded entries computed at once: as many as fit a CPU's cache, or keep a GPU busy."""
SMALL_NODES = 256
"""Nodes up to which all eigenpairs of several graphs are computed at once."""


def lanczos(
    operator: Operator,
    columns: Tensor | None = None,
    *,
    start: Tensor,
    steps: int,
    deleted: tuple[Tensor, Tensor] | None = None,
    complete: bool = False,
    dtype: torch.dtype = torch.float32,
    truncated: bool = False,
    ridge: float = 0.0,
) -> Eigenbasis:
    """Ritz pairs of PLP for every graph of a ragged batch, computed in float64 and stored in `dtype`.

    Shapes: `columns [N, k]` of C, zero where a graph has no such constraint; `start [N, b]`; `deleted`: degrees and
    marks, both `[N]`, where the columns are vertex-deleted ones and the projector has a closed form. A graph with an
    entry that is not finite gets no live column; the others are not affected. `complete=True` returns all n − rank
    eigenpairs of each graph, whatever `steps`. `truncated`, `ridge`: what gradients are to be, see `Tape`.

    >>> row, col = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> path = Operator(torch.tensor([0, 3]), row, col, -torch.ones(4), torch.tensor([1.0, 2.0, 1.0]))
    >>> basis = lanczos(path, torch.ones(3, 1), start=torch.tensor([[1.0], [0.0], [0.0]]), steps=3)
    >>> basis.values.round(decimals=4).tolist(), basis.mask.tolist()
    ([[1.0, 3.0, 0.0]], [[True, True, False]])
    """
    operator, start = operator.double(), start.double()
    columns = start.new_zeros(len(start), 0) if columns is None else columns.double()
    tape = Tape(operator, columns, start, complete, TOLERANCE[dtype], truncated, ridge)
    with torch.no_grad():
        basis = _solve(tape, steps, deleted, dtype)
    return replace(basis, tape=tape) if torch.is_grad_enabled() and tape.requires_grad else basis


def _solve(tape: Tape, steps: int, deleted: tuple[Tensor, Tensor] | None, dtype: torch.dtype) -> Eigenbasis:
    operator, columns, start = tape.operator, tape.columns, tape.start
    graphs = finite_graphs(operator, columns, start)
    budget = BUDGET["cuda" if operator.ptr.is_cuda else "cpu"]
    pieces: list[tuple[Bucket, RitzPairs]] = []
    if tape.complete:
        pieces += _solve_complete(tape, graphs, budget)
    else:
        width = 2 * steps + columns.shape[1] + start.shape[1]
        for chunk in split_operator(operator, graphs, width=width, budget=budget):
            bucket, project = chunk.bucket, _projector(chunk.bucket, columns, deleted)
            pairs = ritz_pairs(chunk.apply, project, bucket.pad(start), steps, chunk.operator.bound, TOLERANCE[dtype])
            pieces.append((bucket, pairs))
    kappa = max((p.values.shape[1] for _, p in pieces), default=0) if tape.complete else steps
    return _join(pieces, operator.ptr, kappa, dtype)


def _solve_complete(tape: Tape, graphs: Tensor, budget: int) -> Iterator[tuple[Bucket, RitzPairs]]:
    """Small graphs many at a time; a large one is a dense problem of its own, in the complement of range C."""
    sizes = tape.operator.ptr.diff()[graphs]
    small = sizes <= SMALL_NODES
    width = int(sizes[small].max()) if bool(small.any()) else 1
    for chunk in split_operator(tape.operator, graphs[small], width=width, budget=budget):
        bucket = chunk.bucket
        real = bucket.pad(torch.ones_like(tape.operator.diagonal)[:, None])[:, :, 0] > 0  # the start may be empty
        Y = orthonormal_range(bucket.pad(tape.columns)).Y
        yield bucket, complete_pairs(chunk.apply, Y, real, chunk.operator.bound)
    for chunk in split_operator(tape.operator, graphs[~small], width=1, budget=0):
        yield chunk.bucket, all_eigenpairs(chunk.apply, orthonormal_range(chunk.bucket.pad(tape.columns)).Y[0])


def finite_graphs(operator: Operator, *rows: Tensor) -> Tensor:
    """The numbers of the graphs that have nodes and whose entries are all finite."""
    bad = ~operator.diagonal.isfinite()
    bad = bad.index_put((operator.row[~operator.value.isfinite()],), bad.new_ones(()))
    for x in rows:
        bad = bad | ~x.isfinite().all(1)
    worst = torch.zeros(len(operator.ptr) - 1, dtype=torch.long, device=bad.device)
    worst = worst.index_add(0, operator.graph, bad.long())
    return ((worst == 0) & (operator.ptr.diff() > 0)).nonzero()[:, 0]


def _projector(bucket: Bucket, columns: Tensor, deleted: tuple[Tensor, Tensor] | None) -> Projector:
    """The closed form where it applies, else the direct one."""
    if deleted is None:
        return direct_projector(orthonormal_range(bucket.pad(columns)))
    degree, marks = (bucket.pad(x[:, None])[:, :, 0] for x in deleted)
    return vertex_deleted_projector(degree, marks)


def _join(pieces: list[tuple[Bucket, RitzPairs]], ptr: Tensor, kappa: int, dtype: torch.dtype) -> Eigenbasis:
    """Buckets back to one ragged basis; graphs in no bucket stay dead."""
    values = torch.zeros(len(ptr) - 1, kappa, dtype=dtype, device=ptr.device)
    residual, mask = torch.zeros_like(values), torch.zeros_like(values, dtype=torch.bool)
    vectors = torch.zeros(int(ptr[-1]), kappa, dtype=dtype, device=ptr.device)
    for bucket, pairs in pieces:
        width = pairs.values.shape[1]
        values[bucket.graphs, :width] = pairs.values.to(dtype)
        residual[bucket.graphs, :width] = pairs.residual.to(dtype)
        mask[bucket.graphs, :width] = pairs.mask
        vectors[bucket.nodes, :width] = bucket.unpad(pairs.vectors).to(dtype)
    return Eigenbasis(values, vectors, mask, residual, ptr)
