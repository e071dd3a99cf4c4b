"""Lanczos with an error of given size in every product: the situation that the paper's perturbation section
analyses.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class InexactLanczos(NamedTuple):
    """AQ = QT + (rest)eᵀ + F: `Q [..., n, κ]`, `T [..., κ, κ]` tridiagonal, `rest [..., n]` the next, unnormalised
    vector βq.
    """

    Q: Tensor
    T: Tensor
    rest: Tensor


def inexact_lanczos(A: Tensor, start: Tensor, *, steps: int, error: float = 0.0, seed: int = 0) -> InexactLanczos:
    """Lanczos with full reorthogonalisation on dense `A [..., n, n]` from `start [..., n]`, each product off by
    `error`·‖A‖.

    The error is a random vector of that length, as an inexact projector or an inner iteration stopped early would leave
    it; 0 is exact Lanczos (the appendix's algorithm), where a Krylov space that is exhausted ends in zero columns. ‖A‖
    is Gershgorin's bound. A study tool for `bounds`: `constrained_lanczos` is the one to use.

    >>> A = torch.diag(torch.arange(5.0).double())
    >>> Q, T, rest = inexact_lanczos(A, torch.ones(5), steps=3)
    >>> last = torch.tensor([0.0, 0.0, 1.0])
    >>> torch.allclose(A @ Q, Q @ T + rest[:, None] * last)
    True
    """
    A, w = A.double(), start.double()
    size = A.abs().sum(-1).amax(-1)[..., None]
    g = torch.Generator().manual_seed(seed)
    norm = torch.linalg.vector_norm(w, dim=-1, keepdim=True)
    Q = w.new_zeros(*w.shape, 0)
    alpha, beta = [], []
    for _ in range(steps):
        q = torch.where(norm > 0, w / torch.where(norm > 0, norm, 1), 0)
        Q = torch.cat([Q, q[..., None]], -1)
        noise = torch.randn(w.shape, generator=g, dtype=torch.float64).to(w.device)
        w = (A @ q[..., None])[..., 0] + error * size * noise / torch.linalg.vector_norm(noise, dim=-1, keepdim=True)
        alpha.append((w * q).sum(-1))
        for _ in range(2):
            w = w - (Q @ (Q.mT @ w[..., None]))[..., 0]
        norm = torch.linalg.vector_norm(w, dim=-1, keepdim=True)
        live = norm > 1e-10 * size
        w, norm = torch.where(live, w, 0), torch.where(live, norm, 0)
        beta.append(norm[..., 0])
    off = torch.diag_embed(torch.stack(beta[:-1], -1), 1) if steps > 1 else 0
    T = torch.diag_embed(torch.stack(alpha, -1)) + off
    return InexactLanczos(Q, T + T.triu(1).mT, w)
