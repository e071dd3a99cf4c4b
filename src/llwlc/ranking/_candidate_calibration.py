"""Probabilities among candidates: how the odds of a missing link grow with the network's score, fitted on hidden
validation links.

Let ω be the odds that a pair is a link before links are hidden. If links are hidden at random, ρ_v validation and ρ_t
test links for each known one, an unlinked pair is a validation link, a test link or no link at odds R ρ_v : R ρ_t : 1,
with R the odds ω for each known link. The likelihood of validation links alone gives R as a function of the score,
without using which pairs are test links; where ρ links are missing for each known one, the chance of a pair is R ρ / (1
+ R ρ).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor

from llwlc.errors import InputError
from llwlc.training._calibration import Calibration

Floats = NDArray[np.float64]
RANKS = (1_000, 200)
"""A curve may change its slope at the scores of these ranks, near the top of the list: most data are far down the list
and say little about its top.
"""
CHANGE = 1.0
"""Standard deviation of a prior on how the logarithm of the slope changes from one piece to the next."""
SLOPE, OFFSET = 1.0, 3.0
"""Standard deviations of priors on the logarithm of the first slope, against that of the network itself, and on the
offset: they matter where there are few links only."""


DROP = 0.7
"""How much smaller the logarithm of the slope is expected to be above a knot: the best of many scores are partly the
luckiest (regression to the mean).
"""
FEW, BEYOND = 20, 0.1
"""A curve of fewer links has this part of its slope above the largest score that it was fitted on: two links of a kind
that is rare among validation links tells nothing of scores ten higher, and such pairs stood first, with a probability
of 1 and none of them true (ogbl-ddi)."""
REFITS = 50
ALONE, BIN = 1_000, 100


@dataclass(frozen=True)
class CalibrationCurve:
    """log R as a function of the score: `offset` at `centre`, and positive slopes, one more than there are `knots`,
    ascending, one for each piece between them.

    `weights`: offset and logarithms of the slopes. `others`: the same, refitted on bootstrap samples of the validation
    links (`links` of them): the uncertainty.
    """

    centre: float = 0.0
    knots: tuple[float, ...] = ()
    weights: tuple[float, ...] = (0.0, 0.0)
    others: tuple[tuple[float, ...], ...] = ()
    links: int = 0

    def log_ratio(self, score: Tensor) -> Tensor:
        return self.draws(score, (self.weights,))[0]

    def draws(self, score: Tensor, weights: tuple[tuple[float, ...], ...] | None = None) -> Tensor:
        """log R `[draws, m]` under the refitted weights."""
        draws = torch.tensor(self.others or (self.weights,) if weights is None else weights, dtype=torch.float64)
        return torch.cat([draws[:, :1], draws[:, 1:].exp()], 1) @ _pieces(score, self.centre, self.knots).T


@dataclass(frozen=True)
class CandidateCalibration:
    """A curve for candidates that share a neighbour and one for those that do not: the network has an output for
    each.
    """

    sharing: CalibrationCurve
    apart: CalibrationCurve

    @classmethod
    def as_random(cls, calibration: Calibration) -> CandidateCalibration:
        """The calibration of random pairs, used for candidates: for runs whose candidates were not calibrated."""
        curve = CalibrationCurve(weights=(calibration.offset, math.log(calibration.slope)))
        return cls(curve, curve)

    def log_ratio(self, score: Tensor, sharing: Tensor) -> Tensor:
        """log R `[m]`: what candidates of both kinds are ranked by."""
        return _finite(torch.where(sharing, self.sharing.log_ratio(score), self.apart.log_ratio(score)))

    def draws(self, score: Tensor, sharing: Tensor) -> Tensor:
        """log R `[draws, m]` under the refitted curves."""
        draws = torch.empty(max(len(self.sharing.others), len(self.apart.others), 1), len(score), dtype=torch.float64)
        for curve, mine in ((self.sharing, sharing), (self.apart, ~sharing)):
            draws[:, mine] = curve.draws(score[mine])
        return _finite(draws)


def _finite(log_ratio: Tensor) -> Tensor:
    """The log-odds, which are finite: a slope may be so steep, or a score so large, that they overflow."""
    if not log_ratio.isfinite().all():
        raise InputError(
            "the calibration of candidates gives odds that are NaN or infinite: it is damaged, or was fitted on scores"
            " that diverged; copy the run again, or fit again"
        )
    return log_ratio


@dataclass(frozen=True)
class Likelihood:
    """The logarithm of the likelihood of validation links among candidates whose log R is `eta`: R ρ / (1 + R (ρ +
    other)) for a validation link, (1 + R other) / (1 + R (ρ + other)) for the rest.
    """

    rho: float
    other: float

    def __call__(self, eta: Floats, hits: Floats, count: Floats) -> float:
        """Up to a constant; `hits` of the `count` candidates with each `eta` are validation links."""
        log_other, log_hidden = self._logs
        each = (
            hits * eta + (count - hits) * np.logaddexp(0, eta + log_other) - count * np.logaddexp(0, eta + log_hidden)
        )
        return float(each.sum())

    def derivatives(self, eta: Floats, hits: Floats, count: Floats) -> tuple[Floats, Floats]:
        """By each eta: the first derivative, and the second one, negated, kept above 0."""
        log_other, log_hidden = self._logs
        rest, whole = expit(eta + log_other), expit(eta + log_hidden)
        curvature = np.maximum(count * whole * (1 - whole) - (count - hits) * rest * (1 - rest), 1e-9 * count)
        return hits + (count - hits) * rest - count * whole, curvature

    def log_ratio(self, hits: float, count: float) -> float:
        """log R of candidates that are all alike, of which a given number are validation links."""
        share = (hits + 0.5) / (count + 1)
        return math.log(share / max(1 - share * (1 + self.other / self.rho), 0.01) / self.rho)

    @property
    def _logs(self) -> tuple[float, float]:
        return math.log(max(self.other, 1e-12)), math.log(self.rho + self.other)


def ratio_from_share(share: float) -> float:
    """The number of missing links for each known one, from their share of all links.

    >>> round(ratio_from_share(0.2), 3)
    0.25
    """
    if not 0 < share < 1:
        raise InputError(
            f"the missing share is missing links ÷ (known and missing ones), above 0 and below 1, got {share}"
        )
    return share / (1 - share)


def fit_candidate_calibration(
    score: Tensor, sharing: Tensor, hidden: Tensor, *, rho: float, other: float, unit: float = 1.0
) -> CandidateCalibration:
    """The curves under which the `hidden` validation links `[m]` of candidates are likeliest; `rho` of them for each
    known link, and `other` links for each known link that are hidden as well, but unknown here. `unit`: how much more
    of the score is expected to make the odds e times as large, 1 for a network's log-odds."""
    return CandidateCalibration(
        *(fit_curve(score[mine], hidden[mine], rho, other, unit) for mine in (sharing, ~sharing))
    )


def fit_curve(score: Tensor, hidden: Tensor, rho: float, other: float, unit: float = 1.0) -> CalibrationCurve:
    """The curve of one kind of candidates, by maximum a posteriori, and refitted `REFITS` times."""
    if not len(score):
        return CalibrationCurve(others=((0.0, 0.0),) * REFITS)
    order = torch.argsort(score, descending=True, stable=True)
    score, hits = score[order].double(), hidden[order].double()
    score = score / unit  # in the units of the priors
    knots = tuple(sorted({float(score[rank]) for rank in RANKS if 2 * rank <= len(score)}))
    centre = float(score[min(RANKS[0], len(score) - 1)])
    middle, hits, count = _binned(score, hits)
    pieces, links = _pieces(middle, centre, knots).numpy(), int(hits.sum())
    bin_hits, bin_counts = hits.numpy(), count.numpy()
    best = _fitted(pieces, bin_hits, bin_counts, rho, other)
    rng = np.random.default_rng(0)
    samples = [_redrawn(bin_hits, links, rng) for _ in range(REFITS)]
    others = [
        _fitted(pieces, bootstrap, bin_counts - bin_hits + bootstrap, rho, other, start=best) for bootstrap in samples
    ]
    every = [best, *others]
    if links < FEW and float(score[0]) > max(knots, default=-math.inf):
        knots = (*knots, float(score[0]))
        every = [np.append(one, one[-1] + math.log(BEYOND)) for one in every]
    curves = [_in_units(one, unit) for one in every]
    return CalibrationCurve(unit * centre, tuple(unit * knot for knot in knots), curves[0], tuple(curves[1:]), links)


def _redrawn(hits: Floats, links: int, rng: np.random.Generator) -> Floats:
    """A bootstrap sample of the links."""
    if not links:
        return hits
    return rng.multinomial(rng.poisson(links), hits / hits.sum()).astype(np.float64)


def _binned(score: Tensor, hits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mean score, hits and number of candidates: one by one at the top, where curves differ, by `BIN` below."""
    low = score[ALONE:]
    bins = torch.arange(len(low)) // BIN
    groups = int(bins[-1]) + 1 if len(low) else 0
    count = torch.zeros(groups, dtype=torch.float64).index_add_(0, bins, torch.ones(len(low), dtype=torch.float64))
    mean = torch.zeros(groups, dtype=torch.float64).index_add_(0, bins, low) / count
    below = torch.zeros(groups, dtype=torch.float64).index_add_(0, bins, hits[ALONE:])
    top = score[:ALONE]
    return torch.cat([top, mean]), torch.cat([hits[:ALONE], below]), torch.cat([torch.ones_like(top), count])


def _fitted(
    pieces: Floats, hits: Floats, count: Floats, rho: float, other: float, *, start: Floats | None = None
) -> Floats:
    """Offset and logarithms of the slopes that maximise the posterior, by the Gauss–Newton method with step halving."""
    size = pieces.shape[1]
    likelihood = Likelihood(rho, other)
    first = likelihood.log_ratio(float(hits.sum()), float(count.sum()))
    # the prior: rows of differences over standard deviations, and what they are expected to be
    rows, expected = np.zeros((size, size)), np.zeros(size)
    rows[0, 0], expected[0] = 1 / OFFSET, first / OFFSET
    rows[1, 1] = 1 / SLOPE
    for k in range(2, size):
        rows[k, k], rows[k, k - 1], expected[k] = 1 / CHANGE, -1 / CHANGE, -DROP / CHANGE

    def log_ratio(theta: Floats) -> Floats:
        value: Floats = pieces @ np.append(theta[:1], np.exp(np.minimum(theta[1:], 20)))
        return value

    def loss(theta: Floats) -> float:
        return float(((rows @ theta - expected) ** 2).sum() / 2) - likelihood(log_ratio(theta), hits, count)

    theta = np.append(first, np.zeros(size - 1)) if start is None else start
    for _ in range(50):
        first_derivative, curvature = likelihood.derivatives(log_ratio(theta), hits, count)
        slope = pieces * np.append(1.0, np.exp(np.minimum(theta[1:], 20)))
        gradient = rows.T @ (rows @ theta - expected) - slope.T @ first_derivative
        move = np.linalg.solve(slope.T @ (slope * curvature[:, None]) + rows.T @ rows, gradient)
        length, now = 1.0, loss(theta)
        while length > 1e-4 and loss(theta - length * move) > now:
            length /= 2
        theta = theta - length * move
        if np.abs(length * move).max() < 1e-6:
            break
    return theta


def _in_units(weights: Floats, unit: float) -> tuple[float, ...]:
    """Offset and logarithms of slopes for scores that are `unit` times as large."""
    return (float(weights[0]), *(float(slope) - math.log(unit) for slope in weights[1:]))


def _pieces(score: Tensor, centre: float, knots: tuple[float, ...]) -> Tensor:
    """The factors of (offset, *slopes), `[m, 2 + knots]`: 1, and how far a score reaches into each piece, from the
    centre.
    """
    score, edges = score.double(), (-math.inf, *knots, math.inf)
    columns = [torch.ones_like(score)]
    for low, high in pairwise(edges):
        columns.append(score.clamp(low, high) - min(max(centre, low), high))
    return torch.stack(columns, 1)
