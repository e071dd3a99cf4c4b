"""LinkPredictor: from a graph to scored and recommended links in three calls."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from llwlc.bases.cache import default_cache
from llwlc.bases.encoded_links import messages_on
from llwlc.bases.warmup import warm_up
from llwlc.candidates.retrieval import candidates, share_of_links
from llwlc.errors import InputError
from llwlc.graph.graph import Graph
from llwlc.graph.names import find_nodes, suggestion
from llwlc.predict import run_directory
from llwlc.predict.folder import finished, made
from llwlc.predict.hidden_links import measure_ranking
from llwlc.predict.list_quality import RankingReport
from llwlc.predict.ranking import Recommendation, best_pairs, described
from llwlc.predict.run_directory import CHECKPOINT, Run
from llwlc.predict.run_format import KINDS, RunInfo
from llwlc.splits.linksplit import LinkSplit
from llwlc.splits.making import make
from llwlc.splits.registry import PROTOCOLS
from llwlc.subgraphs.extraction import check_pairs
from llwlc.support.devices import pick_device
from llwlc.training.calibration import log_odds
from llwlc.training.checkpoint import Checkpoint
from llwlc.training.fingerprint import fingerprint
from llwlc.training.fit import Fitted, OnForecast, fit_split
from llwlc.training.loop import OnEpoch
from llwlc.training.presets import Preset
from llwlc.training.presets import preset as find_preset
from llwlc.training.records import FitMetrics
from llwlc.training.scoring import Scorer

Pairs = Tensor | np.ndarray | Sequence[tuple[Any, Any]]


class Scores(NamedTuple):
    """`score [m]`, any real number, larger is likelier; `probability [m]`, calibrated for the prior that was stated."""

    score: Tensor
    probability: Tensor


class LinkPredictor:
    """Predicts the missing links of a graph.

    `preset`: "anchored" (ours, the default), "paper" or "lanczosnet"; further options change single settings of it, as in
    `LinkPredictor(epochs=10, constraints="neumann")`. `cache`: where eigenbases are kept, "auto" for the user's cache, None for memory.
    """

    def __init__(
        self, preset: str = "anchored", *, device: str = "auto", cache: Path | str | None = "auto", **options: Any
    ) -> None:
        if "seed" in options:
            raise InputError("the seed belongs to a fit, as in LinkPredictor().fit(graph, seed=5)")
        self._set_up(preset, find_preset(preset, **options), device, cache)

    def _set_up(self, name: str, preset: Preset, device: str, cache: Path | str | None, run: Run | None = None) -> None:
        self.preset_name, self.preset = name, preset
        self.device = str(pick_device(device))
        self.cache = default_cache() if cache == "auto" else None if cache is None else Path(cache)
        self._run = run

    def fit(
        self,
        graph: Graph,
        *,
        split: LinkSplit | None = None,
        protocol: str = "random",
        seed: int = 0,
        out: Path | str | None = None,
        graph_name: str = "graph",
        on_epoch: OnEpoch | None = None,
        on_forecast: OnForecast | None = None,
    ) -> LinkPredictor:
        """Train, calibrate and measure on a split of the graph's links: this one, or one made by `protocol` and `seed`.

        With `out`, a folder, an interrupted run goes on from its last epoch when the same call is made again, and the finished run is
        saved there; a finished one is read, not repeated. Another run's folder is refused. `graph_name` is what the run calls the graph;
        `on_forecast` is told what the long work will take before it begins.
        """
        if not isinstance(graph, Graph):
            raise InputError(
                f"fit takes a Graph, got {type(graph).__name__}: llwlc.datasets.load(name) or Graph.read(path) gives one"
            )
        self.preset = self.preset.changed(seed=seed)
        split = make(graph, protocol=protocol, seed=seed) if split is None else split
        mark = fingerprint(graph, split, self.preset)
        folder = None if out is None else Path(out)
        done = None if folder is None else finished(folder, mark)
        if folder is not None and done is not None:
            self._run = run_directory.load(folder, done)
            run_directory.sweep(folder)
            return self
        with nullcontext() if folder is None else made(folder):
            fitted = fit_split(
                graph,
                split,
                self.preset,
                device=self.device,
                cache=self.cache,
                checkpoint=None if folder is None else Checkpoint(folder / CHECKPOINT, mark),
                on_epoch=on_epoch,
                on_forecast=on_forecast,
            )
        prior = share_of_links(split.valid_graph, split.valid_pos)
        info = RunInfo(graph_name, self.preset_name, mark, prior, _needs(fitted.preset))
        self._run = Run(fitted, replace(graph, report=None), split, info)
        if folder is not None:
            run_directory.save(folder, self._run)
            run_directory.sweep(folder)
        return self

    def __repr__(self) -> str:
        state = "not fitted" if self._run is None else f"fitted on {self._run.graph}"
        return f"LinkPredictor({self.preset_name!r}, {state})"

    @property
    def run(self) -> Run:
        if self._run is None:
            raise InputError("this predictor is not fitted yet: call fit(graph) or LinkPredictor.load(folder)")
        return self._run

    @property
    def fitted(self) -> Fitted:
        return self.run.fitted

    @property
    def graph(self) -> Graph:
        return self.run.graph

    @property
    def metrics(self) -> FitMetrics:
        """What was measured on the test links."""
        return self.fitted.metrics

    def score(self, pairs: Pairs, *, prior: float = 0.5, graph: Graph | None = None) -> Scores:
        """Scores of pairs, by number `[m, 2]` or by name, on all known links, or on another graph of the same nodes.

        A score depends on the pair and the graph alone: not on the other pairs, their order, nor the order of the two ends.
        """
        odds = log_odds(prior)
        where = self.graph if graph is None else self._weighted_alike(graph)
        scorer = self._scorer(where, self._features_for(graph))
        numbers = check_pairs(where, self.numbers(pairs, where))
        found = list(scorer.pairs(messages_on(where, self.device), numbers, self.fitted.preset.basis))
        score = torch.cat(found) if found else torch.zeros(0, dtype=torch.float64)
        return Scores(score, self.fitted.calibration.at(score, odds))

    def recommend(self, *, node: Any = None, top: int = 20, prior: float | None = None) -> list[Recommendation]:
        """The `top` missing links of the whole graph, or of one node, best first.

        Candidates are pairs that share a neighbour and pairs of like features; they are scored as they come and only the best are
        kept. `prior` is the share of candidates that are links; by default the share that validation links had.
        """
        if top < 1:
            raise InputError(f"top must be at least 1, got {top}")
        odds = log_odds(self.run.info.candidate_prior if prior is None else prior)
        graph, features = self.graph, self.fitted.features
        number = None if node is None else int(self.numbers([(node, node)], graph)[0, 0])
        pairs, score = best_pairs(
            candidates(graph, features, node=number),
            graph,
            self._scorer(graph, features),
            self.fitted.preset.basis,
            top=top,
            whole=number is None,
        )
        return described(graph, pairs, score, self.fitted.calibration.at(score, odds))

    def evaluate(self, protocol: str, *, seed: int = 0, on_epoch: OnEpoch | None = None) -> FitMetrics:
        """What the run's options measure when they are trained afresh on another split of its graph."""
        fitted, graph = self.fitted, self.graph
        if graph.x is None and fitted.features is not None:
            if PROTOCOLS[protocol].features:
                raise InputError(
                    f"protocol {protocol!r} draws negatives by raw features, and this run, first written by an older version, "
                    "keeps compact ones only: fit again"
                )
            graph = replace(graph, x=fitted.features)
        return fit_split(
            graph,
            make(graph, protocol=protocol, seed=seed),
            fitted.preset.changed(seed=seed),
            device=self.device,
            cache=self.cache,
            compact=None if fitted.features is None else (fitted.compactor, fitted.features),
            on_epoch=on_epoch,
        ).metrics

    def evaluate_ranking(self, *, hidden: str = "test") -> RankingReport:
        """How well `recommend` finds the links that the run's split hides: candidates, precision and average precision, beside the untrained scores.

        `hidden`: "test" links, or all "held-out" ones, validation links too, on the training links alone.
        """
        run = self.run
        return measure_ranking(run, self._scorer(run.split.test_graph, self.fitted.features), hidden=hidden)

    def numbers(self, pairs: Pairs, graph: Graph) -> Tensor:
        """Pairs by name as numbers `[m, 2]`."""
        if isinstance(pairs, Tensor | np.ndarray):
            return torch.as_tensor(pairs)
        odd = next((pair for pair in pairs if isinstance(pair, str) or len(pair) != 2), None)
        if odd is not None:
            raise InputError(f"a pair has two nodes, got {odd!r}: give a list of pairs, as in [('Ada', 'Bob')]")
        flat = [str(name) for pair in pairs for name in pair]
        at = find_nodes(pa.array(flat, pa.string()), graph.names, graph.num_nodes)
        if (at < 0).any():
            unknown = flat[int(np.flatnonzero(at < 0)[0])]
            raise InputError(f"the graph has no node {unknown!r}.{suggestion(unknown, graph.names, graph.num_nodes)}")
        return torch.as_tensor(at).reshape(-1, 2)

    def save(self, folder: Path | str) -> None:
        """Write the run directory."""
        run_directory.save(Path(folder), self.run)

    @classmethod
    def load(cls, folder: Path | str, *, device: str = "auto", cache: Path | str | None = "auto") -> LinkPredictor:
        """Read a run directory, written here or on another machine.

        A run that was fitted with a constraint, start or readout of somebody's own says so; import the module that registers it first.
        """
        run = run_directory.load(Path(folder))
        model = cls.__new__(cls)
        model._set_up(run.info.preset_name, run.fitted.preset, device, cache, run)
        return model

    def _scorer(self, graph: Graph, features: Tensor | None) -> Scorer:
        warm_up(graph, self.fitted.preset.basis)
        return Scorer(self.fitted.net.to(self.device), features)

    def _weighted_alike(self, graph: Graph) -> Graph:
        """Another graph with weights where the run's has them: the network has learned from one kind of Laplacian."""
        if self.graph.weight is None:
            return replace(graph, weight=None)
        if graph.weight is None:
            raise InputError(
                "the run's links have weights and the updated graph's have none: name their column (--weight), or fit again"
            )
        return graph

    def _features_for(self, graph: Graph | None) -> Tensor | None:
        """The compact features in the order of another graph's nodes, found by name."""
        features = self.fitted.features
        if graph is None or features is None:
            return features
        if graph.x is not None and self.fitted.compactor is not None:
            return self.fitted.compactor(graph.x)
        names = pa.array([graph.name(i) for i in range(graph.num_nodes)], pa.string())
        at = find_nodes(names, self.graph.names, self.graph.num_nodes)
        if (at < 0).any():
            missing = [graph.name(int(i)) for i in np.flatnonzero(at < 0)[:3]]
            raise InputError(
                f"the updated graph has {int((at < 0).sum())} nodes that the model has no features of, such as "
                f"{', '.join(missing)}: give their features with the graph, or fit again"
            )
        return features[torch.as_tensor(at)]


def _needs(preset: Preset) -> dict[str, dict[str, str]]:
    """What a run of this preset needs beyond this package: a digest of the code, and the file it stands in."""
    needs = {}
    for need, digest in preset.code.items():
        kind, _, name = need.partition(" ")
        try:
            file = Path(inspect.getsourcefile(KINDS[kind][name].load()) or "").name
        except TypeError:
            file = ""
        needs[need] = {"digest": digest, "file": file}
    return needs
