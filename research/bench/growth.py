"""How the time for a basis grows with nodes, edges, κ and k: exponents, and the model O(κE + κ(κ+k)n + k²n + k³)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.optimize
import torch

from llwlc._kernels.numba import eigenbasis as kernel
from llwlc._kernels.numba.fused_bases import RitzArrays
from llwlc.bases._kernel_options import make_solve_options
from llwlc.subgraphs._batch import Subgraphs
from research.bench.clock import Work, time_in_turns


class Case(NamedTuple):
    n: int
    degree: int
    steps: int
    k: int


class Grid(NamedTuple):
    """Values of one quantity, and the case in which the rest stays."""

    base: Case
    values: tuple[int, ...]


BASE = Case(n=512, degree=6, steps=10, k=2)
AS_TRAINED = {
    name: Grid(BASE, values)
    for name, values in (
        ("nodes", (128, 512, 2048, 8192)),
        ("edges", (2, 8, 32, 128)),
        ("κ", (4, 8, 16, 32)),
        ("k", (2, 4, 8, 16)),
    )
}
"""Around the sizes of a trained network's subgraphs."""
DOMINANT = {
    "nodes": Grid(Case(n=2048, degree=6, steps=10, k=2), (2048, 4096, 8192, 16_384)),
    "edges": Grid(Case(n=1024, degree=0, steps=4, k=1), (64, 128, 256, 512)),
    "k": Grid(Case(n=512, degree=2, steps=4, k=0), (16, 32, 64, 128)),
}
"""Where the term of the quantity is the largest: κE ≫ κ(κ+k)n for "edges", k²n ≫ κ(κ+k)n for "k"."""


class Growth(NamedTuple):
    """`exponents` of each quantity; `points` as (n, E, κ, k, seconds); `model_error`, the median relative error of the
    fitted model.
    """

    exponents: dict[str, float]
    points: list[tuple[int, int, int, int, float]]
    model_error: float


def random_batch(graphs: int, n: int, edges: int, *, seed: int) -> Subgraphs:
    """Random graphs of n nodes with about `edges` directed edges each, as a batch; the query nodes are the first
    two.
    """
    rng = np.random.default_rng(seed)
    row, col = [], []
    for b in range(graphs):
        key = np.unique(rng.integers(n, size=edges // 2) * n + rng.integers(n, size=edges // 2))
        x, y = key // n, key % n
        x, y = np.minimum(x, y)[x != y], np.maximum(x, y)[x != y]
        both = np.unique(np.concatenate([x * n + y, y * n + x]))
        row.append(both // n + b * n)
        col.append(both % n + b * n)
    ptr = torch.arange(graphs + 1) * n
    zero = torch.zeros(graphs * n, dtype=torch.long)
    node = torch.arange(n).repeat(graphs)
    source, target = (torch.from_numpy(np.concatenate(part)) for part in (row, col))
    return Subgraphs(ptr, node, source, target, None, ptr[:-1], ptr[:-1] + 1, zero, zero, zero)


def basis_inputs(subs: Subgraphs, k: int, *, seed: int = 0) -> kernel.BasisInputs:
    """Random constraints and one random start for a batch, as the kernel takes them."""
    draw = torch.Generator().manual_seed(seed)
    columns = torch.randn(subs.num_nodes, k, generator=draw).double()
    start = torch.randn(subs.num_nodes, 1, generator=draw).double()
    return kernel.BasisInputs(
        ptr=subs.ptr.numpy(),
        first=subs.first.numpy(),
        col=subs.col.numpy(),
        weight=np.empty(0),
        columns=columns.numpy(),
        start=start.numpy(),
        deleted=np.empty(0, np.bool_),
    )


def solve(task: kernel.BasisInputs, steps: int) -> RitzArrays:
    """Runs the kernel alone, without the preparation of its arguments."""
    return kernel.eigenbasis(task, make_solve_options(steps, "normalized", torch.float32), np.float32)


def measure_growth(grids: Mapping[str, Grid] = AS_TRAINED, *, repeats: int = 3) -> Growth:
    """Times one quantity after the other, the rest at its base value; exponents by least squares on logarithms."""
    cases = [(name, make_case(grid.base, name, value)) for name, grid in grids.items() for value in grid.values]
    tasks = {case: _task(case) for case in {case for _, case in cases}}
    timed: dict[str, Work] = {str(case): partial(solve, task, case.steps) for case, task in tasks.items()}
    times = time_in_turns(timed, repeats=repeats, at_least=0.02)
    points, exponents = [], {}
    for name in grids:
        own = []
        for case in [case for of, case in cases if of == name]:
            graphs = len(tasks[case].ptr) - 1
            real = len(tasks[case].col) // graphs  # a few edges fall together
            own.append((case.n, real, case.steps, case.k, times[str(case)] / graphs))
        x, y = [point[QUANTITIES.index(name)] for point in own], [point[4] for point in own]
        exponents[name] = float(np.polyfit(np.log(x), np.log(y), 1)[0])
        points += own
    return Growth(exponents, points, _model_error(points))


QUANTITIES = ("nodes", "edges", "κ", "k")
"""In the order of a point."""


def make_case(base: Case, name: str, value: int) -> Case:
    """The base case with one quantity changed; "edges" is given as a degree."""
    return base._replace(**{{"nodes": "n", "edges": "degree", "κ": "steps", "k": "k"}[name]: value})


def _task(case: Case) -> kernel.BasisInputs:
    graphs = max(8, 40_000 // case.n)
    return basis_inputs(random_batch(graphs, case.n, case.n * case.degree, seed=0), case.k)


def _model_error(points: list[tuple[int, int, int, int, float]]) -> float:
    """Non-negative least squares, relative to each time, of κE, κ(κ+k)n, k²n, k³ and a constant."""
    n, E, steps, k, seconds = np.array(points).T
    terms = np.stack([steps * E, steps * (steps + k) * n, k**2 * n, k**3, np.ones_like(n)], 1)
    weights, _ = scipy.optimize.nnls(terms / seconds[:, None], np.ones_like(seconds))
    return float(np.median(np.abs(terms @ weights / seconds - 1)))
