"""The weights of a node's candidate list, chosen by hidden links: those whose lists hold most of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc._candidates import inner_product_index
from llwlc._candidates.config import CandidateConfig
from llwlc._candidates.hidden_links import find_hits
from llwlc._candidates.retrieval import LIST_LENGTH_FACTOR
from llwlc._candidates.retriever import CandidateRetriever

DEGREE_WEIGHTS, WALK_WEIGHTS, HUBNESS_PENALTIES = (
    (0.0, 0.02, 0.04, 0.08, 0.16, 0.32),
    (0.0, 0.02, 0.05, 0.1),
    (0.0, 0.1, 0.2),
)
DEFAULT_WEIGHTS, MIN_GAIN, MIN_STANDARD_ERRORS = CandidateConfig(degree=0.0, walk=0.05, hubness_penalty=0.2), 0.01, 2.5
"""Weights that serve where there are features; others are taken only where they hold such a share of the hidden links
more, and by so many standard errors: the best of 72 is partly the luckiest. (On Cora and Citeseer, 455 to 527 links,
the best were ahead by 1.1 to 2.3 of them, and real candidates then held less than with the usual weights as often as
more.)"""
MAX_TUNING_LINKS = 1000
"""Hidden links that are looked at, drawn at random where there are more."""
MAX_COMPARISONS = 100_000_000
"""Hidden links times nodes at most, where each is compared with all nodes."""


def cap_tuning_links(num_nodes: int, links: int) -> int:
    """How many of the hidden links are used on a graph."""
    return (
        links
        if num_nodes > inner_product_index.EXACT_NODES
        else max(1, min(links, MAX_COMPARISONS // max(num_nodes, 1)))
    )


def search_weights(
    retriever: CandidateRetriever, hidden: Tensor, *, links: int = MAX_TUNING_LINKS, seed: int = 0
) -> CandidateConfig:
    """The retriever's configuration with the weights under which candidate lists hold most of the hidden links `[m,
    2]`; the default ones where there are none.
    """
    config = retriever.config
    if not len(hidden):
        return config
    n = retriever.graph.num_nodes
    sample = np.sort(np.random.default_rng(seed).permutation(len(hidden))[: cap_tuning_links(n, links)])
    looked_at = hidden.numpy()[sample]
    if retriever.smoothed is None:
        return _best(retriever, looked_at, [replace(config, degree=d, walk=1.0) for d in DEGREE_WEIGHTS])
    penalties = HUBNESS_PENALTIES if retriever.has_hubness else HUBNESS_PENALTIES[:1]
    usual = replace(
        DEFAULT_WEIGHTS,
        budget=config.budget,
        hubness_penalty=min(DEFAULT_WEIGHTS.hubness_penalty, penalties[-1]),
        svd_similarity=config.svd_similarity,
    )
    configs = [
        replace(config, degree=d, walk=w, hubness_penalty=c)
        for d, w, c in product(DEGREE_WEIGHTS, WALK_WEIGHTS, penalties)
    ]
    return _best(retriever, looked_at, configs, usual)


def _best(
    retriever: CandidateRetriever,
    hidden: NDArray[np.int64],
    configs: list[CandidateConfig],
    usual: CandidateConfig | None = None,
) -> CandidateConfig:
    """The first of those under which candidate lists hold most of the hidden links; `usual`, one of them, unless that
    is `MIN_GAIN` more, and `MIN_STANDARD_ERRORS` standard errors.
    """
    length = LIST_LENGTH_FACTOR * retriever.budget
    node_bias = [retriever.node_bias(one) for one in configs]
    kept = torch.zeros(len(configs), len(hidden), dtype=torch.bool)
    step = retriever.sources_at_once
    for at in range(0, len(hidden), step):
        part = hidden[at : at + step]
        for u, v in ((part[:, 0], part[:, 1]), (part[:, 1], part[:, 0])):
            evidence, place = retriever.evidence(u, v)
            kept[:, at : at + step] |= find_hits(evidence, configs, node_bias, place, length)
    shares = kept.double().mean(1).tolist()
    best, most = 0, -1.0
    for i, share in enumerate(shares):
        if share > most + 0.002:  # a larger weight has to earn something
            best, most = i, share
    if usual is None:
        return configs[best]
    at = configs.index(usual)
    # of the difference of two shares of the same links: only those count that one of them holds and the other does not
    error = float((kept[best] != kept[at]).sum()) ** 0.5 / len(hidden)
    return usual if most < shares[at] + max(MIN_GAIN, MIN_STANDARD_ERRORS * error) else configs[best]
