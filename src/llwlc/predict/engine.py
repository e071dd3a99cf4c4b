"""Engine: whoever makes lists of candidates and scores pairs for a run, if not the process that asks."""

from __future__ import annotations

from typing import Protocol

from llwlc.candidates.lists import Lists
from llwlc.training.scoring import PairScorer


class Engine(PairScorer, Protocol):
    """Scores pairs of the run's own graph, as a scorer does, and makes the nodes' own lists."""

    def lists(self, longest: int) -> Lists:
        """The lists of all nodes, so long at most."""
