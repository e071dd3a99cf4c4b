"""Blend: a `LinkModel` that adds up the scores of several models with non-negative weights."""

from __future__ import annotations

import copy
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
    score_pairs,
)
from llwlc.models._blend_checkpoint import checkpoint_of, load_training, save_training
from llwlc.models._blend_config import read_mixtures, read_models, read_names, read_shapes
from llwlc.models._blend_limits import MemberLimits
from llwlc.models._blend_members import (
    BASELINES,
    HEURISTIC_MEMBERS,
    MEMBERS,
    allows,
    is_free,
    make_members,
)
from llwlc.models._blend_words import describe_choice, describe_parts, listed_all
from llwlc.models._mixture import HeldOutScores, Mixture, choose_ranker, mix, mix_alone, score_evidence
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

    The weights are non-negative and fitted on the validation links; where these are few, the trained members have
    equal weights.

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
        parts = self.parts or self.members
        return max(part.chunk for part in parts)

    @property
    def reads_attributes(self) -> bool:  # type: ignore[override]
        return any(member.reads_attributes for member in self.members)

    @property
    def title(self) -> str:
        return self.parts[0].title if len(self.parts) == 1 else self.name

    @property
    def about(self) -> str:
        if not self.parts:
            return f"A blend of {listed_all([member.title for member in self.members])}."
        return describe_parts(self.parts, self.mixtures[RANDOM].share.tolist())

    @property
    def num_parameters(self) -> int:
        return sum(part.num_parameters for part in self.parts)

    def check(self, graph: Graph) -> None:
        self.members[0].check(graph)

    def cost(self, split: LinkSplit, features: NodeFeatures, *, resources: Resources) -> float:
        first = self.members[0].cost(split, features, resources=resources)
        return first + sum(self.member_costs(split, features, resources=resources).values())

    def member_costs(self, split: LinkSplit, features: NodeFeatures, *, resources: Resources) -> dict[str, float]:
        """The expected seconds of each member except the first on an idle machine, by name; infinite where they could
        not be measured in `resources.seconds`.

        Args:
            split: the split.
            features: the features of all nodes.
            resources: device, cache, time.
        """
        begin, most = time.perf_counter(), math.inf if resources.seconds is None else resources.seconds
        costs = dict[str, float]()
        for member in self._usable(split)[1:]:
            late = time.perf_counter() - begin > most and not is_free(member)
            costs[member.name] = math.inf if late else member.cost(split, features, resources=resources)
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

    def _usable(self, split: LinkSplit) -> list[LinkModel]:
        return [member for member in self.members if member is self.members[0] or allows(member, split)]

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
        trained: list[LinkModel] = []
        for number, member in enumerate(self._usable(split)):
            model = load_training(checkpoint, number, member, split.train_graph, features)
            try:
                if model is None:
                    model = copy.deepcopy(member).fit(
                        split,
                        features,
                        seed=seed,
                        resources=resources,
                        candidates=candidates if member.trains_on_candidates else None,
                        checkpoint=checkpoint_of(checkpoint, number),
                        on_epoch=on_epoch,
                    )
                    save_training(checkpoint, number, model)
            except InputError as error:
                if not trained or isinstance(error, RunFolderError):
                    raise
                print_notice(f"left out of the blend: {member.title} ({describe_error(error)})")
                continue
            trained.append(model.to(resources.device))
        with resources.watch("blending"):
            sample = subsample_evaluation(split, self.limits.num_eval_links, seed)
            self._choose(trained, score_evidence(trained, sample, seed), sample.valid_graph, candidates, seed)
        self.features, self.history = features, next((model.history for model in trained if model.history), ())
        self._announce()
        return self

    def _choose(
        self,
        trained: list[LinkModel],
        evidence: HeldOutScores,
        graph: Graph,
        candidates: CandidateLinks | None,
        seed: int,
    ) -> None:
        """Fits weights for random pairs, and separate ones for candidates if enough validation links are among them."""
        chosen, mixture = mix(trained, evidence, seed)
        mixtures: dict[Population, Mixture] = {RANDOM: mixture, CANDIDATES: mixture}
        links = 0 if candidates is None or not self.trains_on_candidates else len(candidates.valid_pos)
        if candidates is not None and links >= MIN_CANDIDATE_LINKS and len(candidates.valid_neg):
            pairs = torch.cat([candidates.valid_pos, candidates.valid_neg])
            scores = [score_pairs(model, graph, pairs, CANDIDATES) for model in trained]
            among = HeldOutScores([s[:links] for s in scores], [s[links:] for s in scores])
            mixtures[CANDIDATES] = mix(trained, among, seed)[1]
        at, why = choose_ranker(trained, evidence)
        if at is not None:
            mixtures[CANDIDATES] = mix_alone(trained, at, evidence, seed)
        kept = [i for i in range(len(trained)) if any(float(mixture.slope[i]) for mixture in mixtures.values())]
        self.parts = [trained[i] for i in kept]
        self.mixtures = {
            which: Mixture(mixture.unit[kept], mixture.slope[kept], mixture.share[kept], mixture.offset)
            for which, mixture in mixtures.items()
        }
        self.validation = self.parts[0].validation if self.alone else None
        self.remark = f"{describe_choice(trained, chosen, len(evidence.pos[0]))} {why}".strip()
        self._take_abilities()

    def _announce(self) -> None:
        print_notice(self.remark or self.about, logging.INFO)

    # ------------------------------------------------------------------ copies
    def on(self, known: Graph, graph: Graph, features: NodeFeatures) -> Blend:
        other = self._empty()
        other.parts = [part.on(known, graph, features) for part in self.parts]
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
        known = {part.name: part for part in self.parts}
        return type(self)([known.get(member.name, member).fresh() for member in self.members])

    def _empty(self) -> Self:
        return type(self)(self.members)

    # ------------------------------------------------------------------ the run folder
    @property
    def config(self) -> Mapping[str, Any]:
        members = [{"name": member.name, "config": dict(member.config)} for member in self.members]
        if not self.parts:
            return {"members": members}
        parts = [{"name": part.name, "config": dict(part.config)} for part in self.parts]
        inputs = 0 if self.adjustment is None else len(self.adjustment.weight[0])
        return {"members": members, "parts": parts, "remark": self.remark, "adjusted_inputs": inputs}

    @property
    def code(self) -> Mapping[str, str]:
        return {need: digest for model in self.parts or self.members for need, digest in model.code.items()}

    def state(self) -> dict[str, Tensor]:
        state = {f"{p}.{name}": tensor for p, part in enumerate(self.parts) for name, tensor in part.state().items()}
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
        parts = read_models(config, state, graph, features)
        known = {part.name: part.fresh() for part in parts}
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
