"""Baseline: a trained network of the literature as a `LinkModel`, by its public recipe."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from llwlc._support.estimator import describe_call
from llwlc._support.records import read_record, to_mapping
from llwlc._support.registry import resolve
from llwlc.errors import InputError, NotFittedError, RunFolderError
from llwlc.graph._graph import Graph
from llwlc.models._base import RANDOM, LinkModel, Population
from llwlc.models._baseline_features import DeviceFeatures
from llwlc.models._batches import Batches
from llwlc.models._messages import Messages
from llwlc.models._network import BaselineNetwork, BaselineShape
from llwlc.models._recipes import ACTIVATIONS, Recipe, recipe
from llwlc.models._registry import MODELS
from llwlc.splits._linksplit import LinkSplit
from llwlc.subgraphs._extraction import extract
from llwlc.subgraphs._link_inputs import check_pairs
from llwlc.training._candidate_links import CandidateLinks
from llwlc.training._checkpoint import Checkpoint
from llwlc.training._loop import OnEpoch, Schedule, train
from llwlc.training._network_trainee import NetworkTrainee
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources
from llwlc.training._timing import time_block

if TYPE_CHECKING:
    import scipy.sparse

    Raw = Tensor | scipy.sparse.csr_array

WIDEST, DEEPEST, MOST_STEPS, MOST_HOPS = 1 << 16, 64, 1 << 12, 15
"""Bounds on a recipe that is read from a file: channels, layers, steps, hops."""


class Baseline(LinkModel):
    """A network that encodes a message graph once and decodes pairs in batches. Only `seal` and `lanczosnet` remove a
    link that is scored, from its own subgraph; the others leave it in the messages.

    Args:
        network: the `BaselineNetwork`, or its path "module:name".
        data: the dataset whose recipe is used, by default the one that the graph was loaded as.
        **options: fields of the recipe that change.

    >>> import llwlc
    >>> llwlc.models.make("mlp", epochs=3).title
    'MLP'
    """

    def __init__(self, network: type[BaselineNetwork] | str, *, data: str | None = None, **options: Any) -> None:
        self.network: type[BaselineNetwork] = resolve(network) if isinstance(network, str) else network
        self.name, self.data, self.options = self.network.NAME, data, options
        recipe(self.name, data or "", num_links=0).changed(**options)  # refuses a bad option before any work
        self.net: BaselineNetwork | None = None
        self.features: DeviceFeatures | None = None
        self._encoded: tuple[Graph, Any] | None = None  # the encoding of the graph that was scored on last

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_encoded": None}

    def __repr__(self) -> str:
        return describe_call(
            type(self).__name__, {"network": self.name, "data": self.data} | self.options, {"data": None}
        )

    @property
    def title(self) -> str:
        return self.network.TITLE

    @property
    def about(self) -> str:
        return (
            f"{self.title} ({self.network.__doc__.splitlines()[0].rstrip('.') if self.network.__doc__ else self.name}),"
            " a baseline, fitted by `llwlc`."
        )

    @property
    def epochs(self) -> int | None:  # type: ignore[override]
        return self.options.get("epochs") if self.net is None else self.net.recipe.epochs

    @property
    def num_parameters(self) -> int:
        return 0 if self.net is None else self.net.num_parameters

    @property
    def config(self) -> Mapping[str, Any]:
        """Recipe, shape and seed once it is fitted; before, the options."""
        if self.net is None:
            return {"network": self.name, "data": self.data, "options": self.options}
        return {
            "network": self.name,
            "recipe": to_mapping(self.net.recipe),
            "shape": to_mapping(self.net.shape),
            "seed": self.net.seed,
        }

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
        trainee = self.trainee(split, seed, resources.device)
        how = trainee.net.recipe
        with resources.watch("training"):
            result = train(
                trainee,
                Schedule(how.epochs, how.patience, how.select or choose_selection(split)),
                checkpoint=checkpoint,
                on_epoch=on_epoch,
                seconds=resources.seconds,
            )
        self._take(trainee.net, trainee.features)
        self.history, self.validation = result.history, (result.valid_pos, result.valid_neg)
        return self

    def score(self, graph: Graph, pairs: Tensor, population: Population = RANDOM) -> Tensor:
        """Logits, in float64, so that the shape of a batch does not change the sixth digit by rounding."""
        net = self._fitted
        if graph.num_nodes != net.shape.num_nodes:
            raise InputError(
                f"{self.title} was fitted on {net.shape.num_nodes} nodes, this graph has {graph.num_nodes}: give one of"
                " the same nodes"
            )
        last = self._encoded  # as a name of this call: another thread may score on another graph meanwhile
        if last is None or last[0] is not graph:
            messages = Messages.of(graph, next(net.parameters()).device)
            last = self._encoded = graph, encode_graph(net, messages, self.features)
        return decode_pairs(net, last[1], check_pairs(graph, pairs))

    def cost(self, split: LinkSplit, features: NodeFeatures, *, resources: Resources) -> float:
        """From one step of training and one pass over the validation links."""
        trainee = self.trainee(split, 0, resources.device)
        with time_block() as step:
            trainee.train_epoch(0, most=1)
        with time_block() as validating:
            trainee.validate()
        steps = math.ceil(len(split.train_pos) / trainee.net.recipe.batch_size)
        return float(trainee.net.recipe.epochs * (steps * step() + validating()))

    def to(self, device: torch.device | str) -> Self:
        if self.net is not None and next(self.net.parameters()).device.type != torch.device(device).type:
            self.net.to(device)
            if self.features is not None:
                self.features.move(device)
            self._encoded = None
        return self

    def fresh(self) -> Baseline:
        """With its whole recipe, since a run does not store the dataset that the recipe was chosen for."""
        options = self.options if self.net is None else to_mapping(self.net.recipe)
        return Baseline(self.network, data=self.data, **options)

    def state(self) -> dict[str, Tensor]:
        """The weights by name, float32; integers (of batch normalisation) stay integers."""
        kept = self._fitted.state_dict().items()
        return {name: (t.float() if t.is_floating_point() else t).cpu().contiguous() for name, t in kept}

    @classmethod
    def shapes(cls, config: Mapping[str, Any], where: str) -> dict[str, Tensor]:
        how, shape, seed = _read(config, where)
        with torch.device("meta"):  # takes no memory, however large the configuration
            return dict(_network_of(config)(how, shape, seed).state_dict())

    @classmethod
    def from_state(
        cls, config: Mapping[str, Any], state: Mapping[str, Tensor], graph: Graph, features: NodeFeatures
    ) -> Baseline:
        how, shape, seed = _read(config, "the model's configuration")
        network = _network_of(config)
        raw = graph.x if how.features else None
        if (0 if raw is None else raw.shape[1]) != shape.in_channels:
            raise RunFolderError(
                f"{network.TITLE} was fitted on {shape.in_channels} features per node: give the same ones"
            )
        model = cls(network)
        net = make_network(network, how, shape, seed)
        net.load_state_dict(dict(state))
        model._take(net, None if raw is None else DeviceFeatures(raw, torch.device("cpu"), row_sums=how.row_sums))
        return model

    @property
    def _fitted(self) -> BaselineNetwork:
        if self.net is None:
            raise NotFittedError(f"this {self.title} is not fitted yet: call fit, or from_state")
        return self.net

    def _take(self, net: BaselineNetwork, features: DeviceFeatures | None) -> None:
        self.net, self.features, self._encoded = copy.deepcopy(net).double().eval(), features, None

    def trainee(self, split: LinkSplit, seed: int, device: torch.device) -> BaselineTrainee:
        """The network with its initial weights, its optimizer and its batches, for the training loop.

        Args:
            split: the split to train on.
            seed: seed of weights, batches and dropout.
            device: where it is trained.
        """
        graph = split.train_graph
        data = self.data if self.data is not None else "" if graph.origin is None else graph.origin.name
        how = recipe(self.name, data, num_links=len(split.train_pos)).changed(**self.options)
        raw = graph.x if how.features else None
        net = make_network(self.network, how, _shape(self.network, how, raw, split), seed).to(device)
        return BaselineTrainee(
            net, split, None if raw is None else DeviceFeatures(raw, device, row_sums=how.row_sums), seed
        )


class BaselineTrainee(NetworkTrainee):
    """A network in training, as the loop sees it (`training._loop.Trainee`)."""

    net: BaselineNetwork

    def __init__(self, net: BaselineNetwork, split: LinkSplit, features: DeviceFeatures | None, seed: int) -> None:
        self.net, self.split, self.features = net, split, features
        self.optimizer = make_baseline_optimizer(net)
        self.device = next(net.parameters()).device
        self.batches = Batches(split, net.recipe, seed=seed, device=self.device)
        self.messages = Messages.of(split.valid_graph, self.device)

    def train_epoch(self, epoch: int, *, most: int | None = None) -> float:
        """One pass over the training links, or over `most` batches; returns the mean loss."""
        net, losses = self.net, []
        net.train()
        with torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else []):
            torch.manual_seed(self.batches.seed * 1_000_003 + epoch)  # for dropout
            for messages, pos, neg in self.batches.epoch(epoch):
                self.optimizer.zero_grad()
                rows = net.training_logits(messages, self.features, torch.cat([pos, neg]))
                # the means over links and over negatives have equal weights, however many negatives there are
                loss = torch.stack(
                    [-logsigmoid(row[: len(pos)]).mean() - logsigmoid(-row[len(pos) :]).mean() for row in rows]
                ).sum()
                loss.backward()  # type: ignore[no-untyped-call]
                if net.recipe.clip:
                    for group in net.groups():
                        torch.nn.utils.clip_grad_norm_(group, net.recipe.clip)
                self.optimizer.step()
                losses.append(loss.detach())
                if len(losses) == most:
                    break
        return float(torch.stack(losses).mean())

    def validation_logits(self) -> Tensor:
        pairs = torch.cat([self.split.valid_pos, self.split.valid_neg.reshape(-1, 2)])
        return compute_logits(self.net, self.messages, self.features, pairs)


def compute_logits(net: BaselineNetwork, messages: Messages, features: DeviceFeatures | None, pairs: Tensor) -> Tensor:
    """Logits `[m]` of pairs `[m, 2]`, float64 on the CPU; the network is left in evaluation mode."""
    return decode_pairs(net, encode_graph(net, messages, features), pairs)


@torch.no_grad()  # not in inference mode: tensors kept in `messages` may be used in training too
def encode_graph(net: BaselineNetwork, messages: Messages, features: DeviceFeatures | None) -> Any:
    """The network's encoding of a message graph, for `decode_pairs`."""
    net.eval()
    return net.encode(messages, features)


@torch.no_grad()
def decode_pairs(net: BaselineNetwork, graph: Any, pairs: Tensor) -> Tensor:
    """Logits `[m]` of pairs on an `encode_graph` graph, computed in chunks."""
    # in one order of the ends, since a product and its mirror image may round differently
    ordered = torch.stack([pairs.amin(1), pairs.amax(1)], 1).to(next(net.parameters()).device)
    parts = [net.decode(graph, part).double().cpu() for part in torch.split(ordered, net.DECODE_BATCH_SIZE)]
    return torch.cat([torch.empty(0, dtype=torch.float64), *parts])


def make_baseline_optimizer(net: BaselineNetwork) -> torch.optim.Optimizer:
    """Adam or AdamW, the head with its own learning rate."""
    r = net.recipe
    encoder, head = net.groups()
    rate = r.learning_rate if r.head_learning_rate is None else r.head_learning_rate
    groups = [{"params": encoder, "lr": r.learning_rate}, {"params": head, "lr": rate}]
    return torch.optim.AdamW(groups) if r.optimizer == "adamw" else torch.optim.Adam(groups)


def make_network(network: type[BaselineNetwork], how: Recipe, shape: BaselineShape, seed: int) -> BaselineNetwork:
    """The network with the initial weights of a seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return network(how, shape, seed)


def _shape(network: type[BaselineNetwork], how: Recipe, raw: Raw | None, split: LinkSplit) -> BaselineShape:
    rows = 0
    if network.SORTS:
        # SEAL's k: of up to a thousand training links and negatives, the 60th percentile of the sizes
        some = torch.cat([split.train_pos[:500], split.train_neg[:500]])
        sizes = extract(split.train_graph, some, how.hops).ptr.diff()
        rows = int(sizes.sort().values[max(-(-6 * len(sizes) // 10) - 1, 0)])
    return BaselineShape(split.train_graph.num_nodes, 0 if raw is None else raw.shape[1], rows)


def choose_selection(split: LinkSplit) -> str:
    """The validation score that chooses the epoch unless a recipe names one: the metric of the split, or the AUC where
    it is HR@K with fewer than 2 K negatives, as it is near 1 for any scores then, and 1 up to K.
    """
    few = (
        split.metric.startswith("hits@")
        and split.valid_neg.ndim == 2
        and (2 * int(split.metric.removeprefix("hits@")) > len(split.valid_neg))
    )
    return "auc" if few else split.metric


def _network_of(config: Mapping[str, Any]) -> type[BaselineNetwork]:
    name = str(config.get("network"))[:60]
    network = resolve(MODELS[name].args[0]) if ":" in "".join(MODELS[name].args) else None
    if not (isinstance(network, type) and issubclass(network, BaselineNetwork)):
        raise RunFolderError(f"the model's network, {name!r}, is not one of llwlc's: copy the run again, or fit again")
    return network


def _read(config: Mapping[str, Any], where: str) -> tuple[Recipe, BaselineShape, int]:
    """The parts of a configuration; numbers that no recipe has, widths and factors of the amount of work, are
    refused.
    """
    how = read_record(Recipe, config.get("recipe", {}), where)
    shape = read_record(BaselineShape, config.get("shape", {}), where)
    seed = config.get("seed")
    most = {"layers": DEEPEST, "head_layers": DEEPEST, "hops": MOST_HOPS, "steps": MOST_STEPS}
    most |= {"permutations": MOST_STEPS, "registers": MOST_STEPS, "walks": MOST_STEPS}
    wrong: list[tuple[str, Any]] = [] if type(seed) is int and 0 <= seed < 1 << 64 else [("seed", seed)]
    for name in (field.name for field in fields(how)):
        value = getattr(how, name)
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, int) and not 0 <= number <= most.get(name, WIDEST):
                wrong.append((name, number))
            if isinstance(number, float) and not math.isfinite(number):
                wrong.append((name, number))
    if how.activation not in ACTIVATIONS:
        wrong.append(("activation", how.activation))
    sizes = ((f"shape.{name}", getattr(shape, name)) for name in ("num_nodes", "in_channels", "sort_rows"))
    wrong += [(name, size) for name, size in sizes if not 0 <= size < 1 << 40]
    if wrong:
        raise RunFolderError(f"{where} cannot be used: the model's {wrong[0][0]} is {str(wrong[0][1])[:60]!r}")
    return how, shape, int(seed)  # type: ignore[arg-type]
