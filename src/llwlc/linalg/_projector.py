"""Projectors P onto the null space of Cᵀ: direct with rank detection, closed form for vertex-deleted columns, LSQR.

All three are P = I − C C⁺ (the paper's text exchanges C and Cᵀ once; that is a slip). Each is a function
`[M, n, b] → [M, n, b]`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
import torch
from scipy.sparse.linalg import lsqr
from torch import Tensor

from llwlc.errors import InputError

Projector = Callable[[Tensor], Tensor]

RANK_TOLERANCE = 1e-12
"""A unit column whose part outside the others is below this is taken for dependent on them."""


class Range(NamedTuple):
    """An orthonormal basis of range C: `Y [M, n, r]` (zero columns behind the rank), `rank [M]`, and `R [M, r, k]`,
    `scale [M, k]` with C = Y R diag(scale)."""

    Y: Tensor
    rank: Tensor
    R: Tensor
    scale: Tensor


class FactorizationError(NamedTuple):
    """The paper's two errors of a QR factorisation Z = QR: ‖Z − QR‖ / ‖Z‖ and ‖I − QᵀQ‖, in the Frobenius norm, `[M]`.

    >>> errors = factorization_error(torch.eye(3, dtype=torch.float64)[None, :, :2])
    >>> float(errors.backward), float(errors.orthogonality)
    (0.0, 0.0)
    """

    backward: Tensor
    orthogonality: Tensor


def orthonormal_range(C: Tensor) -> Range:
    """Pivoted Gram–Schmidt, twice, on unit columns in float64: `C [M, n, k]`.

    Unpivoted QR would project out rounding noise where columns depend on each other, and a Gram matrix with a relative
    cut drops real constraints beside a hub of degree 1e5. Unit columns first, since only their directions count.

    >>> C = torch.tensor([[[1.0, 2.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]])
    >>> orthonormal_range(C).rank.tolist()
    [1]
    """
    C = C.detach().double()
    m, n, k = C.shape
    largest = C.abs().amax(1, keepdim=True) if n else C.new_zeros(m, 1, k)
    C = C / torch.where(largest > 0, largest, 1)  # squares of 1e200 would overflow
    scale = C.norm(dim=1, keepdim=True)
    rest = unit = C / torch.where(scale > 0, scale, 1)
    Y = C.new_zeros(m, n, min(n, k))
    rank = torch.zeros(m, dtype=torch.long, device=C.device)
    for j in range(Y.shape[2]):
        pivot = (rest * rest).sum(1).argmax(1)
        y = rest.gather(2, pivot.view(m, 1, 1).expand(m, n, 1))
        y = y - Y[:, :, :j] @ (Y[:, :, :j].mT @ y)
        norm = y.norm(dim=1, keepdim=True)
        live = norm > RANK_TOLERANCE
        if not live.any():
            break
        y = torch.where(live, y / torch.where(live, norm, 1), 0)
        y = y - Y[:, :, :j] @ (Y[:, :, :j].mT @ y)  # again: the first pass leaves what cancellation made large
        y = torch.where(live, y / torch.where(live, y.norm(dim=1, keepdim=True), 1), 0)
        Y[:, :, j : j + 1] = y
        rest = rest - y @ (y.mT @ rest)
        rank += live.view(m)
    Y = Y[:, :, : int(rank.max()) if m else 0]
    return Range(Y, rank, Y.mT @ unit, (scale * largest).view(m, k))


def tangent_range(C: Tensor, ridge: float = 0.0) -> Range:
    """`orthonormal_range` whose Y carries the exact gradient of P = I − YYᵀ with respect to `C [M, n, k]`.

    At constant rank dP = −(P dC C⁺ + its transpose), so Y + P dC C⁺Y has the right projector to first order, and no
    gradient of a factorisation is ever taken: nothing becomes NaN where columns are dependent or zero. (Where they are
    dependent, a perturbation that raises the rank makes P jump; its gradient is that along the perturbations that do
    not.)

    Nearly dependent columns have huge gradients: C⁺ has the norm 1/σ, σ the smallest singular value of C with its
    columns scaled to unit norm. A `ridge` ρ > 0 replaces 1/σ by σ/(σ² + ρ), at most 1/(2√ρ). It changes no value, and
    is a bias of the gradient alone: the part along a singular direction shrinks by the factor σ²/(σ² + ρ), 1/(1 + ρ)
    where columns are orthogonal.
    """
    space = orthonormal_range(C)
    if not (C.requires_grad and torch.is_grad_enabled() and space.Y.shape[2]):
        return space
    change = (C.double() - C.detach().double()) @ _inverse(space, ridge)  # its value is 0, its derivative dC C⁺Y
    return space._replace(Y=space.Y + direct_projector(space)(change))


def tangent_turn(C: Tensor, space: Range, V: Tensor, ridge: float = 0.0) -> Tensor:
    """Z `[M, r, m]` = (dC C⁺Y)ᵀ V for constant `V [M, n, m]` in the null space of Cᵀ, 0 in value: by it the moving P of
    `tangent_range` takes V to V − YZ. Gradients of V are thus those of r rows instead of n."""
    change = C.double() - C.detach().double()
    return _inverse(space, ridge).mT @ (change.mT @ V)


def _inverse(space: Range, ridge: float) -> Tensor:
    """C⁺Y `[M, k, r]`, with a ridge."""
    scale = torch.where(space.scale > 0, space.scale, 1)
    if ridge > 0:
        gram = space.R @ space.R.mT
        inverse = torch.linalg.solve(gram + ridge * torch.eye(gram.shape[1]).to(gram), space.R).mT
    else:
        inverse = torch.linalg.pinv(space.R, rtol=RANK_TOLERANCE)
    pseudo: Tensor = inverse / scale[:, :, None]
    return pseudo


def factorization_error(C: Tensor) -> FactorizationError:
    """The error of the direct factorisation of C, as the paper's perturbation section defines it.

    Args:
        C: `[n, k]`, or `[M, n, k]` for M matrices.

    Returns:
        `backward` = ‖Z − QR‖ / ‖Z‖ and `orthogonality` = ‖I − QᵀQ‖, each a number, or `[M]`.

    >>> error = factorization_error(torch.eye(4, 2))
    >>> error.backward.item() < 1e-15, error.orthogonality.item() < 1e-15
    (True, True)
    """
    Z = (C if C.ndim == 3 else C[None]).detach().double()
    if not Z.isfinite().all():
        raise InputError("C has entries that are NaN or infinite: fix them before factorising")
    Y, rank, R, scale = orthonormal_range(Z)
    live = (torch.arange(Y.shape[2], device=Z.device) < rank[:, None]).double()
    size = torch.linalg.matrix_norm(Z)
    backward = torch.linalg.matrix_norm(Z - (Y @ R) * scale[:, None]) / torch.where(size > 0, size, 1)
    orthogonality = torch.linalg.matrix_norm(torch.diag_embed(live) - Y.mT @ Y)
    shape = (-1,) if C.ndim == 3 else ()
    return FactorizationError(backward.view(shape), orthogonality.view(shape))


def direct_projector(space: Range) -> Projector:
    """x ↦ x − Y Yᵀ x.

    >>> P = direct_projector(orthonormal_range(torch.ones(1, 2, 1)))
    >>> P(torch.tensor([[[3.0], [1.0]]], dtype=torch.float64)).flatten().round(decimals=12).tolist()
    [1.0, -1.0]
    """
    Y = space.Y
    return (lambda x: x - Y @ (Y.mT @ x)) if Y.shape[2] else (lambda x: x)


def vertex_deleted_projector(degree: Tensor, deleted: Tensor) -> Projector:
    """The closed form, O(n), for columns that are the degrees with one deleted vertex zeroed: `degree`,
    `deleted [M, n]`.

    c_vᵀf = 0 for all v ∈ S ⇔ d_v f(v) = dᵀf for every v ∈ S: on S, f is a multiple of g = 1/d_S, and one scalar
    condition is left, orthogonality to the mean column, projected in the same way. With a d_v = 0 in S, dᵀf = 0, so f
    vanishes on the rest of S and is free on the nodes of degree 0: g = 0.

    >>> d, S = torch.tensor([[2.0, 1.0, 1.0]]), torch.tensor([[True, True, False]])
    >>> y = vertex_deleted_projector(d, S)(torch.eye(3, dtype=torch.float64)[None, :, :1]).flatten().tolist()
    >>> abs(y[1] + y[2]) < 1e-12, abs(2 * y[0] + y[2]) < 1e-12
    (True, True)
    """
    degree = degree.double()
    merged = deleted & (degree > 0)
    count = deleted.sum(1, keepdim=True).double()
    has_isolated = (deleted & (degree <= 0)).any(1, keepdim=True)
    g = torch.where(merged & ~has_isolated, 1 / torch.where(merged, degree, 1), 0)
    g = g / torch.where(has_isolated | (count == 0), 1, g.norm(dim=1, keepdim=True))
    mean = torch.where(count > 0, degree * torch.where(deleted, 1 - 1 / count.clamp(min=1), 1.0), 0)
    y = torch.where(merged, g * (g * mean).sum(1, keepdim=True), mean)
    norm = y.norm(dim=1, keepdim=True)
    y = (y / torch.where(norm > 0, norm, 1))[:, :, None]
    g, merged = g[:, :, None], merged[:, :, None]

    def project(x: Tensor) -> Tensor:
        x = torch.where(merged, g * (g.mT @ x), x)
        return x - y * (y.mT @ x)

    return project


def lsqr_projector(C: Any) -> Projector:
    """The inner iteration of Golub, Zhang and Zha: P x = x − C argmin_y ‖C y − x‖ by LSQR, for one large sparse
    `C [n, k]`.

    Neither C nor its factors are ever dense. Equivalent to `direct_projector` up to rounding. Columns are scaled to
    unit norm, which leaves the range alone and spares LSQR most of its iterations.

    >>> P = lsqr_projector(scipy.sparse.csr_array(np.ones((2, 1))))
    >>> P(torch.tensor([[[3.0], [1.0]]])).flatten().round(decimals=6).tolist()
    [1.0, -1.0]
    """
    matrix = scipy.sparse.csc_array(C.detach().cpu().numpy() if isinstance(C, Tensor) else C, dtype=np.float64)
    norm = scipy.sparse.linalg.norm(matrix, axis=0)
    unit = matrix @ scipy.sparse.diags_array(1 / np.where(norm > 0, norm, 1)).tocsc()

    def one(x: np.ndarray) -> np.ndarray:
        if not x.any():
            return x
        limit = 10 * min(unit.shape) + 100
        solution = lsqr(unit, x, atol=1e-15, btol=1e-15, conlim=0, iter_lim=limit)[0]
        return np.asarray(x - unit @ solution)

    def project(x: Tensor) -> Tensor:
        columns = x.detach().double().cpu().numpy()[0].T
        out = np.stack([one(c) for c in columns], 1) if len(columns) else columns.T
        return torch.as_tensor(out, device=x.device)[None]

    return project
