"""The shortlist: a cheap score of candidates, so that the network scores only the promising ones."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from llwlc._support.threads import use_one_thread

RIDGE = 1e-3  # strength of the ridge penalty, on standardised inputs


@dataclass(frozen=True)
class Shortlist:
    """A logistic regression on the score of a pair in a node's candidate list and its `PairInputs`; one more set of
    weights for pairs that share a neighbour.

    `centre`, `scale [k]` standardise the inputs, `weight [2 k + 2]` are the weights and offsets of pairs that share no
    neighbour, then what sharing adds.
    """

    centre: tuple[float, ...]
    scale: tuple[float, ...]
    weight: tuple[float, ...]

    def score(self, listed: Tensor, inputs: Tensor) -> Tensor:
        """`[m]`, larger is likelier; `listed [m]`: the score in a candidate list, `inputs [m, P]`."""
        return _design(
            _raw(listed, inputs), torch.tensor(self.centre), torch.tensor(self.scale), inputs
        ) @ torch.tensor(self.weight)


@use_one_thread()
def fit_shortlist(listed: Tensor, inputs: Tensor, label: Tensor) -> Shortlist:
    """Fitted on candidates `[m]` with labels 0 and 1, both classes weighing the same, by Newton's method."""
    raw = _raw(listed, inputs)
    centre, scale = raw.mean(0), raw.std(0).clamp(min=1e-6)
    design = _design(raw, centre, scale, inputs).double()
    target = label.double()
    weight = torch.where(label > 0, 0.5 / target.sum().clamp(min=1), 0.5 / (1 - target).sum().clamp(min=1))
    theta = torch.zeros(design.shape[1], dtype=torch.float64)
    ridge = RIDGE * torch.eye(len(theta), dtype=torch.float64)

    def loss(t: Tensor) -> Tensor:
        logit = design @ t
        return (weight * (F.softplus(logit) - target * logit)).sum() + t @ ridge @ t / 2

    for _ in range(50):
        p = torch.sigmoid(design @ theta)
        gradient = design.T @ (weight * (p - target)) + ridge @ theta
        move = torch.linalg.solve(design.T @ (design * (weight * p * (1 - p)).unsqueeze(1)) + ridge, gradient)
        size = 1.0
        while size > 1e-4 and loss(theta - size * move) > loss(theta):
            size /= 2
        theta = theta - size * move
        if float(move.abs().max()) < 1e-8:
            break
    return Shortlist(*(tuple(float(v) for v in part) for part in (centre, scale, theta)))


def _raw(listed: Tensor, inputs: Tensor) -> Tensor:
    return torch.cat([listed.unsqueeze(1).float(), inputs.float()], 1)


def _design(raw: Tensor, centre: Tensor, scale: Tensor, inputs: Tensor) -> Tensor:
    plain = torch.cat([(raw - centre) / scale, torch.ones(len(raw), 1)], 1)
    return torch.cat([plain, plain * (inputs[:, :1] > 0)], 1)
