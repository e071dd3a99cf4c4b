"""Thick restart Lanczos: the largest eigenpairs of a symmetric map on the null space of constraints, in numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Array = NDArray[np.float64]
Map = Callable[[Array], Array]
EXHAUSTED = 1e-12
"""A new direction shorter than this share of the largest entry of T is rounding: the space is invariant."""


@dataclass(frozen=True)
class Goal:
    """Where to stop. `count` pairs are wanted; or, where `above` is given, all that may be larger than it: those whose
    value plus residual is. A pair has converged when its residual is at most `tolerance(value)`."""

    count: int
    tolerance: Callable[[Array], Array]
    above: float | None = None


class Ritz(NamedTuple):
    """Ritz pairs in descending order: `values [m]` and `residual [m]` of all, `vectors [n, j]` of the first; `goal`:
    the `wanted` first have converged; `ends`: bounds of the spectrum, lowest and highest."""

    values: Array
    vectors: Array
    residual: Array
    wanted: int
    goal: bool
    cycles: int
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
    n, first = locked.shape
    buffer = np.empty((n, first + width + 1), order="F")
    buffer[:, :first] = locked
    T = np.zeros((width, width))
    q, _ = _direction(start, buffer[:, :first], project, rng, 0.0)
    size, beta, ends = 0, 0.0, (np.inf, -np.inf)
    for cycle in range(1, cycles + 1):
        while size < width and q is not None:
            buffer[:, first + size] = q
            size += 1
            w = apply(q)
            w, h = orthogonalise(w, buffer[:, : first + size], project)
            T[:size, size - 1] = T[size - 1, :size] = h[first:]
            q, beta = _direction(w, buffer[:, : first + size], project, rng, np.abs(T[:size, :size]).max())
        theta, S = scipy.linalg.eigh(T[:size, :size])
        theta, S = theta[::-1], S[:, ::-1]
        residual = np.abs(beta * S[-1]) if size else theta
        if size:
            ends = min(ends[0], theta[-1] - residual[-1]), max(ends[1], theta[0] + residual[0])
        good = residual <= goal.tolerance(theta)
        count = min(goal.count, size)
        if goal.above is not None:
            count = int((theta + residual > goal.above).sum())
        reached = q is None or (bool(good[:count].all()) and count < size)
        if reached or cycle == cycles:
            break
        kept = min(count + (width - count) // 2, width - 2)
        buffer[:, first : first + kept] = buffer[:, first : first + size] @ S[:, :kept]
        T[:] = 0
        T[np.arange(kept), np.arange(kept)] = theta[:kept]
        size = kept  # the coupling of q with the kept vectors comes out of its orthogonalisation
    few = min(max(count, goal.count) + 1, size)
    vectors = buffer[:, first : first + size] @ S[:, :few]
    return Ritz(theta, vectors, residual, min(count, size), reached, cycle, ends)


def orthogonalise(w: Array, basis: Array, project: Map) -> tuple[Array, Array]:
    """w without its part in range C and in `basis`, and its coefficients there: classical Gram–Schmidt, repeated
    until it takes little away."""
    total, before = np.zeros(basis.shape[1]), math.sqrt(w @ w)
    for _ in range(3):
        w = project(w)
        h = basis.T @ w
        w = w - basis @ h
        total += h
        after = math.sqrt(w @ w)
        if after > 0.5 * before or after == 0:
            break
        before = after
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
