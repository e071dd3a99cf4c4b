"""The candidates that a fit looks at, and the seconds that finding, describing and measuring them takes."""

from __future__ import annotations

from dataclasses import dataclass

from llwlc._candidates import weight_search
from llwlc._candidates.config import CandidateConfig
from llwlc._candidates.retrieval import LIST_LENGTH_FACTOR
from llwlc._planning.candidate_rates import CandidateRates
from llwlc.models._llwlc.link_rates import LinkRates
from llwlc.ranking._ranking import cap_membership_links, choose_eval_nodes
from llwlc.training._limits import Limits, shortlist_size


@dataclass(frozen=True)
class CandidateWork:
    """`nodes` of a graph with `valid` validation links, `listed` of which propose candidates, `found` in all;
    `shortlist`: those that the network ranks; `num_eval_nodes`: whose lists are made to measure a fit, `compared`: the
    candidates that measure it, `measured`: those of them that the network ranks.
    """

    nodes: int
    valid: int
    listed: int
    found: int
    shortlist: int
    num_eval_nodes: int
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
        candidates = round(min(budget if listed == nodes else LIST_LENGTH_FACTOR * budget, rates.partners) * listed)
        shortlist = min(candidates, shortlist_size(edges, limits.shortlist))
        by = choose_eval_nodes(nodes, edges, limits, budget)
        # those on the candidate lists of the nodes that measure a fit, or all that have an end among them
        compared = round(candidates * (by.nodes / listed if by.sampled_lists_only else 1 - (1 - by.nodes / nodes) ** 2))
        share = 1.0 if by.sampled_lists_only else compared / max(candidates, 1)
        measured = min(round(shortlist * share), compared)
        making = by.nodes if by.sampled_lists_only else nodes
        return cls(nodes, valid, listed, candidates, shortlist, making, compared, measured, limits, rates)

    def finding(self, links: int, pool: int) -> float:
        """Seconds before training on `links` links, with `pool` candidates for each."""
        rates, tried = (
            self.rates,
            min(weight_search.cap_tuning_links(self.nodes, self.limits.num_tuning_links), self.valid),
        )
        tested = min(cap_membership_links(self.nodes, self.limits.num_membership_links), links)
        described = min(self.found, pool * links)
        return (
            self._making + tried * rates.tune_link + tested * rates.check_membership + described * rates.describe_pair
        )

    def calibration_seconds(self, links: LinkRates) -> float:
        return self.found * self.rates.describe_pair + self.shortlist * links.score

    def measurement_seconds(self, links: LinkRates) -> float:
        return self._making_measured + self._comparing + self.measured * links.score

    def recommending(self, links: LinkRates) -> float:
        return self._making + self.calibration_seconds(links)

    @property
    def _making(self) -> float:
        return self._listing(self.listed, self.found)

    @property
    def _making_measured(self) -> float:
        return self._listing(self.num_eval_nodes, self.compared if self.num_eval_nodes < self.listed else self.found)

    @property
    def _comparing(self) -> float:
        """Seconds of all heuristics on the candidates that measure a fit."""
        return self.rates.heuristics + self.compared * (4 * self.rates.describe_pair + self.rates.heuristic_pair)

    def _listing(self, nodes: int, pairs: int) -> float:
        return self.rates.prepare + nodes * self.rates.list_node + pairs * self.rates.merge_pair
