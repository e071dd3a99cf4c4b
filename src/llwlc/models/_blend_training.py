"""The trainings of a blend's members: on the whole split, and on those that hide links."""

from __future__ import annotations

import copy
from dataclasses import dataclass

from torch import Tensor

from llwlc.models._base import LinkModel, Plannable
from llwlc.models._blend_checkpoint import checkpoint_of, read_ended, write_ended
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
    """What every member is trained on and with; `sample`: the split with the validation links that are looked at."""

    folds: Folds
    sample: LinkSplit
    features: NodeFeatures
    seed: int
    resources: Resources
    candidates: CandidateLinks | None
    checkpoint: Checkpoint | None
    on_epoch: OnEpoch | None

    def train(self, member: LinkModel, number: int) -> tuple[list[LinkModel], list[tuple[Tensor, Tensor]]]:
        """The trainings of a member whose scores are averaged, and the scores of hidden links and non-links by those
        that hide them; `number`: of its first training among all. A quick member is asked by its training on all links
        alone.
        """
        quick = not isinstance(member, Plannable)
        asked = self.folds.trained_on(quick)
        copies = [self._train_on(member, fold, number + k) for k, fold in enumerate(asked)]
        with self.resources.watch("blending"):
            hiding = [
                (model, fold)
                for model, fold in zip(copies, asked, strict=True)
                if len(fold.pos) or not self.folds.inner
            ]
            scores = [score_hidden_links(model, fold, self.sample) for model, fold in hiding]
        return copies[:1] if quick else copies, scores

    def _train_on(self, member: LinkModel, fold: Fold, number: int) -> LinkModel:
        k = 0 if fold is self.folds.whole else 1 + self.folds.inner.index(fold)
        seed = self.seed + (k << 20)
        model = read_ended(self.checkpoint, number, member, fold.split.train_graph, self.features)
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
            write_ended(self.checkpoint, number, model)
        return model.to(self.resources.device)

    def _candidates(self, member: LinkModel, fold: Fold, seed: int) -> CandidateLinks | None:
        if self.candidates is None or not member.trains_on_candidates:
            return None
        whole = self.folds.whole.split
        before, after = member.training_links(whole, self.seed), member.training_links(fold.split, seed)
        return candidates_within(self.candidates, before, after, whole.train_graph.num_nodes)
