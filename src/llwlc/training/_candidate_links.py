"""CandidateLinks: the candidates of a split in the form that training needs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._negatives import pair_number


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

    def with_validation_trained(self, split: LinkSplit, before: Tensor, after: Tensor) -> CandidateLinks:
        """The same where the validation links of `split` are trained on: `before` and `after [m, 2]` are the training
        positives without and with them. A validation link is then no longer a negative.
        """
        n = split.train_graph.num_nodes
        members = pair_number(torch.cat([before[self.member], self.valid_pos]), n)
        trained = torch.isin(pair_number(self.negatives, n), pair_number(split.valid_pos, n))
        return replace(self, member=torch.isin(pair_number(after, n), members), negatives=self.negatives[~trained])
