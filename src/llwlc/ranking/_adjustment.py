"""The candidates' outputs, adjusted on validation links: how far to lean on the exact statistics of a pair beside the
network's score.

The network reads these statistics too, but it learns on training links, which it partly learns by heart; what it says
beyond them is worth less on links that it has not seen. A few weights, fitted on validation links, correct that. They
act on inputs that the candidates' outputs read linearly, so they are added to the weights of the network itself: a run
has no further part, and everything that reads its network sees them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from llwlc._support.threads import use_one_blas_thread
from llwlc.ranking._curve_fitting import Likelihood
from llwlc.training._adjustment import Adjustment

Floats = NDArray[np.float64]
WEIGHT, SLOPE, OFFSET = 0.3, 0.2, 3.0
"""Standard deviations of priors: on the weight of a statistic, for each of its standard deviations, around 0; on the
factor of the network's score, around 1; on the offset. With few links, the network's score hardly changes. (0.1
and 1, and 0.5 and 0, did as well on NS, Power and USAir, within noise.)"""


@use_one_blas_thread()
def fit_adjustment(
    score: Tensor, inputs: Tensor, sharing: Tensor, hidden: Tensor, *, rho: float, other: float
) -> Adjustment:
    """The adjustment under which the `hidden` validation links `[m]` of candidates are likeliest, given its priors;
    `rho`, `other`: as in `fit_candidate_calibration`.
    """
    parts = []
    for mine in (sharing, ~sharing):
        own, beside, hits = (part[mine].double().numpy() for part in (score, inputs, hidden))
        parts.append(_fitted(own, beside, hits, Likelihood(rho, other)))
    (slope, weight), (slope_apart, weight_apart) = parts
    return Adjustment((slope, slope_apart), (weight, weight_apart))


def _fitted(score: Floats, inputs: Floats, hits: Floats, likelihood: Likelihood) -> tuple[float, tuple[float, ...]]:
    """Slope and weights for candidates of one kind, by Newton's method with step halving."""
    if not hits.any():
        return 1.0, (0.0,) * inputs.shape[1]
    spread = inputs.std(0)
    varies = spread > 1e-6
    scale = np.where(varies, spread, 1.0)
    design = np.column_stack([np.ones(len(score)), score - score.mean(), (inputs - inputs.mean(0)) / scale * varies])
    count = np.ones(len(score))
    precision = np.array([OFFSET, SLOPE, *(WEIGHT,) * inputs.shape[1]]) ** -2.0
    centre = np.array([likelihood.log_ratio(float(hits.sum()), len(hits)), 1.0, *(0.0,) * inputs.shape[1]])

    def loss(theta: Floats) -> float:
        return float(precision @ (theta - centre) ** 2 / 2 - likelihood(design @ theta, hits, count))

    theta, now = centre, loss(centre)
    for _ in range(50):
        slope, curvature = likelihood.derivatives(design @ theta, hits, count)
        gradient = precision * (theta - centre) - design.T @ slope
        move = np.linalg.solve(design.T @ (design * curvature[:, None]) + np.diag(precision), gradient)
        length = 1.0
        while (then := loss(theta - length * move)) > now and length > 1e-4:
            length /= 2
        if then > now:
            break
        theta, now = theta - length * move, then
        if np.abs(length * move).max() < 1e-8:
            break
    return float(theta[1]), tuple(float(value) for value in np.where(varies, theta[2:], 0.0) / scale)
