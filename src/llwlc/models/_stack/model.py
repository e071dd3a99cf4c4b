"""Stack: trees on statistics of pairs, as in "Stacking models for nearly optimal link prediction" (PNAS 2020)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import Tensor

from llwlc._support.bounds import require_whole
from llwlc.errors import InputError, NotFittedError, RunFolderError
from llwlc.graph._graph import Graph
from llwlc.graph._sides import find_sides
from llwlc.heuristics._registry import HEURISTICS
from llwlc.models._base import RANDOM, LinkModel, Population
from llwlc.models._stack.folds import fold_numbers, without_fold
from llwlc.models._stack.statistics import PairStatistics
from llwlc.models._stack.trees import Trees
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._negatives import NonEdges
from llwlc.splits._sides import joins_two_sides
from llwlc.training._limits import shortlist_size
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources
from llwlc.training._timing import measure_rate, time_block

FOLDS = 10
"""Training graphs then lack as many links as test graphs do: on 30 `tune` networks of the corpus, seed 0, ten folds
instead of five raised the AUC of the ten spatial ones by 0.8 points, of the others by 0.3.
"""
PROBE, RING = 256, torch.tensor([[i, (i + 1) % 12] for i in range(12)])
"""Pairs, and a small graph, by which the time of a fit is estimated."""
SECONDS_PER_ROW, SECONDS_PER_SCORE = 1e-4, 2e-5
"""Time that the trees take to learn from a row, and to score one."""


class Stack(LinkModel):
    """The topological stack: some sixty statistics of a pair and its ends (common neighbours, paths, walks, PageRank,
    degrees, spectral coordinates; of each attribute of the links, means and products), and trees that learn which of
    them tell links from non-links on this graph.

    The training links are divided into ten folds. Those of a fold are the positives on the graph without that fold,
    beside `negatives` non-links for each. A pair that is linked in the graph it is scored on is scored on that graph
    without its fold, so no link sees itself.

    Args:
        negatives: non-links for each link.
        max_links: maximum number of links to learn from. A graph with more uses fewer folds, or a sample of one fold.

    >>> import networkx, llwlc
    >>> graph = llwlc.Graph.from_networkx(networkx.karate_club_graph())
    >>> fitted = llwlc.LinkPredictor(model="stack", minutes=None).fit(graph)
    >>> bool(fitted.score([("0", "9")]).score > fitted.score([("16", "9")]).score)
    True
    """

    name = "stack"
    compact_features = 0
    reads_attributes = True
    chunk = 1 << 16
    inductive: Literal[True] = True

    def __init__(self, *, negatives: int = 10, max_links: int = 4000) -> None:
        require_whole("negatives", negatives, least=1, most=1000)
        require_whole("max_links", max_links, least=1, most=10**6)
        self.negatives, self.max_links = int(negatives), int(max_links)
        self.trees: Trees | None = None
        self.features = self.sides = False
        self.attributes: tuple[str, ...] = ()
        self._known: tuple[Graph, dict[int | None, PairStatistics]] | None = None  # of the graph scored on last

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": None}

    @property
    def title(self) -> str:
        return "topological stack"

    @property
    def about(self) -> str:
        return "A forest on statistics of pairs (topological stacking, PNAS 2020), fitted by `llwlc`."

    @property
    def num_parameters(self) -> int:
        return 0 if self.trees is None else len(self.trees.value)

    @property
    def config(self) -> dict[str, Any]:
        return {"negatives": self.negatives, "max_links": self.max_links}

    def fit(self, split: LinkSplit, features: NodeFeatures, *, seed: int, resources: Resources, **how: Any) -> Self:
        graph = split.train_graph
        self.features, self._known = graph.x is not None, None
        self.sides = reads_sides(graph) and joins_two_sides(split)
        self.attributes = read_names(graph)
        with resources.watch("statistics"):
            rows, label = self._training_rows(split, np.random.default_rng([seed, 11]))
        with resources.watch("training"):
            self.trees = Trees.fit(rows, label, seed)
        return self

    def cost(self, split: LinkSplit, features: NodeFeatures, *, resources: Resources) -> float:
        """Extrapolated from the statistics of some pairs, after a small graph has triggered compilation. Candidates are
        scored twice, to calibrate and to recommend, which takes longer than training.
        """
        graph, pairs = split.train_graph, split.train_pos[:PROBE].numpy()
        PairStatistics(Graph.from_edges(RING), features=False)(RING.numpy())
        with time_block() as preparing:
            statistics = PairStatistics(
                graph,
                features=graph.x is not None,
                sides=reads_sides(graph),
                attributes=graph.attributes is not None,
            )
        each = measure_rate(lambda some: statistics(pairs[:some]), len(pairs))
        links = min(len(split.train_pos), self.max_links)
        folds = min(FOLDS, -(-self.max_links * FOLDS // max(len(split.train_pos), 1)))
        scored = 2 * shortlist_size(graph.num_edges, self.limits.shortlist)
        training = folds * preparing() + (1 + self.negatives) * links * (each + SECONDS_PER_ROW)
        return training + scored * (each + SECONDS_PER_SCORE)

    def _training_rows(self, split: LinkSplit, rng: np.random.Generator) -> tuple[Any, Any]:
        """Statistics `[m, s]` of hidden links and of non-links, and which are links `[m]`."""
        graph, links = split.train_graph, split.train_pos
        free = NonEdges(graph.num_nodes, [graph.edges, links], split.nodes)
        fold = fold_numbers(graph, links, FOLDS)
        rows: list[Any] = []
        label: list[Any] = []
        left = self.max_links
        for number in range(FOLDS):
            hidden = links[fold == number]
            if not len(hidden) or not left or (rows and len(hidden) > left):
                continue
            if len(hidden) > left:
                hidden = hidden[torch.from_numpy(rng.choice(len(hidden), left, replace=False))]
            others = free.sample(min(self.negatives * len(hidden), len(free)), rng)
            statistics = self._statistics(without_fold(graph, number, FOLDS))
            rows.append(statistics(torch.cat([hidden, others]).numpy()))
            label += [np.ones(len(hidden), dtype=np.bool_), np.zeros(len(others), dtype=np.bool_)]
            left -= len(hidden)
        found = np.concatenate(label) if label else np.zeros(0, dtype=np.bool_)
        if found.all() or not found.any():
            raise InputError(
                "the stack learns from links and non-links, and this graph does not have both: give a larger graph,"
                " or choose a heuristic"
            )
        return np.concatenate(rows), found

    def _statistics(self, graph: Graph) -> PairStatistics:
        return PairStatistics(graph, features=self.features, sides=self.sides, attributes=bool(self.attributes))

    def score(self, graph: Graph, pairs: Tensor, population: Population = RANDOM) -> Tensor:
        """Log-odds, at equal numbers of links and non-links."""
        if self.trees is None:
            raise NotFittedError("this stack is not fitted yet: call fit, or from_state")
        if self.features and graph.x is None:
            raise InputError("this stack was fitted with node features and the graph has none: add its features")
        if self.sides and find_sides(graph) is None:
            raise InputError(
                "this stack was fitted on a bipartite graph, and this one has an odd cycle or no link: fit again"
            )
        if self.attributes and read_names(graph) != self.attributes:
            raise InputError(
                f"this stack was fitted with the link attributes {', '.join(self.attributes)}, and the graph has"
                " others: read it with these (--link-attributes)"
            )
        last = self._known  # as a name of this call: another thread may score on another graph meanwhile
        if last is None or last[0] is not graph:
            last = self._known = graph, {}
        out = torch.zeros(len(pairs), dtype=torch.float64)
        linked = graph.has_edges(pairs)
        fold = torch.where(linked, fold_numbers(graph, pairs, FOLDS), -1)
        for number in sorted(set(fold.tolist())):
            mine = fold == number
            if number not in last[1]:
                seen = graph if number < 0 else without_fold(graph, number, FOLDS)
                last[1][number] = self._statistics(seen)
            rows = last[1][number](pairs[mine].numpy())
            out[mine] = torch.from_numpy(self.trees.log_odds(rows))
        return out

    def on(self, known: Graph, graph: Graph, features: NodeFeatures) -> Stack:
        other = Stack(**self.config)
        other.trees, other.features, other.sides = self.trees, self.features, self.sides
        other.attributes = self.attributes
        return other

    def state(self) -> dict[str, Tensor]:
        if self.trees is None:
            raise NotFittedError("this stack is not fitted yet: call fit, or from_state")
        names = torch.frombuffer(bytearray(json.dumps(self.attributes).encode()), dtype=torch.uint8)
        extra = {"attributes": names} if self.attributes else {}
        return self.trees.state() | {"features": torch.tensor([self.features, self.sides])} | extra

    @classmethod
    def from_state(
        cls, config: Mapping[str, Any], state: Mapping[str, Tensor], graph: Graph, features: NodeFeatures
    ) -> Stack:
        model, arrays = cls(**config), dict(state)
        with_features, names = arrays.pop("features", None), arrays.pop("attributes", None)
        if with_features is None or with_features.shape != (2,):
            raise RunFolderError("the stack does not say what it reads: copy the run again, or fit again")
        model.features, model.sides = (bool(flag) for flag in with_features)
        model.attributes = () if names is None else tuple(map(str, json.loads(bytes(names.tolist()))))
        columns = PairStatistics.names(features=model.features, sides=model.sides, attributes=model.attributes)
        model.trees = Trees.from_state(arrays, len(columns))
        return model


def read_names(graph: Graph) -> tuple[str, ...]:
    """The names of the attributes of a graph's links."""
    return () if graph.attributes is None else graph.attributes.names


def reads_sides(graph: Graph) -> bool:
    """Whether the statistics of users and items are computed on a graph."""
    return HEURISTICS["implicit-als"].applies_to(graph)
