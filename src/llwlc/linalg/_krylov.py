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
    m, n, b = start.shape
    Q, products = start.new_zeros(m, n, steps), []
    count = torch.zeros(m, dtype=torch.long, device=start.device)
    for t in range(steps + b):
        if t < b:
            w, scale = _unit(start[:, :, t : t + 1]), torch.ones_like(bound)
        elif bool(((count >= steps) | (count <= t - b)).all()):
            break
        else:
            w, scale = apply(Q[:, :, t - b : t - b + 1]), bound
            products.append(w)
        # jointly against [Y Q], twice: projecting first and reorthogonalising after would divide a leak into range C by
        # a small β
        for _ in range(2):
            w = project(w) - Q[:, :, :t] @ (Q[:, :, :t].mT @ w)
        norm = _norm(w)
        live = (norm > (tolerance * scale).view(m, 1, 1)) & (count < steps).view(m, 1, 1)
        q = torch.where(live, w / torch.where(live, norm, 1), 0)
        place = torch.nn.functional.one_hot(count.clamp(max=max(steps - 1, 0)), max(steps, 1))[:, None, :steps]
        Q = Q + q * place.to(Q.dtype)
        count = count + live.view(m)
    return KrylovBasis(Q, torch.cat([*products, apply(Q[:, :, len(products) :])], 2), count)


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
