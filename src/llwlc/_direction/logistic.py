"""Logistic regression with a ridge penalty."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from llwlc._direction.arcs import Floats


def fit_logistic(columns: Floats, hit: Floats, penalty: Floats) -> Floats:
    """The weights w `[d]` that minimise Σ log(1 + e^z) − hit · z + Σ penalty w² / 2, where z = columns · w;
    `hit [m]`: zeros and ones, or shares.

    >>> fit_logistic(np.array([[1.0], [1.0], [1.0]]), np.array([1.0, 1.0, 0.0]), np.array([0.0])).round(3).tolist()
    [0.693]
    """

    def loss(weights: Floats) -> tuple[float, Floats]:
        z = columns @ weights
        value = (np.logaddexp(0, z) - hit * z).sum() + (penalty * weights**2).sum() / 2
        return float(value), columns.T @ (expit(z) - hit) + penalty * weights

    begin = np.zeros(columns.shape[1])
    found = minimize(loss, begin, jac=True, method="L-BFGS-B", options={"gtol": 1e-8, "ftol": 1e-14, "maxiter": 1000})
    return np.asarray(found.x)
