"""The candidates that a fit looks at, and the seconds that finding, describing and measuring them takes."""

from __future__ import annotations

from dataclasses import dataclass

from llwlc.candidates import choice
from llwlc.candidates.config import CandidateConfig
from llwlc.candidates.retrieval import LONGER
from llwlc.training.limits import Limits
from llwlc.training.ranking import links_to_judge, nodes_to_measure, shortlist_size
from llwlc.training.rates import CandidateRates, LinkRates


@dataclass(frozen=True)
class CandidateWork:
    """`nodes` of a graph with so many `valid` links, `listed` of which propose candidates, `found` in all; `shortlist`: those that the network ranks; `measured_nodes`: whose lists are made to
    measure a fit, `compared`: the candidates that measure it, `measured`: those of them that the network ranks."""

    nodes: int
    valid: int
    listed: int
    found: int
    shortlist: int
    measured_nodes: int
    compared: int
    measured: int
    limits: Limits
    rates: CandidateRates

    @classmethod
    def of(
        cls, nodes: int, edges: int, valid: int, budget: int, limits: Limits, rates: CandidateRates
    ) -> CandidateWork:
        budget = CandidateConfig(budget=budget).budget_for(nodes)
        listed = nodes if limits.sources is None else min(nodes, limits.sources)
        found = round(min(budget if listed == nodes else LONGER * budget, rates.partners) * listed)
        shortlist = min(found, shortlist_size(edges, limits.shortlist))
        by = nodes_to_measure(nodes, edges, limits, budget)
        # those on the own lists of the nodes that measure a fit, or all that have an end among them
        compared = round(found * (by.nodes / listed if by.own_lists else 1 - (1 - by.nodes / nodes) ** 2))
        making = by.nodes if by.own_lists else nodes
        return cls(nodes, valid, listed, found, shortlist, making, compared, min(shortlist, compared), limits, rates)

    def finding(self, links: int, pool: int) -> float:
        """Seconds before training on so many links, with so many candidates for each."""
        rates, tried = self.rates, min(choice.links_to_try(self.nodes, self.limits.weighed), self.valid)
        tested = min(links_to_judge(self.nodes, self.limits.judged), links)
        described = min(self.found, pool * links)
        return self._making + tried * rates.choose_link + tested * rates.judge_link + described * rates.describe_pair

    def calibrating(self, links: LinkRates) -> float:
        return self.found * self.rates.describe_pair + self.shortlist * links.score

    def measuring(self, links: LinkRates) -> float:
        return self._making_measured + self._comparing + self.measured * links.score

    def recommending(self, links: LinkRates) -> float:
        return self._making + self.calibrating(links)

    def by_untrained_score(self, links: int, pool: int) -> float:
        """Seconds of all of this, but for the recommendation, where an untrained score ranks, which takes as long as the statistics of a pair, after so many training links."""
        ranked = self.found + self.shortlist + self.measured
        asking = 3 * self.rates.heuristics + ranked * self.rates.describe_pair
        return self.finding(links, pool) + self._making_measured + self._comparing + asking

    @property
    def _making(self) -> float:
        return self._listing(self.listed, self.found)

    @property
    def _making_measured(self) -> float:
        return self._listing(self.measured_nodes, self.compared if self.measured_nodes < self.listed else self.found)

    @property
    def _comparing(self) -> float:
        """Seconds of all untrained scores on the candidates that measure a fit."""
        return self.rates.heuristics + 4 * self.compared * self.rates.describe_pair

    def _listing(self, nodes: int, pairs: int) -> float:
        return self.rates.prepare + nodes * self.rates.list_node + pairs * self.rates.merge_pair
