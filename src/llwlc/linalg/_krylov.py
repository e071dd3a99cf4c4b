"""The recurrence on padded tensors: a block Krylov basis of PLP, and the Ritz pairs it holds (Algorithm 1 of the
paper).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import scipy.linalg
import torch
from torch import Tensor

from llwlc.errors import InputError
from llwlc.linalg._projector import Projector

LinearMap = Callable[[Tensor], Tensor]
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
"""Breakdown, relative to ‖L‖, by the dtype of the basis; a backend that computes in float32 can see no smaller β."""

MAX_DENSE_NODES = 20_000
"""Nodes up to which all eigenpairs of a graph are computed: the memory is several n × n matrices, 3 GB each at this
size.
"""


class KrylovBasis(NamedTuple):
    """Q, L Q `[M, n, κ]` and the number of live columns, `[M]`."""

    Q: Tensor
    LQ: Tensor
    live: Tensor


class RitzPairs(NamedTuple):
    """`values [M, κ]`, `vectors [M, n, κ]`, `mask [M, κ]`, `residual [M, κ]`."""

    values: Tensor
    vectors: Tensor
    mask: Tensor
    residual: Tensor


def krylov(
    apply: LinearMap, project: Projector, start: Tensor, *, steps: int, bound: Tensor, tolerance: float
) -> KrylovBasis:
    """An orthonormal basis of span{P x, PLP x, (PLP)² x, …} for the columns x of `start [M, n, b]`, at most `steps`
    vectors.

    Candidate t is column t of the start, then L q_{t−b}, as in band Lanczos: a candidate that adds nothing is deflated
    and frees its place for the next, so every graph consumes one candidate a round and none waits for another.
    Candidates from an exhausted Krylov space are zero.
    """
    m, _, b = start.shape
    Q, products = _Columns(start, steps), _Columns(start, steps)
    count, taken = torch.zeros(m, dtype=torch.long, device=start.device), 0
    for t in range(steps + b):
        if t < b:
            w, scale = _unit(start[:, :, t : t + 1]), torch.ones_like(bound)
        elif bool(((count >= steps) | (count <= t - b)).all()):
            break
        else:
            w, scale = apply(Q.first(t - b + 1)[:, :, t - b :]), bound
            products.add(w, torch.full_like(count, t - b))
            taken = t - b + 1
        # jointly against [Y Q], twice: projecting first and reorthogonalising after would divide a leak into range C by
        # a small β
        basis = Q.first(min(t, steps))
        for _ in range(2):
            w = project(w) - basis @ (basis.mT @ w)
        norm = _norm(w)
        live = (norm > (tolerance * scale).view(m, 1, 1)) & (count < steps).view(m, 1, 1)
        Q.add(torch.where(live, w / torch.where(live, norm, 1), 0), count)
        count = count + live.view(m)
    whole = Q.first(steps)
    return KrylovBasis(whole, torch.cat([products.first(taken), apply(whole[:, :, taken:])], 2), count)


class _Columns:
    """Columns `[M, n, steps]`, zero until they are added: written in place, one behind the other in memory, where no
    gradient is wanted; a new tensor for each where autograd must see them."""

    def __init__(self, like: Tensor, steps: int):
        self.rows = like.new_zeros(like.shape[0], steps, like.shape[1])
        self.numbers, self.steps = torch.arange(len(like), device=like.device), steps

    def first(self, count: int) -> Tensor:
        return self.rows[:, :count].mT

    def add(self, column: Tensor, at: Tensor) -> None:
        """Adds `column [M, n, 1]` to the columns `at [M]`; behind the last one it must be 0."""
        if not self.steps:
            return
        at = at.clamp(max=self.steps - 1)
        if torch.is_grad_enabled():
            place = torch.nn.functional.one_hot(at, self.steps)[:, :, None].to(column.dtype)
            self.rows = self.rows + place * column.mT
        else:
            self.rows[self.numbers, at] += column[:, :, 0]


def _norm(x: Tensor) -> Tensor:
    """Column norms `[M, 1, b]` whose gradient at 0 is 0, not NaN."""
    square = (x * x).sum(1, keepdim=True)
    return torch.where(square > 0, torch.where(square > 0, square, 1).sqrt(), 0)


def _unit(x: Tensor) -> Tensor:
    # by the largest entry first: squares of 1e-200 would vanish
    largest = x.detach().abs().amax(1, keepdim=True)
    x = x / torch.where(largest > 0, largest, 1)
    norm = _norm(x)
    return x / torch.where(norm > 0, norm, 1)


def ritz_pairs(
    apply: LinearMap, project: Projector, start: Tensor, steps: int, bound: Tensor, tolerance: float
) -> RitzPairs:
    """Algorithm 1: the recurrence, then the small eigenproblem."""
    return ritz(krylov(apply, project, start, steps=steps, bound=bound, tolerance=tolerance), project)


def ritz(space: KrylovBasis, project: Projector) -> RitzPairs:
    """Eigenpairs of T = QᵀLQ carried back: V = QB, with ‖PLPv − λv‖ measured, not estimated."""
    T, mask = projected_matrix(space)
    values, B = eigh(T)
    values = torch.where(mask, values, 0)
    V = (space.Q @ B) * mask[:, None]
    residual = (project(space.LQ @ B) - V * values[:, None]) * mask[:, None]
    return RitzPairs(values, V, mask, residual.norm(dim=1))


def projected_matrix(space: KrylovBasis) -> tuple[Tensor, Tensor]:
    """T = QᵀLQ `[M, κ, κ]`, padded, and its live part, `[M, κ]`."""
    mask = torch.arange(space.Q.shape[2], device=space.Q.device) < space.live[:, None]
    return padded_matrix(space.Q.mT @ space.LQ, mask), mask


def padded_matrix(T: Tensor, mask: Tensor) -> Tensor:
    """T `[M, κ, κ]` made symmetric. Dead diagonal entries hold distinct sentinels above the spectrum, so the live pairs
    come first in ascending order and no eigenvalue of a padded T is repeated."""
    T = (T + T.mT) / 2
    slot = torch.arange(T.shape[1], device=T.device)
    height = T.detach().abs().sum(2).amax(1, keepdim=True) if T.shape[1] else T.new_zeros(len(T), 1)
    height = torch.where(height > 0, height, 1)
    sentinel = height * (1.5 + slot / max(T.shape[1], 1))
    return T + torch.diag_embed(torch.where(mask, 0, sentinel))


def eigh(T: Tensor) -> tuple[Tensor, Tensor]:
    """Batched `torch.linalg.eigh` that one matrix cannot bring down: after a failure each is solved alone, by QR
    iteration.
    """
    try:
        values, vectors = torch.linalg.eigh(T)
    except RuntimeError:  # torch.linalg.LinAlgError is one
        pairs = [_qr_iteration(t) for t in T]
        return torch.stack([p[0] for p in pairs]), torch.stack([p[1] for p in pairs])
    return values, vectors


def _qr_iteration(T: Tensor) -> tuple[Tensor, Tensor]:
    values, vectors = scipy.linalg.eigh(T.cpu().numpy(), driver="ev")
    return torch.as_tensor(values, device=T.device), torch.as_tensor(vectors, device=T.device)


def complete_pairs(apply: LinearMap, Y: Tensor, real: Tensor, bound: Tensor) -> RitzPairs:
    """All eigenpairs of PLP on the null spaces of some small graphs at once, padded: `Y [M, n, r]` orthonormal bases of
    range C, zero behind their rank; `real [M, n]`, true where a row is one of the graph's. κ is the largest n − r.

    Dense: range C and the padded rows are moved above the spectrum, where their eigenvalues come last."""
    m, n, _ = Y.shape
    A = apply(torch.eye(n, dtype=Y.dtype, device=Y.device).expand(m, n, n))
    A = A - Y @ (Y.mT @ A)
    A = A - (A @ Y) @ Y.mT
    above = torch.where(bound > 0, 2 * bound, 1).view(m, 1, 1)
    A = (A + A.mT) / 2 + above * (Y @ Y.mT + torch.diag_embed((~real).to(Y.dtype)))
    live = real.sum(1) - (Y * Y).sum((1, 2)).round().long()
    mask = torch.arange(n, device=Y.device)[: int(live.max())] < live[:, None]
    values, V = eigh(A)
    values, V = values[:, : mask.shape[1]] * mask, V[:, :, : mask.shape[1]] * (real[:, :, None] & mask[:, None])
    for _ in range(2):
        V = V - Y @ (Y.mT @ V)
    LV = apply(V)
    residual = (LV - Y @ (Y.mT @ LV) - V * values[:, None]) * mask[:, None]
    return RitzPairs(values, V, mask, residual.norm(dim=1))


def all_eigenpairs(apply: LinearMap, Y: Tensor) -> RitzPairs:
    """All eigenpairs of PLP on the null space of one graph: `Y [n, r]` orthonormal, result with M = 1 and κ = n − r.

    Where a Krylov space is exhausted it is invariant and so is its complement: fresh directions may be any orthonormal
    ones. Here they are all fresh, the complement of Y by Householder's full QR.
    """
    n, r = Y.shape
    if n > MAX_DENSE_NODES:
        raise InputError(
            f"complete=True solves a dense n × n problem, too large for {n} nodes (limit {MAX_DENSE_NODES}): take steps"
            " instead"
        )
    N = torch.linalg.qr(Y, mode="complete").Q[:, r:] if r else torch.eye(n, dtype=Y.dtype, device=Y.device)
    LN = apply(N[None])[0]
    T = N.mT @ LN
    values, B = eigh(((T + T.mT) / 2)[None])
    V, LV = N @ B[0], LN @ B[0]
    residual = LV - Y @ (Y.mT @ LV) - V * values
    return RitzPairs(values, V[None], torch.ones_like(values, dtype=torch.bool), residual.norm(dim=0)[None])
