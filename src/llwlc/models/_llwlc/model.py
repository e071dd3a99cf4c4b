"""LLwLC: our network as a `LinkModel`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import torch
from torch import Tensor

from llwlc._support.estimator import describe_call
from llwlc._support.progress import print_notice
from llwlc._support.records import to_mapping
from llwlc.bases._config import BasisConfig
from llwlc.bases._encoded_links import place_message_graph
from llwlc.bases._kernel_compilation import compile_basis_kernels
from llwlc.errors import NotFittedError, RunFolderError
from llwlc.graph._graph import Graph
from llwlc.models._base import RANDOM, LinkModel, Population
from llwlc.models._llwlc import worker
from llwlc.models._llwlc.encoded_split import EncodedSplit, training_positives
from llwlc.models._llwlc.presets import PRESETS, Preset, find_preset, read_preset
from llwlc.models._llwlc.scoring import OUTPUTS, Scorer, chunk_size
from llwlc.models._llwlc.setup import prepare_training
from llwlc.models._llwlc.training import ValidationLinks, train_network
from llwlc.nn import _kernel_compilation as network_warmup
from llwlc.nn._learned_constraints import build_network
from llwlc.nn._net import LLwLCNet
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._adjustment import Adjustment
from llwlc.training._candidate_links import CandidateLinks
from llwlc.training._checkpoint import Checkpoint
from llwlc.training._evaluation_links import subsample_evaluation
from llwlc.training._loop import OnEpoch
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources

DEFAULT = next(iter(PRESETS))
TRAINING = "training"
BASES_IN_MEMORY, BASES_OF_PACKED = 2 << 30, 1 << 26
"""Bytes of bases that a part of a split keeps in memory, and one of a packed graph, whose user expects a fit to be
small.
"""


class LLwLC(LinkModel):
    """The network of `preset`, with some of its options changed.

    Args:
        preset: a name of `PRESETS`, or a `Preset`.
        **options: options of the preset that change, whichever part they belong to.

    >>> LLwLC("paper", epochs=5).preset.train.epochs
    5
    """

    name = "llwlc"
    title = "llwlc"
    inductive: Literal[True] = True
    encoded_split: type[EncodedSplit] = EncodedSplit
    """How links are encoded; experiments encode them in other ways."""
    network: type[LLwLCNet] = LLwLCNet
    """The network that is trained; experiments train others."""

    def __init__(self, preset: str | Preset = DEFAULT, **options: Any) -> None:
        self.preset = preset.changed(**options) if isinstance(preset, Preset) else find_preset(preset, **options)
        self.explicit = frozenset(options)
        """Options that a plan does not change."""
        self.net: LLwLCNet | None = None
        self.features = NodeFeatures()
        self._scorer: Scorer | None = None
        self._messages: tuple[Graph, Graph] | None = None

    def __repr__(self) -> str:
        return describe_call(type(self).__name__, self.preset.options, PRESETS[DEFAULT].options)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_scorer": None, "_messages": None}  # a copy makes its own

    # ------------------------------------------------------------------ what the contract asks
    @property
    def basis(self) -> BasisConfig:
        """How a pair becomes a basis."""
        return self.preset.basis

    @property
    def compact_features(self) -> int | str:  # type: ignore[override]
        return self.preset.features

    @property
    def candidate_pool(self) -> int:  # type: ignore[override]
        return self.preset.train.candidate_pool

    @property
    def trains_on_candidates(self) -> bool:  # type: ignore[override]
        return self.preset.net.ranking

    @property
    def list_length(self) -> int:  # type: ignore[override]
        return self.preset.budget

    @property
    def limits(self) -> Any:  # type: ignore[override]
        return self.preset.limits

    @property
    def epochs(self) -> int:  # type: ignore[override]
        return self.preset.train.epochs

    @property
    def chunk(self) -> int:  # type: ignore[override]
        return chunk_size(self._device)

    @property
    def about(self) -> str:
        basis = self.basis
        return (
            f"A link predictor of `llwlc`: around each candidate pair the {basis.hops}-hop enclosing subgraph,"
            f" {basis.steps} Lanczos vectors of its\n{basis.laplacian} Laplacian (start: {basis.start}; constraints:"
            f" {basis.constraints}), learned spectral filters, a small network."
        )

    @property
    def num_parameters(self) -> int:
        return 0 if self.net is None else self.net.num_parameters

    @property
    def config(self) -> Mapping[str, Any]:
        return to_mapping(self.preset)

    @property
    def code(self) -> Mapping[str, str]:
        return {**super().code, **self.preset.code}

    def training_links(self, split: LinkSplit, seed: int) -> Tensor:
        return training_positives(split, replace(self.preset.train, seed=seed))

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
        preset = self.preset.changed(seed=seed)
        if preset.train.use_validation:
            fuller = split.with_validation_trained()
            if candidates is not None:
                positives = (self.training_links(part, seed) for part in (split, fuller))
                candidates = candidates.with_validation_trained(split, *positives)
            split = fuller
            print_notice(
                "validation links are trained on too: the last epoch is kept, and probabilities are calibrated on links"
                " that were trained on",
                logging.WARNING,
            )
        preset = preset.resolve_defaults(len(split.train_pos), hard=split.valid_neg.ndim == 3)
        watch, ranks = resources.watch, resources.ranks
        if resources.device.type == "cpu":  # kernels compile while bases are computed
            network_warmup.start_compiling_kernels(preset.net, network_warmup.TRAINING, network_warmup.SCORING)
        compile_basis_kernels(split.train_graph, preset.basis)
        memory = resources.memory_budget
        if memory is None:
            memory = BASES_IN_MEMORY if split.train_graph.folder is None else BASES_OF_PACKED
        ranked = candidates if preset.net.ranking else None
        if ranks is not None:
            worker.broadcast_task(ranks, split, preset, features, ranked, memory)
        links, preset, net = prepare_training(
            split,
            preset,
            features,
            ranked,
            resources=replace(resources, memory_budget=memory),
            evaluated=subsample_evaluation(split, preset.limits.num_eval_links, preset.train.seed),
            encoded=self.encoded_split,
            network=self.network,
        )
        valid = ValidationLinks(
            links.part("valid_pos"), links.part("valid_neg"), links.valid_candidates(), own=split.valid_neg.ndim == 3
        )
        with watch(TRAINING):  # but for the links of an epoch that are encoded when it asks for them
            result = train_network(
                net,
                links.training,
                valid,
                preset.train,
                features=features,
                checkpoint=checkpoint,
                on_epoch=on_epoch,
                ranks=ranks,
                seconds=resources.seconds,
            )
        self.preset, self.net, self.features = preset, net, features
        self.history, self.validation = result.history, (result.valid_pos, result.valid_neg)
        self._scorer = None
        return self

    def join_training(self, split: LinkSplit, *, resources: Resources) -> None:
        """The part of every process but the first in a training of several.

        Args:
            split: the same split as in the first process.
            resources: device, cache, and the ranks.
        """
        worker.run_worker(split, resources=resources)

    def score(self, graph: Graph, pairs: Tensor, population: Population = RANDOM) -> Tensor:
        # as names of this call: another thread may score on another graph meanwhile
        messages, scorer = self._messages, self._scorer
        if messages is None or messages[0] is not graph:
            self._warm_up(graph)
            messages = self._messages = graph, place_message_graph(graph, self._device)
        if scorer is None:
            scorer = self._scorer = Scorer(self.fitted, self.features)
        parts = scorer.pairs(messages[1], pairs, self.basis, OUTPUTS[population])
        return torch.cat([torch.zeros(0, dtype=torch.float64), *parts])

    def to(self, device: torch.device | str) -> Self:
        if self.net is not None and self._device != torch.device(device):
            self.net.to(device)
            self._scorer = self._messages = None
        return self

    def on(self, known: Graph, graph: Graph, features: NodeFeatures) -> LLwLC:
        other = LLwLC(self.preset)
        other.net, other.features = self.net, features
        return other

    def with_preset(self, preset: Preset) -> LLwLC:
        """The same model, not fitted, by another preset.

        Args:
            preset: what it is to do instead.
        """
        model = type(self)(preset)
        model.explicit = self.explicit
        return model

    def fresh(self) -> LLwLC:
        return self.with_preset(self.preset)

    def state(self) -> dict[str, Tensor]:
        return {name: tensor.detach().cpu().contiguous() for name, tensor in self.fitted.state_dict().items()}

    @classmethod
    def shapes(cls, config: Mapping[str, Any], where: str) -> dict[str, Tensor]:
        preset = read_preset(config, where)
        if preset.basis.distance_cap != preset.net.distance_cap:
            raise RunFolderError(
                f"{where} cannot be used: basis and net differ in distance_cap ({preset.basis.distance_cap} and"
                f" {preset.net.distance_cap})"
            )
        with torch.device("meta"):  # takes no memory, however large the configuration
            return dict(build_network(cls.network, preset.net, preset.basis).state_dict())

    @classmethod
    def from_state(
        cls, config: Mapping[str, Any], state: Mapping[str, Tensor], graph: Graph, features: NodeFeatures
    ) -> LLwLC:
        preset = read_preset(config, "the model's configuration")
        width = 0 if features.compact is None else features.compact.shape[1]
        if preset.net.feature_channels not in (0, width):
            raise RunFolderError(
                f"the network reads {preset.net.feature_channels} features of a node, the run has {width}"
            )
        model = cls(preset)
        with torch.random.fork_rng(devices=[]):  # the initial weights are replaced: the caller's draws must not move
            model.net, model.features = build_network(cls.network, preset.net, preset.basis), features
        model.net.load_state_dict(state)
        model.net.eval()
        return model

    # ------------------------------------------------------------------ Adjustable, and what explanations read
    @property
    def fitted(self) -> LLwLCNet:
        """The trained network; an error before `fit`."""
        if self.net is None:
            raise NotFittedError("this model is not fitted yet: call fit, or from_state")
        return self.net

    @property
    def explained(self) -> Self:
        """Itself: what explanations read of a blend is the part that is such a model."""
        return self

    @property
    def adjustable(self) -> bool:
        """Whether the network has an output for candidates."""
        return self.net is not None and self.net.ranking is not None

    def adjust(self, adjustment: Adjustment) -> None:
        """Makes the adjustment part of the output for candidates.

        Args:
            adjustment: what was fitted on validation links.
        """
        layer = self.fitted.ranking
        assert layer is not None
        with torch.no_grad():
            for part in (layer.weight, layer.bias):
                slope = torch.tensor(adjustment.slope, dtype=part.dtype, device=part.device)
                part.mul_(slope if part.ndim == 1 else slope.unsqueeze(1))
            own = torch.tensor(adjustment.weight, dtype=layer.weight.dtype, device=layer.weight.device)
            layer.weight[:, -own.shape[1] :] += own  # the statistics are the last inputs
        self._scorer = None  # it has a copy of the weights

    @property
    def _device(self) -> torch.device:
        return torch.device("cpu") if self.net is None else next(self.net.parameters()).device

    def _warm_up(self, graph: Graph) -> None:
        """Compiles the kernels that scores need, those of the network while those of the bases do."""
        compiled = self._device.type == "cpu"
        if compiled:
            network_warmup.start_compiling_kernels(self.preset.net, network_warmup.SCORING)
        compile_basis_kernels(graph, self.basis)
        if compiled:
            network_warmup.compile_network_kernels(self.preset.net, network_warmup.SCORING)
