"""WeightedParts: the score of a blend, a weighted sum of its fitted parts, and the terms that explain it."""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import Tensor

from llwlc.errors import NotFittedError
from llwlc.graph._graph import Graph
from llwlc.models._base import (
    CANDIDATES,
    RANDOM,
    Adjustable,
    Explainable,
    Inductive,
    LinkModel,
    Population,
    score_pairs,
)
from llwlc.models._mixture import RANKS_SIDES, Mixture
from llwlc.training._adjustment import Adjustment
from llwlc.training._node_features import NodeFeatures


class WeightedParts(LinkModel):
    """Fitted parts, whose scores are summed with separate weights for random pairs and for candidates."""

    def __init__(self) -> None:
        self.parts: list[LinkModel] = []
        """The members that have a weight."""
        self.mixtures: dict[Population, Mixture] = {}
        self.adjustment: Adjustment | None = None
        self.features = NodeFeatures()

    def score(self, graph: Graph, pairs: Tensor, population: Population = RANDOM) -> Tensor:
        mixture, slopes = self._mixture(population), self._mixture(population).slope.tolist()
        scores = [
            score_pairs(part, graph, pairs, population) if slope else None
            for part, slope in zip(self.parts, slopes, strict=True)
        ]
        total = mixture.offset.expand(len(pairs)).clone()
        for part in mixture.parts(scores):
            if part is not None:
                total = total + part
        if population == CANDIDATES and self.adjustment is not None:
            inputs = self.features.pair_inputs(graph, pairs)
            return self.adjustment.score(total, inputs, inputs[:, 0] > 0)
        return total

    @property
    def alone(self) -> bool:
        """Whether the score is that of one member, not rescaled."""
        mixtures = self.mixtures.values()
        return len(self.parts) == 1 and all(
            not m.unit.any() and not m.offset.any() and bool((m.slope == 1).all()) for m in mixtures
        )

    def factor(self, population: Population, sharing: Tensor) -> Tensor:
        """The coefficient of the score of `explained` in the score of the blend, `[m]`.

        Args:
            population: which scale the scores have: that of random pairs or of candidates.
            sharing: whether each pair shares a neighbour, `[m]`.
        """
        own = float(self._mixture(population).slope[self.parts.index(self.explained)])
        return own * self._adjustment_slope(population, sharing)

    def _adjustment_slope(self, population: Population, sharing: Tensor) -> Tensor:
        """The slope `[m]` of the adjustment of candidates, 1 without one."""
        if population != CANDIDATES or self.adjustment is None:
            return torch.ones(len(sharing), dtype=torch.float64)
        return torch.tensor(self.adjustment.slope, dtype=torch.float64)[(~sharing).long()]

    def beside(self, graph: Graph, pairs: Tensor, population: Population) -> dict[str, Tensor]:
        """The other terms of the score, `[m]` each, by name: all but `factor` times the score of `explained`.

        Args:
            graph: the links that are known.
            pairs: node numbers `[m, 2]`.
            population: which scale the scores have: that of random pairs or of candidates.
        """
        inputs = self.features.pair_inputs(graph, pairs)
        sharing = inputs[:, 0] > 0
        slope = self._adjustment_slope(population, sharing)
        terms = {name: slope * part for name, part in self.part_scores(graph, pairs, population).items()}
        terms.pop(self.explained.title, None)
        rest = slope * self._mixture(population).offset
        if population == CANDIDATES and self.adjustment is not None:
            zeros = torch.zeros(len(pairs), dtype=torch.float64)
            rest = rest + self.adjustment.score(zeros, inputs, sharing)
        return {**terms, "statistics of the pair": rest}

    def part_scores(self, graph: Graph, pairs: Tensor, population: Population = RANDOM) -> dict[str, Tensor]:
        """The contribution of each member to the score, `[m]`, by its title; with the offset, they sum to it.

        Args:
            graph: the links that are known.
            pairs: node numbers `[m, 2]`.
            population: which scale the scores have: that of random pairs or of candidates.
        """
        mixture = self._mixture(population)
        scores = mixture.parts([score_pairs(part, graph, pairs, population) for part in self.parts])
        return {part.title: own for part, own in zip(self.parts, scores, strict=True) if own is not None}

    def _mixture(self, population: Population) -> Mixture:
        if not self.mixtures:
            raise NotFittedError("this blend is not fitted yet: call fit, or from_state")
        return self.mixtures[population]

    @property
    def explained(self) -> Any:
        """The part that can be explained, None where there is none."""
        return next((part for part in self.parts if isinstance(part, Explainable)), None)

    @property
    def adjustable(self) -> bool:
        """Whether it is trained on candidates, and so has an output for them."""
        ranked_by_one = any(part.name == RANKS_SIDES for part in self.parts) or self._heuristic_ranks
        return bool(self.parts) and self.trains_on_candidates and not ranked_by_one

    @property
    def _heuristic_ranks(self) -> bool:
        """Whether one heuristic ranks candidates, as no trained part has learned anything."""
        ranking, kept = (self.mixtures[which].slope.nonzero().flatten().tolist() for which in (CANDIDATES, RANDOM))
        return len(ranking) == 1 and ranking != kept and self.parts[ranking[0]].unit == "own"

    def adjust(self, adjustment: Adjustment) -> None:
        """Applies an adjustment to the scores of candidates from now on.

        Args:
            adjustment: the adjustment, fitted on validation links.
        """
        part = self.parts[0]
        if self.alone and isinstance(part, Adjustable) and part.adjustable:
            part.adjust(adjustment)
        else:
            self.adjustment = adjustment

    def to(self, device: torch.device | str) -> Self:
        self.parts = [part.to(device) for part in self.parts]
        self._take_abilities()
        return self

    def _take_abilities(self) -> None:
        """Sets `net` and `basis` from the part that can be explained, and `inductive` if every part scores new nodes; a
        blend without such a part lacks the attribute.
        """
        for name in ("net", "basis", "inductive"):
            self.__dict__.pop(name, None)
        if (explained := self.explained) is not None:
            self.net, self.basis = explained.net, explained.basis
        if all(isinstance(part, Inductive) or not part.state() for part in self.parts):
            self.inductive = True
