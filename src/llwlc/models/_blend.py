"""Blend: a `LinkModel` that adds up the scores of several models with non-negative weights."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self

import torch
from torch import Tensor

from llwlc._support.progress import print_notice
from llwlc._support.text import describe_error
from llwlc.errors import InputError, RunFolderError
from llwlc.graph._graph import Graph
from llwlc.models._base import (
    CANDIDATES,
    RANDOM,
    LinkModel,
    Plannable,
    Population,
)
from llwlc.models._blend_config import read_mixtures, read_names, read_shapes, read_trainings
from llwlc.models._blend_folds import make_folds
from llwlc.models._blend_limits import MemberLimits
from llwlc.models._blend_members import (
    BASELINES,
    HEURISTIC_MEMBERS,
    MEMBERS,
    allows,
    is_free,
    make_members,
)
from llwlc.models._blend_training import Training
from llwlc.models._blend_words import describe_choice, describe_parts, listed_all
from llwlc.models._mixture import Mixture, choose_ranker, mean_score, mix, mix_alone
from llwlc.models._registry import MODELS
from llwlc.models._weighted_parts import WeightedParts
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._candidate_links import CandidateLinks
from llwlc.training._checkpoint import Checkpoint
from llwlc.training._evaluation_links import subsample_evaluation
from llwlc.training._loop import OnEpoch
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources

MIN_CANDIDATE_LINKS = 100
"""Minimum number of validation links among the candidates for which separate weights are fitted."""


class Blend(MemberLimits, WeightedParts):
    """A stacked ensemble: the score of a pair is a weighted sum of the members' scores, as log-odds.

    The weights are non-negative and fitted on links that are hidden from every member: the validation links if there
    are enough, otherwise training links that are withheld from additional trainings. Where they are few, the trained
    members count alike. On small graphs, the scores of three trainings of our network are averaged.

    Args:
        members: names of models, joined by commas, or a sequence of names and `LinkModel`s; "heuristics" stands for
            every heuristic. The first one is kept unless the hidden links favour another. Members after it that the
            graph or the time budget does not allow are left out.
        **options: options of the first member.

    >>> Blend("adamic-adar,katz").title
    'blend'
    """

    name = "blend"
    default_members: tuple[str, ...] = MEMBERS
    most_time = 0.25

    def __init__(self, members: str | Sequence[str | LinkModel] = (), **options: Any) -> None:
        given = members.split(",") if isinstance(members, str) else list(members)
        self.members = make_members([part for part in given if part] or list(self.default_members), options)
        super().__init__()
        self.remark = ""
        self._take_plan()

    def _take_plan(self) -> None:
        """Takes `preset` and `explicit` from the plannable member; a blend without one is not `Plannable`."""
        planned = next((member for member in self.members if isinstance(member, Plannable)), None)
        if planned is not None:
            self.preset, self.explicit = planned.preset, planned.explicit

    @property
    def chunk(self) -> int:  # type: ignore[override]
        parts = self.parts or [[member] for member in self.members]
        return max(copies[0].chunk for copies in parts)

    @property
    def reads_attributes(self) -> bool:  # type: ignore[override]
        return any(member.reads_attributes for member in self.members)

    @property
    def title(self) -> str:
        return self.parts[0][0].title if len(self.parts) == 1 else self.name

    @property
    def about(self) -> str:
        if not self.parts:
            return f"A blend of {listed_all([member.title for member in self.members])}."
        return describe_parts(self.parts, self.mixtures[RANDOM].share.tolist())

    @property
    def num_parameters(self) -> int:
        return sum(model.num_parameters for copies in self.parts for model in copies)

    def check(self, graph: Graph) -> None:
        self.members[0].check(graph)

    def cost(self, split: LinkSplit, features: NodeFeatures, *, resources: Resources) -> float:
        first = self.members[0].cost(split, features, resources=resources) * self.trainings(split)
        return first + sum(self.member_costs(split, features, resources=resources).values())

    def trainings(self, split: LinkSplit) -> int:
        return len(make_folds(split, 0).trained_on(self.members[0]))

    def member_costs(self, split: LinkSplit, features: NodeFeatures, *, resources: Resources) -> dict[str, float]:
        """The expected seconds of each member except the first on an idle machine, by name; infinite where they could
        not be measured in `resources.seconds`.

        Args:
            split: the split.
            features: the features of all nodes.
            resources: device, cache, time.
        """
        begin, most = time.perf_counter(), math.inf if resources.seconds is None else resources.seconds
        folds, costs = make_folds(split, 0), dict[str, float]()
        for member in self._usable(split.train_graph)[1:]:
            late = time.perf_counter() - begin > most and not is_free(member)
            each = math.inf if late else member.cost(split, features, resources=resources)
            costs[member.name] = len(folds.trained_on(member)) * each
        return costs

    def without(self, names: Collection[str]) -> Self:
        """The same blend without some of its members.

        Args:
            names: their names.
        """
        kept = [member for member in self.members if member.name not in names]
        kept = kept or make_members([HEURISTIC_MEMBERS], {})
        if kept[0] is not self.members[0]:  # limits stay those of the original first member
            kept[0] = kept[0].fresh()
            kept[0].limits, kept[0].list_length = self.limits, self.list_length
        return type(self)(kept)

    @property
    def planned_member(self) -> str:
        """The name of the member that a plan is made for, "" where there is none."""
        return next((member.name for member in self.members if isinstance(member, Plannable)), "")

    def _usable(self, graph: Graph) -> list[LinkModel]:
        return [member for member in self.members if member is self.members[0] or allows(member, graph)]

    # ------------------------------------------------------------------ fitting
    def fit(
        self,
        split: LinkSplit,
        features: NodeFeatures,
        *,
        seed: int,
        resources: Resources,
        candidates: CandidateLinks | None = None,
        checkpoint: Checkpoint | None = None,
        on_epoch: OnEpoch | None = None,
    ) -> Self:
        folds = make_folds(split, seed)
        task = Training(
            folds,
            subsample_evaluation(split, self.limits.num_eval_links, seed),
            features,
            seed,
            resources,
            candidates,
            checkpoint,
            on_epoch,
        )
        members: list[LinkModel] = []
        trained: list[list[LinkModel]] = []
        evidence: list[list[tuple[Tensor, Tensor]]] = []
        for number, member in enumerate(self._usable(split.train_graph)):
            try:
                copies, scores = task.train(member, number * task.most_trainings)
            except InputError as error:
                if not members or isinstance(error, RunFolderError):
                    raise
                print_notice(f"left out of the blend: {member.title} ({describe_error(error)})")
                continue
            members.append(member)
            trained.append(copies)
            evidence.append(scores)
        with resources.watch("blending"):
            self._choose(members, trained, evidence, task.sample, candidates, seed)
        self.features, self.history = features, next((c[0].history for c in trained if c[0].history), ())
        self._announce()
        return self

    def _choose(
        self,
        members: list[LinkModel],
        trained: list[list[LinkModel]],
        evidence: list[list[tuple[Tensor, Tensor]]],
        sample: LinkSplit,
        candidates: CandidateLinks | None,
        seed: int,
    ) -> None:
        """Fits weights for random pairs, and separate ones for candidates if enough validation links are among them."""
        pos, neg = ([torch.cat([pair[side] for pair in member]) for member in evidence] for side in (0, 1))
        chosen, mixture = mix(members, pos, neg, seed)
        mixtures: dict[Population, Mixture] = {RANDOM: mixture, CANDIDATES: mixture}
        links = 0 if candidates is None or not self.trains_on_candidates else len(candidates.valid_pos)
        if candidates is not None and links >= MIN_CANDIDATE_LINKS and len(candidates.valid_neg):
            graph, pairs = sample.valid_graph, torch.cat([candidates.valid_pos, candidates.valid_neg])
            scores = [mean_score(copies, graph, pairs, CANDIDATES) for copies in trained]
            mixtures[CANDIDATES] = mix(members, [s[:links] for s in scores], [s[links:] for s in scores], seed)[1]
        at, why = choose_ranker(members, pos, neg)
        if at is not None:
            mixtures[CANDIDATES] = mix_alone(members, at, pos, neg, seed)
        kept = [i for i in range(len(members)) if any(float(mixture.slope[i]) for mixture in mixtures.values())]
        self.parts = [trained[i] for i in kept]
        self.mixtures = {
            which: Mixture(mixture.unit[kept], mixture.slope[kept], mixture.share[kept], mixture.offset)
            for which, mixture in mixtures.items()
        }
        self.validation = self.parts[0][0].validation if self.alone else None
        self.remark = f"{describe_choice(members, chosen, len(pos[0]))} {why}".strip()
        self._take_abilities()

    def _announce(self) -> None:
        print_notice(self.remark or self.about, logging.INFO)

    # ------------------------------------------------------------------ copies
    def on(self, known: Graph, graph: Graph, features: NodeFeatures) -> Blend:
        other = self._empty()
        other.parts = [[model.on(known, graph, features) for model in copies] for copies in self.parts]
        other.mixtures, other.adjustment, other.features = self.mixtures, self.adjustment, features
        other.remark = self.remark
        other._take_abilities()
        return other

    def with_preset(self, preset: Any) -> Self:
        """The same blend, not fitted, whose planned member has another preset.

        Args:
            preset: its new preset.
        """
        planned = next(member for member in self.members if isinstance(member, Plannable))
        changed = [planned.with_preset(preset) if member is planned else member.fresh() for member in self.members]
        return type(self)(changed)

    def fresh(self) -> Self:
        known = {copies[0].name: copies[0] for copies in self.parts}
        return type(self)([known.get(member.name, member).fresh() for member in self.members])

    def _empty(self) -> Self:
        return type(self)(self.members)

    # ------------------------------------------------------------------ the run folder
    @property
    def config(self) -> Mapping[str, Any]:
        members = [{"name": member.name, "config": dict(member.config)} for member in self.members]
        if not self.parts:
            return {"members": members}
        parts = [{"name": copies[0].name, "trainings": [dict(m.config) for m in copies]} for copies in self.parts]
        inputs = 0 if self.adjustment is None else len(self.adjustment.weight[0])
        return {"members": members, "parts": parts, "remark": self.remark, "adjusted_inputs": inputs}

    @property
    def code(self) -> Mapping[str, str]:
        models = [model for copies in self.parts for model in copies] or self.members
        return {need: digest for model in models for need, digest in model.code.items()}

    def state(self) -> dict[str, Tensor]:
        state = {
            f"{p}.{k}.{name}": tensor
            for p, copies in enumerate(self.parts)
            for k, model in enumerate(copies)
            for name, tensor in model.state().items()
        }
        for which, mixture in self.mixtures.items():
            state[f"{which}.parts"] = torch.stack([mixture.unit, mixture.slope, mixture.share])
            state[f"{which}.offset"] = mixture.offset.clone()
        if self.adjustment is not None:
            own = zip(self.adjustment.slope, self.adjustment.weight, strict=True)
            state["adjustment"] = torch.tensor([[slope, *weight] for slope, weight in own], dtype=torch.float64)
        return state

    @classmethod
    def shapes(cls, config: Mapping[str, Any], where: str) -> dict[str, Tensor] | None:
        return read_shapes(config, where)

    @classmethod
    def from_state(
        cls, config: Mapping[str, Any], state: Mapping[str, Tensor], graph: Graph, features: NodeFeatures
    ) -> Blend:
        where = "the model's configuration"
        parts = read_trainings(config, state, graph, features)
        known = {copies[0].name: copies[0].fresh() for copies in parts}
        blend = cls([known.get(name) or MODELS[name].make() for name in read_names(config, where)])
        blend.parts, blend.features, blend.remark = parts, features, str(config["remark"])
        blend.mixtures, blend.adjustment = read_mixtures(state)
        blend._take_abilities()
        return blend


class Auto(Blend):
    """A blend that also trains baselines from the literature, if the time budget allows.

    Args:
        members: as in `Blend`; by default also four baselines.
        **options: options of the first member.

    >>> [member.name for member in Auto().members][:1]
    ['llwlc']
    """

    name = "auto"
    default_members = (*MEMBERS, *BASELINES)
    most_time = 0.6
