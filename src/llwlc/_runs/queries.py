"""Queries: what a fitted predictor is asked: scores, lists, explanations."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from llwlc._candidates.scope import CandidateScope
from llwlc._fitting.fit import FitResult
from llwlc._fitting.fit_metrics import FitMetrics
from llwlc._io.memory_table import TableSource
from llwlc._runs import recommender, scoring
from llwlc._runs.direction_reasons import explain_direction
from llwlc._runs.directory import Run
from llwlc._runs.model_card import plot_history, result_columns, result_notes, result_rows
from llwlc._runs.new_nodes import are_new, recommend_for_new_nodes
from llwlc._runs.update import transfer_run, updated_graph
from llwlc._support.devices import pick_device
from llwlc._support.html_table import html_table
from llwlc._support.progress import as_verbose
from llwlc._support.stopwatch import stage
from llwlc._support.text import quote_text
from llwlc.errors import InputError, NotFittedError
from llwlc.explain._explainer import Explainer
from llwlc.explain._explanation import Explanation
from llwlc.graph._graph import Graph
from llwlc.graph._name_file import read_node_set
from llwlc.graph._pair_file import resolve_known_pairs, resolve_pairs
from llwlc.models._base import LinkModel
from llwlc.ranking._engine import Engine
from llwlc.ranking._list_quality import RankingReport
from llwlc.ranking._recommendations import Recommendations
from llwlc.ranking._recommender import Recommender, RecommendRequest
from llwlc.ranking._scored_table import ScoredTable, Scores
from llwlc.subgraphs._link_inputs import check_pairs

Pairs = Any
"""Node numbers `[m, 2]` as a tensor or an array; or names, as `memory_table.TableSource`."""
Nodes = Any
"""Names of nodes, as `memory_table.TableSource`, or node numbers as a tensor or an array of integers."""


class Queries:
    """The methods of a predictor that has a run, `run_`; before `fit` or `load` they raise an error."""

    run_: Run
    device: str
    verbose: bool

    def __getattr__(self, name: str) -> Any:
        if name.endswith("_") and not name.startswith("_"):
            raise NotFittedError("this predictor is not fitted yet: call fit(graph) or LinkPredictor.load(folder)")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def _device(self) -> str:
        return str(pick_device(self.device))

    @property
    def fitted_(self) -> FitResult:
        """The fitted model with its calibration, features and measurements."""
        return self.run_.fitted

    @property
    def model_(self) -> LinkModel:
        """The fitted model."""
        return self.run_.fitted.model

    @property
    def graph_(self) -> Graph:
        """The graph of all known links that the run was fitted on."""
        return self.run_.graph

    @property
    def metrics_(self) -> FitMetrics:
        """What was measured on the test links."""
        return self.run_.fitted.metrics

    @cached_property
    def recommender_(self) -> Recommender:
        """Finds and ranks candidates; what all lists share is computed once."""
        return recommender.make_recommender(self.run_, self._device)

    @cached_property
    def explainer_(self) -> Explainer:
        """Explains scores; what all explanations share is computed once."""
        return Explainer.of(self.graph_, self.fitted_, self.recommender_.config, self.run_.split.valid_neg)

    @as_verbose
    def score(self, pairs: Pairs, *, prior: float = 0.5, graph: Graph | None = None, unknown: str = "error") -> Scores:
        """Scores of pairs on all known links, or on another graph. A score depends on the pair and the graph alone: not
        on the other pairs, their order, nor the order of the two ends.

        Args:
            pairs: node numbers `[m, 2]`, or names: a list of pairs, an array of text, or a frame with two columns
                called source and target (or the like).
            prior: share of the pairs that are expected to be links; probabilities are calibrated for it.
            graph: another graph with nodes of the same kind (`updated_graph`), instead of the run's.
            unknown: a pair with a node that the graph does not have is an "error", or has NaN for its score ("blank").

        Returns:
            `score [m]` and `probability [m]`.
        """
        return scoring.score(self.run_, pairs, prior=prior, graph=graph, unknown=unknown)

    @as_verbose
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
        """A table of pairs with the added columns score and probability: a pandas or polars frame for a frame, an arrow
        table for a file or a list.

        The columns of the input keep their names and order; one called score or probability gets the suffix `_given`.

        Args:
            pairs: a file, a frame, an arrow table or a list of pairs of names.
            prior: share of the pairs that are expected to be links; probabilities are calibrated for it.
            graph: another graph with nodes of the same kind (`updated_graph`), instead of the run's.
            source: the column of one end; by default it is found.
            target: the column of the other end.
            unknown: a pair that cannot be scored, since the graph does not have its nodes, is an "error", is left out
                ("skip") or has no score ("blank").
            **reading: further options of `pair_file.read_pairs`.
        """
        return scoring.score_table(
            self.run_, pairs, prior=prior, graph=graph, unknown=unknown, source=source, target=target, **reading
        )

    @as_verbose
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
        exclude: Pairs | None = None,
        among: Nodes | None = None,
        source_nodes: Nodes | None = None,
        target_nodes: Nodes | None = None,
        graph: Graph | None = None,
        engine: Engine | None = None,
    ) -> Recommendations:
        """The missing links of the whole graph, or of one node, best first.

        Candidates are the partners on nodes' candidate lists (`_candidates.config`); the model ranks the most promising
        ones. A probability is the chance of a candidate to be a missing link if a share `missing_share` of all links,
        known and missing, is missing.

        Args:
            node: the name of a node, for links of this node only.
            top: number of links; by default 20, unless `precision` is given.
            precision: instead of `top`, the longest list with an expected precision of at least this.
            missing_share: the share of missing links; if not given, that of the validation links is assumed.
            prior: instead of `missing_share`, the assumed share of candidates that are missing links.
            between: two node types, of those given to `fit`, that the links must join.
            budget: maximum number of candidates that a node may propose.
            sources: use the lists of a random sample of this many nodes only.
            exclude: pairs that are never proposed; a file, or what `score` takes.
            among: nodes that both ends of a link must be among; a file or a list of names, or node numbers as an array.
            source_nodes: nodes of which one, the source, must be an end of a link, as in `among`.
            target_nodes: nodes of which the other end must be one. Lists are made for the pairs that are left, so none
                is shorter for the others.
            graph: another graph with nodes of the same kind (`updated_graph`), instead of the run's.
            engine: workers that make the lists and score the pairs instead of this process.
        """
        request = RecommendRequest(top, precision, missing_share, prior, between, budget, sources)
        if graph is not None and engine is not None:
            raise InputError("an engine works on the run's own graph: leave graph out, or engine")
        graph_asked = self.graph_ if graph is None else graph
        number = None if node is None else int(resolve_pairs([(node, node)], graph_asked)[0, 0])
        sets = {"among": among, "source_nodes": source_nodes, "target_nodes": target_nodes}
        numbers = {k: None if nodes is None else read_node_set(nodes, graph_asked) for k, nodes in sets.items()}
        scope = CandidateScope.of(
            graph_asked.num_nodes,
            **numbers,
            excluded=None if exclude is None else resolve_known_pairs(exclude, graph_asked, what="excluded pairs"),
        )
        request = replace(request, scope=scope)
        if graph is not None and are_new(self.run_, graph, number, numbers["source_nodes"]):
            asked = numbers["source_nodes"] if number is None else np.array([number])
            assert asked is not None
            return recommend_for_new_nodes(self.run_, graph, asked, request)
        here = (
            self.recommender_
            if graph is None
            else recommender.transfer_recommender(self.recommender_, self.run_, graph)
        )
        return here.recommend(request, node=number, engine=engine)

    @as_verbose
    @stage("explaining")
    def explain(self, u: Any, v: Any, **options: Any) -> Explanation:
        """Explains why a pair has its score. The explanation of (v, u) is the same; an existing link is explained as if
        it did not exist.

        Args:
            u: one end, by name.
            v: the other end, by name.
            **options: those of `explain._explainer.Explainer.explain`: `population` ("random" for the score of `score`,
                "candidates" for that of `recommend`), `prior`, `missing_share`, `max_edges`.
        """
        numbers = resolve_pairs([(u, v)], self.graph_)
        if numbers[0, 0] == numbers[0, 1]:  # by its name: whoever asks does not know its number
            raise InputError(f"an explanation is of a pair of two nodes, got {quote_text(u)} twice")
        pair = check_pairs(self.graph_, numbers)[0].tolist()
        explanation = self.explainer_.explain(*pair, **options)
        direction = explain_direction(self.run_, numbers[0])
        return explanation if direction is None else replace(explanation, direction=direction)

    @as_verbose
    def evaluate_ranking(self, *, hidden: str = "test") -> RankingReport:
        """How well `recommend` finds the links that the run's split hides: candidates, precision and average precision,
        beside the heuristics.

        Args:
            hidden: "test" for the test links, or "held-out" for validation and test links together, found from the
                training links alone.
        """
        return recommender.measure_recommendations(self.recommender_, self.run_, hidden)

    def updated_graph(self, **sources: Any) -> Graph:
        """The graph as it is now, for `score` and `recommend`.

        Args:
            **sources: files or frames: `graph` replaces the run's graph, the links of `add` are added, `node_list`
                names nodes that are in the graph even without links, `features` are those of nodes that the run does
                not know, `new_nodes` is a table of such nodes and their features; further options are those of
                `_runs.update.updated_graph`.
        """
        return updated_graph(self.graph_, **sources)

    def check_graph(self, graph: Graph) -> None:
        """Raises an error for a graph that `score` cannot use.

        Args:
            graph: the graph to check.
        """
        transfer_run(self.run_, graph)

    def plot(self) -> Any:
        """Validation AUC by epoch, as a matplotlib figure (extra `plots`)."""
        return plot_history(self.model_.history)

    def _repr_html_(self) -> str:
        if "run_" not in self.__dict__:
            return html_table(repr(self), (), [])
        fitted, split = self.fitted_, self.run_.split
        title = f"{self.run_.info.graph_name}: {result_notes(fitted, split)}"
        return html_table(title, result_columns(split), result_rows(fitted, split))
