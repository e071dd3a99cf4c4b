"""From a split graph to a trained, calibrated, measured network: what `LinkPredictor.fit` and the accuracy tables share."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from llwlc import metrics
from llwlc.baselines.heuristics import HEURISTICS
from llwlc.calibration import Calibration, fit_calibration
from llwlc.datasets.roots import cache_root
from llwlc.errors import InputError
from llwlc.features import Compactor, fit_compactor
from llwlc.graph import Graph
from llwlc.linkdata import LinkData, cached, encode, estimate_bytes, messages_on
from llwlc.linksplit import PARTS, LinkSplit
from llwlc.nn import LLwLCNet
from llwlc.presets import Preset
from llwlc.splits import fresh_negatives
from llwlc.steps import Stepper
from llwlc.training import TrainConfig, adam, one_thread, scores, train, train_epoch

OnEpoch = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A trained network and what it takes to use and judge it."""

    net: LLwLCNet
    preset: Preset
    compactor: Compactor | None
    features: Tensor | None
    calibration: Calibration
    metrics: dict[str, Any]
    history: list[dict[str, Any]]


@dataclass(frozen=True)
class Forecast:
    """What training will take, from a sample of the links."""

    links: int
    mean_size: float
    largest: int
    num_bytes: int
    seconds: float


class Links:
    """The encoded links of a split: training links by epoch, the others by part. Encoded once, kept on the device where they fit."""

    def __init__(
        self, split: LinkSplit, preset: Preset, *, cache: Path | None, device: torch.device, memory_budget: int
    ) -> None:
        self.split, self.preset, self.cache = split, preset, cache
        self.device, self.memory_budget = device, memory_budget
        config = preset.train
        order = torch.randperm(len(split.train_pos), generator=torch.Generator().manual_seed(config.seed))
        self.num_positive = max(1, round(config.fraction * len(order)))
        self.positives = split.train_pos[order[: self.num_positive].sort().values]
        self._kept: dict[str, LinkData] = {}

    def training(self, epoch: int) -> LinkData:
        """Positives, then a pool of negatives. Stochastic constraints are redrawn; else copies that lack some edges take turns."""
        config, basis = self.preset.train, self.preset.basis
        if basis.stochastic:
            # where a dense graph has not as many negatives as links, all that it has
            count = self.num_positive if self.num_positive <= len(self.split.train_neg) else None
            negatives = fresh_negatives(self.split, epoch=epoch + 1, seed=config.seed, count=count)
            pairs = torch.cat([self.positives, negatives[: self.num_positive]])
            return encode(messages_on(self.split.train_graph, self.device), pairs, basis, epoch=epoch, about="").to(
                self.device
            )
        copy = epoch % ((config.copies or 0) + 1)
        name = f"train, copy {copy}" if copy else "train"
        if name not in self._kept:
            self._kept[name] = self._encode(
                _thinned(self.split.train_graph, config.edge_dropout, copy, config.seed), self._training_pairs(), name
            )
        return self._kept[name]

    def part(self, name: str) -> LinkData:
        """One of `valid_pos`, `valid_neg`, `test_pos`, `test_neg`; hard negatives one after the other."""
        if name not in self._kept:
            graph: Graph = getattr(self.split, f"{name.split('_')[0]}_graph")
            self._kept[name] = self._encode(graph, getattr(self.split, name).reshape(-1, 2), name.replace("_", " "))
        return self._kept[name]

    def _training_pairs(self) -> Tensor:
        config = self.preset.train
        # epoch 0 of the split's seed is its train_neg, so the pool begins elsewhere
        draws = range(1, 1 + _pool_draws(config))
        pools = [fresh_negatives(self.split, epoch=e, seed=config.seed) for e in draws]
        return torch.cat([self.positives, *pools])

    def _encode(self, graph: Graph, pairs: Tensor, about: str) -> LinkData:
        about, graph = f"eigenbases, {about}", messages_on(graph, self.device)
        if self.cache is None:
            data = encode(graph, pairs, self.preset.basis, about=about)
        else:
            data = cached(
                graph, pairs, self.preset.basis, cache=self.cache, memory_budget=self.memory_budget, about=about
            )
        return data.to(self.device) if data.num_bytes <= self.memory_budget else data


def _pool_draws(config: TrainConfig) -> int:
    """How often as many negatives as there are training links are drawn for the pool."""
    return max(1, round(config.negative_pool * config.fraction))


def _thinned(graph: Graph, share: float, copy: int, seed: int) -> Graph:
    if not copy:
        return graph
    keep = torch.rand(graph.num_edges, generator=torch.Generator().manual_seed(seed * 1_000 + copy)) >= share
    return graph.with_edges(graph.edges[keep])


def pick_device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"no device is called {name!r}: use auto, cpu or cuda") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError("device cuda was asked for, but there is none here: use auto or cpu")
    return device


def fingerprint(graph: Graph, split: LinkSplit, preset: Preset) -> str:
    """The hash of everything that a run's weights depend on."""
    digest = hashlib.sha256(json.dumps(asdict(preset), sort_keys=True).encode())
    tensors = [graph.indptr, graph.indices, graph.weight, *[getattr(split, part) for part in PARTS]]
    if graph.x is not None:
        tensors += [graph.x] if isinstance(graph.x, Tensor) else [torch.as_tensor(a) for a in _arrays(graph.x)]
    for tensor in tensors:
        digest.update(b"-" if tensor is None else tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()[:32]


def _arrays(x: Any) -> tuple[Any, Any, Any]:
    return x.indptr, x.indices, x.data


def forecast(split: LinkSplit, preset: Preset, *, sample: int = 256) -> Forecast:
    """Sizes, memory and time expected, from encoding and training on a sample of the links."""
    preset = preset.adapted(len(split.train_pos))
    config = preset.train
    positives, redrawn = max(1, round(len(split.train_pos) * config.fraction)), preset.basis.stochastic
    links = positives + (positives if redrawn else len(split.train_pos) * _pool_draws(config))
    at = torch.randperm(len(split.train_pos), generator=torch.Generator().manual_seed(0))[:sample]
    pairs = torch.cat([split.train_pos[at], split.train_neg[at[: len(split.train_neg)] % max(len(split.train_neg), 1)]])
    encode(split.train_graph, pairs[:2], preset.basis, about="")  # a first call compiles; that is no part of the rate
    begin = time.perf_counter()
    data = encode(split.train_graph, pairs, preset.basis, about="")
    encoding = (time.perf_counter() - begin) / len(pairs)
    with torch.random.fork_rng(devices=[]):
        net = LLwLCNet(replace(preset.net, feature_channels=0))
    stepper = Stepper(net, net, adam(net, config), None, config.batch_size or 64)
    begin = time.perf_counter()
    with one_thread():
        train_epoch(stepper, data, len(at), config, 0)
    step = (time.perf_counter() - begin) / len(pairs)
    copies = 1 if redrawn else 1 + min(config.copies or 0, config.epochs - 1)
    mean = float(data.sizes.double().mean())
    return Forecast(
        links,
        mean,
        int(data.sizes.max()),
        copies * estimate_bytes(links, mean, preset.basis.steps),
        links * (config.epochs if redrawn else copies) * encoding + config.epochs * 2 * positives * step * 1.5,
    )


def fit_split(
    graph: Graph,
    split: LinkSplit,
    preset: Preset,
    *,
    device: str = "auto",
    cache: Path | None = None,
    memory_budget: int = 2 << 30,
    checkpoint: Path | None = None,
    mark: str = "",
    compact: tuple[Compactor | None, Tensor] | None = None,
    on_epoch: OnEpoch | None = None,
) -> Fitted:
    """Train on the split's training links, choose the epoch and calibrate on validation, measure once on test.

    `checkpoint` with `mark`, the run's fingerprint, lets an interrupted run go on; `compact` are compact features where they are
    known already.
    """
    begin, target = time.perf_counter(), pick_device(device)
    preset = preset.adapted(len(split.train_pos))
    compactor, features = compact or (None, None)
    if compact is None and graph.x is not None and preset.features:
        compactor = fit_compactor(graph.x, preset.features)
        features = compactor(graph.x)
    links = Links(split, preset, cache=cache, device=target, memory_budget=memory_budget)
    channels = 0 if features is None else features.shape[1]
    shape = replace(preset.net, feature_channels=channels)
    if shape.pooling == "sort":
        sizes = links.training(0).sizes.cpu().double()
        shape = replace(shape, sort_rows=int(torch.quantile(sizes[:100_000], 0.6)))
    preset = replace(preset, net=shape)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(preset.train.seed)
        net = LLwLCNet(shape)
    net.to(target)
    # hard negatives come in rows; the pooled ones are what selection looks at
    valid = links.part("valid_pos"), links.part("valid_neg")
    history = train(
        net,
        links.training,
        links.num_positive,
        valid,
        preset.train,
        features=features,
        checkpoint=checkpoint,
        mark=mark,
        on_epoch=on_epoch,
    )
    calibration = fit_calibration(*(scores(net, part, features) for part in valid))
    found = measure(net, links, features, calibration)
    found |= {"parameters": net.num_parameters, "epochs": len(history), "seconds": time.perf_counter() - begin}
    found["heuristics"] = heuristics(split)
    return Fitted(net.cpu(), preset, compactor, features, calibration, found, history)


def measure(net: LLwLCNet, links: Links, features: Tensor | None, calibration: Calibration) -> dict[str, Any]:
    """All metrics of the test links, and how far the probabilities are off."""
    pos, neg = (scores(net, links.part(part), features) for part in ("test_pos", "test_neg"))
    rows = links.split.test_neg.shape[:-1]
    found: dict[str, Any] = metrics.evaluate(pos, neg.reshape(rows)).as_dict()
    label = torch.cat([torch.ones_like(pos), torch.zeros_like(neg)])
    share = len(pos) / len(label)
    probability = calibration.probability(torch.cat([pos, neg]), prior=share)
    found["calibration_error"] = metrics.calibration_error(probability, label)
    found["calibration_prior"] = share
    return found


def heuristics(split: LinkSplit) -> dict[str, dict[str, float]]:
    """The scores that need no training, on the same test links."""
    found = {}
    for name, score in HEURISTICS.items():
        if score is HEURISTICS["cosine of Â²X"] and split.test_graph.x is None:
            continue
        pos = score(split.test_graph, split.test_pos)
        neg = score(split.test_graph, split.test_neg.reshape(-1, 2)).reshape(split.test_neg.shape[:-1])
        found[name] = metrics.evaluate(pos, neg).as_dict()
    return found


def default_cache() -> Path:
    return cache_root() / "bases"
