"""Thick restart Lanczos: the largest eigenpairs of a symmetric map on the null space of constraints, in numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Map = Callable[[Array], Array]
EXHAUSTED = 1e-12
"""A new direction shorter than this share of the largest entry of T is rounding: the space is invariant."""
CHECK_STEPS = 7
"""Steps between two looks at the Ritz pairs: at a thousand nodes one costs as much as two or three steps."""


@dataclass(frozen=True)
class Goal:
    """Where to stop. `count` pairs are wanted; or, where `above` is given, all that may be larger than it: those whose
    value plus residual is. A pair has converged when its residual is at most `tolerance(value)`."""

    count: int
    tolerance: Callable[[Array], Array]
    above: float | None = None


class Ritz(NamedTuple):
    """Ritz pairs in descending order: `values [m]` and `residual [m]` of all, `vectors [n, j]` of the first; `goal`:
    the `wanted` first have converged; `steps`: products; `ends`: bounds of the spectrum, lowest and highest. `share
    [m]`: squared coefficients of the first basis vector; without a restart, and begun with a random vector, the values
    and their shares are Gauss's quadrature of the density of the spectrum."""

    values: Array
    vectors: Array
    residual: Array
    share: Array
    wanted: int
    goal: bool
    steps: int
    ends: tuple[float, float]


def thick_restart(
    apply: Map,
    project: Map,
    locked: Array,
    start: Array,
    goal: Goal,
    *,
    width: int,
    cycles: int,
    rng: np.random.Generator,
) -> Ritz:
    """The largest eigenpairs of `apply` inside the range of `project` and the complement of `locked [n, l]`, by the
    method of Wu and Simon: Ritz vectors of the upper end and the last residual are the basis of the next cycle.

    Every vector is orthogonalised against all others. Where the space is exhausted a random direction continues it,
    so that a repeated eigenvalue, which one start vector sees once, is found with all its copies.

    >>> A, rng = np.diag([3.0, 3.0, 2.0, 1.0]), np.random.default_rng(0)
    >>> exact = Goal(2, lambda value: 1e-9 + 0 * value)
    >>> found = thick_restart(A.dot, lambda x: x, np.zeros((4, 0)), np.ones(4), exact, width=4, cycles=9, rng=rng)
    >>> found.values[:2].round(6).tolist(), found.goal
    ([3.0, 3.0], True)
    """
    space, steps, ends = _Space(apply, project, locked, start, width, rng), 0, (np.inf, -np.inf)
    for cycle in range(1, cycles + 1):
        reached, least = False, max((width + 1) // 2, min(space.size + CHECK_STEPS, width))
        while not reached:
            steps += space.grow(least)
            theta, S, residual = space.ritz()
            good = residual <= goal.tolerance(theta)
            count = min(goal.count, space.size)
            if goal.above is not None:
                count = int((theta + residual > goal.above).sum())
            reached = space.next is None or (bool(good[:count].all()) and count < space.size)
            if space.size == width:
                break
            least = space.size + CHECK_STEPS if width - space.size >= 2 * CHECK_STEPS else width
        if space.size:
            ends = min(ends[0], theta[-1] - residual[-1]), max(ends[1], theta[0] + residual[0])
        if reached or cycle == cycles:
            break
        space.restart(theta, S, min(count + (width - count) // 2, width - 2))
    few = min(max(count, goal.count) + 1, space.size)
    share = S[0] ** 2 if space.size else theta
    return Ritz(theta, space.columns @ S[:, :few], residual, share, min(count, space.size), reached, steps, ends)


class _Space:
    """The basis of a search: orthonormal `columns [n, size]` behind the locked ones, the map on them as T, and the
    `next` direction, None where no direction is left."""

    def __init__(self, apply: Map, project: Map, locked: Array, start: Array, width: int, rng: np.random.Generator):
        n, self.first = locked.shape
        self.apply, self.project, self.rng, self.size = apply, project, rng, 0
        self.buffer = np.empty((n, self.first + width), order="F")
        self.buffer[:, : self.first] = locked
        self.T, self.largest = np.zeros((width, width)), 0.0
        self.next, self.beta = _direction(start, self.basis, project, rng, 0.0)

    @property
    def basis(self) -> Array:
        return self.buffer[:, : self.first + self.size]

    @property
    def columns(self) -> Array:
        return self.basis[:, self.first :]

    def grow(self, size: int) -> int:
        """Lanczos steps up to this size, or the end of the space; their number."""
        before = self.size
        while self.size < size and self.next is not None:
            self.buffer[:, self.first + self.size] = self.next
            self.size += 1
            w, h = orthogonalise(self.apply(self.next), self.basis, self.project, latest=min(self.size, 2))
            h = h[self.first :]
            self.T[: self.size, self.size - 1] = self.T[self.size - 1, : self.size] = h
            self.largest = max(self.largest, float(np.abs(h).max()))
            self.next, self.beta = _direction(w, self.basis, self.project, self.rng, self.largest)
        return self.size - before

    def ritz(self) -> tuple[Array, Array, Array]:
        """Ritz values, descending, the eigenvectors of T, and the residuals."""
        theta, S = np.linalg.eigh(self.T[: self.size, : self.size])
        theta, S = theta[::-1], S[:, ::-1]
        return theta, S, np.abs(self.beta * S[-1]) if self.size else theta

    def restart(self, theta: Array, S: Array, kept: int) -> None:
        """The first `kept` Ritz vectors as the basis; `next` couples to them when it is orthogonalised."""
        self.buffer[:, self.first : self.first + kept] = self.columns @ S[:, :kept]
        self.T[:] = 0
        self.T[np.arange(kept), np.arange(kept)] = theta[:kept]
        self.size = kept


def orthogonalise(w: Array, basis: Array, project: Map, latest: int = 0) -> tuple[Array, Array]:
    """w without its part in range C and in `basis`, and its coefficients there: classical Gram–Schmidt, repeated
    until it takes little away. In a Lanczos step nearly all of that part lies in the `latest` columns: without it
    first, one round against all the others mostly suffices."""
    total, whole = np.zeros(basis.shape[1]), math.sqrt(w @ w)
    before = whole
    if latest:
        near = basis[:, -latest:]
        total[-latest:] = near.T @ w
        w = w - near @ total[-latest:]
        before = math.sqrt(w @ w)
    for _ in range(3):
        w = project(w)
        h = basis.T @ w
        w = w - basis @ h
        total += h
        after = math.sqrt(w @ w)
        if (after > 0.5 * before and after > 0.01 * whole) or after == 0:
            break
        before = whole = after
    return w, total


def _direction(
    w: Array, basis: Array, project: Map, rng: np.random.Generator, scale: float
) -> tuple[Array | None, float]:
    """w as a unit vector, and its length; a random one and 0 where w is rounding; None where no direction is left."""
    if scale == 0:
        largest = np.abs(w).max(initial=0)
        w, _ = orthogonalise(w / (largest if largest > 0 else 1), basis, project)
    norm = math.sqrt(w @ w)
    if norm > EXHAUSTED * (scale if scale > 0 else np.sqrt(len(w))):
        return w / norm, norm
    for _ in range(2):
        x = rng.standard_normal(len(w))
        x, _ = orthogonalise(x / np.linalg.norm(x), basis, project)
        norm = math.sqrt(x @ x)
        if norm > 1e-10:
            x, _ = orthogonalise(x / norm, basis, project)
            return x / np.linalg.norm(x), 0.0
    return None, 0.0
