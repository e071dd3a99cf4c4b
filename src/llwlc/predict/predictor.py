"""LinkPredictor: from a graph to scored and recommended links in three calls."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from llwlc.baselines.opponent import FittedOpponent
from llwlc.bases.cache import cache_limit, default_cache
from llwlc.bases.encoded_links import messages_on
from llwlc.bases.warmup import warm_up
from llwlc.candidates.config import CandidateConfig
from llwlc.candidates.kinds import Kinds
from llwlc.candidates.lists import Lister
from llwlc.candidates.retrieval import Candidates, candidates
from llwlc.errors import InputError
from llwlc.explain.explainer import Explainer
from llwlc.explain.explanation import Explanation
from llwlc.graph.graph import Graph
from llwlc.graph.memory_table import TableSource, as_table, is_frame
from llwlc.graph.names import find_nodes, suggestion
from llwlc.graph.pair_file import read_pairs
from llwlc.nn import warmup as network_warmup
from llwlc.predict import run_directory
from llwlc.predict.engine import Engine
from llwlc.predict.folder import finished, made
from llwlc.predict.model_card import Model, result_columns, result_notes, result_rows
from llwlc.predict.opponent import Opponent, in_its_place
from llwlc.predict.plan_file import write_plan
from llwlc.predict.planning import OnPlan, kept_plan, new_plan, plan_before, plan_of
from llwlc.predict.ranking import Recommendation, Recommendations, cut_at, described, ratio_for_prior
from llwlc.predict.run_directory import CHECKPOINT, Run
from llwlc.predict.run_format import KINDS, RunInfo
from llwlc.predict.scored_table import ScoredTable, Scores, with_scores
from llwlc.predict.update import moved, updated_graph
from llwlc.splits.linksplit import LinkSplit
from llwlc.splits.making import make
from llwlc.splits.registry import PROTOCOLS
from llwlc.subgraphs.extraction import check_pairs
from llwlc.support.devices import pick_device
from llwlc.support.figures import new_figure
from llwlc.support.html_table import html_table
from llwlc.support.progress import bars, notice
from llwlc.support.repeated_warnings import once_each
from llwlc.support.text import quoted
from llwlc.training.calibration import log_odds
from llwlc.training.candidate_calibration import CandidateCalibration, missing_per_known
from llwlc.training.checkpoint import Checkpoint
from llwlc.training.fingerprint import fingerprint
from llwlc.training.fit import Fitted, OnForecast, fit_split
from llwlc.training.helping import help_fit
from llwlc.training.list_quality import RankingReport
from llwlc.training.loop import OnEpoch
from llwlc.training.node_features import NodeFeatures
from llwlc.training.plan import in_words
from llwlc.training.presets import PRESETS, Preset
from llwlc.training.presets import preset as find_preset
from llwlc.training.ranking import RankingConfig, drawn_sources, lister_of, rank
from llwlc.training.ranking_report import expected_share, hide, measure_ranking
from llwlc.training.ranks import Ranks
from llwlc.training.records import FitMetrics
from llwlc.training.scoring import RANDOM, PairScorer

DEFAULT = next(iter(PRESETS))
Pairs = Any
"""Node numbers `[m, 2]` as a tensor or an array; or names, as `memory_table.TableSource`."""


class LinkPredictor:
    """Predicts the missing links of a graph.

    Args:
        preset: "anchored" (ours, the default), "paper", "paper-query" or "unconstrained".
        method: an opponent instead (`llwlc.baselines.names()`), whose recipe the options change.
        device: "auto", "cpu" or "cuda".
        cache: where eigenbases are kept, "auto" for the user's cache, None for memory.
        **options: single settings of the preset that change, as in `LinkPredictor(epochs=10, constraints="neumann")`.

    Shapes: `score` takes pairs `[m, 2]` and returns `score [m]` and `probability [m]`.

    >>> import networkx
    >>> graph = Graph.from_networkx(networkx.karate_club_graph())
    >>> model = LinkPredictor(method="adamic-adar").fit(graph)    # LinkPredictor() trains our network, which takes minutes
    >>> model.score([("0", "33"), ("0", "9")]).score.round(decimals=2).tolist()
    [2.71, 0.43]
    >>> len(model.recommend(top=3))
    3
    """

    def __init__(
        self,
        preset: str | None = None,
        *,
        method: str | None = None,
        device: str = "auto",
        cache: Path | str | None = "auto",
        **options: Any,
    ) -> None:
        if "seed" in options:
            raise InputError("the seed belongs to a fit, as in LinkPredictor().fit(graph, seed=5)")
        if preset is not None and method is not None:
            raise InputError("a preset is one of our network, a method is an opponent: give one of them")
        if method is not None:
            Opponent(method, options).check()
        preset = preset or DEFAULT
        self.explicit = frozenset(options)
        self._set_up(
            method or preset,
            find_preset(preset, **(options if method is None else {})),
            device,
            cache,
            opponent=None if method is None else Opponent(method, options),
        )

    def _set_up(
        self,
        name: str,
        preset: Preset,
        device: str,
        cache: Path | str | None,
        run: Run | None = None,
        opponent: Opponent | None = None,
    ) -> None:
        self.preset_name, self.preset, self.opponent = name, preset, opponent
        self.device = str(pick_device(device))
        self.cache = default_cache() if cache == "auto" else None if cache is None else Path(cache)
        self._run = run
        self._found: dict[tuple[tuple[str, str] | None, int | None, int | None], Candidates] = {}
        self._explainer: Explainer | None = None

    @once_each()
    def fit(
        self,
        graph: Graph,
        *,
        split: LinkSplit | None = None,
        protocol: str = "random",
        seed: int = 0,
        out: Path | str | None = None,
        graph_name: str = "graph",
        kinds: Sequence[str] | None = None,
        minutes: float | None = None,
        spent: float = 0.0,
        plan: Path | str | None = None,
        on_epoch: OnEpoch | None = None,
        on_forecast: OnForecast | None = None,
        on_plan: OnPlan | None = None,
        ranks: Ranks | None = None,
    ) -> LinkPredictor:
        """Trains, calibrates and measures on a split of the graph's links.

        With a budget (`minutes`), if an untrained score does better on validation than the network, the run ranks by that score.

        Args:
            graph: the known links, with features where there are any.
            split: the split to use; by default one is made by `protocol` and `seed`.
            protocol: a name of `splits.PROTOCOLS`.
            seed: seed of the split and of training.
            out: folder of the run. An interrupted run continues there from its last epoch when the same call is made again; a finished one is read, not repeated; a folder of another run is refused.
            graph_name: the name of the graph in the run.
            kinds: the kind of each node; missing links are then sought between kinds that known links join, or those of `recommend(between=...)`.
            minutes: time budget. From a short measurement, a plan decides what to leave out so that the fit ends in time; it is stored in the run.
            spent: seconds of the budget that are gone already, in which the graph was read, for instance.
            plan: folder of a run whose plan is repeated.
            on_epoch: called with the record of each epoch.
            on_forecast: called with the forecast before the long work begins.
            on_plan: called with the plan.
            ranks: this process's place among those that train together; all make the same call, and afterwards only the first has the run.

        Returns:
            This predictor, fitted.
        """
        begin = time.perf_counter() - spent
        if not isinstance(graph, Graph):
            raise InputError(
                f"fit takes a Graph, got {type(graph).__name__}: llwlc.datasets.load(name) or Graph.read(path) gives one"
            )
        if kinds is not None and len(kinds) != graph.num_nodes:
            raise InputError(
                f"kinds names {len(kinds):,} kinds, one for each node, but the graph has {graph.num_nodes:,} nodes"
            )
        if self.cache is not None:
            cache_limit()  # a bad one is refused now, not when the first bases are stored
        labels = None if kinds is None else tuple(map(str, kinds))
        self.preset = self.preset.changed(seed=seed)
        self.opponent = None if self.opponent is None else replace(self.opponent, seed=seed)
        self._found, self._explainer = {}, None
        split = make(graph, protocol=protocol, seed=seed) if split is None else split
        folder = None if out is None else Path(out)
        if ranks is not None and not ranks.first:
            help_fit(graph, split, ranks, device=torch.device(self.device), cache=self.cache, owner=folder)
            return self
        allowed = None if labels is None else Kinds.as_linked(labels, split.train_graph)
        written, compact = None, None
        if minutes is not None or plan is not None:
            if self.opponent is not None:
                raise InputError("an opponent follows its recipe and knows no plan: leave minutes and plan out")
            base = fingerprint(graph, split, self.preset, labels)
            written = plan_before(folder, base)
            if written is not None:
                notice(kept_plan(written, str(folder), minutes))
            elif plan is not None:
                written = plan_of(Path(plan), base, self.preset, self.explicit)
                notice(f"as in {plan}: {in_words(written.preset, written.cost)}")
            elif minutes is not None and not (folder is not None and finished(folder, base)):
                written, compact = new_plan(
                    graph, split, self.preset, minutes, base,
                    kept=self.explicit, kinds=allowed, device=self.device, begin=begin, on_plan=on_plan,
                )  # fmt: skip
            self.preset = self.preset if written is None else written.preset
        mark = fingerprint(graph, split, self.opponent or self.preset, labels)
        done = None if folder is None else finished(folder, mark)
        if folder is not None and done is not None:
            self._run = run_directory.load(folder, done)
            run_directory.sweep(folder)
            if ranks is not None:
                ranks.announce(None)  # the other processes have nothing to do
            return self
        if self.device == "cpu" and self.opponent is None:  # kernels compile while bases are computed
            network_warmup.begin(self.preset.net, network_warmup.TRAINING, network_warmup.SCORING)
        with nullcontext() if folder is None else made(folder):
            checkpoint = None if folder is None else Checkpoint(folder / CHECKPOINT, mark)
            if folder is not None and written is not None:
                write_plan(folder, written)
            fitted: Model
            if self.opponent is not None:
                fitted = self.opponent.fit(graph, split, self.device, checkpoint, kinds=allowed, on_epoch=on_epoch)
            else:
                fitted = fit_split(
                    graph,
                    split,
                    self.preset,
                    device=self.device,
                    cache=self.cache,
                    checkpoint=checkpoint,
                    compact=compact,
                    kinds=allowed,
                    on_epoch=on_epoch,
                    on_forecast=on_forecast if written is None else None,
                    ranks=ranks,
                )
                if written is not None and fitted.rival is not None:
                    fitted = in_its_place(fitted.rival, graph, split, allowed, self.preset, self.device)
            needs = {} if isinstance(fitted, FittedOpponent) else _needs(fitted.preset)
            info = RunInfo(graph_name, self.preset_name, mark, None, needs)
            self._run = Run(fitted, replace(graph, report=None), split, info, labels, written)
            if folder is not None:
                run_directory.save(folder, self._run)
                run_directory.sweep(folder)
        return self

    def __repr__(self) -> str:
        state = "not fitted" if self._run is None else f"fitted on {self._run.graph}"
        return f"LinkPredictor({self.preset_name!r}, {state})"

    def _repr_html_(self) -> str:
        if self._run is None:
            return html_table(repr(self), (), [])
        split = self.run.split
        columns, rows, notes = result_columns(split), result_rows(self.model, split), result_notes(self.model, split)
        return html_table(f"{self.run.info.graph_name}: {notes}", columns, rows)

    def plot(self) -> Any:
        """Validation AUC by epoch, as a matplotlib figure (extra `plots`)."""
        history = self.model.history
        figure, axes = new_figure()
        axes.plot([r.epoch for r in history], [r.valid_auc for r in history], label="random pairs")
        if history and history[0].valid_candidates is not None:
            axes.plot([r.epoch for r in history], [r.valid_candidates for r in history], label="candidates")
        axes.set(xlabel="epoch", ylabel="validation AUC")
        axes.legend()
        return figure

    @property
    def run(self) -> Run:
        """The fitted run: graph, split, model and what is known about them; an error before `fit` or `load`."""
        if self._run is None:
            raise InputError("this predictor is not fitted yet: call fit(graph) or LinkPredictor.load(folder)")
        return self._run

    @property
    def model(self) -> Model:
        """The fitted model, our network or an opponent."""
        return self.run.fitted

    @property
    def fitted(self) -> Fitted:
        """The fitted network; an error in the run of an opponent, which has none."""
        if isinstance(self.model, FittedOpponent):
            raise InputError(
                f"this is a run of {self.model.title}, which has no constrained eigenbasis: fit without --method, or with --plan full"
            )
        return self.model

    @property
    def graph(self) -> Graph:
        """The graph of all known links that the run was fitted on."""
        return self.run.graph

    @property
    def metrics(self) -> FitMetrics:
        """What was measured on the test links."""
        return self.model.metrics

    def score(self, pairs: Pairs, *, prior: float = 0.5, graph: Graph | None = None, unknown: str = "error") -> Scores:
        """Scores of pairs on all known links, or on another graph. A score depends on the pair and the graph alone: not on the other pairs, their order, nor the order of the two ends.

        Args:
            pairs: node numbers `[m, 2]`, or names: a list of pairs, an array of text, or a frame with two columns called source and target (or the like).
            prior: share of the pairs that are expected to be links; probabilities are calibrated for it.
            graph: another graph with nodes of the same kind (`updated_graph`), instead of the run's.
            unknown: a pair with a node that the graph does not have is an "error", or has NaN for its score ("blank").

        Returns:
            `score [m]` and `probability [m]`.
        """
        if unknown not in ("error", "blank"):
            raise InputError(
                f"unknown is 'error' or 'blank' here, got {unknown!r}: score_table leaves rows out ('skip') and says which"
            )
        odds = log_odds(prior)
        model, at = (self, None) if graph is None else self._on(graph)
        where = model.graph
        if unknown == "blank" and not _are_numbers(pairs):
            wanted = read_pairs(pairs, where, unknown="blank")
            known = model._scores(check_pairs(where, wanted.pairs), odds)
            score = torch.full((wanted.table.num_rows,), math.nan, dtype=torch.float64)
            probability = score.clone()
            rows = torch.from_numpy(wanted.rows)
            score[rows], probability[rows] = known.score, known.probability.double()
            return Scores(score, probability)
        if at is not None and _are_numbers(pairs) and graph is not None:
            return model._scores(at[check_pairs(graph, self.numbers(pairs, graph))], odds)
        return model._scores(check_pairs(where, self.numbers(pairs, where)), odds)

    def score_table(
        self,
        pairs: TableSource,
        *,
        prior: float = 0.5,
        graph: Graph | None = None,
        source: str | None = None,
        target: str | None = None,
        unknown: str = "error",
        **reading: Any,
    ) -> ScoredTable:
        """A table of pairs with the added columns score and probability: a pandas or polars frame for a frame, an arrow table for a file or a list.

        The columns of the input keep their names and order; one called score or probability gets the suffix `_given`.

        Args:
            pairs: a file, a frame, an arrow table or a list of pairs of names.
            prior: share of the pairs that are expected to be links; probabilities are calibrated for it.
            graph: another graph with nodes of the same kind (`updated_graph`), instead of the run's.
            source: the column of one end; by default it is found.
            target: the column of the other end.
            unknown: a pair that cannot be scored, since the graph does not have its nodes, is an "error", is left out ("skip") or has no score ("blank").
            **reading: further options of `pair_file.read_pairs`.
        """
        odds = log_odds(prior)
        model = self if graph is None else self._on(graph)[0]
        wanted = read_pairs(pairs, model.graph, source=source, target=target, unknown=unknown, **reading)
        return with_scores(wanted, model._scores(wanted.pairs, odds), unknown=unknown, source=pairs)

    def updated_graph(self, **sources: Any) -> Graph:
        """The graph as it is now, for `score` and `recommend`.

        Args:
            **sources: files or frames: `graph` replaces the run's graph, the links of `add` are added, `node_list` names nodes that are in the graph even without
                links, `features` are those of nodes that the run does not know; further options are those of `predict.update.updated_graph`.
        """
        return updated_graph(self.graph, **sources)

    def _on(self, graph: Graph) -> tuple[LinkPredictor, Tensor | None]:
        """The same model on another graph, and the number that each node of that graph has in it; None if numbers stay the same."""
        run, at = moved(self.run, graph)
        model = LinkPredictor.__new__(LinkPredictor)
        model.explicit = self.explicit
        model._set_up(self.preset_name, self.preset, self.device, self.cache, run, self.opponent)
        return model, at

    def _scores(self, numbers: Tensor, odds: float) -> Scores:
        scorer = self._scorer(self.graph, self.model.features)
        score, at = torch.zeros(len(numbers), dtype=torch.float64), 0
        with bars() as progress:
            task = progress.add_task("scoring pairs", total=len(numbers))
            for part in scorer.pairs(messages_on(self.graph, scorer.device), numbers, self.model.basis):
                score[at : at + len(part)] = part
                at += len(part)
                progress.advance(task, len(part))
        return Scores(score, self.model.calibration.at(score, odds))

    def logits(self, pairs: Tensor, *, output: int = RANDOM) -> Tensor:
        """The network's logits of pairs on the run's graph, before calibration.

        Args:
            pairs: node numbers `[m, 2]`.
            output: `RANDOM` for the output for random pairs, `CANDIDATES` for that for candidates (`llwlc.training.scoring`).

        Returns:
            Logits `[m]`, float64.
        """
        scorer = self._scorer(self.graph, self.model.features)
        messages = messages_on(self.graph, scorer.device)
        parts = scorer.pairs(messages, check_pairs(self.graph, pairs), self.model.basis, output)
        return torch.cat([torch.zeros(0, dtype=torch.float64), *parts])

    def recommend(
        self,
        *,
        node: Any = None,
        top: int | None = None,
        precision: float | None = None,
        missing_share: float | None = None,
        prior: float | None = None,
        between: tuple[str, str] | None = None,
        budget: int | None = None,
        sources: int | None = None,
        graph: Graph | None = None,
        engine: Engine | None = None,
    ) -> Recommendations:
        """The missing links of the whole graph, or of one node, best first.

        Candidates are the partners on nodes' own lists (`candidates.config`); the network ranks the most promising ones. A probability is the chance of a candidate to be a missing link if a share
        `missing_share` of all links, known and missing, is missing.

        Args:
            node: the name of a node, for links of this node only.
            top: number of links; by default 20, unless `precision` is given.
            precision: instead of `top`, the longest list of which this share is expected to be missing links.
            missing_share: the assumed share of missing links; by default that of the validation links.
            prior: instead of `missing_share`, the assumed share of candidates that are missing links.
            between: two kinds of nodes, of those given to `fit`, that the links must join.
            budget: most candidates that a node may propose.
            sources: use the lists of so many nodes only, drawn at random.
            graph: another graph with nodes of the same kind (`updated_graph`), instead of the run's.
            engine: workers that make the lists and score the pairs instead of this process.
        """
        if graph is not None:
            return self._on(graph)[0].recommend(
                node=node, top=top, precision=precision, missing_share=missing_share, prior=prior, between=between, budget=budget, sources=sources
            )  # fmt: skip
        for name, value in (("top", top), ("budget", budget), ("sources", sources)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise InputError(f"{name} is a whole number of at least 1, got {value!r}")
        if top is not None and precision is not None:
            raise InputError("top and precision both say how many links to name: give one of them")
        if missing_share is not None and prior is not None:
            raise InputError("missing_share and prior both say how many links are missing: give one of them")
        rho = None if missing_share is None else missing_per_known(missing_share)
        if prior is not None:
            log_odds(prior)  # a bad prior is refused before the work
        if precision is not None:
            cut_at(torch.zeros(0), precision)
        here, features, config = self.graph, self.model.features, self._ranking
        number = None if node is None else int(self.numbers([(node, node)], here)[0, 0])
        if number is not None and sources is not None:
            raise InputError(
                "node asks for one node's links and sources for those of nodes drawn at random: give one of them"
            )
        if engine is not None and sources is not None:
            raise InputError("an engine makes the lists of all nodes: leave sources out")
        before = None
        if number is not None and engine is None and self._lists_are_cut(budget):
            alone = replace(self.lister(between, budget), proposing=1)
            found = candidates(alone, sources=np.array([number]), about="")
            total, usual = len(found), config.candidates.budget_for(here.num_nodes)
            before = usual if usual < alone.budget else None
        else:
            found = self._candidates(between, budget, sources, engine)
            total = len(found)
            if number is not None:
                own = found.of(number)
                found = replace(found, pairs=found.pairs[own], score=found.score[own])
        scorer = self._scorer(here, features) if engine is None else engine
        ranked = rank(here, found, features, scorer, self.model.basis, config, size=self.model.limits.shortlist)
        if prior is not None:
            rho = ratio_for_prior(ranked, len(found), prior)
        rho = config.missing_per_known if rho is None else rho
        if precision is not None:
            top = cut_at(torch.sigmoid(ranked.log_ratio + math.log(rho)), precision)
        top = 20 if top is None else top
        links = described(here, ranked, config, rho, top)
        if number is not None:
            links = tuple(_first(link, here.name(number)) for link in links)
        expected = expected_share(ranked, config, rho, len(links))
        some = None if sources is None or sources >= here.num_nodes else sources
        return Recommendations(links, rho, expected, total, self.model.ranking is not None, some, before)

    def explain(self, u: Any, v: Any, **options: Any) -> Explanation:
        """Explains why a pair has its score. The explanation of (v, u) is the same; an existing link is explained as if it did not exist.

        Args:
            u: one end, by name.
            v: the other end, by name.
            **options: those of `explain.explainer.Explainer.explain`: `population` ("random" for the score of `score`, "candidates" for that of `recommend`), `prior`, `missing_share`, `max_edges`.
        """
        numbers = self.numbers([(u, v)], self.graph)
        if numbers[0, 0] == numbers[0, 1]:  # by its name: whoever asks does not know its number
            raise InputError(f"an explanation is of a pair of two nodes, got {quoted(u)} twice")
        pair = check_pairs(self.graph, numbers)[0].tolist()
        return self.explainer.explain(*pair, **options)

    @property
    def explainer(self) -> Explainer:
        """The explainer of this run, made once and shared by all explanations."""
        if self._explainer is None:
            warm_up(self.graph, self.fitted.preset.basis)
            self._explainer = Explainer(self.graph, self.fitted, self._ranking, self.run.split.valid_neg)
        return self._explainer

    @property
    def _ranking(self) -> RankingConfig:
        fitted, prior = self.model, self.run.info.candidate_prior
        if fitted.ranking is not None:
            return fitted.ranking
        prior = 0.5 if prior is None else prior
        curves = CandidateCalibration.as_random(fitted.calibration)
        return RankingConfig(CandidateConfig(), None, curves, prior / (1 - prior))

    def lister(self, between: tuple[str, str] | None = None, budget: int | None = None) -> Lister:
        """The object that makes the nodes' own lists of candidates on the run's graph.

        Args:
            between: two kinds of nodes that candidates must join; None for all.
            budget: most candidates that a node may propose; None for the run's own.
        """
        config = self._ranking.candidates
        config = config if budget is None else replace(config, budget=budget)
        if between is not None and self.run.kinds is None:
            raise InputError("this run knows no kinds of nodes: fit with a column of them (--kind COLUMN)")
        kinds = None if between is None or self.run.kinds is None else Kinds.between(self.run.kinds, *between)
        kinds = self._kinds(self.graph) if kinds is None else kinds
        return lister_of(self.graph, self.model.features, config, kinds=kinds, device=self.device)

    def _candidates(
        self, between: tuple[str, str] | None, budget: int | None, sources: int | None, engine: Engine | None = None
    ) -> Candidates:
        """The candidates of the run's graph, or of some of its nodes, computed once: the list of the whole graph and the list of a node use the same pairs."""
        key = (between, budget, sources)
        if key not in self._found:
            drawn = drawn_sources(self.graph.num_nodes, sources, self.run.split.seed)
            lists = None if engine is None else engine.lists
            self._found = {key: candidates(self.lister(between, budget), sources=drawn, lists=lists)}
        return self._found[key]

    def _lists_are_cut(self, budget: int | None) -> bool:
        """Whether lists of all nodes would be shorter than asked, or were more than the plan of the run allowed: then the list of one node is its own, in full, and no other is made."""
        config, n, some = self._ranking.candidates, self.graph.num_nodes, self.model.limits.sources
        wanted = config if budget is None else replace(config, budget=budget)
        return wanted.budget_for(n) < wanted.budget or (some is not None and some < n)

    def _kinds(self, graph: Graph) -> Kinds | None:
        return None if self.run.kinds is None else Kinds.as_linked(self.run.kinds, graph)

    def evaluate(self, protocol: str, *, seed: int = 0, on_epoch: OnEpoch | None = None) -> FitMetrics:
        """Trains with the run's options on another split of its graph, and returns what was measured.

        Args:
            protocol: a name of `splits.PROTOCOLS`.
            seed: seed of the split and of training.
            on_epoch: called with the record of each epoch.
        """
        graph = self.graph
        if isinstance(self.model, FittedOpponent):
            again = Opponent.of(self.model, seed)
            split = make(graph, protocol=protocol, seed=seed)
            return again.fit(graph, split, self.device, None, on_epoch=on_epoch, rank_candidates=False).metrics
        fitted = self.fitted
        compact = fitted.features.compact
        if graph.x is None and compact is not None:
            if PROTOCOLS[protocol].features:
                raise InputError(
                    f"protocol {protocol!r} draws negatives by raw features, and this run, first written by an older version, "
                    "keeps compact ones only: fit again"
                )
            graph = replace(graph, x=compact)
        return fit_split(
            graph,
            make(graph, protocol=protocol, seed=seed),
            fitted.preset.changed(seed=seed),
            device=self.device,
            cache=self.cache,
            compact=None if compact is None else (fitted.compactor, compact),
            rank_candidates=False,
            on_epoch=on_epoch,
        ).metrics

    def evaluate_ranking(self, *, hidden: str = "test") -> RankingReport:
        """How well `recommend` finds the links that the run's split hides: candidates, precision and average precision, beside the untrained scores.

        Args:
            hidden: "test" for the test links, or "held-out" for validation and test links together, found from the training links alone.
        """
        split, features = self.run.split, self.model.features
        task = hide(split, hidden)
        return measure_ranking(
            task,
            features,
            self._scorer(task.graph, features),
            self.model.basis,
            self._ranking,
            kinds=self._kinds(task.graph),
            device=self.device,
            size=self.model.limits.shortlist,
            title=self.model.title,
        )

    def numbers(self, pairs: Pairs, graph: Graph) -> Tensor:
        """Pairs as node numbers: names are looked up, numbers stay as they are.

        Args:
            pairs: node numbers `[m, 2]`, or names in any form that `score` takes.
            graph: the graph whose nodes they are.

        Returns:
            Node numbers `[m, 2]`.
        """
        if _are_numbers(pairs):
            return torch.as_tensor(pairs)
        if is_frame(pairs):
            return read_pairs(pairs, graph).pairs
        flat = [name for column in as_table(pairs).columns for name in column.to_pylist()]
        at = find_nodes(pa.array(flat, pa.string()), graph.names, graph.num_nodes)
        if (at < 0).any():
            unknown = flat[int(np.flatnonzero(at < 0)[0])]
            raise InputError(f"the graph has no node {unknown!r}.{suggestion(unknown, graph.names, graph.num_nodes)}")
        return torch.as_tensor(at).reshape(2, -1).T.contiguous()

    def save(self, folder: Path | str) -> None:
        """Writes the run directory.

        Args:
            folder: a new folder, or that of the same run.
        """
        run_directory.save(Path(folder), self.run)

    @classmethod
    def load(cls, folder: Path | str, *, device: str = "auto", cache: Path | str | None = "auto") -> LinkPredictor:
        """Reads a run directory, written here or on another machine.

        A run that was fitted with a constraint, start or readout that is no part of llwlc needs the module that registers it to be imported first; the error says so.

        Args:
            folder: the folder that `fit` or `save` wrote.
            device: "auto", "cpu" or "cuda".
            cache: where eigenbases are kept, "auto" for the user's cache, None for memory.
        """
        run = run_directory.load(Path(folder))
        model = cls.__new__(cls)
        model.explicit = frozenset()
        fitted, opponent = run.fitted, None
        if isinstance(fitted, FittedOpponent):
            opponent = Opponent.of(fitted, int(fitted.config["seed"]))
        preset = find_preset(DEFAULT) if isinstance(fitted, FittedOpponent) else fitted.preset
        model._set_up(run.info.preset_name, preset, device, cache, run, opponent)
        return model

    def _scorer(self, graph: Graph, features: NodeFeatures) -> PairScorer:
        if not isinstance(self.model, FittedOpponent):
            compiled = self.device == "cpu"
            if compiled:  # these kernels compile while those of the bases do
                network_warmup.begin(self.model.preset.net, network_warmup.SCORING)
            warm_up(graph, self.model.basis)
            if compiled:
                network_warmup.warm_up(self.model.preset.net, network_warmup.SCORING)
        return self.model.scorer(self.device, features)

    def check_graph(self, graph: Graph) -> None:
        """Raises an error for a graph that `score` cannot use.

        Args:
            graph: the graph to check.
        """
        self._on(graph)


def _are_numbers(pairs: Pairs) -> bool:
    """Whether pairs are node numbers: only tensors and arrays of numbers are, everything else holds names."""
    return isinstance(pairs, Tensor) or (isinstance(pairs, np.ndarray) and pairs.dtype.kind not in "USO")


def _first(link: Recommendation, name: str) -> Recommendation:
    """The link with the node of this name as its source."""
    return link if link.source == name else replace(link, source=link.target, target=link.source)


def _needs(preset: Preset) -> dict[str, dict[str, str]]:
    """The code beyond this package that a run of this preset needs: its digest, and its file."""
    needs = {}
    for need, digest in preset.code.items():
        kind, _, name = need.partition(" ")
        try:
            file = Path(inspect.getsourcefile(KINDS[kind][name].load()) or "").name
        except TypeError:
            file = ""
        needs[need] = {"digest": digest, "file": file}
    return needs
