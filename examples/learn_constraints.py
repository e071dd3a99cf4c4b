"""Learn a constraint: which mix of two Neumann conditions has shaped a signal?

A hidden constraint c* = w₁ c₁ + w₂ c₂ (boundary and degree column) acts on the enclosing subgraphs of some links:
signals are smoothed by the heat kernel *inside its null space*, y = V exp(−2R) Vᵀ x. We see x and y, not w, and find w
by gradient descent through the eigenbasis. Only the direction of w matters, so it is compared up to length and sign.

    python examples/learn_constraints.py
"""

from __future__ import annotations

import torch
from torch import Tensor

from llwlc import constraints
from llwlc.bases import eigenbasis
from llwlc.graph import Graph
from llwlc.linalg import spectral_filter
from llwlc.subgraphs import Subgraphs, extract


def smooth(subs: Subgraphs, cons: constraints.Constraints, weights: Tensor, x: Tensor) -> Tensor:
    """V exp(−2R) Vᵀ x under the constraint that `weights` mixes; the complete basis has exact gradients."""
    mixed = constraints.combine(cons, weights)
    basis = eigenbasis(subs, mixed, steps=1, complete=True, dtype=torch.float64)
    return spectral_filter(basis, lambda r: torch.exp(-2 * r), x)


def data(seed: int = 0) -> tuple[Subgraphs, constraints.Constraints, Tensor]:
    """The subgraphs of 4 pairs in a random graph, their two constraint columns, and 8 random signals."""
    g = torch.Generator().manual_seed(seed)
    edges = torch.randint(60, (110, 2), generator=g)
    graph = Graph.from_edges(edges[edges[:, 0] != edges[:, 1]], num_nodes=60)
    subs = extract(graph, graph.edges[torch.randperm(graph.num_edges, generator=g)[:4]], hops=2)
    # unit columns, so that the two weights are comparable
    cons = constraints.neumann(subs)
    cons = constraints.custom(subs, cons.columns / cons.columns.norm(dim=0), names=cons.names)
    return subs, cons, torch.randn(subs.num_nodes, 8, generator=g, dtype=torch.float64)


def main(rounds: int = 60) -> tuple[float, float, Tensor, Tensor]:
    """First and last loss, the weights found and the hidden ones, both as unit vectors."""
    subs, cons, x = data()
    hidden = torch.tensor([0.8, -0.6], dtype=torch.float64)
    y = smooth(subs, cons, hidden, x)

    weights = torch.tensor([0.3, 1.0], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([weights], lr=0.2)
    decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.92)
    losses = []
    for step in range(rounds):
        optimizer.zero_grad()
        loss = (smooth(subs, cons, weights, x) - y).square().sum()
        loss.backward()
        optimizer.step()
        decay.step()
        losses.append(loss.item())
        if step % 10 == 0 or step == rounds - 1:
            print(
                f"step {step:3d}   loss {losses[-1]:10.3e}   weights {weights[0].item():+.4f} {weights[1].item():+.4f}"
            )

    found = weights.detach() / weights.detach().norm()
    found = found * (found @ hidden).sign()
    print(f"hidden direction  {hidden[0]:+.4f} {hidden[1]:+.4f}\nfound direction   {found[0]:+.4f} {found[1]:+.4f}")
    return losses[0], losses[-1], found, hidden


if __name__ == "__main__":
    main()
