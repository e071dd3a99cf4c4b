"""The global model: learned filters on the eigenvectors of the whole graph, with paths, walks and node statistics."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import torch
from torch import Tensor
from torch.nn import ModuleList
from torch.nn.functional import binary_cross_entropy_with_logits

from llwlc._support.options import check_options, option
from llwlc._support.records import read_record, to_mapping
from llwlc._support.threads import use_one_thread
from llwlc.bases._global_basis import HIGH, LOW, GlobalBasis, global_basis
from llwlc.errors import InputError, NotFittedError
from llwlc.graph._graph import Graph
from llwlc.models._base import RANDOM, LinkModel, Population
from llwlc.models._global_inputs import NUM_STATISTICS, GlobalInputs, score_inputs, training_inputs
from llwlc.nn._global_filters import GlobalNet
from llwlc.splits._linksplit import LinkSplit
from llwlc.subgraphs._link_inputs import check_pairs
from llwlc.training._candidate_links import CandidateLinks
from llwlc.training._checkpoint import Checkpoint
from llwlc.training._loop import OnEpoch, Schedule, train
from llwlc.training._network_trainee import NetworkTrainee
from llwlc.training._node_features import NodeFeatures
from llwlc.training._optimizers import UnwrappedAdamW
from llwlc.training._resources import Resources
from llwlc.training._timing import time_block

STEPS = 40
"""Optimizer steps of an epoch."""
STEP_SECONDS = 2.5e-3
"""Seconds of one step of one network, on one core."""
WARM_UP = 0.3
"""The share of the steps after which the learning rate peaks."""


@dataclass(frozen=True)
class GlobalConfig:
    """Architecture and training of the global model.

    >>> GlobalConfig(folds=8).folds
    8
    """

    low: int = option(LOW, "maximum number of eigenvectors at the lower end of the spectrum", least=0, most=1024)
    high: int = option(HIGH, "maximum number of eigenvectors at the upper end", least=0, most=1024)
    folds: int = option(10, "folds of the training links, each scored on a graph without it", least=2, most=1000)
    negatives: int = option(5, "non-links for each training link", least=1, most=1000)
    max_links: int = option(20_000, "maximum number of training links", least=1, most=1 << 36)
    members: int = option(1, "networks whose logits are averaged", least=1, most=64)
    hidden: int = option(32, "width of the hidden layers", least=1, most=1024)
    epochs: int = option(20, f"epochs of {STEPS} steps", least=1, most=100_000)
    learning_rate: float = option(6e-3, "peak learning rate", least=0, open_least=True, most=1)
    weight_decay: float = option(0.01, "weight decay of AdamW", least=0, most=10)
    dropout: float = option(0.2, "dropout rate of the hidden layer", least=0, most=1, open_most=True)

    def __post_init__(self) -> None:
        check_options(self)


class GlobalModel(LinkModel):
    """A small MLP (`GlobalNet`), or the mean of several, on features of a pair in its whole graph: `GlobalFilters` on
    the eigenvectors at both ends of the spectrum, path length, walks and statistics of the two ends.

    Training links are scored on graphs without their fold. If a pair is a link of the graph it is scored on, the
    eigenvectors and node statistics include that link, as in `katz`; paths, walks and neighbours exclude it.

    Args:
        **options: fields of its configuration.

    >>> GlobalModel(folds=8).config["folds"]
    8
    """

    name = "global"
    title = "global"
    compact_features = 0
    inductive: Literal[True] = True

    def __init__(self, **options: Any) -> None:
        known = GlobalConfig.__dataclass_fields__
        unknown = next((name for name in options if name not in known), None)
        if unknown is not None:
            raise InputError(f"no option of global is called {unknown!r}: choose from {', '.join(known)}")
        self.options = GlobalConfig(**options)
        self.nets: ModuleList | None = None
        self._basis: tuple[Graph, GlobalBasis] | None = None  # of the graph that was scored on last

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_basis": None}

    @property
    def about(self) -> str:
        return "Learned filters on the eigenvectors of the whole graph, paths and walks, fitted by `llwlc`."

    @property
    def epochs(self) -> int:  # type: ignore[override]
        return self.options.epochs

    @property
    def num_parameters(self) -> int:
        return 0 if self.nets is None else sum(p.numel() for p in self.nets.parameters())

    @property
    def config(self) -> Mapping[str, Any]:
        return to_mapping(self.options)

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
        config = self.options
        with resources.watch("training"), use_one_thread():
            trainee = GlobalTrainee(config, split, seed)
            done = train(
                trainee,
                Schedule(config.epochs, config.epochs, "auc", keep_last=True),
                checkpoint=checkpoint,
                on_epoch=on_epoch,
                seconds=resources.seconds,
            )
        self.nets, self._basis = copy.deepcopy(trainee.net).double().eval(), None
        self.history, self.validation = done.history, (done.valid_pos, done.valid_neg)
        return self

    def score(self, graph: Graph, pairs: Tensor, population: Population = RANDOM) -> Tensor:
        if self.nets is None:
            raise NotFittedError("this model is not fitted yet: call fit, or from_state")
        last = self._basis  # as a name of this call: another thread may score on another graph meanwhile
        if last is None or last[0] is not graph:
            last = self._basis = graph, global_basis(graph, low=self.options.low, high=self.options.high)
        return mean_logits(self.nets, score_inputs(graph, last[1], check_pairs(graph, pairs)))

    def cost(self, split: LinkSplit, features: NodeFeatures, *, resources: Resources) -> float:
        """Extrapolated from one basis and the statistics of some pairs; nothing else grows with the graph."""
        config, graph, some = self.options, split.train_graph, split.train_pos[:500]
        with time_block() as decomposing:
            basis = global_basis(graph, low=config.low, high=config.high)
        with time_block() as describing:
            score_inputs(graph, basis, some)
        pairs = min(len(split.train_pos), config.max_links) * (1 + config.negatives)
        steps = config.epochs * STEPS * config.members
        return decomposing() * (config.folds + 1) + describing() * pairs / len(some) + steps * STEP_SECONDS

    def on(self, known: Graph, graph: Graph, features: NodeFeatures) -> GlobalModel:
        other = GlobalModel(**self.config)
        other.nets = self.nets
        return other

    def state(self) -> dict[str, Tensor]:
        """The weights by name, float32; the numbers of batches stay integers. Eigenvectors are computed again."""
        if self.nets is None:
            raise NotFittedError("this model is not fitted yet: call fit, or from_state")
        kept = self.nets.state_dict().items()
        return {name: (t.float() if t.is_floating_point() else t).cpu().contiguous() for name, t in kept}

    @classmethod
    def shapes(cls, config: Mapping[str, Any], where: str) -> dict[str, Tensor]:
        with torch.device("meta"):  # takes no memory, however large the configuration
            return dict(make_nets(read_record(GlobalConfig, config, where), 0).state_dict())

    @classmethod
    def from_state(
        cls, config: Mapping[str, Any], state: Mapping[str, Tensor], graph: Graph, features: NodeFeatures
    ) -> GlobalModel:
        model = cls(**to_mapping(read_record(GlobalConfig, config, "the model's configuration")))
        nets = make_nets(model.options, 0)
        nets.load_state_dict(dict(state))
        model.nets = nets.double().eval()
        return model


class GlobalTrainee(NetworkTrainee):
    """The networks during training, a `training._loop.Trainee`."""

    net: ModuleList

    def __init__(self, config: GlobalConfig, split: LinkSplit, seed: int) -> None:
        self.config, self.split, self.seed = config, split, seed
        self.inputs, self.label = training_inputs(
            split,
            low=config.low,
            high=config.high,
            folds=config.folds,
            negatives=config.negatives,
            most=config.max_links,
            seed=seed,
        )
        self.net = make_nets(config, seed)
        self.optimizer: torch.optim.Optimizer = UnwrappedAdamW(
            self.net.parameters(), config.learning_rate, weight_decay=config.weight_decay
        )
        pairs = torch.cat([split.valid_pos, split.valid_neg.reshape(-1, 2)])
        graph = split.valid_graph
        self.valid = score_inputs(graph, global_basis(graph, low=config.low, high=config.high), pairs)

    def train_epoch(self, epoch: int) -> float:
        """`STEPS` steps; links and non-links have equal weight in the loss."""
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + epoch)
        m = len(self.label)
        size = min(256, max(32, m // 16))
        passes = -(-STEPS * size // m)
        order = torch.cat([torch.randperm(m, generator=generator) for _ in range(passes)])
        weight = (1 - self.label).sum() / self.label.sum()
        self.net.train()
        losses = []
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed * 1_000_003 + epoch)  # for dropout
            for step, batch in enumerate(torch.split(order, size)[:STEPS]):
                self._set_rate((epoch * STEPS + step) / (self.config.epochs * STEPS))
                rows, label = self.inputs.rows(batch), self.label[batch]
                each = [binary_cross_entropy_with_logits(net(*rows), label, pos_weight=weight) for net in self.net]
                loss = torch.stack(each).sum()
                self.optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                self.optimizer.step()
                losses.append(loss.detach() / len(each))
        return float(torch.stack(losses).mean())

    def _set_rate(self, share: float) -> None:
        """Warm-up to the peak and decay, half a cosine each ("1cycle", Smith and Topin 2018)."""
        if share < WARM_UP:
            height = 0.04 + 0.96 * (1 - math.cos(math.pi * share / WARM_UP)) / 2
        else:
            height = (1 + math.cos(math.pi * (share - WARM_UP) / (1 - WARM_UP))) / 2
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.learning_rate * height

    def validation_logits(self) -> Tensor:
        return mean_logits(copy.deepcopy(self.net).double().eval(), self.valid)


def make_nets(config: GlobalConfig, seed: int) -> ModuleList:
    """The networks with the initial weights of a seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return ModuleList(
            GlobalNet(NUM_STATISTICS, hidden_channels=config.hidden, dropout=config.dropout)
            for _ in range(config.members)
        )


@torch.no_grad()
def mean_logits(nets: ModuleList, inputs: GlobalInputs) -> Tensor:
    """The mean logit `[m]` of networks in evaluation mode."""
    rows = inputs.rows(slice(None))
    logits: Tensor = torch.stack([net(*rows) for net in nets]).mean(0)
    return logits
