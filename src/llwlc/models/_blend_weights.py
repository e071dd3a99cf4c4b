"""The weights of a blend: non-negative, drawn to the single best member, only as far from it as held-out links support.

With z_i the standardised scores of member i, and links and non-links of equal total weight, the log-odds b + Σ w_i z_i
minimise

    mean log loss + λ/2 ‖w − a e_best‖²,   w ≥ 0,

where a is the slope of the single best member alone. λ, from infinity (the single best alone) downwards, is chosen by
repeated cross-validation over the held-out pairs; infinity stays unless another value is better by more than a standard
error of the paired difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize
from scipy.special import expit

Floats = NDArray[np.float64]
PENALTIES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
"""The values of λ that are tried, beside infinity."""
FOLDS, MOST_REPEATS = 5, 4
MOST_PAIRS = 4_000
"""Pairs of each class by which λ is chosen."""
STANDARD_ERRORS = 1.0
"""A blend must be better than the single best, and the single best than the first member, by this many."""
LEAST_SHARE = 0.02
"""A member below this share of the weight is left out: it would cost time in every score."""


@dataclass(frozen=True, eq=False)
class BlendWeights:
    """`weight [M]` of standardised scores and `offset`; `best`: the single best member; `auc [M]` of each member and of
    the blend; the log loss that the blend saves and its standard error, both 0 for one member alone.
    """

    weight: Floats
    offset: float
    best: int
    auc: Floats
    blend_auc: float
    gain: float = 0.0
    error: float = 0.0

    @property
    def kept(self) -> list[int]:
        return np.flatnonzero(self.weight).tolist()


def choose_weights(pos: Floats, neg: Floats, seed: int = 0) -> BlendWeights:
    """The weights by the standardised scores of held-out links `[M, m]` and non-links `[M, k]`. The first member is the
    single best unless another one is better by more than a standard error.
    """
    auc, best = find_best(pos, neg)
    slope, offset = fit_slope(pos[best], neg[best])
    alone = np.zeros(len(pos))
    alone[best] = slope
    single = BlendWeights(alone, offset, best, auc, float(auc[best]))
    if len(pos) == 1 or min(pos.shape[1], neg.shape[1]) < FOLDS:
        return single
    rng = np.random.default_rng([seed, 31])
    penalty, gain, error = choose_penalty(_sample(pos, rng), _sample(neg, rng), best, rng)
    if penalty is None:
        return single
    weight, offset = fit_blend(pos, neg, alone, penalty)
    small = weight < LEAST_SHARE * weight.sum()
    if small.any():
        weight = np.zeros(len(pos))
        weight[~small], offset = fit_blend(pos[~small], neg[~small], alone[~small], penalty)
    if np.count_nonzero(weight) < 2:
        return single
    return BlendWeights(weight, offset, best, auc, float(placements(weight @ pos, weight @ neg)[0].mean()), gain, error)


def find_best(pos: Floats, neg: Floats) -> tuple[Floats, int]:
    """The AUC `[M]` of each member, and the single best: the first, unless the one of the largest AUC is better by more
    than a standard error.
    """
    auc = np.array([placements(a, b)[0].mean() for a, b in zip(pos, neg, strict=True)])
    top = int(auc.argmax())
    above, first, error = auc_difference(pos[top], neg[top], pos[0], neg[0])
    return auc, top if above - first > STANDARD_ERRORS * error else 0


def choose_penalty(pos: Floats, neg: Floats, best: int, rng: np.random.Generator) -> tuple[float | None, float, float]:
    """The λ of the largest gain in cross-validated log loss over the single best alone, of those above a standard
    error; None where there is none. With it the gain and its standard error.
    """
    repeats = max(1, min(MOST_REPEATS, 1_000 // pos.shape[1]))
    gains = np.zeros((len(PENALTIES), pos.shape[1])), np.zeros((len(PENALTIES), neg.shape[1]))
    for _ in range(repeats):
        fold = [rng.permutation(part.shape[1]) % FOLDS for part in (pos, neg)]
        for k in range(FOLDS):
            train = [part[:, at != k] for part, at in zip((pos, neg), fold, strict=True)]
            held = [part[:, at == k] for part, at in zip((pos, neg), fold, strict=True)]
            slope, offset = fit_slope(train[0][best], train[1][best])
            alone = np.zeros(len(pos))
            alone[best] = slope
            before = [_loss(sign * (slope * part[best] + offset)) for sign, part in zip((1, -1), held, strict=True)]
            for i, penalty in enumerate(PENALTIES):
                weight, shift = fit_blend(train[0], train[1], alone, penalty)
                for c, sign in enumerate((1, -1)):
                    after = _loss(sign * (weight @ held[c] + shift))
                    gains[c][i, fold[c] == k] += (before[c] - after) / repeats
    mean = (gains[0].mean(1) + gains[1].mean(1)) / 2
    error = np.sqrt(sum(part.var(1, ddof=1) / part.shape[1] for part in gains)) / 2
    enough = np.flatnonzero(mean > STANDARD_ERRORS * error)
    if not len(enough):
        return None, 0.0, 0.0
    at = int(enough[mean[enough].argmax()])
    return PENALTIES[at], float(mean[at]), float(error[at])


def fit_slope(pos: Floats, neg: Floats) -> tuple[float, float]:
    """Slope, at least 0, and offset of the log-odds by one standardised score; a weak prior of 1 for the slope keeps it
    finite where the score separates all.
    """
    weight, offset = fit_blend(pos[None], neg[None], np.ones(1), 1e-3)
    return float(weight[0]), offset


def fit_blend(pos: Floats, neg: Floats, centre: Floats, penalty: float) -> tuple[Floats, float]:
    """The weights `[M]`, at least 0, and the offset that minimise the penalised log loss, a convex function.

    >>> weight, offset = fit_blend(np.array([[1.0, 2.0]]), np.array([[-1.0, -2.0]]), np.ones(1), 1.0)
    >>> weight.round(2).tolist(), abs(round(offset, 6))
    ([1.17], 0.0)
    """

    def loss(theta: Floats) -> tuple[float, Floats]:
        weight = theta[:-1]
        odds_pos, odds_neg = weight @ pos + theta[-1], weight @ neg + theta[-1]
        value = _loss(odds_pos).mean() / 2 + _loss(-odds_neg).mean() / 2
        slope_pos, slope_neg = -expit(-odds_pos) / (2 * len(odds_pos)), expit(odds_neg) / (2 * len(odds_neg))
        gradient = np.append(pos @ slope_pos + neg @ slope_neg, slope_pos.sum() + slope_neg.sum())
        away = weight - centre
        gradient[:-1] += penalty * away
        return float(value + penalty / 2 * (away @ away)), gradient

    bounds = Bounds(np.append(np.zeros(len(pos)), -np.inf), np.full(len(pos) + 1, np.inf))
    how: Any = {"maxiter": 500, "ftol": 1e-13, "gtol": 1e-9}
    found = minimize(loss, np.append(centre, 0.0), jac=True, method="L-BFGS-B", bounds=bounds, options=how)
    return found.x[:-1], float(found.x[-1])


def _loss(odds: Floats) -> Floats:
    """Of a class of log-odds `odds`: log(1 + exp(−odds))."""
    return np.logaddexp(0.0, -odds)


def _sample(part: Floats, rng: np.random.Generator) -> Floats:
    if part.shape[1] <= MOST_PAIRS:
        return part
    return part[:, np.sort(rng.permutation(part.shape[1])[:MOST_PAIRS])]


def auc_difference(pos_a: Floats, neg_a: Floats, pos_b: Floats, neg_b: Floats) -> tuple[float, float, float]:
    """The AUC of two scores of the same links, and the standard error of their difference (DeLong).

    >>> auc_difference(*map(np.array, ([2.0, 1.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0])))[:2]
    (0.875, 0.5)
    """
    (above_a, below_a), (above_b, below_b) = placements(pos_a, neg_a), placements(pos_b, neg_b)
    variance = 0.0
    for difference in (above_a - above_b, below_a - below_b):
        if len(difference) > 1:
            variance += float(difference.var(ddof=1)) / len(difference)
    return float(above_a.mean()), float(above_b.mean()), variance**0.5


def placements(pos: Floats, neg: Floats) -> tuple[Floats, Floats]:
    """Of each link the share of non-links below it, of each non-link the share of links above it; equals count half."""

    def share(values: Floats, others: Floats) -> Floats:
        ordered = np.sort(others)
        below, upto = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
        places: Floats = (below + upto) / (2 * max(len(ordered), 1))
        return places

    return share(pos, neg), 1 - share(neg, pos)
