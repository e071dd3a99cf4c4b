"""Functions of eigenvalues and of symmetric matrices, with the gradients that stay right at repeated eigenvalues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from llwlc.errors import InputError
from llwlc.linalg._krylov import eigh

Filter = Callable[[Tensor], Tensor] | Tensor


class Response(NamedTuple):
    """f at the eigenvalues: `value [M, κ, S]`, 0 where dead; `slope [M, κ, S]`, f′, where asked for; `several`: S was
    f's own.
    """

    value: Tensor
    slope: Tensor | None
    several: bool


def evaluate_filter(f: Filter, values: Tensor, mask: Tensor, *, slope: bool = False) -> Response:
    """Apply f to `values [M, κ]`; dead columns show f a live value, so a pole at 0 does no harm there.

    >>> r = evaluate_filter(lambda r: 1 / r, torch.tensor([[2.0, 0.0]]), torch.tensor([[True, False]]), slope=True)
    >>> r.value.flatten().tolist(), r.slope.flatten().tolist()
    ([0.5, 0.0], [-0.25, 0.0])
    """
    shown = torch.where(mask, values, torch.where(mask[:, :1], values[:, :1], 1)).detach().requires_grad_(slope)
    out = f if isinstance(f, Tensor) else f(shown)
    if out.ndim not in (2, 3) or out.shape[:2] != values.shape:
        want = f"[{values.shape[0]}, {values.shape[1]}]"
        raise InputError(f"f must give {want} (or one more dimension for several filters), got {tuple(out.shape)}")
    several = out.ndim == 3
    value = out if several else out[:, :, None]
    live = mask[:, :, None]
    steep = torch.where(live, _slope(value, shown), 0) if slope else None
    return Response(torch.where(live, value, 0), steep, several)


def _slope(value: Tensor, at: Tensor) -> Tensor:
    """f′ of each filter; f acts on each eigenvalue alone, so the gradient of a sum holds all derivatives."""
    if not value.requires_grad:
        return torch.zeros_like(value)
    slopes = []
    for s in range(value.shape[2]):
        (d,) = torch.autograd.grad(value[:, :, s].sum(), at, retain_graph=True, allow_unused=True)
        slopes.append(torch.zeros_like(at) if d is None else d)
    return torch.stack(slopes, 2).detach()


def matrix_function(
    T: Tensor, mask: Tensor, f: Filter, c: Tensor, dtype: torch.dtype, *, diagonal: bool = False
) -> tuple[Tensor, bool]:
    """f(T) c for symmetric `T [M, κ, κ]`, `c [M, κ, d]`: `[M, S, κ, d]`. f sees eigenvalues in `dtype`, its parameters'
    own. `diagonal`: T is so in value, though not in its derivative.

    The derivative in the direction E is U (Δ ∘ UᵀEU) Uᵀ with Δ_ij = (f_i − f_j) / (λ_i − λ_j), and f′ where λ_i ≈ λ_j
    (Daleckiĭ and Kreĭn): exact however often an eigenvalue is repeated, where autograd through `eigh` divides by zero.

    >>> T = torch.eye(2, dtype=torch.float64)[None].requires_grad_()
    >>> one = torch.ones(1, 2, dtype=torch.bool)
    >>> y, _ = matrix_function(T, one, lambda r: r**3, torch.eye(2, dtype=torch.float64)[None], torch.float64)
    >>> torch.autograd.grad(y[0, 0].trace(), T)[0].tolist()
    [[[3.0, 0.0], [0.0, 3.0]]]
    """
    values, U = (T.detach().diagonal(dim1=1, dim2=2), None) if diagonal else eigh(T.detach())
    response = evaluate_filter(f, values.to(dtype), mask, slope=True)
    assert response.slope is not None
    # the values that f saw, so that f_i − f_j and λ_i − λ_j belong together
    seen, eps = values.to(dtype).double(), torch.finfo(dtype).eps
    # products with c in its own type; eigenvalues, eigenvectors and divided differences in float64
    inputs = (T, response.value.double(), c, seen, U, response.slope.double(), eps)
    y: Tensor = _DaleckiiKrein.apply(*inputs)  # type: ignore[no-untyped-call]
    return y, response.several


def divided_differences(F: Tensor, slope: Tensor, values: Tensor, eps: float) -> Tensor:
    """Δ `[M, S, κ, κ]` of `F`, `slope [M, S, κ]` at `values [M, κ]`: quotients, and the mean of both slopes where these
    are better.

    They are where rounding of F (relative `eps`) explains their distance from the quotient, and where two values differ
    by no more than an eigensolver leaves. No fixed share of ‖L‖ would do: beside a hub of degree 1e5, 6e-6 of it is
    0.6.

    >>> values = torch.tensor([[1.0, 3.0, 3.0, 1e6]]).double()
    >>> d = divided_differences((values**2)[:, None], 2 * values[:, None], values, 2.0**-52)
    >>> d[0, 0, 0, 1].item(), d[0, 0, 1, 2].item()
    (4.0, 6.0)
    """
    gap = (values[:, :, None] - values[:, None, :])[:, None]
    same = gap.abs() <= 1e-12 * values.abs().amax(1).view(-1, 1, 1, 1)
    gap = torch.where(same, 1, gap)
    quotient = (F[..., None] - F[..., None, :]) / gap
    mean = (slope[..., None] + slope[..., None, :]) / 2
    rounding = 8 * eps * F.abs().amax(2)[..., None, None] / gap.abs()
    return torch.where(same | ((quotient - mean).abs() <= rounding), mean, quotient)


class _DaleckiiKrein(Function):
    @staticmethod
    def forward(
        ctx: Any, T: Tensor, F: Tensor, c: Tensor, values: Tensor, U: Tensor | None, slope: Tensor, eps: float
    ) -> Tensor:
        ctx.save_for_backward(T, F, c, values, U, slope)
        F, ctx.eps = F.mT.to(c.dtype)[..., None], eps
        if U is None:
            return F * c[:, None]
        U = U.to(c.dtype)
        return U[:, None] @ (F * (U.mT @ c)[:, None])

    @staticmethod
    def backward(ctx: Any, G: Tensor) -> tuple[Tensor | None, ...]:
        T, value, c, values, U, slope = ctx.saved_tensors
        with torch.no_grad():
            F = value.mT
            X, A = c, G
            if U is not None:
                own = U.to(c.dtype)
                X, A = own.mT @ c, own.mT[:, None] @ G
            delta = divided_differences(F, slope.mT, values, ctx.eps)
            products = (A.flatten(1, 2) @ X.mT).view(*A.shape[:3], A.shape[2])
            H = (delta * products).sum(1)
            grad_T = (H + H.mT) / 2
            grad_F = products.diagonal(dim1=2, dim2=3).mT.to(value.dtype)
            grad_c = (F[..., None].to(c.dtype) * A).sum(1)
            if U is not None:
                grad_T, grad_c = U @ grad_T @ U.mT, own @ grad_c
        sources = (G, T, value, c)
        return *(refuse_second(g, *sources) for g in (grad_T, grad_F, grad_c)), None, None, None, None


def first_order(x: Tensor) -> Tensor:
    """x, of which gradients can be taken, but no gradients of these: they are refused by name."""
    y: Tensor = _FirstOrder.apply(x) if x.requires_grad else x  # type: ignore[no-untyped-call]
    return y


def refuse_second(gradient: Tensor, *sources: Tensor) -> Tensor:
    """In a backward with `create_graph=True`, a gradient that depends on `sources`, refusing its own derivative with
    respect to any of them; elsewhere the gradient itself."""
    if not torch.is_grad_enabled():
        return gradient
    refusing: Tensor = _Refusing.apply(gradient, *sources)  # type: ignore[no-untyped-call]
    return refusing


class _FirstOrder(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return refuse_second(gradient, ctx.saved_tensors[0])


class _Refusing(Function):
    @staticmethod
    def forward(ctx: Any, gradient: Tensor, *sources: Tensor) -> Tensor:
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        raise InputError(
            "second derivatives of a filter are not available where L, C or the start want gradients: take them one"
            " order at a time by finite differences of the gradient, or detach L, C and start for second derivatives in"
            " the filter and the signal"
        )
