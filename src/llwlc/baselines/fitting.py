"""Fits a method on a split, and restores one from a run directory."""

from __future__ import annotations

import copy
import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from llwlc import metrics
from llwlc.baselines.features import Features
from llwlc.baselines.loop import OnEpoch, decoded, encoded, train
from llwlc.baselines.messages import Messages
from llwlc.baselines.network import Network, Shape
from llwlc.baselines.recipes import Recipe, recipe
from llwlc.baselines.registry import METHODS, Method, Scorer
from llwlc.errors import InputError
from llwlc.graph.graph import Graph
from llwlc.splits.linksplit import PARTS, LinkSplit
from llwlc.subgraphs.extraction import check_pairs, extract
from llwlc.support.devices import pick_device
from llwlc.support.records import plain, read_record
from llwlc.support.registry import resolve
from llwlc.training.calibration import Calibration, fit_calibration
from llwlc.training.checkpoint import Checkpoint
from llwlc.training.fit import heuristics
from llwlc.training.records import EpochRecord, FitMetrics

if TYPE_CHECKING:
    import scipy.sparse

    Raw = Tensor | scipy.sparse.csr_array


class FittedMethod:
    """A trained method: it scores pairs on its graph or on any other message graph of the same nodes.

    `config` (plain JSON) and `state()` (tensors) are all that `restore(graph, features, config, tensors)` needs to build it again, with the
    same scores. `metrics`, `history` and `calibration` are those of the fit, None or empty in a restored one.

    Args:
        method: name of the method.
        net: the trained network; a copy in float64 is kept.
        graph: the message graph on which it scores by default.
        features: node features `[n, F]`, as the network reads them, or None.

    >>> import llwlc
    >>> graph = llwlc.datasets.load("cora")
    >>> split = llwlc.splits.make(graph, protocol="ncn")
    >>> fitted = llwlc.baselines.get("mlp").fit(graph, split, options={"epochs": 1, "hidden": 8})
    >>> fitted.score(split.test_pos[:3]).shape, len(fitted.history)
    (torch.Size([3]), 1)
    """

    def __init__(self, method: str, net: Network, graph: Graph, features: Features | None) -> None:
        self.method, self.graph, self.features = method, graph, features
        self.net = copy.deepcopy(net).double().eval()
        self.metrics: FitMetrics | None = None
        self.history: list[EpochRecord] = []
        self.calibration: Calibration | None = None
        self._encoded: tuple[Graph, Any] | None = None  # the encoding of the graph that was scored on last

    def score(self, pairs: Tensor, graph: Graph | None = None) -> Tensor:
        """Logits of pairs, in float64, so that the shape of a batch does not change the sixth digit by rounding.

        Only `seal` and `lanczosnet` remove a link that is scored, from its own subgraph; the others leave it in the messages.

        Args:
            pairs: node numbers `[m, 2]`, or any shape `[..., 2]`.
            graph: the message graph; by default the one that the method was fitted with (the test stage's).

        Returns:
            Logits `[m]`, or `[...]`.
        """
        known = self.graph if graph is None else graph
        if known.num_nodes != self.net.shape.num_nodes:
            raise InputError(
                f"{self.method} was fitted on {self.net.shape.num_nodes} nodes, this graph has {known.num_nodes}: give one of the same nodes"
            )
        flat = check_pairs(known, pairs.reshape(-1, 2))
        if self._encoded is None or self._encoded[0] is not known:
            messages = Messages.of(known, next(self.net.parameters()).device)
            self._encoded = known, encoded(self.net, messages, self.features)
        return decoded(self.net, self._encoded[1], flat).reshape(pairs.shape[:-1])

    def to(self, device: torch.device | str) -> FittedMethod:
        """Itself, moved to another device, where it then scores.

        Args:
            device: "cpu", "cuda" or a device of torch.
        """
        if next(self.net.parameters()).device.type != torch.device(device).type:
            self.net.to(device)
            if self.features is not None:
                self.features.move(device)
            self._encoded = None
        return self

    @property
    def config(self) -> dict[str, Any]:
        """Method, recipe, shape and seed as plain JSON."""
        net = self.net
        return {"method": self.method, "recipe": plain(net.recipe), "shape": plain(net.shape), "seed": net.seed}

    def state(self) -> dict[str, Tensor]:
        """The weights by name, float32 on the CPU, each of its parameter's shape `[...]`; integers (of batch normalisation) stay integers."""
        kept = self.net.state_dict().items()
        return {name: (t.float() if t.is_floating_point() else t).cpu().contiguous() for name, t in kept}

    @property
    def num_parameters(self) -> int:
        """The number of learned numbers."""
        return self.net.num_parameters


def fit(
    method: Method,
    graph: Graph,
    split: LinkSplit,
    *,
    seed: int = 0,
    data: str | None = None,
    device: str = "auto",
    checkpoint: Checkpoint | Path | None = None,
    on_epoch: OnEpoch | None = None,
    seconds: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> FittedMethod:
    """Train on the split's training links, choose the epoch and calibrate on validation, measure once on test.

    `data`: the dataset whose recipe is used, by default the one that the graph was loaded as; `options` change single fields of it. `checkpoint`: a file, written
    after each epoch, from which the same call continues; with its own fingerprint if it belongs to a run. `seconds`: no epoch begins after so many.
    """
    begin, target = time.perf_counter(), pick_device(device)
    name = data if data is not None else "" if graph.origin is None else graph.origin.name
    how = recipe(method.name, name, num_links=len(split.train_pos)).changed(**(options or {}))
    raw = graph.x if how.features else None
    net = new_network(method, how, _shape(method, how, graph, raw, split), seed).to(target)
    features = None if raw is None else Features(raw, target, row_sums=how.row_sums)
    fitted = FittedMethod(method.name, net, split.test_graph, features)
    if isinstance(checkpoint, Path):
        checkpoint = Checkpoint(checkpoint, fingerprint(graph, split, fitted.config))
    done = train(
        net,
        split,
        features,
        seed=seed,
        name=method.name,
        checkpoint=checkpoint,
        on_epoch=on_epoch,
        seconds=seconds,
    )
    fitted.net.load_state_dict(net.state_dict())
    fitted.history, fitted.calibration = done.history, fit_calibration(done.valid_pos, done.valid_neg)
    test, error, share = measure(fitted, split, fitted.calibration)
    spent = time.perf_counter() - begin
    fitted.metrics = FitMetrics(test, error, share, net.num_parameters, len(done.history), spent, heuristics(split))
    return fitted


def restore(
    graph: Graph,
    features: Raw | None,
    config: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    *,
    device: str = "auto",
) -> FittedMethod:
    """The fitted method that `config` and `state()` were taken from, with the same scores.

    Args:
        graph: the message graph on which it scores by default.
        features: raw node features, `[n, F]`; None for those of the graph.
        config: `FittedMethod.config`.
        tensors: `FittedMethod.state()`.
        device: "auto", "cpu" or "cuda".

    >>> import llwlc
    >>> graph = llwlc.datasets.load("cora")
    >>> split = llwlc.splits.make(graph, protocol="ncn")
    >>> fitted = llwlc.baselines.get("mlp").fit(graph, split, options={"epochs": 1, "hidden": 8})
    >>> again = restore(split.test_graph, graph.x, fitted.config, fitted.state())
    >>> torch.equal(again.score(split.test_pos), fitted.score(split.test_pos))
    True
    """
    method = METHODS[config["method"]]
    how = read_record(Recipe, config["recipe"], "the method's config")
    shape = read_record(Shape, config["shape"], "the method's config")
    net = new_network(method, how, shape, int(config["seed"]))
    net.load_state_dict(dict(tensors))
    raw = (graph.x if features is None else features) if how.features else None
    if (0 if raw is None else raw.shape[1]) != shape.in_channels:
        raise InputError(f"{method.name} was fitted on {shape.in_channels} features a node: give the same ones")
    target = pick_device(device)
    return FittedMethod(
        method.name, net.to(target), graph, None if raw is None else Features(raw, target, row_sums=how.row_sums)
    )


def measure(fitted: Scorer, split: LinkSplit, calibration: Calibration) -> tuple[metrics.Evaluation, float, float]:
    """All metrics of the test links, the calibration error, and the share of links (the prior) that probabilities are computed for."""
    pos, neg = (
        fitted.score(pairs.reshape(-1, 2), split.test_graph).double().reshape(pairs.shape[:-1])
        for pairs in (split.test_pos, split.test_neg)
    )
    label = torch.cat([torch.ones_like(pos), torch.zeros_like(neg).flatten()])
    share = len(pos) / len(label)
    probability = calibration.probability(torch.cat([pos, neg.flatten()]), prior=share)
    return metrics.evaluate(pos, neg), metrics.calibration_error(probability, label), share


def fingerprint(graph: Graph, split: LinkSplit, config: Mapping[str, Any]) -> str:
    """The hash of everything that the weights depend on."""
    digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode())
    digest.update((graph.digest + split.train_graph.digest + split.valid_graph.digest).encode())
    tensors = [getattr(split, part) for part in PARTS]
    x = graph.x
    if x is not None:
        tensors += [x] if isinstance(x, Tensor) else [torch.as_tensor(a) for a in (x.indptr, x.indices, x.data)]
    for tensor in tensors:
        digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()[:32]


def new_network(method: Method, how: Recipe, shape: Shape, seed: int) -> Network:
    if not method.network:
        raise InputError(f"{method.name} needs no training: nothing of it is stored")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net: Network = resolve(method.network)(how, shape, seed)
    return net


def _shape(method: Method, how: Recipe, graph: Graph, raw: Raw | None, split: LinkSplit) -> Shape:
    rows = 0
    if method.sorts:
        # SEAL's k: of up to a thousand training links and negatives, the 60th percentile of the sizes
        some = torch.cat([split.train_pos[:500], split.train_neg[:500]])
        sizes = extract(split.train_graph, some, how.hops).ptr.diff()
        rows = int(sizes.sort().values[max(-(-6 * len(sizes) // 10) - 1, 0)])
    return Shape(graph.num_nodes, 0 if raw is None else raw.shape[1], rows)
