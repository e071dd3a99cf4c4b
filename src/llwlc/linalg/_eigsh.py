"""True eigenpairs of PLP at one end of its spectrum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.linalg
import scipy.sparse
import torch
from torch import Tensor

from llwlc._support.threads import use_one_blas_thread, use_one_thread
from llwlc.errors import InputError
from llwlc.linalg._eigen_search import EigenspaceResult, Search
from llwlc.linalg._null_space import Problem, make_problem


@dataclass(frozen=True, eq=False)
class EigenPairs:
    """Eigenpairs of PLP, ascending, and how far they are to be trusted. k is the number of pairs returned.

    Shapes: `values [k]`; `vectors [n, k]`, orthonormal (in the inner product of M, where one was given) and in the
    null space of Cᵀ; `residual [k]` = ‖P(Lv − λMv)‖, measured; `converged [k]`. `num_products` counts products with L
    (or, by `method="shift_invert"`, solutions with it). `cut`: the next eigenvalue cannot be
    told from the one at the inner end of the list (they differ by at most 10 `tol` · ‖L‖), so that the list ends inside
    a cluster, and its vectors there are a basis of a part of the eigenspace; None where that could not be decided
    within `max_products`. `method` is the one that was used.

    >>> import torch
    >>> pairs = constrained_eigsh(4 * torch.eye(4) - torch.ones(4, 4), torch.ones(4, 1), k=2)
    >>> pairs.values.round(decimals=6).tolist(), pairs.converged.tolist(), pairs.cut
    ([4.0, 4.0], [True, True], True)
    """

    values: Tensor
    vectors: Tensor
    residual: Tensor
    converged: Tensor
    num_products: int
    cut: bool | None
    method: str

    def __repr__(self) -> str:
        pairs = f"{len(self.values)} pairs of {len(self.vectors)} nodes, {int(self.converged.sum())} converged"
        return f"EigenPairs({pairs}, {self.num_products} products, cut={self.cut}, method={self.method!r})"


def constrained_eigsh(
    L: Any | Callable[[Tensor], Any],
    C: Any = None,
    *,
    k: int = 20,
    which: Literal["SA", "LA"] = "SA",
    tol: float = 1e-8,
    M: Any = None,
    preconditioner: Any = None,
    method: Literal["auto", "dense", "lanczos", "shift_invert"] = "auto",
    max_products: int = 20_000,
    num_nodes: int | None = None,
    seed: int = 0,
) -> EigenPairs:
    """The k lowest or highest eigenpairs of PLP, P the projector onto the null space of Cᵀ: v in that null space with
    P(Lv − λMv) = 0.

    Where `constrained_lanczos` gives Ritz pairs of a given number of steps, this goes on until residuals are small,
    and then looks for copies of repeated eigenvalues that one start cannot see, from fresh directions in the
    complement of what was found. It warns of nothing: read `converged` and `residual`. On long chains and road
    networks a function L(x) will hardly converge without a preconditioner; a sparse matrix is factorised there.
    Computed in float64 on the CPU, by one thread: the bits do not depend on how many there are. Oracles:
    `numpy.linalg.eigh` on the null space, and scipy's `lobpcg(PLP, X, Y=C)`.

    Args:
        L: symmetric `[n, n]`, dense or sparse, torch, numpy or scipy, or a function x ↦ L x on float64 vectors `[n]`
            (or a scipy `LinearOperator`); then n comes from C or from `num_nodes`.
        C: `[n, c]`, dense or sparse, of any rank; None for no constraint.
        k: number of pairs; fewer are returned where the null space has fewer dimensions.
        which: `"SA"`, the smallest algebraic ones, or `"LA"`, the largest.
        tol: a pair has converged when its residual is at most `tol` · ‖L‖ (with M: ‖M^(-1/2) L M^(-1/2)‖).
        M: positive weights of the nodes, `[n]` or a diagonal matrix `[n, n]`, for P(Lv − λMv) = 0; None is I.
        preconditioner: T near (L − σ)⁻¹ for a σ below the wanted eigenvalues (`"LA"`: near (σ − L)⁻¹, σ above them),
            symmetric and positive definite, in any form L may have: a factorised neighbour of L, a multigrid cycle. The
            pairs are then found by block Davidson, `method="davidson"` in the result.
        method: `"dense"`; `"lanczos"`, Lanczos with thick restarts on a Chebyshev filter of PLP; `"shift_invert"`, the
            same on (PLP − σ)⁻¹; `"auto"` chooses by the number of nodes, and by what a factorisation costs at most
            against the products that the spectrum seems to need.
        max_products: products with L after which the search ends, at the end of a cycle.
        num_nodes: n, where nothing else tells it.
        seed: seed of the random directions.

    Returns:
        `EigenPairs` with `values [k]`, `vectors [n, k]`, `residual [k]`, `converged [k]`.

    >>> ring = 2 * torch.eye(8) - torch.eye(8).roll(1, 0) - torch.eye(8).roll(-1, 0)
    >>> constrained_eigsh(ring, torch.ones(8, 1), k=3).values.round(decimals=4).tolist()
    [0.5858, 0.5858, 2.0]
    """
    _check(k, which, tol, method, max_products)
    if preconditioner is not None and method != "auto":
        raise InputError(f"a preconditioner is for method='auto', got method={method!r}: leave one of them out")
    with use_one_thread(), use_one_blas_thread():
        problem = make_problem(L, C, M, preconditioner, num_nodes, sign=1.0 if which == "SA" else -1.0)
        found = Search(problem, min(k, problem.dimension), tol, max_products, seed).run(method)
        return _report(problem, found, tol)


def _report(problem: Problem, found: EigenspaceResult, tol: float) -> EigenPairs:
    """Rayleigh–Ritz on the vectors found, with the residuals of what comes out, in the coordinates of L and M."""
    V = found.vectors
    if V.shape[1]:
        V = np.linalg.qr(problem.project(V))[0]
        LV = problem.project(problem.apply(V))
        T = V.T @ LV
        values, S = scipy.linalg.eigh((T + T.T) / 2)
        V, LV = V @ S, LV @ S
        inner = np.linalg.norm(LV - V * values, axis=0)
    else:
        values, inner = np.zeros(0), np.zeros(0)
    good = (inner <= tol * max(found.scale, 1e-300)) & found.done
    order = np.argsort(problem.sign * values, kind="stable")
    values, V, good, inner = problem.sign * values[order], V[:, order], good[order], inner[order]
    vectors, residual = problem.unscale(V, values, inner)

    def tensor(x: Any) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(x)).to(problem.device)

    return EigenPairs(
        values=tensor(values),
        vectors=tensor(vectors),
        residual=tensor(residual),
        converged=tensor(good),
        num_products=found.products,
        cut=found.cut,
        method=found.method,
    )


def _check(k: Any, which: str, tol: float, method: str, max_products: int) -> None:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k must be an integer of at least 1, got {k!r}: it is the number of eigenpairs")
    if which not in ("SA", "LA"):
        raise InputError(f"which must be 'SA' (smallest algebraic) or 'LA' (largest algebraic), got {which!r}")
    if not 0 < tol < 1:
        raise InputError(f"tol must lie between 0 and 1, got {tol}: it is relative to ‖L‖")
    if method not in ("auto", "dense", "lanczos", "shift_invert"):
        raise InputError(f"method must be 'auto', 'dense', 'lanczos' or 'shift_invert', got {method!r}")
    if max_products < 1:
        raise InputError(f"max_products must be at least 1, got {max_products}")
