"""Which weights rank a hidden partner among the first of a source's candidate list: one compiled pass over the
evidence.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from llwlc._candidates.config import CandidateConfig
from llwlc._candidates.evidence import Evidence
from llwlc._support.compiler import exact
from llwlc._support.threads import choose_num_threads, run_over_links


def find_hits(
    evidence: Evidence, tried: list[CandidateConfig], node_bias: list[Tensor], place: Tensor, length: float
) -> Tensor:
    """Whether fewer than `length` nodes are better than the wanted one, in column `place [b]`, for each of the weights
    and sources: `[weights, b]`.

    `Evidence.score` is the specification; on a GPU it is what is called.
    """
    if evidence.like.is_cuda:
        return torch.stack(
            [_held_by(evidence.score(one, up), place, length) for one, up in zip(tried, node_bias, strict=True)]
        ).cpu()
    like, walk, open_ = (x.numpy() for x in (evidence.like, evidence.walk, evidence.open))
    node = np.arange(like.shape[1])[None] if evidence.node is None else evidence.node.numpy()
    every = torch.stack(node_bias).numpy()
    weight, hits = np.array([one.walk for one in tried], np.float32), np.zeros((len(tried), len(like)), np.bool_)
    at = np.ascontiguousarray(place.numpy())  # a column would be another type, for which the kernel is compiled again

    def make() -> Any:
        return lambda begin, end: _fill(node, like, walk, open_, every, weight, at, length, begin, end, hits)

    run_over_links(len(like), choose_num_threads(len(like), 0), make)
    return torch.from_numpy(hits)


def _held_by(score: Tensor, place: Tensor, length: float) -> Tensor:
    own = score[torch.arange(len(score)), place]
    return (own > float("-inf")) & ((score > own.unsqueeze(1)).sum(1) < length)


@exact
def _fill(
    node: Any,
    like: Any,
    walk: Any,
    open_: Any,
    node_bias: Any,
    weight: Any,
    place: Any,
    length: float,
    begin: int,
    end: int,
    found: Any,
) -> None:
    width = like.shape[1]
    listed, near, walked, total = (
        np.empty(width, np.int64),
        np.empty(width, np.float32),
        np.empty(width, np.float32),
        np.empty(width, np.float32),
    )
    for row in range(begin, end):
        nodes, own = node[min(row, len(node) - 1)], place[row]
        count, wanted = 0, -1
        for j in range(width):
            if open_[row, j] and (like[row, j] > 0 or walk[row, j] > 0):
                if j == own:
                    wanted = count
                listed[count], near[count], walked[count] = nodes[j], like[row, j], walk[row, j]
                count += 1
        if wanted < 0:
            continue
        for k in range(len(weight)):
            for i in range(count):
                total[i] = (near[i] + node_bias[k, listed[i]]) + weight[k] * walked[i]
            better, score = 0, total[wanted]
            for i in range(count):
                better += total[i] > score
            found[k, row] = better < length
