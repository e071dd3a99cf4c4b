"""Block Davidson: the largest eigenpairs of a symmetric map with a preconditioner, in numpy."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from llwlc.linalg._thick_restart import Array, Goal, Map, Ritz, orthogonalise


def davidson(
    apply: Map,
    precondition: Map,
    project: Map,
    locked: Array,
    start: Array,
    goal: Goal,
    *,
    block: int,
    products: int,
    rng: np.random.Generator,
) -> Ritz:
    """The largest eigenpairs of `apply` inside the range of `project` and the complement of `locked [n, l]`, as
    `thick_restart` finds them, with at most `products` before the last block.

    A cycle adds the preconditioned residuals of the `block` first Ritz pairs to the basis, which starts as `start
    [n, b]` and is cut back to its best half when it holds four blocks. `precondition` is positive definite, the closer
    to (σ − A)⁻¹ for a σ just above the wanted eigenvalues the better; a poor one costs cycles, not accuracy.

    >>> A, rng = np.diag(np.arange(50.0)), np.random.default_rng(0)
    >>> exact = Goal(2, lambda value: 1e-9 + 0 * value)
    >>> inverse = lambda x: x / (50 - np.arange(50.0))[:, None]
    >>> start, empty = rng.standard_normal((50, 3)), np.zeros((50, 0))
    >>> found = davidson(A.dot, inverse, lambda x: x, empty, start, exact, block=3, products=500, rng=rng)
    >>> found.values[:2].round(6).tolist(), found.goal
    ([49.0, 48.0], True)
    """
    n, first = locked.shape
    width = min(4 * block + start.shape[1], n)
    basis, images = np.empty((n, first + width), order="F"), np.empty((n, width), order="F")
    basis[:, :first] = locked
    T = np.zeros((width, width))
    new, size, used, ends = start, 0, 0, (np.inf, -np.inf)
    while True:
        old, size = size, _extend(basis, first + size, first + width, new, project) - first
        if size == old:  # nothing new in the residuals: a random direction, unless none is left
            size = _extend(basis, first + size, first + width, rng.standard_normal((n, 1)), project) - first
        images[:, old:size] = project(apply(basis[:, first + old : first + size]))
        used += size - old
        T[:size, old:size] = basis[:, first : first + size].T @ images[:, old:size]
        T[old:size, :size] = T[:size, old:size].T
        theta, S = scipy.linalg.eigh(T[:size, :size])
        theta, S = theta[::-1], S[:, ::-1]
        few = min(block, size)
        X = basis[:, first : first + size] @ S[:, :few]
        R = images[:, :size] @ S[:, :few] - X * theta[:few]
        R -= locked @ (locked.T @ R)
        residual = np.linalg.norm(R, axis=0)
        if size:
            ends = min(ends[0], theta[-1]), max(ends[1], theta[0] + residual[0])
        good = residual <= goal.tolerance(theta[:few])
        count = min(goal.count, few)
        if goal.above is not None:
            # at least one has to converge: a bound from rough first values means nothing
            count = max(int((theta[:few] + residual > goal.above).sum()), 1)
        # above a value any that have converged will do: there may be more copies of one than the block has columns
        reached = size == old or (bool(good[:count].all()) and (count < few or goal.above is not None))
        if reached or used >= products:
            break
        if size + few > width:
            kept = min(width // 2, size)
            basis[:, first : first + kept] = basis[:, first : first + size] @ S[:, :kept]
            images[:, :kept] = images[:, :size] @ S[:, :kept]
            T[:kept, :kept], size = np.diag(theta[:kept]), kept
        new = precondition(R[:, ~good])
    wanted = min(max(count, goal.count) + 1, few)
    return Ritz(theta, X[:, :wanted], residual, S[0] ** 2, min(count, few), reached, used, ends)


def _extend(basis: Array, size: int, width: int, new: Array, project: Map) -> int:
    """Appends what the columns `new [n, b]` add to `basis[:, :size]`, as orthonormal columns; the new size."""
    for w in new.T:
        norm = np.linalg.norm(w)
        if size == width or not norm > 0:
            continue
        w, _ = orthogonalise(w / norm, basis[:, :size], project)
        norm = np.linalg.norm(w)
        if norm > 1e-10:  # the rest of a nearly dependent column is largely rounding error
            w, _ = orthogonalise(w / norm, basis[:, :size], project)
            basis[:, size] = w / np.linalg.norm(w)
            size += 1
    return size
