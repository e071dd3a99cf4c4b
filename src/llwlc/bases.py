"""Eigenbases of enclosing subgraphs: where subgraphs, constraints and linear algebra meet."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Literal, Protocol

import torch
from torch import Tensor

from llwlc import kernels
from llwlc.counter import draw, normal
from llwlc.errors import InputError
from llwlc.linalg.basis import Eigenbasis
from llwlc.linalg.batch import lanczos
from llwlc.linalg.krylov import TOLERANCE
from llwlc.linalg.matrix import check_dtype, check_steps
from llwlc.linalg.operator import Operator
from llwlc.linalg.projector import RANK_TOLERANCE
from llwlc.ragged import pointer
from llwlc.subgraphs import Subgraphs, symmetric_weight

if TYPE_CHECKING:
    from llwlc.kernels.cuda.solving import Given

STREAM = 0
"""The stream of `counter.draw` for start vectors; deleted vertices have another."""


STARTS = "'query', 'random', 'constraint' or a tensor [N] or [N, b]"


class Columns(Protocol):
    """What a basis needs to know of its constraints: `columns [N, k]`, and where all are vertex-deleted ones, `deleted [N]`."""

    @property
    def columns(self) -> Tensor: ...
    @property
    def ptr(self) -> Tensor: ...
    @property
    def deleted(self) -> Tensor | None: ...


def eigenbasis(
    subs: Subgraphs,
    cons: Columns | Tensor | None = None,
    *,
    steps: int = 10,
    start: str | Tensor = "query",
    laplacian: Literal["normalized", "combinatorial"] = "normalized",
    complete: bool = False,
    dtype: torch.dtype = torch.float32,
    seed: int = 0,
    epoch: int = 0,
    backend: kernels.Backend = "auto",
) -> Eigenbasis:
    """Ritz pairs of PLP for every subgraph: L its Laplacian, P the projector onto the null space of its constraints.

    start: `"query"` (the block e_u, e_v: permutation-equivariant, rows u and v of p(PLP)P exact up to degree ⌊κ/2⌋ − 1),
    `"random"` (the paper's; drawn for (seed, epoch, pair, node), so it depends on neither batch nor order), `"constraint"` (P L C 1), a
    signal `[N]` or a block `[N, b]`. cons: `Constraints`, bare columns `[N, k]`, or None for plain Lanczos. `complete=True` returns all
    eigenpairs on the null space. Computed in float64, stored in `dtype`.

    A graph with nothing to span (null space {0}, start in the range of C) or with entries that are not finite has an empty mask; the
    others of its batch do not notice.

    >>> ring = Subgraphs(
    ...     ptr=torch.tensor([0, 4]), node=torch.arange(4), row=torch.tensor([0, 0, 1, 1, 2, 2, 3, 3]),
    ...     col=torch.tensor([1, 3, 0, 2, 1, 3, 0, 2]), weight=None, u=torch.tensor([0]), v=torch.tensor([2]),
    ...     hop=torch.tensor([0, 1, 0, 1]), dist_u=torch.tensor([0, 1, 5, 1]), dist_v=torch.tensor([5, 1, 0, 1]))
    >>> basis = eigenbasis(ring, torch.ones(4, 1), steps=4)
    >>> basis.values.round(decimals=4).tolist(), basis.mask.tolist()
    ([[1.0, 2.0, 0.0, 0.0]], [[True, True, False, False]])
    """
    check_steps(steps)
    check_dtype(dtype)
    columns, deleted = _columns(subs, cons)
    signal = isinstance(start, Tensor) and start.requires_grad
    weighted = subs.weight is not None and subs.weight.requires_grad
    possible = not complete and not (columns.requires_grad or signal or weighted)
    why = "complete=True, gradients, or tensors on another device"
    if kernels.use_cuda(backend, possible=possible and subs.ptr.is_cuda, why=why):
        weight = None if subs.weight is None else symmetric_weight(subs)
        return on_gpu(subs, cons, weight, start, steps, laplacian, dtype, seed, epoch)
    check_laplacian(laplacian)
    operator = cache(lambda: laplacian_of(subs, laplacian))  # the kernel needs none, most starts neither
    block = start_block(subs, operator, columns, start, seed=seed, epoch=epoch)
    if kernels.use_numba(backend, possible=possible and not subs.ptr.is_cuda, why=why):
        return _compiled(subs, columns, deleted, block, steps, laplacian == "normalized", dtype)
    return lanczos(
        operator(),
        columns,
        start=block,
        steps=steps,
        deleted=None if deleted is None else (_degree(subs, symmetric_weight(subs)), deleted),
        complete=complete,
        dtype=dtype,
    )


def on_gpu(
    subs: Subgraphs,
    cons: Columns | Tensor | str | None,
    weight: Tensor | None,
    start: str | Tensor,
    steps: int,
    laplacian: str,
    dtype: torch.dtype,
    seed: int,
    epoch: int,
) -> Eigenbasis:
    """`eigenbasis` by the CUDA kernel; `weight [E]` the same in both directions, or None. Of constraints that the kernel makes by itself,
    `solving.NEUMANN`, the name is enough where the start does not need them."""
    from llwlc.kernels.cuda import solving
    from llwlc.kernels.cuda.driver import engine_of

    check_laplacian(laplacian)
    given = given_of(subs, cons, weight, start, laplacian, seed=seed, epoch=epoch)
    ritz = solving.eigenbasis(
        engine_of(subs.ptr),
        given,
        steps=steps,
        normalized=laplacian == "normalized",
        tolerance=TOLERANCE[dtype],
        rank_tolerance=RANK_TOLERANCE,
        dtype=dtype,
        neumann=solving.NEUMANN[cons] if isinstance(cons, str) else 0,
    )
    mask = torch.arange(steps, device=subs.ptr.device) < ritz.live[:, None]
    return Eigenbasis(ritz.values, ritz.vectors, mask, ritz.residual, subs.ptr)


def given_of(
    subs: Subgraphs,
    cons: Columns | Tensor | str | None,
    weight: Tensor | None,
    start: str | Tensor,
    laplacian: str,
    *,
    seed: int,
    epoch: int,
) -> Given:
    """What the CUDA kernel takes; it knows the query nodes by itself."""
    from llwlc.kernels.cuda.solving import Given

    columns, deleted = _columns(subs, None if isinstance(cons, str) else cons)
    block = None
    if not (isinstance(start, str) and start == "query"):
        block = start_block(subs, lambda: laplacian_of(subs, laplacian), columns, start, seed=seed, epoch=epoch)
    shown = None if isinstance(cons, str) else columns
    for name, x in (("cons", shown), ("start", block)):
        if x is not None and x.device != subs.ptr.device:  # the kernel would follow an address of another memory
            raise InputError(f"{name} is on {x.device}, the subgraphs are on {subs.ptr.device}: move it there")
    ptr, row, col, hop, u, v = (x.long() for x in (subs.ptr, subs.row, subs.col, subs.hop, subs.u, subs.v))
    return Given(ptr, row, col, weight, shown, block, hop, u, v, deleted)


def _compiled(
    subs: Subgraphs,
    columns: Tensor,
    deleted: Tensor | None,
    block: Tensor,
    steps: int,
    normalized: bool,
    dtype: torch.dtype,
) -> Eigenbasis:
    from llwlc.kernels import given

    first = pointer(torch.bincount(subs.row, minlength=subs.num_nodes))
    weight = symmetric_weight(subs) if subs.weight is not None else torch.empty(0, dtype=torch.float64)
    marks = torch.empty(0, dtype=torch.bool) if deleted is None else deleted
    arrays = (subs.ptr, first, subs.col, weight, columns, block, marks)
    kind = torch.empty(0, dtype=dtype).numpy().dtype.type
    ritz = given.eigenbasis(
        given.Given(*(x.detach().contiguous().numpy() for x in arrays)),
        steps,
        normalized,
        TOLERANCE[dtype],
        RANK_TOLERANCE,
        kind,
    )
    values, vectors, mask, residual = (
        torch.from_numpy(x) for x in (ritz.values, ritz.vectors, ritz.mask, ritz.residual)
    )
    return Eigenbasis(values, vectors, mask, residual, subs.ptr)


def check_laplacian(kind: str) -> None:
    if kind not in ("normalized", "combinatorial"):
        raise InputError(f"laplacian must be 'normalized' or 'combinatorial', got {kind!r}")


def laplacian_of(subs: Subgraphs, kind: str) -> Operator:
    """D − A, or D^(−1/2) (D − A) D^(−1/2) with L_ii = 0 at isolated nodes, in float64; differentiable in the weights."""
    check_laplacian(kind)
    row, col, weight = subs.row, subs.col, symmetric_weight(subs)
    degree = _degree(subs, weight)
    if kind == "combinatorial":
        return Operator(subs.ptr, row, col, -weight, degree)
    linked = degree > 0
    scale = torch.where(linked, torch.where(linked, degree, 1).rsqrt(), 0)
    return Operator(subs.ptr, row, col, -weight * scale[row] * scale[col], linked.double())


def _degree(subs: Subgraphs, weight: Tensor) -> Tensor:
    """Summed in float64 as the constraint columns are: float32 sums would leave the closed form's null space beside theirs."""
    return torch.zeros(subs.num_nodes, dtype=torch.float64, device=weight.device).index_add(0, subs.row, weight)


def start_block(
    subs: Subgraphs, operator: Callable[[], Operator], columns: Tensor, start: str | Tensor, *, seed: int, epoch: int
) -> Tensor:
    """The start as a block `[N, b]` in float64, before projection; only "constraint" needs the operator."""
    n, device = subs.num_nodes, subs.ptr.device
    if isinstance(start, Tensor):
        block = start.double()[:, None] if start.ndim == 1 else start.double()
        if block.ndim != 2 or block.shape[0] != n or block.shape[1] < 1:
            raise InputError(
                f"start must have a row for each of the {n} nodes, [N] or [N, b], got {tuple(start.shape)}"
            )
        return block
    if not isinstance(start, str):
        raise InputError(f"start must be {STARTS}, got {type(start).__name__}: torch.as_tensor makes a tensor of it")
    if start == "query":
        nodes = torch.arange(n, device=device)[:, None]
        return torch.eq(nodes, torch.stack([subs.u, subs.v], 1)[subs.graph]).double()
    if start == "random":
        pair = torch.stack([subs.node[subs.u], subs.node[subs.v]], 1)
        low, high = pair.amin(1)[subs.graph], pair.amax(1)[subs.graph]
        return normal(draw(seed, epoch, low, high, subs.node, STREAM))[:, None]
    if start == "constraint":
        if columns.shape[1] == 0:
            raise InputError("start='constraint' is P L C 1 and needs constraints: pass cons, or start='query'")
        return operator() @ columns.sum(1, keepdim=True)
    raise InputError(f"start must be {STARTS}, got {start!r}")


def _columns(subs: Subgraphs, cons: Columns | Tensor | None) -> tuple[Tensor, Tensor | None]:
    if cons is None:
        return torch.zeros(subs.num_nodes, 0, dtype=torch.float64, device=subs.ptr.device), None
    if not isinstance(cons, Tensor) and not hasattr(cons, "columns"):
        raise InputError(
            f"cons must be Constraints, a tensor [N, k] or None, got {type(cons).__name__}: constraints.by_name(subs, ...) makes them of "
            "a name, constraints.custom(subs, ...) of an array"
        )
    columns, deleted = (cons.to_dense(), None) if isinstance(cons, Tensor) else (cons.columns, cons.deleted)
    if not isinstance(cons, Tensor) and not torch.equal(cons.ptr, subs.ptr):
        raise InputError("cons was made for other subgraphs (its ptr differs): make it of the subs passed here")
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim != 2 or columns.shape[0] != subs.num_nodes:
        raise InputError(
            f"cons has shape {tuple(columns.shape)}, but the subgraphs have {subs.num_nodes} nodes in all: columns are [N, k], "
            "made for these same subgraphs"
        )
    return columns.double(), deleted
