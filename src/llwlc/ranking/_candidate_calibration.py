"""Probabilities among candidates: the odds of a missing link as a function of the network's score.

Let ω be the odds that a pair is a link before links are hidden, at random, from N links: T stay for training, V are for
validation, S for test, and M are missing from the file. A pair that is not a training link is a validation, test or
missing link, or no link, at odds R ρ_v : R ρ_t : R ρ_m : 1 with R = ω T / N, the odds for each training link, and ρ_v =
V / T, ρ_t = S / T, ρ_m = M / T. The likelihood of the hidden links alone (`_curve_fitting`) gives R as a function of
the score. Once validation and test links are known too, a candidate is a missing link with probability R ρ_m / (1 + R
ρ_m).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from llwlc.errors import InputError
from llwlc.training._calibration import Calibration


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
        return torch.cat([draws[:, :1], draws[:, 1:].exp()], 1) @ piece_factors(score, self.centre, self.knots).T


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
        """log R `[m]`, by which candidates of both kinds are ranked."""
        return _finite(torch.where(sharing, self.sharing.log_ratio(score), self.apart.log_ratio(score)))

    def draws(self, score: Tensor, sharing: Tensor) -> Tensor:
        """log R `[draws, m]` under the refitted curves."""
        draws = torch.empty(max(len(self.sharing.others), len(self.apart.others), 1), len(score), dtype=torch.float64)
        for curve, mine in ((self.sharing, sharing), (self.apart, ~sharing)):
            draws[:, mine] = curve.draws(score[mine])
        return _finite(draws)


def _finite(log_ratio: Tensor) -> Tensor:
    """The log-odds, checked to be finite: a steep slope or a large score may overflow."""
    if not log_ratio.isfinite().all():
        raise InputError(
            "the calibration of candidates gives odds that are NaN or infinite: it is damaged, or was fitted on scores"
            " that diverged; copy the run again, or fit again"
        )
    return log_ratio


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


def describe_share(missing_per_known: float, assumed: bool) -> str:
    """The condition of a probability among candidates.

    >>> describe_share(0.25, True)
    'if 20 % of all links are missing, which is assumed'
    """
    share = missing_per_known / (1 + missing_per_known)
    return f"if {100 * share:.3g} % of all links are missing{', which is assumed' if assumed else ''}"


def piece_factors(score: Tensor, centre: float, knots: tuple[float, ...]) -> Tensor:
    """The factors of (offset, *slopes), `[m, 2 + knots]`: 1, and the length of each piece between the
    centre and the score, with its sign.
    """
    score, edges = score.double(), (-math.inf, *knots, math.inf)
    columns = [torch.ones_like(score)]
    for low, high in pairwise(edges):
        columns.append(score.clamp(low, high) - min(max(centre, low), high))
    return torch.stack(columns, 1)
