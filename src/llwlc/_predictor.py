"""LinkPredictor: from a graph to scored and recommended links in three calls; `predict_missing_links`: in one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from llwlc._direction.arcs import require_directions
from llwlc._fitting.fit import fit_model
from llwlc._fitting.fit_metrics import FitMetrics
from llwlc._io.database_url import redact
from llwlc._runs import directory
from llwlc._runs.directory import Run
from llwlc._runs.fit_input import check_fit_input, make_fit_split
from llwlc._runs.fit_run import OnForecast, fit_run
from llwlc._runs.plan_source import OnPlan
from llwlc._runs.queries import Pairs
from llwlc._support.estimator import Estimator
from llwlc._support.progress import as_verbose, print_notice
from llwlc._support.repeated_warnings import deduplicate_warnings
from llwlc._support.stopwatch import stage
from llwlc._tuning.tunable import Tunable
from llwlc.bases._cache import default_cache_folder
from llwlc.errors import InputError
from llwlc.graph._convert import as_graph
from llwlc.graph._graph import Graph
from llwlc.models._base import LinkModel
from llwlc.models._registry import make as make_model
from llwlc.models._registry import register_unnamed
from llwlc.ranking._recommendations import Recommendations
from llwlc.splits._known_negatives import with_known_negatives
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._making import make
from llwlc.training._loop import OnEpoch
from llwlc.training._ranks import Ranks
from llwlc.training._resources import Resources


class LinkPredictor(Estimator, Tunable):
    """Predicts the missing links of a graph. Parameters are stored as given and never changed by `fit`; what is fitted
    ends in `_`.

    Args:
        preset: options of our network alone: "anchored", "paper", "paper-query" or "unconstrained".
        model: a model by name (`llwlc.models.names()`), or a `LinkModel` of your own, of which a copy is fitted. By
            default "blend": our network, the topological stack, the global model and heuristics, weighted as hidden
            links support; "llwlc", our network alone, where a preset or single options are given.
        seed: seed of the split and of training.
        minutes: time budget. From a short measurement, a plan decides what our network leaves out so that the fit ends
            in time, and which members a blend leaves out; another model begins no epoch later. None for everything,
            however long it takes.
        directed: whether links point from source to target: then `score`, `recommend` and `explain` say which way a
            link points too. The graph must keep its direction, as `Graph.read(file, directed=True)` does. Whether there
            is a link is predicted as without.
        device: "auto", "cpu" or "cuda".
        cache: where eigenbases are kept, "auto" for the user's cache, None for memory.
        verbose: whether calls show progress bars and notices on stderr. `with llwlc.show_progress():` around calls does
            the same.
        **options: single options of the preset, or of the model, that change, as in
            `LinkPredictor(epochs=10, constraints="neumann")`.

    Shapes: `score` takes pairs `[m, 2]` and returns `score [m]` and `probability [m]`.

    >>> import networkx
    >>> graph = Graph.from_networkx(networkx.karate_club_graph())
    >>> model = LinkPredictor(model="adamic-adar").fit(graph)    # LinkPredictor() chooses between all
    >>> model.score([("0", "33"), ("0", "9")]).score.round(decimals=2).tolist()
    [2.62, 0.38]
    >>> len(model.recommend(top=3))
    3
    """

    def __init__(
        self,
        preset: str | None = None,
        *,
        model: str | LinkModel | None = None,
        seed: int = 0,
        minutes: float | None = 10.0,
        directed: bool = False,
        device: str = "auto",
        cache: Path | str | None = "auto",
        verbose: bool = False,
        **options: Any,
    ) -> None:
        self.preset, self.model, self.seed, self.minutes = preset, model, seed, minutes
        self.directed = directed
        self.device, self.cache, self.verbose, self.options = device, cache, verbose, options

    def make_model(self) -> LinkModel:
        """The model that the parameters describe, not fitted; bad parameters are refused here."""
        if self.model is None or isinstance(self.model, str):
            network_alone = self.preset is not None or self.options
            name = self.model or ("llwlc" if network_alone else "blend")
            if self.preset is not None and name != "llwlc":
                raise InputError(
                    f"a preset is one of our network, and model={name!r} is another model: give one of them"
                )
            return self._make_network() if name == "llwlc" else make_model(name, **self.options)
        if self.preset is not None or self.options:
            raise InputError("a model of your own has its options already: leave preset and options out")
        if not isinstance(self.model, LinkModel):
            raise InputError(f"model is a name or a LinkModel, got {type(self.model).__name__}: see llwlc.models")
        register_unnamed(self.model)
        return self.model

    def _make_network(self) -> LinkModel:
        """Our network alone: what several processes can train together."""
        return make_model("llwlc", **({} if self.preset is None else {"preset": self.preset}), **self.options)

    @as_verbose
    @deduplicate_warnings()
    def fit(
        self,
        graph: Graph,
        *,
        split: LinkSplit | None = None,
        protocol: str = "random",
        out: Path | str | None = None,
        graph_name: str = "graph",
        node_types: Sequence[str] | None = None,
        negatives: Pairs | None = None,
        plan: Path | str | None = None,
        spent: float = 0.0,
        on_epoch: OnEpoch | None = None,
        on_forecast: OnForecast | None = None,
        on_plan: OnPlan | None = None,
        ranks: Ranks | None = None,
    ) -> LinkPredictor:
        """Trains, calibrates and measures on a split of the graph's links.

        Args:
            graph: the known links, with features where there are any.
            split: the split to use; by default one is made by `protocol` and the seed.
            protocol: a name of `splits.PROTOCOLS`.
            out: folder of the run. An interrupted run continues there from its last epoch when the same call is made
                again; a finished one is read, not repeated; a folder of another run is refused.
            graph_name: the name of the graph in the run; of a URL, a password is left out.
            node_types: the type of each node; missing links are then sought between types that known links join, or
                those of `recommend(between=...)`.
            negatives: pairs that are known to be no links; a file, or what `score` takes. They are divided among
                training, validation and test, trained on and measured as non-links, and never recommended.
            plan: folder of a run whose plan is repeated.
            spent: seconds of the budget that have passed already, in which the graph was read, for instance.
            on_epoch: called with the record of each epoch.
            on_forecast: called with the forecast before the long work begins.
            on_plan: called with the plan.
            ranks: this process's place among those that train together; all make the same call, and afterwards only the
                first has the run.

        Returns:
            This predictor, fitted.
        """
        begin = time.perf_counter() - spent
        check_fit_input("fit", graph, node_types, seed=self.seed, minutes=self.minutes, cache=self.cache)
        if self.directed:
            require_directions(graph)
        else:
            graph = graph.without_direction()
        model = self.make_model() if ranks is None or self.model is not None else self._make_network()
        run = fit_run(
            graph,
            model,
            make_fit_split(graph, split, protocol, negatives, seed=self.seed),
            seed=self.seed,
            device=self._device,
            cache=self._cache,
            out=None if out is None else Path(out),
            graph_name=redact(graph_name),
            parameters={
                "preset": self.preset,
                "model": None if self.model is None else model.name,
                "minutes": self.minutes,
                "directed": self.directed,
                "options": self._plain_options,
            },
            node_types=node_types,
            minutes=self.minutes,
            plan=None if plan is None else Path(plan),
            begin=begin,
            on_epoch=on_epoch,
            on_forecast=on_forecast,
            on_plan=on_plan,
            ranks=ranks,
        )
        return self if run is None else self._with(run)

    def _with(self, run: Run) -> LinkPredictor:
        for name in ("recommender_", "explainer_"):
            self.__dict__.pop(name, None)
        run.fitted.model.to(self._device)
        self.run_ = run
        return self

    @property
    def _cache(self) -> Path | None:
        return default_cache_folder() if self.cache == "auto" else None if self.cache is None else Path(self.cache)

    @property
    def _plain_options(self) -> dict[str, Any]:
        """The options as JSON; a function is named, as a run stores its name."""
        return {k: getattr(v, "__qualname__", v) if callable(v) else v for k, v in self.options.items()}

    @as_verbose
    def evaluate(self, protocol: str, *, seed: int = 0, on_epoch: OnEpoch | None = None) -> FitMetrics:
        """Trains the run's model again, with the same options, on another split of its graph, and returns what was
        measured; the run stays as it is.

        Args:
            protocol: a name of `splits.PROTOCOLS`.
            seed: seed of the split and of training.
            on_epoch: called with the record of each epoch.
        """
        with stage("splitting"):
            split, known = make(self.graph_, protocol=protocol, seed=seed), self.run_.split.known_neg
        split = split if known is None else with_known_negatives(split, self.graph_, known)
        print_notice(f"training {self.model_.title} again on a split of protocol {protocol}, seed {seed}")
        return fit_model(
            self.model_.fresh(),
            self.graph_,
            split,
            seed=seed,
            resources=Resources(torch.device(self._device), self._cache),
            rank_candidates=False,
            on_epoch=on_epoch,
        ).metrics

    def save(self, folder: Path | str) -> None:
        """Writes the run directory.

        Args:
            folder: a new folder, or that of the same run.
        """
        directory.save(Path(folder), self.run_)

    @classmethod
    def load(
        cls, folder: Path | str, *, device: str = "auto", cache: Path | str | None = "auto", verbose: bool = False
    ) -> LinkPredictor:
        """Reads a run directory, written here or on another machine.

        A run that was fitted with a constraint, start, readout or model that is not part of llwlc needs the module that
        registers it to be imported first; the error says so.

        Args:
            folder: the folder that `fit` or `save` wrote.
            device: "auto", "cpu" or "cuda".
            cache: where eigenbases are kept, "auto" for the user's cache, None for memory.
            verbose: whether calls show progress bars and notices on stderr.
        """
        run = directory.load(Path(folder))
        parameters = run.info.parameters
        loaded = cls(
            parameters["preset"],
            model=parameters["model"],
            seed=run.fitted.seed,
            minutes=parameters["minutes"],
            directed=parameters["directed"],
            device=device,
            cache=cache,
            verbose=verbose,
            **parameters["options"],
        )
        return loaded._with(run)


def predict_missing_links(graph: Any, top: int = 20, **parameters: Any) -> Recommendations:
    """The likeliest missing links of a graph, best first: `LinkPredictor(**parameters).fit(graph).recommend(top=top)`.

    Nodes have the names that they have in the input: a networkx graph's `str(node)`, the ids of a frame, and the row
    numbers of a matrix or of PyG's `Data`, as text.

    Args:
        graph: a networkx graph, a pandas or polars frame or an arrow table with a row for each link, a scipy sparse
            adjacency matrix, a homogeneous PyG `Data`, a `Graph`, or anything else that `Graph.read` takes.
        top: number of links.
        **parameters: those of `LinkPredictor`, as in `minutes=2` or `model="adamic-adar"`.

    >>> import networkx
    >>> found = predict_missing_links(networkx.karate_club_graph(), top=3, model="adamic-adar")
    >>> [(link.source, link.target) for link in found]
    [('2', '33'), ('0', '33'), ('1', '33')]
    """
    directed = parameters.get("directed", False)
    return LinkPredictor(**parameters).fit(as_graph(graph, directed=directed)).recommend(top=top)
