"""FitMetrics: what was measured at the end of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llwlc._direction.report import DirectionReport
from llwlc.metrics import Evaluation
from llwlc.ranking._list_quality import RankingReport


@dataclass(frozen=True)
class FitMetrics:
    """What was measured on the test links, once. `metrics["hits@100"]` and the like give a number by its name in
    `metrics.json`.

    >>> import networkx, llwlc
    >>> graph = llwlc.Graph.from_networkx(networkx.karate_club_graph())
    >>> metrics = llwlc.LinkPredictor(model="adamic-adar").fit(graph).metrics_
    >>> metrics["auc"] == metrics.test.auc
    True
    """

    test: Evaluation
    """The model's."""
    calibration_error: float
    """The mean difference of predicted and observed shares of links on test pairs."""
    calibration_prior: float
    """The share of links among the pairs on which probabilities were calibrated."""
    parameters: int
    """The number of learned numbers."""
    epochs: int
    """The number of epochs that were trained."""
    seconds: float
    """How long the fit took."""
    heuristics: Mapping[str, Evaluation]
    """Heuristics on the same links, by title."""
    ranking: RankingReport | None = None
    """How well `recommend` finds the test links."""
    stages: Mapping[str, float] = field(default_factory=dict)
    """Seconds that each stage of the fit took."""
    direction: DirectionReport | None = None
    """How often the direction of test links is right, of a directed fit."""

    def __getitem__(self, name: str) -> Any:
        """A number by its name in `metrics.json`."""
        return self.as_dict()[name]

    def as_dict(self) -> dict[str, Any]:
        """As `metrics.json` has it: the test numbers flat, the heuristics by title."""
        own = ("calibration_error", "calibration_prior", "parameters", "epochs", "seconds")
        beside = {title: evaluation.as_dict() for title, evaluation in self.heuristics.items()}
        ranking = {} if self.ranking is None else {"ranking": self.ranking.as_dict()}
        stages = {"stages": dict(self.stages)}
        stages |= {} if self.direction is None else {"direction": self.direction.as_dict()}
        return (
            self.test.as_dict()
            | {name: getattr(self, name) for name in own}
            | stages
            | {"heuristics": beside}
            | ranking
        )

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> FitMetrics:
        """The inverse of `as_dict`.

        Args:
            data: what `as_dict` returned.
        """
        return FitMetrics(
            Evaluation.from_dict(data),
            float(data["calibration_error"]),
            float(data["calibration_prior"]),
            int(data["parameters"]),
            int(data["epochs"]),
            float(data["seconds"]),
            {title: Evaluation.from_dict(evaluation) for title, evaluation in data["heuristics"].items()},
            RankingReport.from_dict(data["ranking"]) if "ranking" in data else None,
            {str(stage): float(seconds) for stage, seconds in data["stages"].items()},
            DirectionReport.from_dict(data["direction"]) if "direction" in data else None,
        )
