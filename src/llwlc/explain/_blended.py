"""Explanations of a blend: what its members add, beside the network that is explained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from llwlc.explain._population import CalibratedPopulation
from llwlc.graph._graph import Graph
from llwlc.models._base import CANDIDATES, RANDOM, Blended


@dataclass(frozen=True, eq=False)
class BlendedPopulation:
    """A population as one network of a blend sees it: log-odds of a pair are those of factor · its output + `beside`,
    `[m]` or `[1]`.
    """

    population: CalibratedPopulation
    blend: Blended
    beside: Tensor

    @property
    def name(self) -> str:
        return self.population.name

    @property
    def about(self) -> str:
        return self.population.about

    @property
    def output(self) -> int:
        return self.population.output

    def whole(self, score: Tensor, sharing: Tensor) -> Tensor:
        """The score `[m]` of the blend from that of the network."""
        which = RANDOM if self.name == "random" else CANDIDATES
        return self.blend.factor(which, sharing) * score + self.beside

    def log_odds(self, score: Tensor, sharing: Tensor) -> Tensor:
        return self.population.log_odds(self.whole(score, sharing), sharing)

    def range(self, score: Tensor, sharing: Tensor) -> tuple[float, float] | None:
        return self.population.range(self.whole(score, sharing), sharing)


@dataclass(frozen=True, eq=False)
class BesideNetwork:
    """What the members of a blend add to the scores of pairs beside the network that is explained: `[m, X]`, with their
    names.
    """

    names: Sequence[str]
    parts: Tensor

    @classmethod
    def of(cls, blend: Blended, graph: Graph, pairs: Tensor, population: CalibratedPopulation) -> BesideNetwork:
        found = blend.beside(graph, pairs, RANDOM if population.name == "random" else CANDIDATES)
        return cls(tuple(found), torch.stack([*found.values()], 1))

    def at(self, blend: Blended, population: CalibratedPopulation) -> BlendedPopulation:
        """The population of these pairs."""
        return BlendedPopulation(population, blend, self.parts.sum(1))


AnyPopulation = CalibratedPopulation | BlendedPopulation
