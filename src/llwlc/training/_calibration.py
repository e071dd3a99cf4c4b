"""Probabilities from scores: Platt's two numbers fitted on validation links, and a stated prior."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor

from llwlc.errors import InputError

MAX_LOG_ODDS = 30  # log-odds beyond which every probability is practically 0 or 1


@dataclass(frozen=True)
class Calibration:
    """logit P(link) = slope · score + offset where links and non-links are equally many; a prior shifts it by its
    log-odds.
    """

    slope: float = 1.0
    offset: float = 0.0

    def log_odds(self, score: Tensor) -> Tensor:
        """The log-odds `[m]` of a link among random pairs, links and non-links being equally many."""
        return self.slope * score.detach() + self.offset

    def probability(self, score: Tensor, prior: float = 0.5) -> Tensor:
        """P(link | score) where a share `prior` of the candidates are links.

        >>> Calibration().probability(torch.tensor([0.0]), prior=0.25)
        tensor([0.2500])
        """
        return self.at(score, log_odds(prior))

    def at(self, score: Tensor, odds: float) -> Tensor:
        """`probability` for a checked prior, as its `log_odds`; by scipy: torch computes the last few of a batch by
        another routine, so that a probability had other last bits in another batch.
        """
        logit = (self.log_odds(score) + odds).cpu().numpy()
        return torch.from_numpy(np.asarray(expit(logit)))


def log_odds(prior: float) -> float:
    """The log-odds of a prior; refuses one outside (0, 1)."""
    if not 0 < prior < 1:
        raise InputError(f"prior is the share of candidates that are links, above 0 and below 1, got {prior}")
    return math.log(prior / (1 - prior))


def fit_calibration(pos: Tensor, neg: Tensor, *, iterations: int = 100) -> Calibration:
    """Platt scaling by Newton's method, both classes weighing the same, with his smoothed targets against
    overconfidence.

    Few scores determine slope and offset badly, and where they nearly tie the best slope is enormous: a prior keeps
    both near the network's own log-odds (1, 0). Its weight is about (10 / n)², and it is left out from 200 scores on,
    where the scale of the scores must not matter.
    """
    if not len(pos) or not len(neg):
        raise InputError(
            f"calibration needs scores of at least one link and one non-link, got {len(pos)} and {len(neg)}: hold out"
            " more links"
        )
    score = torch.cat([pos, neg]).double()
    target = torch.cat(
        [torch.full((len(pos),), (len(pos) + 1) / (len(pos) + 2)), torch.full((len(neg),), 1 / (len(neg) + 2))]
    ).double()
    weight = torch.cat([torch.full((len(pos),), 0.5 / len(pos)), torch.full((len(neg),), 0.5 / len(neg))]).double()
    design = torch.stack([score, torch.ones_like(score)], 1)
    own = torch.tensor([1.0, 0.0], dtype=torch.float64)
    theta, hold = own.clone(), max((10 / len(score)) ** 2 - (10 / 200) ** 2, 0.0)
    spread = float(score.std(correction=0))
    if (
        spread > MAX_LOG_ODDS
    ):  # every probability is 0 or 1 there and the loss is flat, so start elsewhere; it has one minimum
        theta = torch.stack([torch.ones_like(score[0]), -score.mean()]) / spread

    def loss(t: Tensor) -> Tensor:
        logit = design @ t
        fit = (weight * (torch.nn.functional.softplus(logit) - target * logit)).sum()
        return fit + hold / 2 * (t - own).square().sum()

    for _ in range(iterations):
        p = torch.sigmoid(design @ theta)
        gradient = design.T @ (weight * (p - target)) + hold * (theta - own)
        hessian = design.T @ (design * (weight * p * (1 - p)).unsqueeze(1)) + (hold + 1e-12) * torch.eye(
            2, dtype=torch.float64
        )
        step = torch.linalg.solve(hessian, gradient)
        size = 1.0
        while size > 1e-6 and loss(theta - size * step) > loss(theta):
            size /= 2  # far from the optimum a whole Newton step can overshoot
        theta = theta - size * step
        if float(step.abs().max()) < 1e-10:
            break
    # scores that rank no better than chance must not reverse the order
    return Calibration(max(float(theta[0]), 1e-6 / max(spread, 1.0)), float(theta[1]))
