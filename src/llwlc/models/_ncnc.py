"""NCNC: NCN that completes common neighbours by its own guess of the missing links."""

from __future__ import annotations

import torch
from torch import Tensor

from llwlc.models._messages import Messages
from llwlc.models._ncn import NCN, NCNEncoding, overlap_sum


class NCNC(NCN):
    """NCN with completion, of the same paper: a neighbour w of u alone counts as a common one by the probability that
    (v, w) is a link.

    That probability is NCN's own score s of (v, w), without gradient: c t p / (t p + 1 − p) with p = σ(scale (s −
    offset)), prior t and weight c. Uses the options of `ncn`, and the four of the completion.
    """

    NAME, TITLE = "ncnc", "NCNC"

    def decode(self, encoded: NCNEncoding, pairs: Tensor) -> Tensor:
        seen = self.thinned(encoded.messages)
        rows = encoded.rows
        lifted = rows + self.lift(rows)
        overlap = overlap_sum(seen, pairs, lifted)
        # computed on rows to which `lift` was applied once, as in the public code, for which its scale and offset were
        # tuned
        twice = lifted + self.lift(lifted)
        for here, there in ((0, 1), (1, 0)):
            neighbour, owner = exclusive_neighbours(seen, pairs[:, here], pairs[:, there])
            guess = self.completion(lifted, twice, seen, torch.stack([pairs[owner, there], neighbour], 1))
            overlap = overlap.index_add(0, owner, guess.unsqueeze(1) * lifted[neighbour])
        return self.read(rows, overlap, pairs)

    def completion(self, rows: Tensor, lifted: Tensor, messages: Messages, pairs: Tensor) -> Tensor:
        """The weight `[k]` with which each missing link `[k, 2]` makes a common neighbour, by NCN on these rows."""
        r = self.recipe
        with torch.no_grad():
            scores = [
                self.read(rows, overlap_sum(messages, part, lifted), part)
                for part in torch.split(pairs, self.DECODE_BATCH_SIZE)
            ]
            score = torch.cat([rows.new_empty(0), *scores])
            p = torch.sigmoid(r.completion_scale * (score - r.completion_offset))
            t = r.completion_prior
            return r.completion_weight * t * p / (t * p + 1 - p)


def exclusive_neighbours(messages: Messages, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """The neighbours of each u that are neither neighbours of its v nor v itself, and the pair that each belongs to."""
    neighbour, owner = messages.neighbours(u)
    other = v[owner]
    alone = ~messages.linked(other, neighbour) & (neighbour != other)
    return neighbour[alone], owner[alone]
