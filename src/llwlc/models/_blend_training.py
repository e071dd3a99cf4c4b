"""Trains the members of a blend, on the whole split and on those that hide links."""

from __future__ import annotations

import copy
from dataclasses import dataclass

from torch import Tensor

from llwlc.models._base import LinkModel
from llwlc.models._blend_checkpoint import checkpoint_of, load_training, save_training
from llwlc.models._blend_folds import Fold, Folds, candidates_within
from llwlc.models._mixture import score_hidden_links
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._candidate_links import CandidateLinks
from llwlc.training._checkpoint import Checkpoint
from llwlc.training._loop import OnEpoch
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources


@dataclass(frozen=True, eq=False)
class Training:
    """The data and settings of every member's training; `sample`: the split with its validation links subsampled."""

    folds: Folds
    sample: LinkSplit
    features: NodeFeatures
    seed: int
    resources: Resources
    candidates: CandidateLinks | None
    checkpoint: Checkpoint | None
    on_epoch: OnEpoch | None

    @property
    def most_trainings(self) -> int:
        """The largest number of trainings of one member."""
        return len(self.folds.inner) + self.folds.copies

    def train(self, member: LinkModel, number: int) -> tuple[list[LinkModel], list[tuple[Tensor, Tensor]]]:
        """Trains a member on each split it needs. Returns the trained models, whose scores are averaged, and the scores
        of hidden links and non-links by each model that has not seen them. `number`: that of its first training, for
        the checkpoints. Models of inner splits are returned only if none is trained on all links.
        """
        folds, inner = self.folds.trained_on(member), self.folds.inner
        first = 1 if folds is inner else 0  # the number of the first one's seed
        trained = [(self._train_on(member, fold, number, first, k), fold) for k, fold in enumerate(folds)]
        with self.resources.watch("blending"):
            scores = [
                score_hidden_links(model, fold, self.sample) for model, fold in trained if len(fold.pos) or not inner
            ]
        whole = [model for model, fold in trained if not len(fold.pos)]
        return whole or [model for model, _ in trained], scores

    def _train_on(self, member: LinkModel, fold: Fold, number: int, first: int, k: int) -> LinkModel:
        number, seed = number + k, self.seed + (first + k << 20)
        model = load_training(self.checkpoint, number, member, fold.split.train_graph, self.features)
        if model is None:
            model = copy.deepcopy(member).fit(
                fold.split,
                self.features,
                seed=seed,
                resources=self.resources,
                candidates=self._candidates(member, fold, seed),
                checkpoint=checkpoint_of(self.checkpoint, number),
                on_epoch=self.on_epoch,
            )
            save_training(self.checkpoint, number, model)
        return model.to(self.resources.device)

    def _candidates(self, member: LinkModel, fold: Fold, seed: int) -> CandidateLinks | None:
        if self.candidates is None or not member.trains_on_candidates:
            return None
        whole = self.folds.whole.split
        before, after = member.training_links(whole, self.seed), member.training_links(fold.split, seed)
        return candidates_within(self.candidates, before, after, whole.train_graph.num_nodes)
