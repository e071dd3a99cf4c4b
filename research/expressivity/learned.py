"""A network on constrained eigenbases, trained to tell one pair of graphs apart.

For every k-subset S of deleted vertices, with V, R the complete constrained eigenbasis:

    F = V f(R) Vᵀ                          a filter f(λ) = Im e^{iθ} / (λ − w), w and θ learned
    y_i = Σ_j φ(F_ij) + marks               a node's view: the activated entries of its row (`resolvent.py`)
    h_i = σ(W₁ [y_i, i ∈ S] + b₁)           learned, shared by all nodes and subsets; σ(x) = x / (1 + |x|)
    s = σ(W₂ mean_i h_i + b₂)               learned, shared by all subsets
    embedding = W₃ mean_S s                 16 numbers

Every step is invariant to the order of nodes and every k-subset is visited, so copies of a graph differ by rounding
alone. It is LLwLC's block, a learned filter in a constrained basis, with two differences: the activation acts on the
entries of the filter before they meet a signal (there is none: the input is constant), and all constraint sets of a
size are seen instead of a drawn one. The network has 427 parameters. Gradients with respect to the poles are finite
differences, all others are exact.
"""

from __future__ import annotations

from math import comb
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softsign

from research.expressivity.columns import Real
from research.expressivity.families import Pair
from research.expressivity.resolvent import filter_rows, pole
from research.expressivity.rpc import OUTPUTS, PairedComparison, compare_pair
from research.expressivity.subsets import Subsets, iterate_chunks

BUDGET = 60_000_000  # filter entries a graph and channel: about 0.15 s on one core
ROWS = 1 << 16  # node views at once: temporaries of 4 MB stay in the cache
STEP = 1e-5  # of the finite differences, in float64


def choose_order(n: int, *, budget: int = BUDGET, largest: int = 3) -> int:
    """The largest k ≤ `largest` whose C(n, k) filters of n² entries fit the budget.

    >>> [choose_order(n) for n in (10, 50, 63, 104, 198)]
    [3, 3, 2, 2, 1]
    """
    fitting = [k for k in range(min(largest, n - 1) + 1) if comb(n, k) * n * n <= budget]
    return max(fitting, default=0)


class _Views(torch.autograd.Function):
    """y `[m, n, c]` as a function of the filters' parameters `[c, 3]`: centre, log width, phase."""

    @staticmethod
    def forward(ctx: Any, filters: Tensor, graph: Real, subsets: Subsets) -> Tensor:
        ctx.save_for_backward(filters)
        ctx.graph, ctx.subsets = graph, subsets
        return torch.stack([_view(row, graph, subsets) for row in filters.tolist()], -1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (filters,) = ctx.saved_tensors
        out = torch.zeros_like(filters)
        for c, row in enumerate(filters.tolist()):
            here = _view(row, ctx.graph, ctx.subsets)
            for p in range(3):
                moved = [x + STEP * (p == q) for q, x in enumerate(row)]
                out[c, p] = ((_view(moved, ctx.graph, ctx.subsets) - here) / STEP * grads[0][..., c]).sum()
        return out, None, None


def _view(parameters: list[float], graph: Real, subsets: Subsets) -> Tensor:
    centre, log_width, phase = parameters
    w = pole(graph, centre=centre, width=float(np.exp(log_width)))
    return torch.from_numpy(filter_rows(graph, subsets, w=w, phase=phase))


class SubsetNet(nn.Module):
    """The network above: `[n, n]` adjacency to 16 numbers, float64.

    Args:
        order: how many vertices are deleted at once.
        seed: seed of the random weights.
        channels: number of filters.
        hidden: width of the MLPs.

    >>> net = SubsetNet(order=1, seed=0)
    >>> triangle = np.ones((3, 3)) - np.eye(3)
    >>> net(triangle).shape
    torch.Size([16])
    """

    def __init__(self, *, order: int, seed: int, channels: int = 1, hidden: int = 8) -> None:
        super().__init__()
        self.order = order
        generator = torch.Generator().manual_seed(seed)

        def draw(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(*shape, generator=generator, dtype=torch.float64))

        # poles inside the spectrum, in units of the mean degree, with bands of a few per cent of its width
        start = torch.rand(channels, 3, generator=generator, dtype=torch.float64)
        self.filters = nn.Parameter(start * torch.tensor([0.8, 1.0, 1.5]) + torch.tensor([0.4, -3.5, 0.0]))
        self.node, self.node_bias = draw(hidden, channels + 1), draw(hidden)
        self.subset, self.subset_bias = draw(OUTPUTS, hidden), draw(OUTPUTS)
        self.readout = draw(OUTPUTS, OUTPUTS)

    def forward(self, graph: Real) -> Tensor:
        """The embedding of a graph.

        Args:
            graph: adjacency matrix `[n, n]`.

        Returns:
            16 numbers, `[16]`.
        """
        parts = [
            self._subsets(graph, chunk) for chunk in iterate_chunks(len(graph), self.order, size=ROWS // len(graph) + 1)
        ]
        return self.readout @ (torch.stack(parts).sum(0) / comb(len(graph), self.order))

    def _subsets(self, graph: Real, subsets: Subsets) -> Tensor:
        """Σ_S s over a chunk of subsets, `[16]`."""
        y: Tensor = _Views.apply(self.filters, graph, subsets)  # type: ignore[no-untyped-call]
        mark = torch.zeros(y.shape[:2], dtype=y.dtype).scatter_(1, torch.from_numpy(subsets), 1.0)
        # views grow with n; the activation wants a few units
        h = y @ (self.node[:, :-1] * (4 / len(graph))).T + mark[..., None] * self.node[:, -1] + self.node_bias
        s = softsign(h).mean(1) @ self.subset.T + self.subset_bias
        return softsign(s).sum(0)


class LearnedPair(NamedTuple):
    """A pair under BREC's procedure: the comparison, the order k of the network, and the loss before and after
    training.
    """

    comparison: PairedComparison
    order: int
    loss: tuple[float, float]


def learn(
    pair: Pair, *, seed: int = 0, epochs: int = 5, lr: float = 0.01, budget: int = BUDGET, largest: int = 3
) -> LearnedPair:
    """Train a fresh network on one pair with BREC's loss, then compare 32 + 32 relabelled copies and 64 for the check.

    The loss is the cosine of the two embeddings (`CosineEmbeddingLoss` with target −1 and margin 0), Adam with weight
    decay 1e-4. One copy of each graph stands for all in training: the others give the same gradient to 1e-10.

    Args:
        pair: the two graphs to compare.
        seed: seed of the random weights and copies.
        epochs: epochs of training.
        lr: learning rate.
        budget: filter entries for a graph and channel; it bounds how many vertices are deleted at once.
        largest: the most vertices that are deleted at once.

    >>> from research.expressivity.families import paper
    >>> learn(paper()[0], largest=1, epochs=1).comparison.reliable
    True
    """
    net = SubsetNet(order=choose_order(len(pair.a), budget=budget, largest=largest), seed=seed)
    loss_of = nn.CosineEmbeddingLoss(margin=0.0)
    optimizer = torch.optim.Adam(net.parameters(), lr=lr, weight_decay=1e-4)
    losses = []
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = loss_of(net(pair.a)[None], net(pair.b)[None], -torch.ones(1))
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))

    def embed(graph: Real) -> Real:
        with torch.no_grad():
            return np.asarray(net(graph))

    return LearnedPair(
        compare_pair(embed, pair, seed=seed), net.order, (losses[0], losses[-1]) if losses else (0.0, 0.0)
    )
