"""The results of training as typed records: one for each epoch, and one for what was measured at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from llwlc.metrics import Evaluation
from llwlc.training.list_quality import RankingReport


@dataclass(frozen=True)
class EpochRecord:
    """One epoch: its number from 0, the mean loss, the validation score that chooses the epoch, the validation AUC among
    random pairs and, where candidates have a head of their own, among candidates."""

    epoch: int
    loss: float
    valid: float
    valid_auc: float
    valid_candidates: float | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class FitMetrics:
    """What was measured on the test links, once, and on the same links the scores that need no training; `ranking`: how well `recommend` finds them.

    `metrics["hits@100"]` and the like give a number by its name in `metrics.json`.
    """

    test: Evaluation
    calibration_error: float
    calibration_prior: float
    parameters: int
    epochs: int
    seconds: float
    heuristics: Mapping[str, Evaluation]
    ranking: RankingReport | None = None
    stages: Mapping[str, float] = field(default_factory=dict)
    """Seconds that each stage of the fit took."""

    def __getitem__(self, name: str) -> Any:
        return self.as_dict()[name]

    def as_dict(self) -> dict[str, Any]:
        """As `metrics.json` has it: the test numbers flat, the heuristics by title."""
        own = ("calibration_error", "calibration_prior", "parameters", "epochs", "seconds")
        beside = {title: found.as_dict() for title, found in self.heuristics.items()}
        ranking = {} if self.ranking is None else {"ranking": self.ranking.as_dict()}
        stages = {"stages": dict(self.stages)} if self.stages else {}
        return (
            self.test.as_dict()
            | {name: getattr(self, name) for name in own}
            | stages
            | {"heuristics": beside}
            | ranking
        )

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> FitMetrics:
        """What `as_dict` wrote."""
        return FitMetrics(
            Evaluation.from_dict(data),
            float(data["calibration_error"]),
            float(data["calibration_prior"]),
            int(data["parameters"]),
            int(data["epochs"]),
            float(data["seconds"]),
            {title: Evaluation.from_dict(found) for title, found in data["heuristics"].items()},
            RankingReport.from_dict(data["ranking"]) if "ranking" in data else None,
            {str(stage): float(seconds) for stage, seconds in data.get("stages", {}).items()},
        )
