"""The paper's convergence section as code: what is known about the error of a (constrained) Lanczos run, and when.

Everything here is for study and diagnosis: small dense matrices in float64, any leading batch dimensions. With
constraints, A is the operator *on the null space*: `restrict(L, C)` gives it. On all of ℝⁿ, PLP has an extra eigenvalue
0 for each constraint, and "the smallest eigenvalue" would mean that artefact.

>>> L = torch.diag(torch.tensor([1.0, 2.0, 4.0])); E = 0.1 * torch.ones(3, 3)
>>> b = shift_bounds(L, E)
>>> bool(b.lower <= b.shift <= b.upper)
True
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from llwlc.errors import InputError

SAME = 1e-9
"""Eigenvalues closer than this, relative to the width of the spectrum, count as one: their order and vectors are
arbitrary.
"""


def restrict(L: Tensor, C: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """PLP on the null space of Cᵀ: (ZᵀLZ `[m, m]`, Z `[n, m]`), Z an orthonormal basis of it. One matrix, `L [n, n]`,
    `C [n, k]`.

    Columns are normalised before the rank is found, so that a hub does not hide small constraints.
    """
    L = L.double()
    if C is None or C.shape[1] == 0:
        return L, torch.eye(len(L), dtype=L.dtype, device=L.device)
    if len(C) != len(L):
        raise InputError(f"C: {len(C)} rows for a matrix of {len(L)}; give one row for each node")
    length = torch.linalg.vector_norm(C.double(), dim=0)
    left, size, _ = torch.linalg.svd(C.double()[:, length > 0] / length[length > 0], full_matrices=True)
    Z = left[:, int((size > SAME).sum()) :]
    return Z.mT @ L @ Z, Z


class ShiftBounds(NamedTuple):
    """`lower` ≤ `shift` ≤ `upper`, each `[...]`."""

    shift: Tensor
    lower: Tensor
    upper: Tensor


def shift_bounds(A: Tensor, E: Tensor) -> ShiftBounds:
    """The appendix's first inequality, for the smallest eigenvalues λ of A and λ̃ of A + E: ũᵀEũ ≤ λ̃ − λ ≤ uᵀEu.

    Both are Rayleigh quotients, so it holds for every symmetric A and E, degenerate or not.
    """
    A, E = A.double(), E.double()
    (values, vectors), (moved, there) = _eigh(A), _eigh(A + E)
    u, v = vectors[..., :1], there[..., :1]
    return ShiftBounds(moved[..., 0] - values[..., 0], _quadratic(E, v), _quadratic(E, u))


class DistanceBounds(NamedTuple):
    """`sine_lower` ≤ `sine` ≤ `sine_upper` for the angle between ũ and the eigenspace of λ, `lower` ≤ `distance` ≤
    `upper` for ‖u − ũ‖.
    """

    sine: Tensor
    sine_lower: Tensor
    sine_upper: Tensor
    distance: Tensor
    lower: Tensor
    upper: Tensor


def distance_bounds(A: Tensor, E: Tensor) -> DistanceBounds:
    """The appendix's second inequality: how far the eigenvector ũ of λ̃, the smallest of A + E, is from the eigenspace
    U of A's.

    With u the unit vector of U nearest to ũ and β the sine of their angle, β ≤ ‖u − ũ‖ ≤ β (1 + β²/(1 + √2)), and

        max(0, (‖Eũ‖ − |λ̃−λ|)/d̃_max, (‖Eu‖ − |λ̃−λ|)/d_max) ≤ β ≤ min(‖Eũ‖/d̃_min, ‖Eu‖/d_min),

    d̃ the distances from λ̃ to A's other eigenvalues, d those from λ to Ã's. The second upper bound speaks of the angle
    between u and the eigenspace of λ̃, which is β only if λ̃ is simple; the paper does not say so. It is left out where
    λ̃ is not.
    """
    A, E = A.double(), E.double()
    (values, vectors), (moved, there) = _eigh(A), _eigh(A + E)
    near, near_moved = _cluster(values), _cluster(moved)
    v = there[..., :1]
    inside = (vectors * near[..., None, :]) @ ((vectors * near[..., None, :]).mT @ v)
    cosine = torch.linalg.vector_norm(inside, dim=(-2, -1))
    sine = torch.linalg.vector_norm(v - inside, dim=(-2, -1))
    # where ũ is orthogonal to U every u is equally near
    u = torch.where(cosine[..., None, None] > SAME, inside / cosine[..., None, None].clamp(min=SAME), vectors[..., :1])
    shift = (moved[..., 0] - values[..., 0]).abs()
    push, push_moved = _norm(E @ u), _norm(E @ v)
    low, high = _extremes((moved[..., :1] - values).abs(), ~near)
    low_moved, high_moved = _extremes((values[..., :1] - moved).abs(), ~near_moved)
    simple = near_moved.sum(-1) == 1
    upper = torch.minimum(push_moved / low, torch.where(simple, push / low_moved, torch.inf)).clamp(max=1)
    lower = torch.maximum((push_moved - shift) / high, (push - shift) / high_moved).clamp(min=0)
    # an empty set of other eigenvalues means that U is everything
    upper, lower = torch.where(near.all(-1), 0, upper), torch.where(near.all(-1), 0, lower)
    widest = upper * (1 + upper**2 / (1 + 2**0.5))
    return DistanceBounds(sine, lower, upper, _norm(u - v), lower, widest)


def shift_estimate(diagonal: Tensor, off: Tensor, u: Tensor) -> Tensor:
    """Theorem 1: λ̃ − λ ≈ Σ Eᵢᵢ uᵢ² + 2 Σ Eᵢ,ᵢ₊₁ uᵢ uᵢ₊₁ for a tridiagonal perturbation E of the exact T*, u its first
    eigenvector.

    That is uᵀEu, the upper bound of `shift_bounds`: an estimate from above, wrong by at most uᵀEu − ũᵀEũ, which is of
    second order in E. Shapes: `diagonal`, `u [..., κ]`, `off [..., κ − 1]`.
    """
    return (diagonal * u.square()).sum(-1) + 2 * (off * u[..., :-1] * u[..., 1:]).sum(-1)


def greenbaum_residual(A: Tensor, Q: Tensor, T: Tensor, rest: Tensor) -> Tensor:
    """F = AQ − QT − β q eᵀ, what rounding or an inexact projector has left of the Lanczos recurrence, `[..., n, κ]`.

    `Q [..., n, κ]`, `T [..., κ, κ]`, `rest [..., n]` the next, unnormalised vector βq. Whether Q has stayed orthogonal
    or not, every eigenpair (θ, s) of T obeys min |θ − λ(A)| ≤ (‖F‖₂ + ‖rest‖ |s_κ|) / ‖Qs‖: see `ritz_bounds`.
    """
    A, Q = A.double(), Q.double()
    F = A @ Q - Q @ T.double()
    return torch.cat([F[..., :-1], F[..., -1:] - rest.double()[..., None]], -1)


def ritz_bounds(F: Tensor, Q: Tensor, T: Tensor, rest: Tensor) -> tuple[Tensor, Tensor]:
    """The eigenvalues θ of T, ascending, and for each a radius that holds an eigenvalue of A, both `[..., κ]`."""
    theta, s = _eigh(T.double())
    size = torch.linalg.vector_norm(Q.double() @ s, dim=-2)
    last = torch.linalg.vector_norm(rest.double(), dim=-1, keepdim=True) * s[..., -1, :].abs()
    radius = torch.linalg.matrix_norm(F, 2)[..., None] + last
    # a Ritz vector that vanishes (a column behind a breakdown) says nothing
    return theta, torch.where(size > 0, radius / torch.where(size > 0, size, 1), torch.inf)


def exact_counterpart(A: Tensor, Q: Tensor, F: Tensor) -> Tensor:
    """Ã with ÃQ = QT + βqeᵀ exactly and ‖Ã − A‖₂ = ‖F‖₂: the matrix for which a perturbed run was an exact one.

    So each eigenvalue of Ã is within ‖F‖₂ of one of A, as the paper states after Greenbaum. It asks for orthonormal Q,
    that is, for reorthogonalisation; without, Greenbaum's matrix is larger than A and its eigenvalues come in clusters.
    In the basis [Q, Q⊥], A − Ã = [[S, Gᵀ], [G, W]] with S = QᵀF (symmetric, since A is) and G the rest of F; W = −G S
    (μ² − S²)⁻¹ Gᵀ, μ = ‖F‖₂, keeps the norm at μ (Davis, Kahan and Weinberger 1982).
    """
    A, Q, F = A.double(), Q.double(), F.double()
    S = Q.mT @ F
    S = (S + S.mT) / 2
    G = F - Q @ S
    mu: Tensor = torch.linalg.matrix_norm(F, 2)[..., None]
    sigma, B = _eigh(S)
    room = mu**2 - sigma**2
    # where μ² − S² vanishes, G does too: the norm of [S; G] is at most μ in every direction
    factor = torch.where(room > SAME * mu**2, sigma / room.clamp(min=torch.finfo(room.dtype).tiny), 0)
    W = -((G @ B) * factor[..., None, :]) @ (G @ B).mT
    return A - (Q @ S @ Q.mT + G @ Q.mT + Q @ G.mT + W)


def low_rank_error(A: Tensor, Q: Tensor, T: Tensor) -> Tensor:
    """‖A − QTQᵀ‖_F², `[...]`."""
    Q = Q.double()
    return (A.double() - Q @ T.double() @ Q.mT).square().sum((-2, -1))


def low_rank_bound(A: Tensor, start: Tensor, rest: Tensor, *, steps: int, j: int) -> Tensor:
    """Theorem 2, corrected: an upper bound of `low_rank_error` after `steps` > j exact steps from `start`, `[...]`.

        ‖A − QTQᵀ‖_F² ≤ Σ_{i≤j} λᵢ² min(1, tᵢ²) + Σ_{i>j} λᵢ² + β²,
        tᵢ = sin(ν, Uᵢ) / (cos(ν, uᵢ) T_{κ−i}(1 + 2γᵢ)) · Π_{k<i} (λ_k − λ_N)/(λ_k − λᵢ),   γᵢ = (λᵢ − λᵢ₊₁)/(λᵢ₊₁ −
        λ_N),

    λ₁ ≥ … ≥ λ_N, Uᵢ = span(u₁ … uᵢ), T the Chebyshev polynomial. tᵢ bounds the tangent between uᵢ and the Krylov space
    (Saad 1980). As printed, the product runs to j for every i, and β² = ‖rest‖² is missing although AQ = QT + βqeᵀ
    leaves it over. The minimum with 1, a sine's bound, keeps it finite where uᵢ cannot be found: cos(ν, uᵢ) = 0, or λᵢ
    repeated. `rest [..., n]` is the unnormalised next vector βq of the run.
    """
    values, sine, cosine = _spectrum(A, start, steps, j)
    k, i = torch.triu_indices(j, j, 1, device=values.device)
    gap = values[..., k] - values[..., i]
    factor = torch.where(_distinct(values, gap), (values[..., k] - values[..., -1:]) / gap, torch.inf)
    product = torch.ones(*values.shape[:-1], j, j, dtype=values.dtype, device=values.device)
    product[..., k, i] = factor
    tangent = sine / cosine * product.prod(-2) / _chebyshev(values, steps, j)
    found = torch.nan_to_num(tangent**2, nan=torch.inf).clamp(max=1)
    beta = rest.double().square().sum(-1)
    return (values[..., :j].square() * found).sum(-1) + values[..., j:].square().sum(-1) + beta


def low_rank_bound_as_printed(A: Tensor, start: Tensor, *, steps: int, j: int) -> Tensor:
    """Theorem 2 as the paper prints it, which does not hold: kept for the counterexamples. Infinite where it divides by
    zero.
    """
    values, sine, cosine = _spectrum(A, start, steps, j)
    gap = values[..., : j - 1] - values[..., j - 1 : j]
    factor = torch.where(_distinct(values, gap), (values[..., : j - 1] - values[..., -1:]) / gap, torch.inf)
    tangent = sine / cosine * factor.prod(-1, keepdim=True) / _chebyshev(values, steps, j)
    found = torch.nan_to_num(tangent**2, nan=torch.inf)
    return (values[..., :j].square() * found).sum(-1) + values[..., j:].square().sum(-1)


def _spectrum(A: Tensor, start: Tensor, steps: int, j: int) -> tuple[Tensor, Tensor, Tensor]:
    """Eigenvalues, descending, `[..., N]`, and sin(ν, Uᵢ), cos(ν, uᵢ) for i ≤ j, `[..., j]`."""
    if not 1 <= j < min(steps, A.shape[-1]):
        raise InputError(
            f"j: must be at least 1 and below both steps = {steps} and the dimension {A.shape[-1]}, got {j}"
        )
    values, vectors = _eigh(A.double())
    values, vectors = values.flip(-1), vectors.flip(-1)
    part = (vectors.mT @ start.double()[..., None])[..., 0]
    part = part / torch.linalg.vector_norm(part, dim=-1, keepdim=True)
    # what lies outside Uᵢ, summed from the small end: 1 − Σ would cancel
    outside = (part**2).flip(-1).cumsum(-1).flip(-1)[..., 1 : j + 1].sqrt()
    return values, outside, part[..., :j].abs()


def _chebyshev(values: Tensor, steps: int, j: int) -> Tensor:
    """T_{κ−i}(1 + 2γᵢ) for i = 1 … j, `[..., j]`; infinite where nothing but λ_N is left below λᵢ."""
    top, below = values[..., :j] - values[..., 1 : j + 1], values[..., 1 : j + 1] - values[..., -1:]
    gamma = torch.where(_distinct(values, below), top / below, torch.where(_distinct(values, top), torch.inf, 0))
    degree = steps - torch.arange(1, j + 1, device=values.device, dtype=values.dtype)
    return torch.cosh(degree * torch.acosh(1 + 2 * gamma.clamp(min=0)))


def _distinct(values: Tensor, gap: Tensor) -> Tensor:
    width = values.amax(-1, keepdim=True) - values.amin(-1, keepdim=True)
    return gap > SAME * width


def _cluster(values: Tensor) -> Tensor:
    """Which of the ascending eigenvalues are the smallest, `[..., n]`."""
    return ~_distinct(values, values - values[..., :1])


def _extremes(distance: Tensor, where: Tensor) -> tuple[Tensor, Tensor]:
    """Smallest and largest distance, over `where` only."""
    return torch.where(where, distance, torch.inf).amin(-1), torch.where(where, distance, 0).amax(-1)


def _eigh(A: Tensor) -> tuple[Tensor, Tensor]:
    values, vectors = torch.linalg.eigh(A)
    return values, vectors


def _norm(vector: Tensor) -> Tensor:
    return vector.square().sum((-2, -1)).sqrt()


def _quadratic(E: Tensor, u: Tensor) -> Tensor:
    return (u.mT @ E @ u)[..., 0, 0]
