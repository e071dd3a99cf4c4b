"""Curves of the odds of a missing link, fitted on hidden links among candidates.

A stage of a fit hides some links and knows how many more are hidden, but not which. With R the odds of a pair for each
training link, a candidate is one of the stage's links, another hidden one, or no link at odds R ρ : R other : 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor

from llwlc._support.threads import use_one_blas_thread
from llwlc.ranking._candidate_calibration import CalibrationCurve, CandidateCalibration, piece_factors

Floats = NDArray[np.float64]
RANKS = (1_000, 300, 100, 20)
"""A curve may change its slope at the scores of these ranks, near the top of the list: most data are far down the list
and say little about its top.
"""
STEEPER, FLATTER = 1.0, 3.0
"""Standard deviations of a prior on how the logarithm of the slope changes from one piece to the next, for changes
above and below the expected one: lists may well be no better at their top than at rank 100, but seldom much steeper.
"""
SLOPE, OFFSET = 1.0, 3.0
"""Standard deviations of priors on the logarithm of the first slope, against that of the network itself, and on the
offset: they matter only if there are few links."""
DROP = 0.7
"""How much smaller the logarithm of the slope is expected to be above a knot: the best of many scores are partly the
luckiest (regression to the mean).
"""
FEW, BEYOND = 20, 0.1
"""A curve fitted on fewer links keeps only this fraction of its slope above the largest score that it was fitted on. On
ogbl-ddi, a curve fitted on two links of a rare kind otherwise put pairs with scores ten higher first, with probability
1, and none of them was a link."""
REFITS = 50
LONGEST_STEP = 1.0
"""Largest change of the offset or of the logarithm of a slope in one step of the fit."""
ALONE, GROWTH = 200, 0.05
"""The best candidates are counted one by one, since curves differ at the top; below, a bin holds this share of the
candidates above it."""


@dataclass(frozen=True)
class StageCounts:
    """Candidates of one kind at one stage, best first, in bins: mean scores, numbers of hidden links and of candidates.

    `rho`: the stage's hidden links for each training link, `other`: further hidden links, likewise.
    """

    score: tuple[float, ...]
    hits: tuple[float, ...]
    count: tuple[float, ...]
    rho: float
    other: float

    @classmethod
    def of(cls, score: Tensor, hidden: Tensor, rho: float, other: float) -> StageCounts:
        """The counts of candidates `[m]`, of which some are `hidden` links `[m]`.

        >>> StageCounts.of(torch.tensor([1.0, 3.0]), torch.tensor([False, True]), 0.1, 0.2).score
        (3.0, 1.0)
        """
        order = torch.argsort(score, descending=True, stable=True)
        values, hits = score[order].double().numpy(), hidden[order].double().numpy()
        starts = list(range(min(ALONE, len(values))))
        at = ALONE
        while at < len(values):
            starts.append(at)
            at += max(1, round(GROWTH * at))
        if not starts:
            return cls((), (), (), rho, other)
        count = np.diff(np.append(starts, len(values))).astype(np.float64)
        mean, total = np.add.reduceat(values, starts) / count, np.add.reduceat(hits, starts)
        return cls(tuple(mean.tolist()), tuple(total.tolist()), tuple(count.tolist()), rho, other)

    @property
    def candidates(self) -> float:
        return sum(self.count)

    def at_rank(self, rank: int) -> float:
        """The score of the candidate at this rank, from 0, or of the last one if there are fewer."""
        return self.score[min(int(np.searchsorted(np.cumsum(self.count), rank, side="right")), len(self.score) - 1)]


@dataclass(frozen=True)
class Likelihood:
    """The logarithm of the likelihood of a stage's hidden links among candidates whose log R is `eta`: R ρ / (1 + R (ρ
    + other)) for a hidden link, (1 + R other) / (1 + R (ρ + other)) for the rest. `rho`, `other`: for all or for each.
    """

    rho: float | Floats
    other: float | Floats

    def __call__(self, eta: Floats, hits: Floats, count: Floats) -> float:
        """Up to a constant; `hits` of the `count` candidates with each `eta` are hidden links."""
        log_other, log_hidden = self._logs
        each = (
            hits * eta + (count - hits) * np.logaddexp(0, eta + log_other) - count * np.logaddexp(0, eta + log_hidden)
        )
        return float(each.sum())

    def derivatives(self, eta: Floats, hits: Floats, count: Floats) -> tuple[Floats, Floats]:
        """With respect to each eta: the first derivative, and the negated second one, clipped to be positive."""
        log_other, log_hidden = self._logs
        rest, whole = expit(eta + log_other), expit(eta + log_hidden)
        curvature = np.maximum(count * whole * (1 - whole) - (count - hits) * rest * (1 - rest), 1e-9 * count)
        return hits + (count - hits) * rest - count * whole, curvature

    def log_ratio(self, hits: float | Floats, count: float | Floats, pseudo: tuple[float, float] = (0.5, 1.0)) -> float:
        """log R of candidates that are all alike, of which given numbers are hidden links (in the mean of stages);
        `pseudo`: further links and candidates, which matter where there are few.
        """
        weight = np.maximum(count, 1e-9)  # a bootstrap sample may have no candidate
        rho, other = (float(np.sum(weight * part) / np.sum(weight)) for part in (self.rho, self.other))
        share = (float(np.sum(hits)) + pseudo[0]) / (float(np.sum(count)) + pseudo[1])
        return math.log(share / max(1 - share * (1 + other / rho), 0.01) / rho)

    @property
    def _logs(self) -> tuple[float | Floats, float | Floats]:
        return np.log(np.maximum(self.other, 1e-12)), np.log(np.add(self.rho, self.other))


def fit_candidate_calibration(
    score: Tensor, sharing: Tensor, hidden: Tensor, *, rho: float, other: float, unit: float = 1.0
) -> CandidateCalibration:
    """The curves under which the `hidden` validation links `[m]` of candidates are likeliest; `rho` of them for each
    known link, and `other` links for each known link that are hidden as well, but unknown here. `unit`: how much more
    of the score is expected to make the odds e times as large, 1 for a network's log-odds."""
    kinds = [StageCounts.of(score[mine], hidden[mine], rho, other) for mine in (sharing, ~sharing)]
    pseudo = pool_counts(kinds)
    return CandidateCalibration(*(fit_counts((kind,), unit, pseudo=pseudo) for kind in kinds))


def fit_curve(score: Tensor, hidden: Tensor, rho: float, other: float, unit: float = 1.0) -> CalibrationCurve:
    """The curve of one kind of candidates at one stage, by maximum a posteriori, and refitted `REFITS` times."""
    return fit_counts((StageCounts.of(score, hidden, rho, other),), unit)


def pool_counts(stages: Sequence[StageCounts]) -> tuple[float, float]:
    """One link, and as many candidates as there are for each link in all of these counts.

    >>> pool_counts([StageCounts((1.0, 0.0), (3.5, 0.0), (4.0, 35.0), 0.1, 0.0)])
    (1.0, 10.0)
    """
    hits, count = sum(sum(stage.hits) for stage in stages), sum(stage.candidates for stage in stages)
    return 1.0, (count + 1) / (hits + 0.5)


@use_one_blas_thread()
def fit_counts(
    stages: Sequence[StageCounts],
    unit: float = 1.0,
    refits: int | None = None,
    *,
    pseudo: tuple[float, float] = (0.5, 1.0),
) -> CalibrationCurve:
    """The one curve of several stages, whose scores have one scale; `pseudo`: links and candidates that the prior of
    its height counts in addition. A kind with three candidates says little, and is taken to be like all others.
    """
    refits = REFITS if refits is None else refits
    stages = [replace(stage, score=tuple(value / unit for value in stage.score)) for stage in stages if stage.score]
    if not stages:
        return CalibrationCurve(others=((0.0, 0.0),) * refits)
    longest = max(stages, key=lambda stage: stage.candidates)
    knots = tuple(sorted({longest.at_rank(rank) for rank in RANKS if 2 * rank <= longest.candidates}))
    centre = longest.at_rank(RANKS[0])
    score, hits, count = (np.concatenate([getattr(s, name) for s in stages]) for name in ("score", "hits", "count"))
    likelihood = Likelihood(
        *(np.concatenate([np.full(len(s.score), getattr(s, name)) for s in stages]) for name in ("rho", "other"))
    )
    pieces, links = piece_factors(torch.from_numpy(score), centre, knots).numpy(), int(hits.sum())
    best = _fit_weights(pieces, hits, count, likelihood, pseudo)
    rng = np.random.default_rng(0)
    samples = [_resample(hits, links, rng) for _ in range(refits)]
    others = [
        _fit_weights(
            pieces,
            drawn,
            count - hits + drawn,
            likelihood,
            pseudo,
            start=best,
            prior_shift=rng.normal(size=len(best)),
        )
        for drawn in samples
    ]
    every = [best, *others]
    if links < FEW and score.max() > max(knots, default=-math.inf):
        knots = (*knots, float(score.max()))
        every = [np.append(one, one[-1] + math.log(BEYOND)) for one in every]
    curves = [_rescale(one, unit) for one in every]
    return CalibrationCurve(unit * centre, tuple(unit * knot for knot in knots), curves[0], tuple(curves[1:]), links)


def _resample(hits: Floats, links: int, rng: np.random.Generator) -> Floats:
    """A bootstrap sample of the links."""
    if not links:
        return hits
    return rng.multinomial(rng.poisson(links), hits / hits.sum()).astype(np.float64)


def _fit_weights(
    pieces: Floats,
    hits: Floats,
    count: Floats,
    likelihood: Likelihood,
    pseudo: tuple[float, float],
    *,
    start: Floats | None = None,
    prior_shift: Floats | float = 0.0,
) -> Floats:
    """Offset and logarithms of the slopes that maximise the posterior, by the Gauss–Newton method with step halving.

    `prior_shift`: how many of its standard deviations the mean of the prior is moved. Refits draw it: where the data
    say little, as among candidates that nearly all are hidden links, their spread is then that of the prior.
    """
    size = pieces.shape[1]
    first = likelihood.log_ratio(hits, count, pseudo)
    # the prior: differences, what they are expected to be, and standard deviations above and below that
    rows, expected = np.eye(size) - np.eye(size, k=-1) * (np.arange(size) >= 2)[:, None], np.full(size, -DROP)
    expected[:2] = first, 0.0
    above, below = np.full(size, STEEPER), np.full(size, FLATTER)
    above[:2] = below[:2] = OFFSET, SLOPE
    expected = expected + prior_shift * np.where(np.asarray(prior_shift) < 0, below, above)

    def deviations(theta: Floats) -> tuple[Floats, Floats]:
        """The differences over their standard deviations, and 1 / the latter."""
        difference = rows @ theta - expected
        scale = 1 / np.where(difference < 0, below, above)
        return difference * scale, scale

    def log_ratio(theta: Floats) -> Floats:
        value: Floats = pieces @ np.append(theta[:1], np.exp(np.minimum(theta[1:], 20)))
        return value

    def loss(theta: Floats) -> float:
        return float((deviations(theta)[0] ** 2).sum() / 2) - likelihood(log_ratio(theta), hits, count)

    theta = np.append(first, np.zeros(size - 1)) if start is None else start
    for _ in range(50):
        first_derivative, curvature = likelihood.derivatives(log_ratio(theta), hits, count)
        slope = pieces * np.append(1.0, np.exp(np.minimum(theta[1:], 20)))
        deviation, scale = deviations(theta)
        scaled = rows * scale[:, None]
        gradient = scaled.T @ deviation - slope.T @ first_derivative
        move = np.linalg.solve(slope.T @ (slope * curvature[:, None]) + scaled.T @ scaled, gradient)
        # a long step may end where all odds are infinite: the loss is flat there, and low if there are few candidates
        length, now = min(1.0, LONGEST_STEP / max(float(np.abs(move).max()), 1e-12)), loss(theta)
        while (then := loss(theta - length * move)) > now and length > 1e-4:
            length /= 2
        if then > now:
            break
        theta = theta - length * move
        if np.abs(length * move).max() < 1e-6:
            break
    return theta


def _rescale(weights: Floats, unit: float) -> tuple[float, ...]:
    """Offset and logarithms of slopes, rescaled to scores that are `unit` times as large."""
    return (float(weights[0]), *(float(slope) - math.log(unit) for slope in weights[1:]))
