"""The accuracy of predicted directions on hidden links."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from torch import Tensor

from llwlc._direction.model import DescribedLinks, DirectionModel, DirectionProbabilities

NEARLY_ALL = 0.9
"""Share of links in both directions from which the report says that direction matters little."""


@dataclass(frozen=True)
class DirectionReport:
    """Of `links` test links, `one_way` point one way; the model predicts which for a share `right` of them, the
    baseline of degrees for `right_by_degrees`. `both` is the share of all known links that point both ways,
    `both_expected` what the model expects of the test links and `both_observed` the true share. `log_loss` is the mean
    negative logarithm of the probability of the observed direction (one way, the other, both); `log_loss_of_shares`
    that of a model of the share `both` alone.
    """

    links: int
    one_way: int
    right: float
    right_by_degrees: float
    both: float
    both_expected: float
    both_observed: float
    log_loss: float
    log_loss_of_shares: float

    @property
    def error(self) -> float:
        """The standard error of `right`, as if one more link were right and one more wrong: not 0 where all are."""
        right = (self.right * self.one_way + 1) / (self.one_way + 2)
        return math.sqrt(right * (1 - right) / max(self.one_way, 1))

    @property
    def sentence(self) -> str:
        """The report in words."""
        both = f"{100 * self.both:.3g} % of the links come in both directions"
        if self.both >= NEARLY_ALL:
            both += ": nearly every link has its reverse, so whether there is a link matters more than its direction"
        if not self.one_way:
            return f"Direction: {both}; no test link points one way only, so directions could not be measured."
        remark = ""
        if self.right_by_degrees == 1:
            remark = " The degrees alone tell each direction here: there is little to predict."
        elif self.right - 2 * self.error <= 0.5:
            remark = " This does not show that directions are predicted better than by guessing."
        return (
            f"Direction: right for {100 * self.right:.1f} % (± {100 * self.error:.1f}) of the {self.one_way:,} test"
            f" links that point one way; by the degrees of the ends alone for {100 * self.right_by_degrees:.1f} %."
            f" {both[0].upper()}{both[1:]}.{remark}"
        )

    def as_dict(self) -> dict[str, Any]:
        """As `metrics.json` has it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> DirectionReport:
        """The inverse of `as_dict`."""
        counts, shares = (int(data[name]) for name in NAMES[:2]), (float(data[name]) for name in NAMES[2:])
        return cls(*counts, *shares)


NAMES = tuple(field.name for field in fields(DirectionReport))


def report_direction(
    model: DirectionModel, degrees: DirectionModel, test: DescribedLinks, both: float
) -> DirectionReport:
    """The report of a model and its baseline on test links; `both`: the share of known links that point both ways."""
    one_way = test.forward ^ test.backward
    chances = model.probabilities(test.columns)
    count = max(len(one_way), 1)
    return DirectionReport(
        len(one_way),
        int(one_way.sum()),
        _right(model, test),
        _right(degrees, test),
        both,
        float(chances.both.sum()) / count,
        float((~one_way).sum()) / count,
        float(-np.log(_chance_of_observed(chances, test)).sum()) / count,
        float(-np.log(np.where(one_way, (1 - both) / 2, both).clip(1e-9)).sum()) / count,
    )


def _right(model: DirectionModel, test: DescribedLinks) -> float:
    """The share of one-way links that point in the likelier direction; a tie counts half."""
    one_way = test.forward ^ test.backward
    side = np.sign(model.log_odds(test.columns)[one_way]) * np.where(test.forward[one_way], 1, -1)
    return float(((side + 1) / 2).sum()) / max(int(one_way.sum()), 1)


def _chance_of_observed(chances: DirectionProbabilities, test: DescribedLinks) -> np.ndarray:
    def alone(part: Tensor) -> np.ndarray:
        return np.asarray((part - chances.both).numpy())

    observed = np.where(test.forward, alone(chances.forward), alone(chances.backward))
    return np.where(test.forward & test.backward, chances.both.numpy(), observed).clip(1e-9)
