"""Probabilities among candidates: how the odds of a missing link grow with the network's score, fitted on hidden validation links.

Let a pair be a link with odds ω before anybody hid links. If links are hidden at random, ρ_v validation and ρ_t test links for each known one, an unlinked
pair is a validation link, a test link or no link at odds R ρ_v : R ρ_t : 1, with R the odds ω for each known link. The likelihood of validation links alone
gives R as a function of the score, without a look at which pairs are test links; where ρ links are missing for each known one, the chance of a pair is
R ρ / (1 + R ρ).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from llwlc.errors import InputError

RANKS = (1_000, 200)
"""The slope of a curve may change at the scores of these ranks: what is far down the list is most of the data and says little of its top."""
CHANGE = 1.0
"""Standard deviation of a prior on how the logarithm of the slope changes from one piece to the next."""
SLOPE, OFFSET = 1.0, 3.0
"""Standard deviations of priors on the logarithm of the first slope, against that of the network itself, and on the offset: they decide where there are few
links, and are nothing beside many."""


@dataclass(frozen=True)
class Curve:
    """log R as a function of the score: `offset` at the first knot, or at `centre` without knots, and a positive slope between knots, in pieces.

    `slopes`: logarithms of the slopes, one more than there are `knots`, ascending; `covariance [k, k]` of (offset, *slopes) that so many validation `links` leave.
    """

    centre: float = 0.0
    knots: tuple[float, ...] = ()
    offset: float = 0.0
    slopes: tuple[float, ...] = (0.0,)
    covariance: tuple[tuple[float, ...], ...] = ()
    links: int = 0

    def log_ratio(self, score: Tensor) -> Tensor:
        return _pieces(score, self.centre, self.knots) @ torch.tensor([self.offset, *map(math.exp, self.slopes)], dtype=torch.float64)

    def draws(self, score: Tensor, count: int, rng: np.random.Generator) -> Tensor:
        """log R `[count, m]` under other curves that the validation links would support as well."""
        mean = np.array([self.offset, *self.slopes])
        if not self.covariance:
            return self.log_ratio(score).expand(count, -1)
        drawn = torch.from_numpy(rng.multivariate_normal(mean, np.array(self.covariance), size=count, method="eigh"))
        weight = torch.cat([drawn[:, :1], drawn[:, 1:].clamp(max=20).exp()], 1)
        return weight @ _pieces(score, self.centre, self.knots).T


@dataclass(frozen=True)
class CandidateCalibration:
    """A curve for candidates that share a neighbour and one for those that do not: their scores come from outputs of their own."""

    sharing: Curve = Curve()
    apart: Curve = Curve()

    def log_ratio(self, score: Tensor, sharing: Tensor) -> Tensor:
        """log R `[m]`: what candidates of both kinds are ranked by."""
        return torch.where(sharing, self.sharing.log_ratio(score), self.apart.log_ratio(score))

    def draws(self, score: Tensor, sharing: Tensor, *, count: int = 400, seed: int = 0) -> Tensor:
        """log R `[count, m]` under curves that the validation links would support as well."""
        rng = np.random.default_rng(seed)
        found = torch.empty(count, len(score), dtype=torch.float64)
        for curve, mine in ((self.sharing, sharing), (self.apart, ~sharing)):
            found[:, mine] = curve.draws(score[mine], count, rng)
        return found


def missing_per_known(share: float) -> float:
    """The number of missing links for each known one, from their share of all links.

    >>> round(missing_per_known(0.2), 3)
    0.25
    """
    if not 0 < share < 1:
        raise InputError(f"the missing share is missing links ÷ (known and missing ones), above 0 and below 1, got {share}")
    return share / (1 - share)


def fit_candidate_calibration(
    score: Tensor, sharing: Tensor, hidden: Tensor, *, rho: float, other: float
) -> CandidateCalibration:
    """The curves under which the `hidden` validation links `[m]` of candidates are likeliest; `rho` of them for each known link, and `other` links
    for each known link that are hidden too and not told."""
    return CandidateCalibration(*(fit_curve(score[mine], hidden[mine], rho, other) for mine in (sharing, ~sharing)))


def fit_curve(score: Tensor, hidden: Tensor, rho: float, other: float) -> Curve:
    """The curve of one kind of candidates, by maximum a posteriori."""
    if not len(score):
        return Curve()
    score = score.double()
    ordered = score.sort(descending=True).values
    knots = tuple(sorted({float(ordered[rank]) for rank in RANKS if 2 * rank <= len(score)}))
    centre = float(ordered[min(RANKS[0], len(score) - 1)])
    pieces, links = _pieces(score, centre, knots), int(hidden.sum())
    share = (links + 0.5) / (len(score) + 1)
    first = math.log(share / max(1 - share * (1 + other / rho), 0.01) / rho)
    start = torch.tensor([first, *[0.0] * (len(knots) + 1)], dtype=torch.float64)
    chance, label = math.log(rho), hidden.double()
    saturated = math.log(rho + other)

    def loss(theta: Tensor) -> Tensor:
        log_ratio = pieces @ torch.cat([theta[:1], theta[1:].exp()])
        # −log of R ρ / (1 + R (ρ + other)) for links, of the rest for others
        whole = F.softplus(log_ratio + saturated)
        none = torch.where(
            torch.tensor(other > 0), torch.logaddexp(torch.zeros_like(log_ratio), log_ratio + math.log(max(other, 1e-300))), torch.zeros_like(log_ratio)
        )
        likelihood = label * (log_ratio + chance) + (1 - label) * none - whole
        prior = ((theta[0] - first) / OFFSET) ** 2 + (theta[1] / SLOPE) ** 2 + (theta[2:] - theta[1:-1]).square().sum() / CHANGE**2
        return prior / 2 - likelihood.sum()

    theta = start.clone().requires_grad_()
    solver = torch.optim.LBFGS([theta], max_iter=200, tolerance_grad=1e-9, tolerance_change=1e-14, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        solver.zero_grad()
        value = loss(theta)
        value.backward()  # type: ignore[no-untyped-call]
        return value

    solver.step(closure)  # type: ignore[no-untyped-call]
    best = theta.detach()
    curvature = torch.autograd.functional.hessian(loss, best)  # type: ignore[no-untyped-call]
    values, vectors = torch.linalg.eigh(curvature)
    covariance = (vectors / values.clamp(min=1e-3)) @ vectors.T
    rows = tuple(tuple(float(v) for v in row) for row in covariance)
    return Curve(centre, knots, float(best[0]), tuple(float(v) for v in best[1:]), rows, links)


def _pieces(score: Tensor, centre: float, knots: tuple[float, ...]) -> Tensor:
    """What (offset, *slopes) are multiplied with, `[m, 2 + knots]`: 1, and how far a score goes into each piece, counted from the centre."""
    score, edges = score.double(), (-math.inf, *knots, math.inf)
    columns = [torch.ones_like(score)]
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        columns.append(score.clamp(low, high) - min(max(centre, low), high))
    return torch.stack(columns, 1)
