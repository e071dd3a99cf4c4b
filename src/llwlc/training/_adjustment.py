"""Adjustment: a correction of candidates' scores that a model takes into its last layer."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Adjustment:
    """score ↦ `slope` · score + inputs · `weight`, for candidates that share a neighbour, then for those that do not;
    `weight [2, P]`.
    """

    slope: tuple[float, float]
    weight: tuple[tuple[float, ...], tuple[float, ...]]

    def score(self, score: Tensor, inputs: Tensor, sharing: Tensor) -> Tensor:
        """The adjusted scores `[m]` of candidates, float64; `inputs [m, P]`: their `PairInputs`."""
        kind = (~sharing).long()
        weight, slope = (torch.tensor(part, dtype=torch.float64) for part in (self.weight, self.slope))
        return slope[kind] * score.double() + (weight[kind] * inputs.double()).sum(1)
