"""LinkModel: the one contract of everything that is fitted on a split and scores pairs."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, runtime_checkable

import torch
from torch import Tensor

from llwlc._support.bounds import LARGEST_SCORE
from llwlc._support.estimator import describe_call
from llwlc._support.progress import make_progress
from llwlc._support.registry import code_digest
from llwlc.errors import InputError
from llwlc.training._limits import Limits

if TYPE_CHECKING:
    from llwlc.graph._graph import Graph
    from llwlc.splits._linksplit import LinkSplit
    from llwlc.training._adjustment import Adjustment
    from llwlc.training._candidate_links import CandidateLinks
    from llwlc.training._checkpoint import Checkpoint
    from llwlc.training._epoch_record import EpochRecord
    from llwlc.training._loop import OnEpoch
    from llwlc.training._node_features import NodeFeatures
    from llwlc.training._resources import Resources


Population = Literal["random", "candidates"]
"""The pairs that a score is meant for: random ones (`score`), or candidates (`recommend`)."""
RANDOM: Population = "random"
CANDIDATES: Population = "candidates"
_UNNAMED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class LinkModel(ABC):
    """A model of links. Only `fit` and `score` must be written; the rest has defaults.

    An object is made with its options and fitted once. Whoever keeps the options fits a copy (`copy.deepcopy`), as
    `LinkPredictor` does.

    >>> class Degrees(LinkModel):
    ...     def fit(self, split, features, **how):
    ...         return self
    ...     def score(self, graph, pairs, population=RANDOM):
    ...         return graph.degree[pairs].double().prod(1).log1p()
    >>> import networkx, llwlc
    >>> graph = llwlc.Graph.from_networkx(networkx.karate_club_graph())
    >>> fitted = llwlc.LinkPredictor(model=Degrees(), minutes=None).fit(graph)
    >>> fitted.score([("0", "9")]).score.round(decimals=2).tolist()
    [2.42]
    >>> llwlc.models.MODELS.remove("Degrees")    # only so that this example leaves nothing behind
    """

    name: str = ""
    """The name of its record in `models.MODELS`; the class's own name where there is none."""
    unit: Literal["log_odds", "own"] = "log_odds"
    """Of its scores: log-odds, as for every model trained by a likelihood, or a unit of its own."""
    compact_features: int | str = 64
    """The width of the compact node features that it reads; 0 for none, "raw" for the features as they are."""
    reads_attributes: bool = False
    """Whether it reads attributes of links beyond their weight."""
    candidate_pool: int = 2
    """Candidates that are drawn as negatives, for each training link."""
    trains_on_candidates: bool = False
    """Whether it is trained on candidates too, and scores them by an output of their own."""
    list_length: int = 100
    """Maximum number of candidates that a node may propose."""
    limits: Limits = Limits()
    """How many links and candidates are scored."""
    epochs: int | None = None
    """Maximum number of training epochs, if known."""
    chunk: int = 1 << 14
    """Pairs that it scores at a time, between two steps of a progress bar."""

    remark: str = ""
    """What a reader must know before any number, in a sentence; "" for nothing."""
    history: Sequence[EpochRecord] = ()
    """One record per epoch."""
    validation: tuple[Tensor, Tensor] | None = None
    """The scores of the validation links and non-links at the chosen epoch, where fitting computed them."""

    @abstractmethod
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
    ) -> LinkModel:
        """Fits on the split's training links alone and chooses the epoch on validation.

        Args:
            split: training, validation and test links, with the message graph of each stage.
            features: the features of all nodes; raw ones are those of the message graphs.
            seed: seed of all random draws.
            resources: device, cache, time.
            candidates: candidates to train on, for a model that does.
            checkpoint: the file from which an interrupted fit continues.
            on_epoch: called with the record of each epoch.
        """

    @abstractmethod
    def score(self, graph: Graph, pairs: Tensor, population: Population = RANDOM) -> Tensor:
        """Scores `[m]` of pairs on the links of a graph, larger is likelier; a score never depends on the other pairs.

        Args:
            graph: the links that are known.
            pairs: node numbers `[m, 2]`.
            population: the pairs that they are compared with.
        """

    def training_links(self, split: LinkSplit, seed: int) -> Tensor:
        """The training links that are used, `[m, 2]`.

        Args:
            split: the split.
            seed: the seed of the fit.
        """
        return split.train_pos

    def cost(self, split: LinkSplit, features: NodeFeatures, *, resources: Resources) -> float:
        """Seconds that training is expected to take on an idle machine, from a short measurement; 0 where nothing is
        known. It is told before a fit within a time budget; a `Plannable` model is planned instead.

        Args:
            split: the split.
            features: the features of all nodes.
            resources: device, cache, time.
        """
        return 0.0

    def check(self, graph: Graph) -> None:  # noqa: B027
        """Raises an error for a graph that it cannot be fitted on.

        Args:
            graph: the graph.
        """

    def to(self, device: torch.device | str) -> Self:
        """Itself, on another device.

        Args:
            device: "cpu", "cuda" or a device of torch.
        """
        return self

    def on(self, known: Graph, graph: Graph, features: NodeFeatures) -> LinkModel:
        """The fitted model for the nodes of another graph; by default it knows only the nodes that it was fitted on
        (see `Inductive`).

        Args:
            known: the graph that it was fitted on.
            graph: the other graph.
            features: the features of its nodes.
        """
        return self

    @property
    def title(self) -> str:
        """Its name in tables."""
        return self.name or type(self).__name__

    @property
    def about(self) -> str:
        """One sentence for the model card."""
        return f"{self.title}, a model that was fitted by `llwlc`."

    @property
    def num_parameters(self) -> int:
        """The number of learned numbers; by default those of `state`."""
        return sum(x.numel() for x in self.state().values())

    @property
    def config(self) -> Mapping[str, Any]:
        """All options as plain JSON; with `state`, all that `from_state` needs. By default the parameters of its class,
        each read from the attribute of its name.
        """
        named = _named_parameters(type(self))
        missing = next((name for name in named if not hasattr(self, name)), None)
        if missing is not None:
            raise InputError(
                f"{type(self).__name__} takes {missing!r} and does not store it under that name, so a run could not"
                f" make the model again: store it as self.{missing}, or write config"
            )
        return {name: getattr(self, name) for name in named}

    def __repr__(self) -> str:
        defaults = _named_parameters(type(self))
        return describe_call(
            type(self).__name__, {name: getattr(self, name) for name in defaults if hasattr(self, name)}, defaults
        )

    @property
    def code(self) -> Mapping[str, str]:
        """Digests of the code beyond this package that its scores depend on, by kind and name, as in "constraint
        common".
        """
        own = type(self)
        return {} if own.__module__.startswith("llwlc.") else {f"model {self.name or own.__name__}": code_digest(own)}

    def fresh(self) -> LinkModel:
        """The same model, not fitted."""
        return type(self)(**self.config)

    def state(self) -> dict[str, Tensor]:
        """What was learned, by name, on the CPU: tensors `[...]`."""
        return {}

    @classmethod
    def shapes(cls, config: Mapping[str, Any], where: str) -> dict[str, Tensor] | None:
        """Tensors `[...]` of the shapes and types that `state` has under this configuration, without memory, by which a
        run folder is checked before its weights are used; a configuration that cannot be used is refused. None, the
        default: they are not known, and `from_state` has to check.

        Args:
            config: what `config` gave, read from a file.
            where: that file, for messages.
        """
        return None

    @classmethod
    def from_state(
        cls, config: Mapping[str, Any], state: Mapping[str, Tensor], graph: Graph, features: NodeFeatures
    ) -> LinkModel:
        """The fitted model that `config` and `state` were taken from, with the same scores; to be written by a model
        that has a `state`.

        Args:
            config: its configuration.
            state: its state, tensors `[...]` by name.
            graph: the graph of the run.
            features: the features of the graph's nodes.
        """
        if state:
            raise InputError(
                f"{cls.__name__} has a state ({next(iter(state))}, …) and no from_state, which would read it: write one"
            )
        return cls(**config)


@runtime_checkable
class Adjustable(Protocol):
    """A model whose last layer can take the calibration of candidate lists."""

    @property
    def adjustable(self) -> bool:
        """Whether this one has an output for candidates."""

    def adjust(self, adjustment: Adjustment) -> None:
        """Makes the adjustment part of the output for candidates."""


@runtime_checkable
class Inductive(Protocol):
    """A model that scores nodes which were not there when it was fitted: `on` gives it for another graph."""

    inductive: Literal[True]


@runtime_checkable
class Plannable(Protocol):
    """A model that can leave something out to end in time: `preset` says what it does, `explicit` which options a plan
    must not change.
    """

    preset: Any
    explicit: frozenset[str]

    def with_preset(self, preset: Any) -> LinkModel:
        """The same model, not fitted, by another preset."""


@runtime_checkable
class Reducible(Protocol):
    """A model of models, of which some can be left out to end in time. `most_time`: the share of a budget that all but
    the first may take.
    """

    most_time: float

    @property
    def planned_member(self) -> str:
        """The name of the member that a plan is made for."""

    def member_costs(self, split: LinkSplit, features: NodeFeatures, *, resources: Resources) -> dict[str, float]:
        """The seconds that each member but the first is expected to take on an idle machine, by name; infinite where
        the time for measuring them, `resources.seconds`, did not suffice.
        """

    def without(self, names: Collection[str]) -> LinkModel:
        """The same model without these members."""


@runtime_checkable
class Explainable(Protocol):
    """A model whose scores can be explained: a network on constrained eigenbases. `explained`: the model of that
    network, itself or a part of it.
    """

    net: Any
    basis: Any

    @property
    def explained(self) -> Any:
        """The model of the network."""


@runtime_checkable
class Blended(Protocol):
    """A model whose score is a factor times that of `explained`, plus the terms of other parts."""

    @property
    def alone(self) -> bool:
        """Whether the score is that of one model, unchanged."""

    def factor(self, population: Population, sharing: Tensor) -> Tensor:
        """The factors `[m]` for pairs that share a neighbour, or do not."""

    def beside(self, graph: Graph, pairs: Tensor, population: Population) -> dict[str, Tensor]:
        """What other parts add to the scores of pairs, `[m]` each, by name."""


@runtime_checkable
class Distributable(Protocol):
    """A model that several processes can train together."""

    def join_training(self, split: LinkSplit, *, resources: Resources) -> None:
        """The part of every process but the first."""


def _named_parameters(model: type[LinkModel]) -> dict[str, Any]:
    """The named parameters of a class and their defaults."""
    parameters = inspect.signature(model).parameters.values()
    return {p.name: p.default for p in parameters if p.kind not in _UNNAMED}


def score_pairs(
    model: LinkModel, graph: Graph, pairs: Tensor, population: Population = RANDOM, *, about: str = ""
) -> Tensor:
    """The scores `[m]` of pairs, float64 on the CPU, chunk by chunk; with a progress bar where `about` says what it
    counts. Scores that are NaN, infinite or beyond single precision are refused: finite weights may be so large that a
    sum overflows, on one device if not on the other."""
    parts = [torch.zeros(0, dtype=torch.float64)]
    with make_progress() if about else nullcontext() as progress:
        task = None if progress is None else progress.add_task(about, total=len(pairs))
        for chunk in torch.split(pairs, model.chunk):
            part = model.score(graph, chunk, population).detach().double().cpu()
            if part.shape != (len(chunk),):
                raise InputError(
                    f"{model.title} gave scores of shape {tuple(part.shape)} for {len(chunk)} pairs: give one number"
                    " for each"
                )
            if not (finite := part.abs() <= LARGEST_SCORE).all():
                u, v = chunk[~finite][0].tolist()
                raise InputError(
                    f"{model.title} gave {part[~finite][0].item()} as the score of nodes {u} and {v}, and a score is a"
                    " number of single precision: its weights are damaged, or its training diverged; copy the run"
                    " again, or fit again"
                )
            parts.append(part)
            if progress is not None and task is not None:
                progress.advance(task, len(chunk))
    return torch.cat(parts)
