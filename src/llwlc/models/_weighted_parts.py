"""WeightedParts: the score of a blend, a weighted sum of its fitted parts, and the terms that explain it."""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import Tensor

from llwlc.errors import NotFittedError
from llwlc.graph._graph import Graph
from llwlc.models._base import CANDIDATES, RANDOM, Adjustable, Explainable, Inductive, LinkModel, Population
from llwlc.models._mixture import RANKS_SIDES, Mixture, mean_score
from llwlc.training._adjustment import Adjustment
from llwlc.training._node_features import NodeFeatures


class WeightedParts(LinkModel):
    """Fitted parts, each one or several trainings of a member, whose mean scores are summed with separate weights for
    random pairs and for candidates.
    """

    def __init__(self) -> None:
        self.parts: list[list[LinkModel]] = []
        """The trainings of each member that has a weight."""
        self.mixtures: dict[Population, Mixture] = {}
        self.adjustment: Adjustment | None = None
        self.features = NodeFeatures()

    def score(self, graph: Graph, pairs: Tensor, population: Population = RANDOM) -> Tensor:
        mixture, slopes = self._mixture(population), self._mixture(population).slope.tolist()
        scores = [
            mean_score(copies, graph, pairs, population) if slope else None
            for copies, slope in zip(self.parts, slopes, strict=True)
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
        """Whether the score is that of a single training, unchanged."""
        return self._is_one and len(self.parts[0]) == 1

    def factor(self, population: Population, sharing: Tensor) -> Tensor:
        """The coefficient of the score of `explained` in the score of the blend, `[m]`.

        Args:
            population: which scale the scores have: that of random pairs or of candidates.
            sharing: whether each pair shares a neighbour, `[m]`.
        """
        at = next(p for p, copies in enumerate(self.parts) if copies[0] is self.explained)
        own = float(self._mixture(population).slope[at]) / len(self.parts[at])
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
        slope, explained = self._adjustment_slope(population, sharing), self.explained
        terms = {name: slope * part for name, part in self.part_scores(graph, pairs, population).items()}
        copies = next(copies for copies in self.parts if copies[0] is explained)
        own = mean_score(copies[:1], graph, pairs, population)
        terms[copies[0].title] = terms[copies[0].title] - self.factor(population, sharing) * own
        rest = slope * self._mixture(population).offset
        if population == CANDIDATES and self.adjustment is not None:
            zeros = torch.zeros(len(pairs), dtype=torch.float64)
            rest = rest + self.adjustment.score(zeros, inputs, sharing)
        further = {f"further trainings of {copies[0].title}": terms.pop(copies[0].title)} if len(copies) > 1 else {}
        terms.pop(copies[0].title, None)
        return {**further, **terms, "statistics of the pair": rest}

    def part_scores(self, graph: Graph, pairs: Tensor, population: Population = RANDOM) -> dict[str, Tensor]:
        """The contribution of each member to the score, `[m]`, by its title; with the offset, they sum to it.

        Args:
            graph: the links that are known.
            pairs: node numbers `[m, 2]`.
            population: which scale the scores have: that of random pairs or of candidates.
        """
        mixture = self._mixture(population)
        scores = mixture.parts([mean_score(copies, graph, pairs, population) for copies in self.parts])
        return {c[0].title: part for c, part in zip(self.parts, scores, strict=True) if part is not None}

    def _mixture(self, population: Population) -> Mixture:
        if not self.mixtures:
            raise NotFittedError("this blend is not fitted yet: call fit, or from_state")
        return self.mixtures[population]

    @property
    def _is_one(self) -> bool:
        """Whether the score is that of one member, not rescaled."""
        mixtures = self.mixtures.values()
        return len(self.parts) == 1 and all(
            not m.unit.any() and not m.offset.any() and bool((m.slope == 1).all()) for m in mixtures
        )

    @property
    def explained(self) -> Any:
        """The part that can be explained, None where there is none."""
        return next((copies[0] for copies in self.parts if isinstance(copies[0], Explainable)), None)

    @property
    def adjustable(self) -> bool:
        """Whether it is trained on candidates, and so has an output for them."""
        ranked_by_one = any(copies[0].name == RANKS_SIDES for copies in self.parts) or self._heuristic_ranks
        return bool(self.parts) and self.trains_on_candidates and not ranked_by_one

    @property
    def _heuristic_ranks(self) -> bool:
        """Whether one heuristic ranks candidates, as no trained part has learned anything."""
        ranking, kept = (self.mixtures[which].slope.nonzero().flatten().tolist() for which in (CANDIDATES, RANDOM))
        return len(ranking) == 1 and ranking != kept and self.parts[ranking[0]][0].unit == "own"

    def adjust(self, adjustment: Adjustment) -> None:
        """Applies an adjustment to the scores of candidates from now on.

        Args:
            adjustment: the adjustment, fitted on validation links.
        """
        if self._is_one and all(isinstance(model, Adjustable) and model.adjustable for model in self.parts[0]):
            for model in self.parts[0]:
                model.adjust(adjustment)  # type: ignore[attr-defined]
        else:
            self.adjustment = adjustment

    def to(self, device: torch.device | str) -> Self:
        self.parts = [[model.to(device) for model in copies] for copies in self.parts]
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
        if all(isinstance(copies[0], Inductive) or not copies[0].state() for copies in self.parts):
            self.inductive = True
