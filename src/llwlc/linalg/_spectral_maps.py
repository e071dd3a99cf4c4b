"""Maps that make the lowest eigenvalues of an operator the largest: Chebyshev filters, shift and invert."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from llwlc.linalg._thick_restart import Array, Map

GROWTH = 2.5
"""log of twice what a filter makes of the lowest eigenvalue: enough for Lanczos, and no more products than that
needs."""
MAX_DEGREE = 200


@dataclass(frozen=True)
class ChebyshevFilter:
    """T_d of a map that takes [cutoff, top] to [1, −1]: at most 1 there, and growing below the cutoff. `double` is
    twice that map."""

    double: Map
    cutoff: float
    top: float
    degree: int

    @classmethod
    def make(
        cls,
        affine: Callable[[float, float], Map],
        lowest: float,
        cutoff: float,
        top: float,
        most: int = MAX_DEGREE,
    ) -> ChebyshevFilter:
        """The filter with the degree that separates `lowest` from the cutoff, or `most`; `affine(a, b)` is a + b PLP
        on the null space."""
        half = max((top - cutoff) / 2, 1e-300)
        reach = float(np.arccosh(1 + max(cutoff - lowest, 1e-14 * top) / half))
        degree = int(np.clip(np.ceil(GROWTH / reach), 1, min(most, MAX_DEGREE)))
        return cls(affine((top + cutoff) / half, -2 / half), cutoff, top, degree)

    def __call__(self, x: Array) -> Array:
        before, now = x, self.double(x)
        now /= 2
        for _ in range(self.degree - 1):
            after = self.double(now)
            after -= before
            before, now = now, after
        return now

    def invert(self, value: Array) -> Array:
        """The eigenvalue of the operator that the filter takes to this one; the cutoff, where it is not above 1."""
        center, half = (self.top + self.cutoff) / 2, (self.top - self.cutoff) / 2
        return np.asarray(center - half * np.cosh(np.arccosh(np.maximum(value, 1)) / self.degree))

    def tolerance(self, residual: float) -> Map:
        """The residual in the filter that keeps that of PLP below `residual`.

        A part of a Ritz vector along an eigenvector at a distance δ in the filter is at a distance Δ in PLP. The
        quotient Δ/δ is at most half / d² below the cutoff, where T_d is steepest away from it, and at most (top − λ)
        / (T_d(λ) − 1) beyond."""
        half = (self.top - self.cutoff) / 2

        def allowed(value: Array) -> Array:
            beyond = np.maximum(value - 1, 0) / np.maximum(self.top - self.invert(value), 1e-300)
            return np.asarray(residual * np.minimum(self.degree**2 / half, beyond))

        return allowed


def factor_cost(matrix: scipy.sparse.csr_array) -> tuple[float, float]:
    """Entries and multiplications that a factorisation of a symmetric matrix needs at most: those of the envelope
    behind the order of Cuthill and McKee. Minimum degree, which is used then, mostly needs far less."""
    order = reverse_cuthill_mckee(scipy.sparse.csr_matrix(matrix), symmetric_mode=True)
    coo = matrix.tocoo()
    place = np.empty_like(order)
    place[order] = np.arange(len(order), dtype=order.dtype)
    first = np.arange(len(order))
    np.minimum.at(first, place[coo.row], place[coo.col])
    width = (np.arange(len(order)) - first).astype(float)
    return float(width.sum()), float((width**2).sum())


class ShiftInvert:
    """x ↦ (PLP − σ)⁻¹ x on the null space of Cᵀ, by one sparse factorisation of L − σ, and for C the Schur complement
    of the bordered system [L − σ, Y; Yᵀ, 0]."""

    def __init__(self, matrix: scipy.sparse.csr_array, Y: Array, shift: float):
        n = matrix.shape[0]
        shifted = scipy.sparse.csc_matrix(matrix - shift * scipy.sparse.eye_array(n))
        options = {"SymmetricMode": True}
        factor = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
        self.shift, self._solve = shift, factor.solve
        self._Z = factor.solve(Y) if Y.shape[1] else Y
        self._W = np.linalg.solve(Y.T @ self._Z, self._Z.T).T if Y.shape[1] else Y

    def __call__(self, x: Array) -> Array:
        y: Array = self._solve(x)
        return y - self._W @ (self._Z.T @ x) if self._W.shape[1] else y

    def invert(self, value: Array) -> Array:
        """The eigenvalue of PLP that belongs to one of the inverse."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.shift + 1 / value)
