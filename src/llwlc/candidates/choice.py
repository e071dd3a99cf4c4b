"""The weights of a node's own list, chosen by hidden links: those whose lists hold most of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc.candidates import nearest
from llwlc.candidates.config import CandidateConfig
from llwlc.candidates.held import held
from llwlc.candidates.lists import Lister
from llwlc.candidates.retrieval import LONGER

DEGREE, WALK, CROWD = (0.0, 0.02, 0.04, 0.08, 0.16, 0.32), (0.0, 0.02, 0.05, 0.1), (0.0, 0.1, 0.2)
USUAL, MARGIN, ERRORS = CandidateConfig(degree=0.0, walk=0.05, crowd=0.2), 0.01, 2.5
"""Weights that serve where there are features; others are taken only where they hold such a share of the hidden links more, and by so many standard errors: the best of 72 is partly the luckiest.
(On Cora and Citeseer, 455 to 527 links, the best were ahead by 1.1 to 2.3 of them, and real candidates then held less than with the usual weights as often as more.)"""
LINKS = 1000
"""Hidden links that are looked at, drawn at random where there are more."""
ENTRIES = 100_000_000
"""Hidden links times nodes at most, where each is compared with all nodes."""


def links_to_try(num_nodes: int, links: int) -> int:
    """How many of so many hidden links are looked at on a graph."""
    return links if num_nodes > nearest.EXACT_NODES else max(1, min(links, ENTRIES // max(num_nodes, 1)))


def chosen(lister: Lister, hidden: Tensor, *, links: int = LINKS, seed: int = 0) -> CandidateConfig:
    """The lister's configuration with the weights under which own lists hold most of the hidden links `[m, 2]`; the default ones where there are none."""
    config = lister.config
    if not len(hidden):
        return config
    n = lister.graph.num_nodes
    drawn = np.sort(np.random.default_rng(seed).permutation(len(hidden))[: links_to_try(n, links)])
    looked_at = hidden.numpy()[drawn]
    if lister.smoothed is None:
        return _best(lister, looked_at, [replace(config, degree=d, walk=1.0) for d in DEGREE])
    crowds = CROWD if lister.crowds else CROWD[:1]
    usual = replace(USUAL, budget=config.budget, crowd=min(USUAL.crowd, crowds[-1]), gist=config.gist)
    tried = [replace(config, degree=d, walk=w, crowd=c) for d, w, c in product(DEGREE, WALK, crowds)]
    return _best(lister, looked_at, tried, usual)


def _best(
    lister: Lister, hidden: NDArray[np.int64], tried: list[CandidateConfig], usual: CandidateConfig | None = None
) -> CandidateConfig:
    """The first of those under which own lists hold most of the hidden links; `usual`, one of them, unless that is `MARGIN` more, and `ERRORS` standard errors."""
    length = LONGER * lister.budget
    raised = [lister.raised(one) for one in tried]
    kept = torch.zeros(len(tried), len(hidden), dtype=torch.bool)
    step = lister.sources_at_once
    for at in range(0, len(hidden), step):
        part = hidden[at : at + step]
        for u, v in ((part[:, 0], part[:, 1]), (part[:, 1], part[:, 0])):
            evidence, place = lister.evidence(u, v)
            kept[:, at : at + step] |= held(evidence, tried, raised, place, length)
    shares = kept.double().mean(1).tolist()
    best, most = 0, -1.0
    for i, share in enumerate(shares):
        if share > most + 0.002:  # a larger weight has to earn something
            best, most = i, share
    if usual is None:
        return tried[best]
    at = tried.index(usual)
    # of the difference of two shares of the same links: only those count that one of them holds and the other does not
    error = float((kept[best] != kept[at]).sum()) ** 0.5 / len(hidden)
    return usual if most < shares[at] + max(MARGIN, ERRORS * error) else tried[best]
