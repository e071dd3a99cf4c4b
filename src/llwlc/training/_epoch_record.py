"""EpochRecord: what is known of an epoch of training."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class EpochRecord:
    """One epoch of training.

    >>> EpochRecord(0, loss=0.7, valid=0.9, valid_auc=0.9).as_dict()["loss"]
    0.7
    """

    epoch: int
    """Its number, from 0."""
    loss: float
    """The mean loss."""
    valid: float
    """The validation score that chooses the epoch."""
    valid_auc: float
    """The validation AUC among random pairs."""
    valid_candidates: float | None = None
    """The validation AUC among candidates, for a network with an output for them."""

    def as_dict(self) -> dict[str, Any]:
        """As a line of `history.jsonl` has it."""
        return asdict(self)
