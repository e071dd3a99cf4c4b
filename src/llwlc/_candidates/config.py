"""CandidateConfig: how the candidate partners of a node are found."""

from __future__ import annotations

from dataclasses import dataclass

from llwlc.errors import InputError

MAX_CANDIDATES = 20_000_000
"""Candidates of a graph at most."""


@dataclass(frozen=True)
class CandidateConfig:
    """A node's candidate list holds the partners with the largest

    `similarity + degree · log(1 + degree of the partner) + walk · log(1 + PageRank / PRECISION) − hubness_penalty ·
    hubness of the partner`,

    where the similarity is the sum of two cosines, of features smoothed once and twice (a share `svd_similarity` of
    it the same of their leading directions), PageRank is personalised to the node, and the hubness
    of a partner is the mean of its five largest similarities: a node that is like many others is on many lists, and
    means less there. The weights are chosen by validation links (`_candidates.weight_search`).
    """

    budget: int = 100
    """Pairs that a node pays for; one that both ends want is paid half by each. So a graph has at most `budget` times
    as many candidates as nodes.
    """
    degree: float = 0.0
    walk: float = 0.05
    hubness_penalty: float = 0.0
    svd_similarity: float = 0.0

    def budget_for(self, num_nodes: int) -> int:
        """The budget on a graph of this many nodes: smaller where all candidates together would not fit in memory.

        >>> CandidateConfig().budget_for(10_000), CandidateConfig().budget_for(1_000_000)
        (100, 20)
        """
        return max(1, min(self.budget, MAX_CANDIDATES // max(num_nodes, 1)))

    def __post_init__(self) -> None:
        if not 0 <= self.svd_similarity <= 1:
            raise InputError(f"the share of the leading directions is between 0 and 1, got {self.svd_similarity}")
        if self.budget < 1:
            raise InputError(f"the budget of candidates is at least 1 per node, got {self.budget}")
