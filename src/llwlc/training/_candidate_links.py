"""CandidateLinks: the candidates of a split in the form that training needs."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, eq=False)
class CandidateLinks:
    """The candidates that `recommend` would rank, in the form that training needs.

    `member`: which of the training positives would be candidates if they were missing; `negatives [k, 2]`: candidates
    on the training messages, drawn at random. Held-out links may be among them, as missing links are among the
    candidates of a graph in use. `valid_pos`, `valid_neg`: validation links that are candidates, and a sample of other
    candidates.
    """

    member: Tensor
    negatives: Tensor
    valid_pos: Tensor
    valid_neg: Tensor
