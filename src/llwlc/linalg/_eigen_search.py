"""The eigensolver of one problem: chooses and switches methods, and looks for eigenpairs that one start misses."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg

from llwlc.errors import InputError
from llwlc.linalg._davidson import davidson
from llwlc.linalg._null_space import Problem
from llwlc.linalg._spectral_maps import ChebyshevFilter, ShiftInvert, factor_cost
from llwlc.linalg._thick_restart import Array, Goal, Map, Ritz, thick_restart

DENSE_NODES = 400
"""Nodes up to which a dense eigensolver is faster than any iteration."""
MAX_DENSE_NODES = 4000
"""Nodes up to which it is used if a tenth of all eigenpairs is wanted, or L is dense."""
MAX_FACTOR_ENTRIES = 4e7
"""Entries of an envelope up to which L is factorised: 0.5 GB."""
EXTRA = 10
"""Eigenpairs beyond the wanted ones, whose estimates determine the cutoff of the filter."""


class EigenspaceResult(NamedTuple):
    """Orthonormal `vectors [n, k]`; `scale`: the largest eigenvalue in magnitude; `done`: whether all converged; `cut`:
    whether a multiple eigenvalue is cut off at k, None if unknown; the number of products, and the method.
    """

    vectors: Array
    scale: float
    done: bool
    cut: bool | None
    products: int
    method: str


class Search:
    """Finds the lowest `k` eigenpairs of one problem with at most `max_products` products."""

    def __init__(self, problem: Problem, k: int, tol: float, max_products: int, seed: int):
        self.problem, self.k, self.tol, self.left = problem, k, tol, max_products
        self.budget, self.rng = max_products, np.random.default_rng(seed)
        self.width = max(2 * k + 10, k + 30)
        self.scale = 0.0

    def run(self, method: str) -> EigenspaceResult:
        n, k = self.problem.n, self.k
        small = n <= DENSE_NODES or (n <= MAX_DENSE_NODES and (10 * k > n or self.problem.is_dense))
        if k == 0:
            return EigenspaceResult(np.zeros((n, 0)), 1.0, True, False, 0, "dense")
        if method == "dense" or (method == "auto" and small) or self.problem.dimension <= self.width + 2:
            return self._dense()
        ritz = self._lanczos(self._negative, Goal(k + EXTRA, self._constant), self._random(), cycles=1)
        self.scale = max(abs(ritz.ends[0]), abs(ritz.ends[1]))
        # a filter that ends below the spectrum would find its upper end, so a little more than what Lanczos has seen
        lowest, top = -ritz.ends[1], -ritz.ends[0] + 0.01 * (ritz.ends[1] - ritz.ends[0])
        if ritz.goal:
            return self._complete(ritz, self._negative, self._constant, lambda v: -v, "lanczos")
        if self.problem.precondition is not None:
            start = np.column_stack([ritz.vectors[:, :k], self._random(EXTRA)])
            ritz = self._davidson(start, Goal(k, self._constant))
            return self._complete(ritz, self._negative, self._constant, lambda v: -v, "davidson")
        values, cutoff = -ritz.values, self._quantile(ritz)
        if method != "shift_invert":
            for stage, cycles in enumerate((4, 2, 3, 8, 32, self.budget)):
                most = int(self.left / self.width)  # a cycle must fit in the remaining products
                if most < 1:
                    return EigenspaceResult(
                        ritz.vectors[:, :k], self.scale, False, None, self.budget - self.left, "lanczos"
                    )
                f = ChebyshevFilter.make(self.problem.affine, float(values[0]), cutoff, top, most)
                if method == "auto" and self._should_factor(f):
                    break
                goal = Goal(k, f.tolerance(0.3 * self.tol * self.scale))
                ritz = self._lanczos(f, goal, ritz.vectors[:, :k].sum(1), cycles, products_per_apply=f.degree)
                values = f.invert(ritz.values)
                if ritz.goal or stage == 5:
                    return self._complete(ritz, f, goal.tolerance, f.invert, "lanczos", products_per_apply=f.degree)
                cutoff = self._cutoff(values, top)
        return self._shift_invert(ritz.vectors[:, :k].sum(1), lowest, cutoff)

    def _negative(self, x: Array) -> Array:
        return -self.problem.apply(x)

    def _quantile(self, ritz: Ritz) -> float:
        """The value below which the density of the spectrum, by the quadrature of a first Lanczos run, has the wanted
        pairs and some more; the third Ritz value, where these are finer than the quadrature."""
        values = -ritz.values
        below = (np.cumsum(ritz.share) - ritz.share / 2) * self.problem.dimension
        quantile = max(np.interp(self.k + EXTRA, below, values), values[2])
        return float(min(quantile, (values[0] + values[-1]) / 2))

    def apply(self, x: Array) -> Array:
        return self.problem.project(self.problem.apply(x))

    def _random(self, count: int | None = None) -> Array:
        return self.rng.standard_normal(self.problem.n if count is None else (self.problem.n, count))

    def _cutoff(self, values: Array, top: float) -> float:
        """The filter's cutoff, some estimates beyond the wanted ones; farther if these form one cluster."""
        lowest, last = float(values[0]), float(values[self.k - 1])
        behind = float(values[min(self.k + EXTRA, len(values)) - 1])
        return min(max(behind, last + 0.05 * (last - lowest), last + 1e-6 * (top - last)), (last + top) / 2)

    def _constant(self, value: Array) -> Array:
        return np.full_like(value, 0.3 * self.tol * max(self.scale, np.abs(value).max(initial=0)))

    def _lanczos(
        self,
        apply: Map,
        goal: Goal,
        start: Array,
        cycles: int,
        locked: Array | None = None,
        products_per_apply: int = 1,
    ) -> Ritz:
        locked = np.zeros((self.problem.n, 0)) if locked is None else locked
        width = min(self.width, self.problem.dimension - locked.shape[1])
        step = max((width - goal.count) // 2, 1)
        cycles = int(min(cycles, max(1, (self.left / products_per_apply - width) // step)))
        project, Y = self.problem.project, self.problem.Y
        if Y is not None:  # one product with [Y V] instead of two
            project, locked = lambda x: x, np.hstack([Y, locked])
        ritz = thick_restart(apply, project, locked, start, goal, width=max(width, 1), cycles=cycles, rng=self.rng)
        self.left -= products_per_apply * ritz.steps
        return ritz

    def _davidson(self, start: Array, goal: Goal, locked: Array | None = None) -> Ritz:
        precondition = self.problem.precondition
        assert precondition is not None
        ritz = davidson(
            lambda x: -self.apply(x),
            precondition,
            self.problem.project,
            np.zeros((self.problem.n, 0)) if locked is None else locked,
            start,
            goal,
            block=start.shape[1],
            products=self.left,
            rng=self.rng,
        )
        self.left -= ritz.steps
        return ritz

    def _should_factor(self, f: ChebyshevFilter) -> bool:
        """Whether a factorisation surely costs less than filters, some two bases of steps by either: an entry of a
        sparse matrix takes four times as long as one of a factorisation."""
        matrix = self.problem.matrix
        if matrix is None or self.factor_cost is None:
            return False
        entries, products = self.factor_cost
        filtered = f.degree * (4 * matrix.nnz + 20 * self.problem.n)
        return entries <= MAX_FACTOR_ENTRIES and products + 2.4 * self.width * entries < 2 * self.width * filtered

    @cached_property
    def factor_cost(self) -> tuple[float, float] | None:
        """Entries and multiplications of a factorisation, at most; None where there is none."""
        matrix = self.problem.matrix
        return None if matrix is None or self.problem.Y is None else factor_cost(matrix)

    def _shift_invert(self, start: Array, lowest: float, cutoff: float) -> EigenspaceResult:
        matrix, Y = self.problem.matrix, self.problem.Y
        if matrix is None or Y is None:
            raise InputError(
                "method='shift_invert' factorises L and needs a matrix, M diagonal or none, and a C that is not"
                " large: use method='lanczos'"
            )
        shift = lowest - 1e-8 * self.scale - 0.1 * max(cutoff - lowest, 0)
        tolerance: Map = lambda v: 1e-2 * self.tol * np.abs(v)  # noqa: E731
        for attempt in range(8):
            inverse = ShiftInvert(matrix, Y, shift)
            ritz = self._lanczos(inverse, Goal(self.k, tolerance), start, cycles=3 if attempt < 7 else self.budget)
            if ritz.values[-1] < -1e-6 * ritz.values[0]:  # an eigenvalue lies below the shift
                shift -= 2 * abs(1 / float(ritz.values[-1]))
                continue
            if ritz.goal:
                break
            # a shift nearer to the lowest pair separates the wanted ones better; estimates converge from above
            values = inverse.invert(ritz.values)
            start = ritz.vectors[:, : self.k].sum(1)
            shift = float(values[0]) - 0.2 * float(values[self.k - 1] - values[0]) - 1e-13 * self.scale
        return self._complete(ritz, inverse, tolerance, inverse.invert, "shift_invert")

    def _complete(
        self, ritz: Ritz, apply: Map, tolerance: Map, invert: Map, method: str, products_per_apply: int = 1
    ) -> EigenspaceResult:
        """Searches the complement of the pairs found for those that one start vector misses, until none is better."""
        k = self.k
        V, values = ritz.vectors[:, :k], ritz.values[:k]
        seen = np.einsum("ij,ij->j", V, self.apply(V))
        same = bool(
            (np.abs(seen - invert(values)) <= 1e-4 * self.scale).all()
        )  # else V spans the other end of the spectrum
        done, exhausted = ritz.goal and same, V.shape[1] < k
        cut = False if done and exhausted else None
        while done and not exhausted and self.left > 0:
            allowed = float(tolerance(values[-1:])[0])
            goal = Goal(1, tolerance, float(values[-1]))
            if method == "davidson":
                other = self._davidson(self._random(EXTRA), goal, V)
            else:
                other = self._lanczos(
                    apply, goal, self._random(), self.budget, locked=V, products_per_apply=products_per_apply
                )
            if not other.goal:
                break
            better = other.values[: other.wanted] > values[-1] + 4 * allowed
            if not better.any():
                gap = abs(float(invert(other.values[:1])[0] - invert(values[-1:])[0])) if len(other.values) else np.inf
                cut = bool(gap <= 10 * self.tol * max(self.scale, 1e-300))
                break
            both = np.concatenate([values, other.values[: other.wanted][better]])
            order = np.argsort(-both, kind="stable")[:k]
            V = np.concatenate([V, other.vectors[:, : other.wanted][:, better]], 1)[:, order]
            values = both[order]
        return EigenspaceResult(V, self.scale, done, cut, self.budget - self.left, method)

    def _dense(self) -> EigenspaceResult:
        """By LAPACK, range C moved beyond the other end of the spectrum."""
        n, k, Y = self.problem.n, self.k, self.problem.dense_range()
        if n > 5 * MAX_DENSE_NODES:
            raise InputError(f"method='dense' solves an n × n problem, too large for {n} nodes: use method='lanczos'")
        A = self.problem.dense_matrix()
        scale = float(np.abs(A).sum(1).max(initial=0)) or 1.0
        AY = A @ Y
        inner = Y.T @ AY
        A = A - Y @ (AY.T - (inner / 2 + 2 * scale * np.eye(Y.shape[1])) @ Y.T)
        A = A - (AY - Y @ (inner / 2 + 2 * scale * np.eye(Y.shape[1]))) @ Y.T
        dimension = self.problem.dimension
        values, V = scipy.linalg.eigh((A + A.T) / 2, subset_by_index=[0, min(k, dimension - 1)])
        V = self.problem.project(V)
        cut = k < dimension and bool(values[k] - values[k - 1] <= 10 * self.tol * scale)
        self.left -= n
        return EigenspaceResult(np.linalg.qr(V[:, :k])[0], scale, True, cut, n, "dense")
