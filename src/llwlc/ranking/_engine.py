"""Engine: the interface of workers outside this process that list candidates and score pairs for a run."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from llwlc._candidates.candidate_lists import CandidateLists
from llwlc.graph._graph import Graph


class Engine(Protocol):
    """Scores candidates of the run's own graph, and makes the nodes' candidate lists."""

    def lists(self, longest: int) -> CandidateLists:
        """The lists of all nodes, each with at most `longest` candidates."""

    def score_candidates(self, graph: Graph, pairs: Tensor) -> Tensor:
        """Scores `[m]` of candidates `[m, 2]`."""
