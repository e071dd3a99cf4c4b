"""Eigenbases of enclosing subgraphs: where subgraphs, constraints and linear algebra meet."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Literal, Protocol

import torch
from torch import Tensor

from llwlc._kernels.backends import choose
from llwlc._kernels.solve_options import SolveOptions
from llwlc.bases._config import LAPLACIANS
from llwlc.bases._kernel_options import make_solve_options
from llwlc.bases._laplacian import laplacian_of, weighted_degree
from llwlc.bases._start_blocks import make_batch_start
from llwlc.bases._starts import StartInputs
from llwlc.errors import InputError
from llwlc.linalg._basis import Eigenbasis
from llwlc.linalg._batch_lanczos import lanczos
from llwlc.linalg._krylov import TOLERANCE
from llwlc.linalg._matrix import check_dtype, check_gradient, check_steps
from llwlc.linalg._tape import Tape
from llwlc.subgraphs._batch import Subgraphs, symmetric_weight

if TYPE_CHECKING:
    from llwlc._kernels.cuda.solving import GpuBasisInputs


class ConstraintColumns(Protocol):
    """The constraints of a basis: `columns [N, k]`, and where all are vertex-deleted ones, `deleted [N]`."""

    @property
    def columns(self) -> Tensor: ...
    @property
    def ptr(self) -> Tensor: ...
    @property
    def deleted(self) -> Tensor | None: ...


def eigenbasis(
    subs: Subgraphs,
    cons: ConstraintColumns | Tensor | None = None,
    *,
    steps: int = 10,
    start: str | Tensor = "query",
    laplacian: Literal["normalized", "combinatorial"] = "normalized",
    complete: bool = False,
    dtype: torch.dtype = torch.float32,
    gradient: Literal["exact", "truncated"] = "exact",
    ridge: float = 0.0,
    seed: int = 0,
    epoch: int = 0,
    backend: str = "auto",
) -> Eigenbasis:
    """Ritz pairs of PLP for every subgraph: L its Laplacian, P the projector onto the null space of its constraints.

    A graph with nothing to span (null space {0}, start in the range of C) or with entries that are not finite has an
    empty mask; the others of its batch are not affected. Computed in float64, stored in `dtype`.

    Args:
        subs: B subgraphs with N nodes in all.
        cons: `Constraints`, bare columns `[N, k]`, or None for plain Lanczos.
        steps: κ, the number of basis vectors.
        start: `"query"` (the block e_u, e_v: permutation-equivariant, rows u and v of p(PLP)P exact up to degree ⌊κ/2⌋
            − 1; around a node e_u; whole graphs have none), `"random"` (the paper's; drawn for (seed, epoch, pair,
            node) by `subs.identity`, so it depends on neither batch nor order), `"constraint"` (P L C 1), a signal
            `[N]` or a block `[N, b]`.
        laplacian: `"normalized"`, or `"combinatorial"` (the paper's).
        complete: return all eigenpairs on the null space.
        dtype: float32 or float64, of the result.
        gradient: where edge weights, constraints or the start want gradients. `"exact"`: those of `spectral_filter`,
            refused where none exists. `"truncated"`: the span of the basis is taken as constant, but for the null space
            that moves with the constraints. Exact on a complete basis; on any other it leaves out how the Krylov space
            turns, so it is biased, but bounded and defined for every signal (docs/numerics.md measures the bias).
        ridge: ρ, bounds the gradient with respect to constraints that nearly depend on each other: in place of 1/σ, σ
            the smallest singular value of the unit columns, it grows to 1/(2√ρ) at most. It changes no value; gradients
            are biased by the factor σ²/(σ² + ρ). 0 is exact.
        seed: seed of the start `"random"`.
        epoch: number of the epoch; each epoch has its own draw.
        backend: `"auto"`, `"numba"`, `"cuda"` or `"reference"`; they agree.

    Returns:
        `values [B, κ]`, `vectors [N, κ]`, `mask [B, κ]`, `residual [B, κ]` and `ptr [B + 1]`.

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
    if laplacian not in LAPLACIANS:
        raise InputError(f"laplacian must be 'normalized' or 'combinatorial', got {laplacian!r}")
    if not isinstance(subs, Subgraphs):
        raise InputError(
            f"subs must be Subgraphs, got {type(subs).__name__}: Subgraphs.from_batch(data) makes them of a PyG Data or"
            " Batch, subgraphs.extract(graph, pairs) of a Graph, and constrained_lanczos takes one matrix"
        )
    subs.check()
    ridge = check_gradient(gradient, ridge)
    columns, deleted = _columns(subs, cons)
    _require_device(subs, columns, start)
    if isinstance(cons, Tensor) or (columns.requires_grad and torch.is_grad_enabled()):
        _refuse_not_finite(subs, columns)
    operator = cache(lambda: laplacian_of(subs, laplacian))  # neither the kernels nor most starts need it
    inputs = StartInputs(subs, columns, operator, seed, epoch)
    needs_gradients = _wants_gradients(subs, columns, start)
    by_kernel = gradient == "truncated" and not complete and not subs.ptr.is_cuda
    unable = _unable(subs, needs_gradients and not by_kernel, complete)
    backend_name = choose(backend, unable, what="this basis").name
    if backend_name == "cuda":
        weight = None if subs.weight is None else symmetric_weight(subs)
        return compute_gpu_eigenbasis(
            subs, cons, weight, start, inputs, make_solve_options(steps, laplacian, dtype), dtype
        )[0]
    if complete and subs.roots == "graph" and isinstance(start, str) and start == "query":
        block = columns.new_zeros(len(columns), 0)  # all pairs need no start, and the default one needs a root
    else:
        block = make_batch_start(start, inputs)
    if backend_name == "numba":
        basis = _compiled(subs, columns, deleted, block, make_solve_options(steps, laplacian, dtype), dtype)
        if not needs_gradients:
            return basis
        return replace(basis, tape=Tape(operator(), columns, block, False, TOLERANCE[dtype], True, ridge))
    return lanczos(
        operator(),
        columns,
        start=block,
        steps=steps,
        deleted=None if deleted is None else (weighted_degree(subs, symmetric_weight(subs)), deleted),
        complete=complete,
        dtype=dtype,
        truncated=gradient == "truncated",
        ridge=ridge,
    )


def _wants_gradients(subs: Subgraphs, columns: Tensor, start: str | Tensor) -> bool:
    inputs = [columns, *([start] if isinstance(start, Tensor) else []), *([] if subs.weight is None else [subs.weight])]
    return torch.is_grad_enabled() and any(x.requires_grad for x in inputs)


def _require_device(subs: Subgraphs, columns: Tensor | None, start: str | Tensor | None) -> None:
    """Kernels read addresses, which are invalid on another device."""
    for name, x in (("cons", columns), ("start", start)):
        if isinstance(x, Tensor) and x.device != subs.ptr.device:
            raise InputError(
                f"{name} is on {x.device}, the subgraphs are on {subs.ptr.device}: move it there, or them by subs.to()"
            )


def _refuse_not_finite(subs: Subgraphs, columns: Tensor) -> None:
    """A graph whose weights are not finite gets no live column, but constraints that are not finite are a fault."""
    bad = (~columns.detach().isfinite()).nonzero()
    if len(bad):
        row, column = bad[0].tolist()
        raise InputError(
            f"C has {len(bad)} entries that are NaN or infinite, the first in column {column} at row {row} (graph"
            f" {int(subs.graph[row])}): constraints must be finite: check the step size of learned ones"
        )


def _unable(subs: Subgraphs, wanted: bool, complete: bool) -> dict[str, str]:
    """For each backend, why it cannot compute these bases; `wanted`: gradients that kernels do not carry."""
    common = "complete=True" if complete else "gradients are asked for" if wanted else ""
    here, other = ("cuda", "numba") if subs.ptr.is_cuda else ("numba", "cuda")
    where = "are on a GPU" if subs.ptr.is_cuda else "are not on a GPU"
    return {here: common, other: f"the subgraphs {where}"}


def compute_gpu_eigenbasis(
    subs: Subgraphs,
    cons: ConstraintColumns | Tensor | int | None,
    weight: Tensor | None,
    start: str | Tensor,
    inputs: StartInputs,
    solve: SolveOptions,
    dtype: torch.dtype,
) -> tuple[Eigenbasis, Tensor]:
    """`eigenbasis` by the CUDA kernel, and the degrees of the nodes `[N]`; `weight [E]` the same in both directions, or
    None. `cons` is a number where the kernel makes the columns by itself: `_kernel_options.neumann_bits`."""
    from llwlc._kernels.cuda import solving
    from llwlc._kernels.cuda.driver import engine_of

    gpu_inputs = make_gpu_basis_inputs(subs, cons, weight, start, inputs)
    neumann = cons if isinstance(cons, int) else 0
    ritz = solving.eigenbasis(engine_of(subs.ptr), gpu_inputs, solve, dtype=dtype, neumann=neumann)
    mask = torch.arange(solve.steps, device=subs.ptr.device) < ritz.live[:, None]
    return Eigenbasis(ritz.values, ritz.vectors, mask, ritz.residual, subs.ptr), ritz.degree


def make_gpu_basis_inputs(
    subs: Subgraphs,
    cons: ConstraintColumns | Tensor | int | None,
    weight: Tensor | None,
    start: str | Tensor,
    inputs: StartInputs,
) -> GpuBasisInputs:
    """The inputs of the CUDA kernel, which makes the query start itself."""
    from llwlc._kernels.cuda.solving import GpuBasisInputs

    columns, deleted = _columns(subs, None if isinstance(cons, int) else cons)
    asked_for_ends = isinstance(start, str) and start == "query" and subs.roots == "link"
    block = None if asked_for_ends else make_batch_start(start, inputs._replace(columns=columns))
    shown = None if isinstance(cons, int) else columns
    _require_device(subs, shown, block)
    ptr, row, col = subs.ptr.long(), subs.row.long(), subs.col.long()
    if subs.roots == "link":
        hop, u, v = subs.hop.long(), subs.u.long(), subs.v.long()
    else:  # read for the query start and columns that the kernel makes by itself, which is for pairs alone
        hop, u, v = torch.zeros_like(subs.node, dtype=torch.long), ptr[:-1], ptr[:-1]
    return GpuBasisInputs(ptr, row, col, weight, shown, block, hop, u, v, deleted)


def _compiled(
    subs: Subgraphs, columns: Tensor, deleted: Tensor | None, block: Tensor, solve: SolveOptions, dtype: torch.dtype
) -> Eigenbasis:
    from llwlc._kernels.numba import eigenbasis as kernel

    weight = symmetric_weight(subs) if subs.weight is not None else torch.empty(0, dtype=torch.float64)
    marks = torch.empty(0, dtype=torch.bool) if deleted is None else deleted
    arrays = (subs.ptr, subs.first, subs.col, weight, columns, block, marks)
    kernel_inputs = kernel.BasisInputs(*(x.detach().contiguous().numpy() for x in arrays))
    ritz = kernel.eigenbasis(kernel_inputs, solve, torch.empty(0, dtype=dtype).numpy().dtype.type)
    values, vectors, mask, residual = (
        torch.from_numpy(x) for x in (ritz.values, ritz.vectors, ritz.mask, ritz.residual)
    )
    return Eigenbasis(values, vectors, mask, residual, subs.ptr)


def _columns(subs: Subgraphs, cons: ConstraintColumns | Tensor | None) -> tuple[Tensor, Tensor | None]:
    if cons is None:
        return torch.zeros(subs.num_nodes, 0, dtype=torch.float64, device=subs.ptr.device), None
    if not isinstance(cons, Tensor) and not hasattr(cons, "columns"):
        raise InputError(
            f"cons must be Constraints, a tensor [N, k] or None, got {type(cons).__name__}: constraints.by_name(subs,"
            " ...) makes them of a name, constraints.custom(subs, ...) of an array,"
            " LearnedConstraints(...)(x) of node states x"
        )
    columns, deleted = (cons.to_dense(), None) if isinstance(cons, Tensor) else (cons.columns, cons.deleted)
    if not isinstance(cons, Tensor) and not torch.equal(cons.ptr, subs.ptr):
        raise InputError("cons was made for other subgraphs (its ptr differs): make it of the subs passed here")
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim != 2 or columns.shape[0] != subs.num_nodes:
        raise InputError(
            f"cons has shape {tuple(columns.shape)}, but the subgraphs have {subs.num_nodes} nodes in all: columns are"
            " [N, k], made for these same subgraphs"
        )
    return columns.double(), deleted
