"""CandidateRates: what one candidate or node costs on this machine, measured on a sample in some seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from llwlc._candidates import weight_search
from llwlc._candidates.node_types import NodeTypes
from llwlc._candidates.retrieval import check_membership, measure_merge_seconds
from llwlc._candidates.retriever import CandidateRetriever
from llwlc.heuristics._registry import list_applicable
from llwlc.models._llwlc.link_rates import PROBE_SIZE, sample_pairs
from llwlc.ranking._ranking import make_initial_config, retriever_of
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._node_features import NodeFeatures
from llwlc.training._timing import measure_fixed_cost, measure_pair_rate, measure_rate, time_block

MERGE_SAMPLE_NODES = 10_000
"""Nodes whose lists are merged in a trial; those of many more take somewhat longer for each candidate."""


@dataclass(frozen=True)
class CandidateRates:
    """The cost of candidates, in seconds: to prepare the search; to list those of a node; to choose weights, for a
    link; to test a training link; to compute the exact statistics of a pair; and to compute all heuristics once,
    however few the pairs. `partners`: how many a node proposes where the budget allows for more; `merge_pair`: seconds
    to make a candidate of what all nodes propose; `heuristic_pair`: seconds of all heuristics for one more pair."""

    prepare: float
    list_node: float
    tune_link: float
    check_membership: float
    describe_pair: float
    heuristics: float = 0.0
    partners: float = math.inf
    merge_pair: float = 0.0
    heuristic_pair: float = 0.0


def measure_candidate_rates(
    split: LinkSplit, features: NodeFeatures, budget: int, node_types: NodeTypes | None, device: torch.device
) -> CandidateRates:
    """Measures the cost of the search for candidates."""
    graph, rng = split.valid_graph, np.random.default_rng(4)

    with time_block() as preparing:  # once: nothing in it is loaded or compiled at its first call
        retriever = retriever_of(
            graph, features, make_initial_config(features, budget), node_types=node_types, device=str(device)
        )
        retriever.prepare()
    longest = min(2 * retriever.budget, max(graph.num_nodes - 1, 1))
    # every call first allocates scratch memory in proportion to the number of nodes
    nodes = rng.permutation(graph.num_nodes)[: 256 if retriever.exact else 4096]
    partners: list[float] = []

    def lists(some: int) -> None:
        lists = retriever(np.sort(nodes[:some]), longest)
        partners.append(float((lists.partner >= 0).sum(1).mean()))

    listing = measure_rate(lists, len(nodes))
    hidden = split.valid_pos if len(split.valid_pos) else split.train_pos
    few = min(max(8, 500_000 // max(graph.num_nodes, 1)), 256) if retriever.exact else retriever.sources_at_once
    choosing = measure_rate(lambda some: weight_search.search_weights(retriever, hidden[:some]), min(few, len(hidden)))
    length = np.full(graph.num_nodes, longest)
    judging = measure_rate(
        lambda some: check_membership(retriever, split.train_pos[:some], length), min(few, len(split.train_pos))
    )
    pairs = sample_pairs(split)
    describing = measure_pair_rate(lambda some: features.pair_inputs(graph, some), pairs)
    asking = each = 0.0
    listed = _listed_pairs(retriever, np.sort(nodes[:PROBE_SIZE]), longest)
    for heuristic in list_applicable(graph, bipartite=retriever.node_types.is_bipartite):
        score = heuristic.load()
        fixed = measure_fixed_cost(partial(score, graph, pairs[:PROBE_SIZE]))[1]
        with time_block() as taken:
            score(graph, listed)
        asking, each = asking + fixed, each + max(taken() - fixed, 0.0) / max(len(listed), 1)
    proposed = partners[-1] if partners else math.inf
    merging = measure_merge_seconds(min(max(graph.num_nodes, 1), MERGE_SAMPLE_NODES), retriever.budget)
    return CandidateRates(preparing(), listing, choosing, judging, describing, asking, proposed, merging, each)


def _listed_pairs(retriever: CandidateRetriever, nodes: Any, longest: int) -> Tensor:
    """The pairs `[m, 2]` on the lists of some nodes: heuristics cost less for pairs that share an end."""
    partner = torch.from_numpy(retriever(nodes, longest).partner)
    source = torch.from_numpy(nodes)[:, None].expand_as(partner)
    return torch.stack([source, partner.to(source.dtype)], -1)[partner >= 0]
