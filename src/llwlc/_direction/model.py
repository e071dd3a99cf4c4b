"""DirectionModel: which way the link of a pair points, if there is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor

from llwlc._direction.arcs import Floats
from llwlc._direction.columns import ANTISYMMETRIC, DEGREES, SYMMETRIC, PairColumns
from llwlc._direction.logistic import fit_logistic
from llwlc._support.threads import use_one_blas_thread
from llwlc.errors import InputError

PENALTY = 1.0
"""Ridge penalty, for columns of mean square one."""


class DirectionProbabilities(NamedTuple):
    """For pairs (u, v), given that they are linked, `[m]` each: the probability of a link from u to v (`forward`), from
    v to u (`backward`), and of both (`both`), which the first two include.
    """

    forward: Tensor
    backward: Tensor
    both: Tensor


@dataclass(frozen=True)
class DirectionModel:
    """Two logistic regressions: does a link point both ways, and if not, which way?

    With h antisymmetric and g symmetric in the two ends, P(both) = σ(g), P(u → v alone) = (1 − σ(g)) σ(h), and h has no
    constant, so that exchanging the ends exchanges the probabilities exactly. `antisymmetric` and `symmetric` are the
    weights of the columns, `constant` that of g.
    """

    antisymmetric: tuple[float, ...]
    symmetric: tuple[float, ...]
    constant: float

    def probabilities(self, columns: PairColumns) -> DirectionProbabilities:
        """The probabilities of the directions of pairs."""
        ahead = expit(self.log_odds(columns))
        both = expit(_weighted(columns.symmetric, self.symmetric) + self.constant)
        parts = (both + (1 - both) * ahead, both + (1 - both) * (1 - ahead), both)
        return DirectionProbabilities(*map(torch.from_numpy, parts))

    def log_odds(self, columns: PairColumns) -> Floats:
        """The log-odds `[m]` that a link which points one way points from the first end to the second."""
        return _weighted(columns.antisymmetric, self.antisymmetric)

    def effects(self, columns: PairColumns) -> list[dict[str, float]]:
        """The term of each column in these log-odds, for each pair; those of node features are summed."""
        terms = columns.antisymmetric * np.array(self.antisymmetric)
        named = list(ANTISYMMETRIC)
        rows = []
        for row in terms:
            effects = dict(zip(named, map(float, row), strict=False))
            rows.append(effects | ({"node features": float(row[len(named) :].sum())} if len(row) > len(named) else {}))
        return rows

    def as_dict(self) -> dict[str, Any]:
        """As `direction.json` has it."""
        return {
            "antisymmetric": list(self.antisymmetric),
            "symmetric": list(self.symmetric),
            "constant": self.constant,
            "columns": [*ANTISYMMETRIC, *SYMMETRIC],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], num_features: int) -> DirectionModel:
        """The inverse of `as_dict`, for a graph with `num_features` compact features; other columns are refused."""
        antisymmetric, symmetric = (tuple(map(float, data[name])) for name in ("antisymmetric", "symmetric"))
        constant = float(data["constant"])
        if data["columns"] != [*ANTISYMMETRIC, *SYMMETRIC] or len(symmetric) != len(SYMMETRIC):
            raise InputError("it has the columns of another version")
        if len(antisymmetric) != len(ANTISYMMETRIC) + num_features:
            raise InputError(f"it has {len(antisymmetric)} weights for {len(ANTISYMMETRIC) + num_features} columns")
        if not np.isfinite([*antisymmetric, *symmetric, constant]).all():
            raise InputError("its weights are not finite")
        return cls(antisymmetric, symmetric, constant)


class DescribedLinks(NamedTuple):
    """Links with the columns that they would have if they were hidden; `forward`, `backward [m]`: which way they
    point.
    """

    columns: PairColumns
    forward: NDArray[np.bool_]
    backward: NDArray[np.bool_]


def fit_direction(links: DescribedLinks) -> DirectionModel:
    """The model of training links. No column depends on its own link, so no calibration is needed."""
    with use_one_blas_thread():
        one_way = links.forward ^ links.backward
        antisymmetric = _fit_scaled(links.columns.antisymmetric[one_way], links.forward[one_way])
        symmetric = _fit_scaled(links.columns.symmetric, links.forward & links.backward, constant=True)
    return DirectionModel(tuple(antisymmetric.tolist()), tuple(symmetric[:-1].tolist()), float(symmetric[-1]))


def fit_degrees(links: DescribedLinks) -> DirectionModel:
    """The baseline: the same model on the two degrees alone."""
    kept = np.isin(list(ANTISYMMETRIC), DEGREES)
    columns = np.zeros_like(links.columns.antisymmetric)
    columns[:, : len(kept)] = links.columns.antisymmetric[:, : len(kept)] * kept
    return fit_direction(links._replace(columns=links.columns._replace(antisymmetric=columns)))


def _weighted(columns: Floats, weights: Sequence[float]) -> Floats:
    """The products of rows and weights, summed in one order whatever the number of rows, as BLAS does not."""
    total = np.zeros(len(columns))
    for column, weight in zip(columns.T, weights, strict=True):
        total += column * weight
    return total


def _fit_scaled(columns: Floats, hit: NDArray[np.bool_], *, constant: bool = False) -> Floats:
    """Weights for unscaled columns, fitted with all columns at one scale; the last is the constant, if there is
    one. Antisymmetric columns have mean zero over both orders of the ends, so they are divided and not shifted.
    """
    middle = columns.mean(0) if constant and len(columns) else np.zeros(columns.shape[1])
    scale = np.sqrt(((columns - middle) ** 2).mean(0)) if len(columns) else np.ones(columns.shape[1])
    scale[scale < 1e-12] = np.inf
    scaled = (columns - middle) / scale
    if not constant:
        return fit_logistic(scaled, hit.astype(np.float64), np.full(columns.shape[1], PENALTY)) / scale
    design = np.concatenate([scaled, np.ones((len(scaled), 1))], 1)
    # Laplace smoothing keeps the constant finite where all links, or none, point both ways
    penalty = np.append(np.full(columns.shape[1], PENALTY), 0.0)
    share = (hit * len(hit) + 1) / (len(hit) + 2) if len(hit) else hit.astype(np.float64)
    found = fit_logistic(design, share.astype(np.float64), penalty)
    weights = found[:-1] / scale
    return np.append(weights, found[-1] - weights @ middle)
