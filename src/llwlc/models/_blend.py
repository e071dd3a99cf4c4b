"""Blend: a `LinkModel` that adds up the scores of several models with non-negative weights."""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self

import torch
from torch import Tensor

from llwlc._support.progress import print_notice
from llwlc._support.text import describe_error
from llwlc.errors import InputError, NotFittedError, RunFolderError
from llwlc.graph._graph import Graph
from llwlc.heuristics._registry import HEURISTICS, WALK_HEURISTICS
from llwlc.models._base import (
    CANDIDATES,
    RANDOM,
    Adjustable,
    Explainable,
    Inductive,
    LinkModel,
    Plannable,
    Population,
)
from llwlc.models._blend_config import own_shapes, read_names, read_parts
from llwlc.models._blend_folds import make_folds
from llwlc.models._blend_members import BASELINES, HEURISTIC_MEMBERS, MEMBERS, allows, make_members
from llwlc.models._blend_training import Training
from llwlc.models._blend_words import describe_choice, describe_parts, listed_all
from llwlc.models._mixture import Mixture, mean_score, mix, mix_alone
from llwlc.models._registry import MODELS
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._adjustment import Adjustment
from llwlc.training._candidate_links import CandidateLinks
from llwlc.training._checkpoint import Checkpoint
from llwlc.training._evaluation_links import subsample_evaluation
from llwlc.training._limits import Limits
from llwlc.training._loop import OnEpoch
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources

RANKS_SIDES = "users-items"
"""On a bipartite graph the member of this name alone ranks candidates: random pairs, many of them of one side, do not
show which member ranks best across the sides. On generated users and items (three seeds) the blend's lists held 35.3
and 19.7 % hidden links among the best 50 and 200, this one's 37.3 and 21.5 %.
"""
MIN_CANDIDATE_LINKS = 100
"""Minimum number of validation links among the candidates for which separate weights are fitted."""


class Blend(LinkModel):
    """A stacked ensemble: the score of a pair is a weighted sum of the members' scores, as log-odds.

    The weights are non-negative and fitted on links that are hidden from every member; where these links do not support
    a blend, the best member is used alone. They are the validation links if there are enough, otherwise training links
    that are withheld from additional trainings. On small graphs, the scores of our network's trainings are averaged.

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
    most_time, most_of_first = 0.25, 0.4

    def __init__(self, members: str | Sequence[str | LinkModel] = (), **options: Any) -> None:
        given = members.split(",") if isinstance(members, str) else list(members)
        self.members = make_members([part for part in given if part] or list(self.default_members), options)
        self.parts: list[list[LinkModel]] = []
        """The trainings of each member that has a weight."""
        self.mixtures: dict[Population, Mixture] = {}
        self.adjustment: Adjustment | None = None
        self.features = NodeFeatures()
        self.remark = ""
        self._take_plan()

    def _take_plan(self) -> None:
        """Takes `preset` and `explicit` from the plannable member; a blend without one is not `Plannable`."""
        planned = next((member for member in self.members if isinstance(member, Plannable)), None)
        if planned is not None:
            self.preset, self.explicit = planned.preset, planned.explicit

    # ------------------------------------------------------------------ limits and candidates, as the first member has
    @property
    def _ranker(self) -> LinkModel:
        """The member that is trained on candidates, else the first."""
        return next((member for member in self.members if member.trains_on_candidates), self.members[0])

    @property
    def compact_features(self) -> int | str:  # type: ignore[override]
        return self._ranker.compact_features

    @property
    def candidate_pool(self) -> int:  # type: ignore[override]
        return self._ranker.candidate_pool

    @property
    def trains_on_candidates(self) -> bool:  # type: ignore[override]
        return self._ranker.trains_on_candidates

    @property
    def list_length(self) -> int:  # type: ignore[override]
        return self._ranker.list_length

    @property
    def limits(self) -> Limits:  # type: ignore[override]
        return self._ranker.limits

    @property
    def epochs(self) -> int | None:  # type: ignore[override]
        return self.members[0].epochs

    @property
    def chunk(self) -> int:  # type: ignore[override]
        parts = self.parts or [[member] for member in self.members]
        return max(copies[0].chunk for copies in parts)

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

    def training_links(self, split: LinkSplit, seed: int) -> Tensor:
        return self._ranker.training_links(split, seed)

    def check(self, graph: Graph) -> None:
        self.members[0].check(graph)

    def cost(self, split: LinkSplit, features: NodeFeatures, *, resources: Resources) -> float:
        first = self.members[0].cost(split, features, resources=resources) * self.trainings(split)
        return first + sum(self.member_costs(split, features, resources=resources).values())

    def trainings(self, split: LinkSplit) -> int:
        return len(make_folds(split, 0).trained_on(False))

    def member_costs(self, split: LinkSplit, features: NodeFeatures, *, resources: Resources) -> dict[str, float]:
        """The expected fit time of each member except the first, in seconds, by name.

        Args:
            split: the split.
            features: the features of all nodes.
            resources: device, cache, time.
        """
        times, others = len(make_folds(split, 0).trained_on(True)), self._usable(split.train_graph)[1:]
        return {member.name: times * member.cost(split, features, resources=resources) for member in others}

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
                copies, scores = task.train(member, number * (1 + len(folds.inner)))
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
        at = next((i for i, member in enumerate(members) if member.name == RANKS_SIDES), None)
        if at is not None:
            mixtures[CANDIDATES] = mix_alone(members, at, pos, neg, seed)
        kept = [i for i in range(len(members)) if any(float(mixture.slope[i]) for mixture in mixtures.values())]
        self.parts = [trained[i] for i in kept]
        self.mixtures = {
            which: Mixture(mixture.unit[kept], mixture.slope[kept], mixture.share[kept], mixture.offset)
            for which, mixture in mixtures.items()
        }
        self.validation = self.parts[0][0].validation if self.alone else None
        self.remark = describe_choice(members, chosen, len(pos[0]))
        if at is not None and len(members) > 1:
            self.remark += f" Candidates are ranked by {members[at].title!r} alone, as the graph is bipartite."
        self._take_abilities()

    def _take_abilities(self) -> None:
        """Sets `net` and `basis` from the part that can be explained, and `inductive` if every part scores new nodes; a
        blend without such a part lacks the attribute.
        """
        for name in ("net", "basis", "inductive"):
            self.__dict__.pop(name, None)
        if (explained := self.explained) is not None:
            self.net, self.basis = explained.net, explained.basis
        if all(isinstance(copies[0], Inductive) or not copies[0].state() for copies in self.parts):
            self.inductive = True

    def _announce(self) -> None:
        print_notice(self.remark or self.about, logging.INFO)

    # ------------------------------------------------------------------ scoring
    def score(self, graph: Graph, pairs: Tensor, population: Population = RANDOM) -> Tensor:
        mixture, slopes = self._mixture(population), self._mixture(population).slope.tolist()
        scores = [
            mean_score(copies, graph, pairs, population) if slope else None
            for copies, slope in zip(self.parts, slopes, strict=True)
        ]
        total = mixture.offset.expand(len(pairs)).clone()
        for part in mixture.parts(scores):
            if part is not None:
                total = total + part
        if population == CANDIDATES and self.adjustment is not None:
            inputs = self.features.pair_inputs(graph, pairs)
            return self.adjustment.score(total, inputs, inputs[:, 0] > 0)
        return total

    @property
    def alone(self) -> bool:
        """Whether the score is that of a single training, unchanged."""
        return self._is_one and len(self.parts[0]) == 1

    def factor(self, population: Population, sharing: Tensor) -> Tensor:
        """The coefficient of the score of `explained` in the score of the blend, `[m]`.

        Args:
            population: which scale the scores have: that of random pairs or of candidates.
            sharing: whether each pair shares a neighbour, `[m]`.
        """
        at = next(p for p, copies in enumerate(self.parts) if copies[0] is self.explained)
        own = float(self._mixture(population).slope[at]) / len(self.parts[at])
        return own * self._adjustment_slope(population, sharing)

    def _adjustment_slope(self, population: Population, sharing: Tensor) -> Tensor:
        """The slope `[m]` of the adjustment of candidates, 1 without one."""
        if population != CANDIDATES or self.adjustment is None:
            return torch.ones(len(sharing), dtype=torch.float64)
        return torch.tensor(self.adjustment.slope, dtype=torch.float64)[(~sharing).long()]

    def beside(self, graph: Graph, pairs: Tensor, population: Population) -> dict[str, Tensor]:
        """The other terms of the score, `[m]` each, by name: all but `factor` times the score of `explained`.

        Args:
            graph: the links that are known.
            pairs: node numbers `[m, 2]`.
            population: which scale the scores have: that of random pairs or of candidates.
        """
        inputs = self.features.pair_inputs(graph, pairs)
        sharing = inputs[:, 0] > 0
        slope, explained = self._adjustment_slope(population, sharing), self.explained
        terms = {name: slope * part for name, part in self.part_scores(graph, pairs, population).items()}
        copies = next(copies for copies in self.parts if copies[0] is explained)
        own = mean_score(copies[:1], graph, pairs, population)
        terms[copies[0].title] = terms[copies[0].title] - self.factor(population, sharing) * own
        rest = slope * self._mixture(population).offset
        if population == CANDIDATES and self.adjustment is not None:
            zeros = torch.zeros(len(pairs), dtype=torch.float64)
            rest = rest + self.adjustment.score(zeros, inputs, sharing)
        further = {f"further trainings of {copies[0].title}": terms.pop(copies[0].title)} if len(copies) > 1 else {}
        terms.pop(copies[0].title, None)
        return {**further, **terms, "statistics of the pair": rest}

    def part_scores(self, graph: Graph, pairs: Tensor, population: Population = RANDOM) -> dict[str, Tensor]:
        """The contribution of each member to the score, `[m]`, by its title; with the offset, they sum to it.

        Args:
            graph: the links that are known.
            pairs: node numbers `[m, 2]`.
            population: which scale the scores have: that of random pairs or of candidates.
        """
        mixture = self._mixture(population)
        scores = mixture.parts([mean_score(copies, graph, pairs, population) for copies in self.parts])
        return {c[0].title: part for c, part in zip(self.parts, scores, strict=True) if part is not None}

    def _mixture(self, population: Population) -> Mixture:
        if not self.mixtures:
            raise NotFittedError("this blend is not fitted yet: call fit, or from_state")
        return self.mixtures[population]

    @property
    def _is_one(self) -> bool:
        """Whether the score is that of one member, not rescaled."""
        mixtures = self.mixtures.values()
        return len(self.parts) == 1 and all(
            not m.unit.any() and not m.offset.any() and bool((m.slope == 1).all()) for m in mixtures
        )

    @property
    def explained(self) -> Any:
        """The part that can be explained, None where there is none."""
        return next((copies[0] for copies in self.parts if isinstance(copies[0], Explainable)), None)

    @property
    def adjustable(self) -> bool:
        """Whether it is trained on candidates, and so has an output for them."""
        ranked_by_one = any(copies[0].name == RANKS_SIDES for copies in self.parts)
        return bool(self.parts) and self.trains_on_candidates and not ranked_by_one

    def adjust(self, adjustment: Adjustment) -> None:
        """Applies an adjustment to the scores of candidates from now on.

        Args:
            adjustment: the adjustment, fitted on validation links.
        """
        if self._is_one and all(isinstance(model, Adjustable) and model.adjustable for model in self.parts[0]):
            for model in self.parts[0]:
                model.adjust(adjustment)  # type: ignore[attr-defined]
        else:
            self.adjustment = adjustment

    def to(self, device: torch.device | str) -> Self:
        self.parts = [[model.to(device) for model in copies] for copies in self.parts]
        self._take_abilities()
        return self

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
        shapes = own_shapes(config, where)
        for p, (name, trainings) in enumerate(read_parts(config, where)):
            for k, own in enumerate(trainings):
                tensors = MODELS[name].load().shapes(own, where)
                state_free = name in HEURISTICS or name in WALK_HEURISTICS
                if tensors is None and not state_free:
                    return None
                shapes |= {f"{p}.{k}.{key}": tensor for key, tensor in (tensors or {}).items()}
        return shapes

    @classmethod
    def from_state(
        cls, config: Mapping[str, Any], state: Mapping[str, Tensor], graph: Graph, features: NodeFeatures
    ) -> Blend:
        where = "the model's configuration"
        for name, expected in own_shapes(config, where).items():
            found = state.get(name)
            if found is None or found.shape != expected.shape or not found.isfinite().all():
                raise RunFolderError(f"the blend's {name} is damaged: copy the run again, or fit again")
        read = read_parts(config, where)
        parts = [
            [
                MODELS[name].load().from_state(own, _with_prefix(state, f"{p}.{k}."), graph, features)
                for k, own in enumerate(trainings)
            ]
            for p, (name, trainings) in enumerate(read)
        ]
        known = {copies[0].name: copies[0].fresh() for copies in parts}
        blend = cls([known.get(name) or MODELS[name].make() for name in read_names(config, where)])
        blend.parts, blend.features, blend.remark = parts, features, str(config["remark"])
        for which in (RANDOM, CANDIDATES):
            unit, slope, share = state[f"{which}.parts"]
            if (unit < 0).any() or (slope < 0).any():
                raise RunFolderError(f"the blend's weights for {which} are below 0: copy the run again, or fit again")
            blend.mixtures[which] = Mixture(unit, slope, share, state[f"{which}.offset"])
        if "adjustment" in state:
            (slope_0, *weight_0), (slope_1, *weight_1) = state["adjustment"].tolist()
            blend.adjustment = Adjustment((slope_0, slope_1), (tuple(weight_0), tuple(weight_1)))
        blend._take_abilities()
        return blend


class Auto(Blend):
    """A blend that also trains baselines from the literature, if the time budget allows.

    Args:
        members: as in `Blend`; by default also the global model and four baselines.
        **options: options of the first member.

    >>> [member.name for member in Auto().members][:1]
    ['llwlc']
    """

    name = "auto"
    default_members = (*MEMBERS, *BASELINES)
    most_time, most_of_first = 0.6, math.inf


def _with_prefix(state: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}
