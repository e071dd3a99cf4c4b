"""NetworkTrainee: what the trainees of single networks have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import torch
from torch import Tensor

from llwlc.splits._linksplit import LinkSplit
from llwlc.training._loop import ValidationScores


class NetworkTrainee(ABC):
    """A module in training (`training._loop.Trainee`), whose validation scores are those of its present weights."""

    net: torch.nn.Module
    split: LinkSplit

    @abstractmethod
    def validation_logits(self) -> Tensor:
        """The logits of the validation links, then of their negatives, `[m + k]`."""

    def validate(self) -> ValidationScores:
        """The validation links as the present weights score them."""
        scores, split = self.validation_logits(), self.split
        pos, neg = scores[: len(split.valid_pos)], scores[len(split.valid_pos) :]
        return ValidationScores(pos, neg.reshape(split.valid_neg.shape[:-1]))

    def weights(self) -> Mapping[str, Tensor]:
        """The weights that `validate` uses."""
        return self.net.state_dict()

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Loads weights."""
        self.net.load_state_dict(weights)

    def states(self) -> dict[str, Mapping[str, Tensor]]:
        """The state of the module by name."""
        return {"net": self.net.state_dict()}

    def load_states(self, states: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Loads what `states` returned."""
        self.net.load_state_dict(states["net"])
