"""Engine: the interface of workers outside this process that list candidates and score pairs for a run."""

from __future__ import annotations

from typing import Protocol

from llwlc.candidates.best_first import Lists
from llwlc.training.scoring import PairScorer


class Engine(PairScorer, Protocol):
    """Scores pairs of the run's own graph, as a scorer does, and makes the nodes' own lists."""

    def lists(self, longest: int) -> Lists:
        """The lists of all nodes, each with at most `longest` candidates."""
