"""The figures of docs/numerics.md: `python docs/make_figures.py [folder]`. Needs the `plots` extra; seeds are fixed, a
few seconds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no display needed
import matplotlib.pyplot as plt
import torch
from torch import Tensor

# a script finds modules beside itself only
sys.path.insert(0, str(Path(__file__).parents[1]))
from research.linalg import bounds
from research.linalg.inexact import inexact_lanczos

BLUE, ORANGE, GREY = "#2166ac", "#d6604d", "#999999"
GRAPHS, NODES, STEPS = 400, 16, 8


def operators(count: int = GRAPHS, n: int = NODES, seed: int = 0) -> Tensor:
    """PLP on the null space of one random column, L the normalised Laplacian of a random connected graph,
    `[count, n − 1, n − 1]`.
    """
    g = torch.Generator().manual_seed(seed)
    found: list[Tensor] = []
    while len(found) < count:
        A = (torch.rand(n, n, generator=g) < 0.15 + 0.5 * torch.rand(1, generator=g)).double().triu(1)
        A = A + A.mT
        column = torch.randn(n, 1, generator=g, dtype=torch.float64)
        D = torch.diag(A.sum(1))
        if torch.linalg.eigvalsh(D - A)[1] > 1e-6:
            scale = A.sum(1).rsqrt()
            found.append(bounds.restrict(scale[:, None] * (D - A) * scale, column)[0])
    return torch.stack(found)


def starts(A: Tensor, seed: int = 1) -> Tensor:
    return torch.randn(A.shape[:-1], generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def perturbation(axes: plt.Axes) -> None:
    """Two-sided bounds of the appendix on the distance of eigenvectors, over the size of the perturbation."""
    A = operators()
    g = torch.Generator().manual_seed(2)
    E = torch.randn(A.shape, generator=g, dtype=torch.float64)
    E = (E + E.mT) / torch.linalg.matrix_norm(E + E.mT, 2)[:, None, None]
    size = 10 ** torch.empty(len(A), dtype=torch.float64).uniform_(-5, -0.5, generator=g)
    b = bounds.distance_bounds(A, E * size[:, None, None])
    axes.loglog(size, b.upper, ".", color=ORANGE, ms=4, label="upper bound")
    axes.loglog(size, b.distance, ".", color=BLUE, ms=4, label="distance")
    axes.loglog(size, b.lower.clamp(min=1e-8), ".", color=GREY, ms=4, label="lower bound")
    axes.set_ylim(3e-7, 4)
    axes.set_xlabel("size of the perturbation ‖E‖")
    axes.set_ylabel("‖u − ũ‖")
    axes.set_title("The first eigenvector moves within its bounds")


def theorem_1(axes: plt.Axes) -> None:
    """Theorem 1's estimate of the eigenvalue shift against the shift, for inexact runs."""
    A = operators()
    exact = inexact_lanczos(A, starts(A), steps=STEPS).T
    u = torch.linalg.eigh(exact)[1][..., 0]
    for error, color in ((1e-1, ORANGE), (1e-3, BLUE), (1e-5, GREY)):
        E = inexact_lanczos(A, starts(A), steps=STEPS, error=error, seed=3).T - exact
        estimate = bounds.shift_estimate(E.diagonal(dim1=-2, dim2=-1), E.diagonal(1, -2, -1), u)
        shift = bounds.shift_bounds(exact, E).shift
        axes.loglog(
            shift.abs(), (estimate - shift).clamp(min=1e-16), ".", color=color, ms=4, label=f"error {error:.0e} a step"
        )
    line = torch.tensor([1e-8, 1.0])
    axes.loglog(line, line, color="black", lw=0.8, label="as large as the shift")
    axes.set_xlim(1e-8, 1)
    axes.set_ylim(1e-14, 10)
    axes.set_xlabel("shift |λ̃ − λ| of the smallest Ritz value")
    axes.set_ylabel("estimate − shift (never negative)")
    axes.set_title("Theorem 1 is right to first order only")


def greenbaum(axes: plt.Axes) -> None:
    """Greenbaum's residual against the error of each product, and how far the exact counterpart's eigenvalues are."""
    A = operators(40)
    errors = 10.0 ** torch.arange(-14, 0)
    residual, moved = [], []
    for error in errors.tolist():
        run = inexact_lanczos(A, starts(A), steps=STEPS, error=error, seed=4)
        F = bounds.greenbaum_residual(A, *run)
        other = bounds.exact_counterpart(A, run.Q, F)
        residual.append(torch.linalg.matrix_norm(F, 2))
        moved.append((torch.linalg.eigvalsh(other) - torch.linalg.eigvalsh(A)).abs().amax(-1))
    for i in range(len(A)):
        axes.loglog(errors, [r[i] for r in residual], color=ORANGE, lw=0.6, label="residual ‖F‖" if i == 0 else None)
        label = "farthest eigenvalue of Ã from A's" if i == 0 else None
        axes.loglog(errors, [m[i].clamp(min=1e-17) for m in moved], ".", color=BLUE, ms=3, label=label)
    axes.set_xlabel("error of each product, relative to ‖A‖")
    axes.set_ylabel("absolute size")
    axes.set_title("An inexact run is exact for Ã, no farther than ‖F‖")


def theorem_2(axes: plt.Axes) -> None:
    """Theorem 2 against the error it bounds, as printed and corrected, on graphs so small that it is tight."""
    total = wrong = printed_wrong = 0
    g = torch.Generator().manual_seed(5)
    for n in (4, 5, 6, 7):
        A = laplacians(3000, n, g)
        v = starts(A, seed=20 + n)
        for steps in range(3, n + 1):
            run = inexact_lanczos(A, v, steps=steps)
            error = bounds.low_rank_error(A, run.Q, run.T)
            seen = error > 1e-9  # an exhausted Krylov space may leave no error to bound
            for j in range(2, min(steps, n)):
                right = (error / bounds.low_rank_bound(A, v, run.rest, steps=steps, j=j))[seen]
                printed = (error / bounds.low_rank_bound_as_printed(A, v, steps=steps, j=j))[seen]
                place = n + 0.8 * (torch.rand(len(right), generator=g) - 0.5)  # a strip for each n
                bad = printed > 1 + 1e-6
                axes.semilogy(place[:300], right[:300], ".", ms=1.5, color=BLUE)
                axes.semilogy(place[bad], printed[bad], "x", color=ORANGE, ms=5)
                total, printed_wrong = total + len(right), printed_wrong + int(bad.sum())
                wrong += int((right > 1 + 1e-6).sum())
    axes.axhline(1, color="black", lw=0.8)
    axes.plot([], [], ".", color=BLUE, label=f"corrected (a sample): {wrong} of {total:,} above 1")
    axes.plot([], [], "x", color=ORANGE, label=f"as printed, where violated: {printed_wrong} of {total:,}")
    axes.set_ylim(2e-3, 200)
    axes.set_xticks(range(4, 8))
    axes.set_xlabel("number of nodes")
    axes.set_ylabel("‖L − QTQᵀ‖² / bound")
    axes.set_title("Theorem 2 needs its two corrections")


def laplacians(count: int, n: int, g: torch.Generator) -> Tensor:
    """Combinatorial Laplacians of random graphs of every density, `[count, n, n]`."""
    A = (torch.rand(count, n, n, generator=g) < torch.rand(count, 1, 1, generator=g)).double().triu(1)
    A = A + A.mT
    return torch.diag_embed(A.sum(-1)) - A


FIGURES = {"perturbation": perturbation, "theorem_1": theorem_1, "greenbaum": greenbaum, "theorem_2": theorem_2}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        figure, axes = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
        draw(axes)
        axes.legend(fontsize=8, loc="best")
        axes.grid(alpha=0.25)
        # no software version in the file, so that the same figure is the same bytes
        figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})
        plt.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures")
