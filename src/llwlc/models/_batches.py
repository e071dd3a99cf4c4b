"""Training steps of a method: links, negatives, and messages without these links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from llwlc.models._messages import Messages
from llwlc.models._recipes import Recipe
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._making import mix_known_negatives, training_non_edges


class TrainingBatch(NamedTuple):
    """Links `pos [b, 2]` and negatives `neg [k b, 2]`, with the messages they are scored on."""

    messages: Messages
    pos: Tensor
    neg: Tensor


class Batches:
    """The steps of each epoch, drawn from (seed, epoch) alone, so that a resumed run has the same steps."""

    def __init__(self, split: LinkSplit, recipe: Recipe, *, seed: int, device: torch.device) -> None:
        self.recipe, self.seed = recipe, seed
        self.pos = split.train_pos.to(device)
        self.messages = Messages.of(split.train_graph, device)
        self.split, self.free = split, training_non_edges(split)
        # row i: the two entries of link i in the messages
        self.places = self.messages.places(self.pos).reshape(2, -1).T if recipe.mask else None
        self.folds: list[Tensor] = []
        if recipe.folds:
            order = torch.randperm(len(self.pos), generator=torch.Generator().manual_seed(seed)).to(device)
            self.folds = [fold for fold in torch.tensor_split(order, recipe.folds) if len(fold)]
            self.fold_messages = [self._without(fold) for fold in self.folds]

    def epoch(self, epoch: int) -> Iterator[TrainingBatch]:
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + epoch)
        k, negative = self.recipe.negatives, self._negatives(epoch)
        begin = 0
        for messages, batch in self._links(generator):
            neg = negative[begin : begin + k * len(batch)]
            begin += len(neg)
            yield TrainingBatch(messages, self.pos[batch], neg.to(self.pos.device))

    def _links(self, generator: torch.Generator) -> Iterator[tuple[Messages, Tensor]]:
        r, device = self.recipe, self.pos.device
        if self.folds:
            for i in torch.randperm(len(self.folds), generator=generator).tolist():
                fold = self.folds[i]
                order = torch.randperm(len(fold), generator=generator).to(device)
                for batch in torch.split(fold[order], r.batch_size):
                    yield self.fold_messages[i], batch
            return
        order = torch.randperm(len(self.pos), generator=generator)
        if r.whole_batches and len(order) > r.batch_size:
            order = order[: len(order) // r.batch_size * r.batch_size]
        for batch in torch.split(order.to(device), r.batch_size):
            yield self._without(batch) if r.mask else self.messages, batch

    def _without(self, batch: Tensor) -> Messages:
        return self.messages if self.places is None else self.messages.without(self.places[batch].flatten())

    def _negatives(self, epoch: int) -> Tensor:
        rng = np.random.default_rng([self.seed, epoch])
        count = self.recipe.negatives * len(self.pos)
        if count <= len(self.free):
            drawn = self.free.sample(count, rng)
        else:  # in a dense graph some repeat
            drawn = self.free.at(torch.from_numpy(rng.integers(len(self.free), size=count)))
        return mix_known_negatives(self.split, drawn, epoch=epoch, seed=self.seed)
