"""Populations of pairs: what a probability refers to, and how a score becomes one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from llwlc.models._llwlc.scoring import CANDIDATES_OUTPUT, RANDOM_OUTPUT
from llwlc.ranking._candidate_calibration import describe_share, ratio_from_share
from llwlc.ranking._ranking import RankingConfig
from llwlc.training._calibration import Calibration, log_odds

POPULATIONS = ("random", "candidates")


@dataclass(frozen=True)
class RandomPopulation:
    """The population of `score`: random pairs, of which a share `prior` are links."""

    calibration: Calibration
    prior: float = 0.5
    name = "random"
    output = RANDOM_OUTPUT

    @property
    def about(self) -> str:
        return f"by score, among random pairs of which {100 * self.prior:.3g} % are links"

    def log_odds(self, score: Tensor, sharing: Tensor) -> Tensor:
        return self.calibration.log_odds(score) + log_odds(self.prior)

    def range(self, score: Tensor, sharing: Tensor) -> tuple[float, float] | None:
        """None: the uncertainty among random pairs is not measured."""
        return None


@dataclass(frozen=True)
class CandidatePopulation:
    """The population of `recommend`: candidates, where `rho` links are missing for each known one; whether that is
    `assumed`.
    """

    ranking: RankingConfig
    rho: float
    assumed: bool
    name = "candidates"
    output = CANDIDATES_OUTPUT

    @classmethod
    def of(cls, ranking: RankingConfig, missing_share: float | None = None) -> CandidatePopulation:
        rho = ranking.missing_per_known if missing_share is None else ratio_from_share(missing_share)
        return cls(ranking.calibrate(rho), rho, missing_share is None)

    @property
    def about(self) -> str:
        return f"by recommend, among candidates, {describe_share(self.rho, self.assumed)}"

    def log_odds(self, score: Tensor, sharing: Tensor) -> Tensor:
        return self.ranking.calibration.log_ratio(score, sharing) + math.log(self.rho)

    def range(self, score: Tensor, sharing: Tensor) -> tuple[float, float] | None:
        """The 90 % range of one pair's probability, by the refitted calibrations."""
        probabilities = torch.sigmoid(self.ranking.calibration.draws(score, sharing) + math.log(self.rho))[:, 0]
        probability = float(torch.sigmoid(self.log_odds(score, sharing))[0])
        low, high = torch.quantile(probabilities, torch.tensor([0.05, 0.95], dtype=torch.float64)).tolist()
        return min(low, probability), max(high, probability)


CalibratedPopulation = RandomPopulation | CandidatePopulation
