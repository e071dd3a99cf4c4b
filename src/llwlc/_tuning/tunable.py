"""Tunable: the search over models and options, as a method of a predictor."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from llwlc._direction.arcs import require_directions
from llwlc._runs.fit_input import check_fit_input, make_fit_split
from llwlc._runs.queries import Pairs, Queries
from llwlc._support.bounds import require_whole
from llwlc._support.progress import as_verbose
from llwlc._support.repeated_warnings import deduplicate_warnings
from llwlc._tuning.report import Tuning
from llwlc._tuning.search import SearchOptions, search_settings
from llwlc._tuning.space import Setting, usable_models
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.models._base import LinkModel
from llwlc.models._registry import make
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._resources import require_minutes


class Tunable(Queries):
    """The base class of `LinkPredictor` that adds `tune` to its queries."""

    preset: str | None
    model: str | LinkModel | None
    seed: int
    minutes: float | None
    directed: bool
    cache: Path | str | None
    verbose: bool
    options: dict[str, Any]

    @property
    @abstractmethod
    def _cache(self) -> Path | None:
        """The folder of stored bases."""

    @abstractmethod
    def make_model(self) -> LinkModel:
        """The model that the parameters describe, not fitted."""

    @as_verbose
    @deduplicate_warnings()
    def tune(
        self,
        graph: Graph,
        *,
        models: Sequence[str] | None = None,
        minutes: float | None = 30.0,
        trials: int | None = None,
        folds: int = 3,
        metric: str | None = None,
        split: LinkSplit | None = None,
        protocol: str = "random",
        node_types: Sequence[str] | None = None,
        negatives: Pairs | None = None,
    ) -> Tuning:
        """Compares models and options on links hidden from training, without using the test links of the split that
        `fit` would make; this predictor does not change.

        Its own setting is tried first, then each model with its defaults, then settings drawn at random; options of
        this predictor stay fixed. With `minutes=None` and `trials` the result is the same on every machine.

        Args:
            graph: the known links.
            models: names of models to compare; by default ours, heuristics and some baselines.
            minutes: time budget; a single fit takes at most a twelfth of it with three folds, and at most this
                predictor's own `minutes`. None for no limit.
            trials: maximum number of settings.
            folds: number of times that links are hidden, different ones each time.
            metric: the metric to compare settings by, as in "auc" or "hits@50"; by default the metric of the protocol,
                or AUC if there are few hidden links.
            split: as in `fit`.
            protocol: as in `fit`.
            node_types: as in `fit`.
            negatives: as in `fit`.

        Returns:
            The settings, best first; `LinkPredictor(**tuning.parameters)` has the best one.
        """
        check_fit_input("tune", graph, node_types, seed=self.seed, minutes=self.minutes, cache=self.cache)
        if self.directed:
            require_directions(graph)
        require_minutes(minutes)
        require_whole("folds", folds, least=1, most=1000)
        if trials is not None:
            require_whole("trials", trials, least=1, most=1_000_000)
        if minutes is None and trials is None:
            raise InputError("a search needs an end: give minutes, trials or both")
        name = self.make_model().name
        if not (self.model is None or isinstance(self.model, str)):
            raise InputError("tune compares models by name: register your model and pass its name, as in model='mine'")
        for model in models or ():
            make(model).check(graph)
        options = SearchOptions(
            models=tuple(dict.fromkeys([name, *usable_models(graph)] if models is None else models)),
            metric=metric,
            folds=folds,
            minutes=minutes,
            trials=trials,
            minutes_per_fit=self.minutes,
            seed=self.seed,
            device=self._device,
            cache=self._cache,
        )
        own = Setting(name, self.preset, tuple(self.options.items()))
        split = make_fit_split(graph, split, protocol, negatives, seed=self.seed)
        found = search_settings(graph.without_direction(), split, own, options, node_types)
        budget = ("--plan", "full") if self.minutes is None else ("--minutes", f"{self.minutes:g}")
        words = ("--protocol", protocol, "--seed", str(self.seed), *budget)
        return replace(found, fit_words=words, directed=self.directed)
