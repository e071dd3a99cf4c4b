"""The score of a typed link by which lists are sorted."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from llwlc.relations._pair_channels import TypedScorer

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
QUESTIONS_AT_ONCE = 1024


def score_triples(factors: TypedScorer, asked: Integers, known: Integers) -> Floats:
    """The mean of log(k + 1) + log p from both ends, `[m]`: p is the probability of the target among all nodes, k
    the number of known links of the type from the source, so that both add up to the log of an expected number; the
    same from the target.
    """
    n, kinds = len(factors.nodes), factors.num_types
    total, factors = np.zeros(len(asked)), factors.double()
    for near, far in ((0, 2), (2, 0)):
        count = np.bincount(known[:, 1] * n + known[:, near], minlength=n * kinds)
        question, at = np.unique(asked[:, 1] * n + asked[:, near], return_inverse=True)
        order = np.argsort(at, kind="stable")
        start = np.searchsorted(at[order], np.arange(len(question) + 1))
        for begin in range(0, len(question), QUESTIONS_AT_ONCE):
            some = question[begin : begin + QUESTIONS_AT_ONCE]
            kind, node = np.divmod(some, n)
            scores = factors.targets(node, kind) if near == 0 else factors.sources(kind, node)
            log_share = torch.log_softmax(scores, 1).numpy()
            rows = order[start[begin] : start[begin + len(some)]]
            own = log_share[at[rows] - begin, asked[rows, far]]
            total[rows] += np.log1p(count[question[at[rows]]]) + own
    return total / 2
