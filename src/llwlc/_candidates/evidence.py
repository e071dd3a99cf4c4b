"""Evidence: what speaks for nodes as partners of some sources; the best of them, and how many are better than one of
them: one compiled pass each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from llwlc._candidates.candidate_lists import CandidateLists
from llwlc._candidates.config import CandidateConfig
from llwlc._support.compiler import exact
from llwlc._support.threads import choose_num_threads, run_over_links

NOT_LISTED = float("-inf")


class Evidence(NamedTuple):
    """The evidence for nodes as partners of some sources, `[b, k]` each: similarity, and the logarithm of PageRank;
    `open`: which may be listed.

    `node [b, k]`: the nodes that were looked at, None for all of them in their order.
    """

    node: Tensor | None
    like: Tensor
    walk: Tensor
    open: Tensor

    def score(self, config: CandidateConfig, node_bias: Tensor) -> Tensor:
        """−inf where a node may not be listed, or where there is no evidence for it. `node_bias [n]`: the part of the
        score that is the same in every list (`CandidateRetriever.node_bias`).
        """
        own = node_bias if self.node is None else node_bias[self.node]
        total = self.like + own + config.walk * self.walk
        return total.masked_fill(~self.open | ((self.like <= 0) & (self.walk <= 0)), NOT_LISTED)


def choose_best(evidence: Evidence, config: CandidateConfig, node_bias: Tensor, length: int) -> CandidateLists:
    """The lists of the sources, from evidence for all nodes."""
    b, n = evidence.like.shape
    partner, value = np.full((b, length), -1), np.full((b, length), NOT_LISTED, np.float32)
    best = compute_scores(evidence, config, node_bias).topk(min(length, n), dim=1)
    value[:, :n], partner[:, :n] = best.values.cpu().numpy(), best.indices.cpu().numpy()
    return CandidateLists(np.where(value > NOT_LISTED, partner, -1), value)


def compute_scores(evidence: Evidence, config: CandidateConfig, node_bias: Tensor) -> Tensor:
    """`Evidence.score`, to the last bit, of all nodes; on a CPU without a table for each term."""
    if evidence.like.is_cuda:
        return evidence.score(config, node_bias)
    like, walk, open_ = (x.numpy() for x in (evidence.like, evidence.walk, evidence.open))
    bias, weight, total = node_bias.numpy(), np.float32(config.walk), np.empty(like.shape, np.float32)

    def make() -> Any:
        return lambda begin, end: _add(like, walk, open_, bias, weight, begin, end, total)

    run_over_links(len(like), choose_num_threads(len(like), 0), make)
    return torch.from_numpy(total)


def count_better(
    evidence: Evidence, config: CandidateConfig, node_bias: Tensor, place: Tensor, less: Tensor
) -> tuple[Tensor, Tensor]:
    """The score of the node in column `place [b]` minus `less [b]`, and how many others have a larger one, `[b]`
    each.
    """
    if evidence.like.is_cuda:
        score, row = evidence.score(config, node_bias).cpu(), torch.arange(len(place))
        own = score[row, place] - less
        score[row, place] = NOT_LISTED
        return own, (score > own.unsqueeze(1)).sum(1)
    like, walk, open_ = (x.numpy() for x in (evidence.like, evidence.walk, evidence.open))
    node = np.arange(like.shape[1])[None] if evidence.node is None else evidence.node.numpy()
    bias, weight = node_bias.numpy(), np.float32(config.walk)
    scored, better = less.float().numpy().copy(), np.zeros(len(like), np.int64)
    at = place.numpy()

    def make() -> Any:
        return lambda begin, end: _count(node, like, walk, open_, bias, weight, at, begin, end, scored, better)

    run_over_links(len(like), choose_num_threads(len(like), 0), make)
    return torch.from_numpy(scored), torch.from_numpy(better)


@exact
def _add(like: Any, walk: Any, open_: Any, bias: Any, weight: Any, begin: int, end: int, total: Any) -> None:
    for i in range(begin, end):
        for j in range(like.shape[1]):
            near, far = like[i, j], walk[i, j]
            score = (near + bias[j]) + weight * far
            total[i, j] = score if open_[i, j] and (near > 0 or far > 0) else np.float32(-np.inf)


@exact
def _count(
    node: Any,
    like: Any,
    walk: Any,
    open_: Any,
    bias: Any,
    weight: Any,
    place: Any,
    begin: int,
    end: int,
    own: Any,
    better: Any,
) -> None:
    width = like.shape[1]
    for i in range(begin, end):
        nodes, at = node[min(i, len(node) - 1)], place[i]
        if not open_[i, at] or not (like[i, at] > 0 or walk[i, at] > 0):
            own[i] = -np.inf
        else:
            own[i] = ((like[i, at] + bias[nodes[at]]) + weight * walk[i, at]) - own[i]
        count = 0
        for j in range(width):
            near, far = like[i, j], walk[i, j]
            total = (near + bias[nodes[j]]) + weight * far
            count += (total > own[i]) & open_[i, j] & ((near > 0) | (far > 0)) & (j != at)
        better[i] = count
