"""The weights of a blend: non-negative, and shrunk to a centre unless held-out links support others.

With z_i the standardised scores of member i, and links and non-links of equal total weight, the log-odds b + Σ w_i z_i
minimise

    mean log loss + λ/2 ‖w − c‖²,   w ≥ 0.

With fewer than `MIN_LINKS` held-out links, w is the centre c: equal weights of the strong members, those that are
trained, without any that is far worse than the best member. With more, c is the single best member; as it is
uncertain which one that is, c is averaged over `RESAMPLES` Bayesian bootstraps. λ is then chosen by repeated
cross-validation over the held-out pairs; infinity, which gives c itself, is kept unless another value is better by more
than a standard error of the paired difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize
from scipy.special import expit

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
PENALTIES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
"""The values of λ to try besides infinity."""
FOLDS, MOST_REPEATS = 5, 4
MOST_PAIRS = 4_000
"""Maximum number of pairs of each class that choose λ."""
STANDARD_ERRORS = 1.0
"""Weights other than the centre must lower the log loss by more than this many standard errors."""
MIN_LINKS, BEHIND = 200, 3.0
"""With fewer held-out links or non-links, a strong member is left out whose AUC is lower than the best one's by more
than `BEHIND` standard errors, and the others have equal weights. On `tune` networks of the corpus, seed 0, weights
fitted to links that further trainings left out were no better (mean AUC 93.26, equal weights 93.38).
"""
FEWEST_LINKS = 20
"""With fewer held-out links no member is left out: a standard error of a few links may well be 0."""
RESAMPLES, LEAST_CHANCE = 200, 0.05
"""Number of bootstraps of the held-out pairs, and in which share of them a member must be the best to be considered."""
LEAST_SHARE = 0.02
"""A member below this share of the weight is left out: it would cost time in every score."""


@dataclass(frozen=True, eq=False)
class BlendWeights:
    """`weight [M]` of standardised scores and `offset`; `best`: the single best member; `auc [M]` of each member and of
    the blend; `central`: how many members the centre has; `gain`: the decrease in log loss from the centre,
    `error`: its standard error; both 0 for the centre.
    """

    weight: Floats
    offset: float
    best: int
    auc: Floats
    blend_auc: float
    central: int
    gain: float = 0.0
    error: float = 0.0

    @property
    def alone(self) -> int:
        """The member of the largest weight."""
        return int(self.weight.argmax()) if self.weight.any() else self.best

    @property
    def equal(self) -> bool:
        """Whether every member that is kept has the same weight."""
        return len(set(self.weight[self.kept].tolist())) == 1

    @property
    def kept(self) -> list[int]:
        return np.flatnonzero(self.weight).tolist()


def choose_weights(
    pos: Floats, neg: Floats, seed: int = 0, *, strong: Sequence[int] = (), first: float = 0.0
) -> BlendWeights:
    """Fits the weights to the standardised scores of held-out links `[M, m]` and non-links `[M, k]`; `strong`: the
    members whose plain sum is the centre where links are few; `first`: the minimum share of the first member in the
    centre, if it is significantly better than chance.
    """
    rng = np.random.default_rng([seed, 31])
    few_pos, few_neg = _sample(pos, rng), _sample(neg, rng)
    auc = np.array([placements(a, b)[0].mean() for a, b in zip(pos, neg, strict=True)])
    many = min(pos.shape[1], neg.shape[1]) >= MIN_LINKS
    if many or not len(strong):
        share = share_by_chance(few_pos, few_neg, rng)
    else:
        share = share_equally(pos, neg, strong)
    if share[0] < first and is_informative(pos[0], neg[0]):
        share *= (1 - first) / share.sum()
        share[0] = first
    weight, offset = fit_centre(pos, neg, share)
    gain = error = 0.0
    if len(pos) > 1 and many:
        penalty, gain, error = choose_penalty(few_pos, few_neg, share, rng)
        if penalty is not None:
            weight, offset = _without_small(pos, neg, weight, penalty)
    blend_auc = float(placements(weight @ pos, weight @ neg)[0].mean())
    return BlendWeights(weight, offset, int(auc.argmax()), auc, blend_auc, int(np.count_nonzero(share)), gain, error)


def share_equally(pos: Floats, neg: Floats, strong: Sequence[int]) -> Floats:
    """The shares `[M]` of the strong members in the centre: equal, 0 for one that is significantly worse than the best.
    A member that is significantly better than all of them counts as strong. Of fewer than `FEWEST_LINKS` links nothing
    is significant.

    >>> scores = np.array([[2.0, 1.0, 0.5], [1.0, 2.0, 0.5]]), np.array([[0.0, 1.0, 0.7], [0.0, 0.7, 1.0]])
    >>> share_equally(*scores, strong=[0, 1]).tolist()
    [0.5, 0.5]
    """

    def is_better(a: int, b: int) -> bool:
        if pos.shape[1] < FEWEST_LINKS:
            return False
        above, below, error = auc_difference(pos[a], neg[a], pos[b], neg[b])
        return above - below > BEHIND * error

    auc = [float(placements(a, b)[0].mean()) for a, b in zip(pos, neg, strict=True)]
    first, best = (max(some, key=auc.__getitem__) for some in (range(len(auc)), strong))
    if is_better(first, best):
        strong, best = [*strong, first], first
    share: Floats = np.zeros(len(pos))
    share[[i for i in strong if not is_better(best, i)]] = 1
    share /= share.sum()
    return share


def is_informative(pos: Floats, neg: Floats, errors: float = 2.0) -> bool:
    """Whether a score is better than chance by more than this number of standard errors."""
    above, chance, error = auc_difference(pos, neg, np.zeros(len(pos)), np.zeros(len(neg)))
    return above - chance > errors * error


def share_by_chance(pos: Floats, neg: Floats, rng: np.random.Generator) -> Floats:
    """The shares `[M]` of members in the centre: the probability that each is the best, times its own slope."""
    share = find_best(pos, neg, rng)
    for i in np.flatnonzero(share):
        share[i] *= fit_slope(pos[i], neg[i])[0]
    if not share.any():  # no score has any information: the first stays
        share[0] = 1.0
    share[share < LEAST_SHARE * share.sum()] = 0
    share /= share.sum()
    return share


def _without_small(pos: Floats, neg: Floats, centre: Floats, penalty: float) -> tuple[Floats, float]:
    """The weights at this penalty, refitted without members whose share is below `LEAST_SHARE`."""
    weight, offset = fit_blend(pos, neg, centre, penalty)
    large = weight >= LEAST_SHARE * weight.sum()
    if not large.all():
        weight = np.zeros(len(pos))
        weight[large], offset = fit_blend(pos[large], neg[large], centre[large], penalty)
    return weight, offset


def find_best(pos: Floats, neg: Floats, rng: np.random.Generator) -> Floats:
    """The probability `[M]` that each member has the largest AUC, by Bayesian bootstraps of the pairs; small ones are
    set to 0. Ties go to the first member.
    """
    places: list[tuple[Integers, Integers, Integers]] = []
    for above, others in zip(pos, neg, strict=True):
        order = np.argsort(others, kind="stable")
        ranked = others[order]
        places.append((order, np.searchsorted(ranked, above, "left"), np.searchsorted(ranked, above, "right")))
    wins = np.zeros(len(pos))
    for _ in range(RESAMPLES):
        of_pos, of_neg = (rng.standard_exponential((part.shape[1],)) for part in (pos, neg))
        auc = []
        for order, left, right in places:
            below = np.append(0.0, of_neg[order].cumsum())
            auc.append(float(np.dot(of_pos, below[left] + below[right])))
        wins[np.argmax(np.array(auc) * (1 - 1e-12 * np.arange(len(auc))))] += 1
    wins[wins < LEAST_CHANCE * RESAMPLES] = 0
    chance: Floats = wins / wins.sum()
    return chance


def fit_centre(pos: Floats, neg: Floats, share: Floats) -> tuple[Floats, float]:
    """The centre, one slope times the shares, and its offset."""
    slope, offset = fit_slope(share @ pos, share @ neg)
    return slope * share, offset


def choose_penalty(
    pos: Floats, neg: Floats, share: Floats, rng: np.random.Generator
) -> tuple[float | None, float, float]:
    """The λ with the largest gain in cross-validated log loss over the centre, among gains above `STANDARD_ERRORS`,
    or None; with the gain and its standard error.
    """
    repeats = max(1, min(MOST_REPEATS, 1_000 // pos.shape[1]))
    gains = np.zeros((len(PENALTIES), pos.shape[1])), np.zeros((len(PENALTIES), neg.shape[1]))
    for _ in range(repeats):
        fold = [rng.permutation(part.shape[1]) % FOLDS for part in (pos, neg)]
        for k in range(FOLDS):
            learn_pos, learn_neg = (part[:, at != k] for part, at in zip((pos, neg), fold, strict=True))
            held = [part[:, at == k] for part, at in zip((pos, neg), fold, strict=True)]
            centre, offset = fit_centre(learn_pos, learn_neg, share)
            before = [_loss(sign * (centre @ part + offset)) for sign, part in zip((1, -1), held, strict=True)]
            for i, penalty in enumerate(PENALTIES):
                weight, shift = fit_blend(learn_pos, learn_neg, centre, penalty)
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
    """Slope, at least 0, and offset of the log-odds as a function of one standardised score; a prior around 1, worth
    one link, keeps the slope finite if the score separates the classes.
    """
    weight, offset = fit_blend(pos[None], neg[None], np.ones(1), max(1e-3, 1 / max(len(pos), 1)))
    return float(weight[0]), offset


def fit_blend(pos: Floats, neg: Floats, centre: Floats, penalty: float) -> tuple[Floats, float]:
    """The weights `[M]`, at least 0, and the offset that minimise the penalised log loss, a convex function.

    >>> weight, offset = fit_blend(np.array([[1.0, 2.0]]), np.array([[-1.0, -2.0]]), np.ones(1), 1.0)
    >>> weight.round(2).tolist(), abs(round(offset, 6))
    ([1.2], 0.0)
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
    limits: Any = {"maxiter": 500, "ftol": 1e-13, "gtol": 1e-9}
    found = minimize(loss, np.append(centre, 0.0), jac=True, method="L-BFGS-B", bounds=bounds, options=limits)
    return found.x[:-1], float(found.x[-1])


def _loss(odds: Floats) -> Floats:
    """The log loss of links with these log-odds: log(1 + exp(−odds))."""
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
    """For each link the share of non-links below it, for each non-link the share of links above it; ties count half."""

    def share(values: Floats, others: Floats) -> Floats:
        ordered = np.sort(others)
        below, upto = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
        places: Floats = (below + upto) / (2 * max(len(ordered), 1))
        return places

    return share(pos, neg), 1 - share(neg, pos)
