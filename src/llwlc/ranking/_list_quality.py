"""How well a ranked list of candidates finds hidden links: what `recommend` is for, measured.

Links are hidden, candidates are generated on what is left, a method scores them, and its list is read from the top. A
candidate that is not a hidden link may still be a missing one, so every number here is a lower bound. With equal scores
a number is the mean over random orders.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llwlc.errors import InputError

TOPS = (10, 50, 200, 1000)
NODE_TOP = 10
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A mean and its standard error."""

    value: float
    error: float


@dataclass(frozen=True)
class ListQuality:
    """One method's list. `precision`: the share of hidden links among the best K, for K of `TOPS` that the list has;
    `average_precision` over all hidden links, one that is not a candidate counting as missed; `node_mrr` and
    `node_precision`: of a node's candidate list, 1 / the rank of its first hidden link and the share of hidden links
    among its best 10, in the mean over nodes that have a hidden link. Each is a `value` with its standard `error`.

    >>> score, hit = np.array([2.0, 1.0]), np.array([True, False])
    >>> compute_list_quality(score, hit, np.array([[0, 1], [0, 2]]), hidden=np.array([[0, 1]])).average_precision.value
    1.0
    """

    precision: Mapping[int, Estimate]
    average_precision: Estimate
    node_mrr: Estimate
    node_precision: Estimate

    def as_dict(self) -> dict[str, Any]:
        """As `metrics.json` has it."""
        return {"precision": {str(k): asdict(m) for k, m in self.precision.items()}} | {
            name: asdict(getattr(self, name)) for name in ("average_precision", "node_mrr", "node_precision")
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> ListQuality:
        """The inverse of `as_dict`.

        Args:
            data: what `as_dict` returned.
        """
        rest = (Estimate(**data[name]) for name in ("average_precision", "node_mrr", "node_precision"))
        return ListQuality({int(k): Estimate(**m) for k, m in data["precision"].items()}, *rest)


@dataclass(frozen=True)
class Reliability:
    """The best candidates in bins of 100, best first: the mean predicted probability, and the share of hidden links;
    `error`: their mean difference.
    """

    bins: tuple[tuple[float, float], ...]
    error: float


@dataclass(frozen=True)
class RankingReport:
    """How well the lists of all methods, over the same candidates, find hidden links.

    >>> report = RankingReport("test", 10, 8, 40, 5, 5, {}, Reliability((), 0.0))
    >>> report.recall, report.chance, report.sampled
    (0.8, 0.2, False)
    """

    population: str
    """The links that were hidden: "test", for instance."""
    hidden: int
    """The number of hidden links."""
    found: int
    """How many of them are candidates."""
    candidates: int
    """The number of candidates."""
    nodes: int
    """Only pairs with an end among this many sampled nodes were ranked."""
    graph_nodes: int
    """The number of nodes of the graph."""
    methods: Mapping[str, ListQuality]
    """The quality of each method's list, by title; the run's own first."""
    reliability: Reliability
    """Predicted and observed shares of hidden links among the run's best candidates."""

    def as_dict(self) -> dict[str, Any]:
        """As `metrics.json` has it."""
        own = {
            name: getattr(self, name)
            for name in ("population", "hidden", "found", "candidates", "nodes", "graph_nodes")
        }
        return own | {
            "methods": {name: quality.as_dict() for name, quality in self.methods.items()},
            "reliability": asdict(self.reliability),
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> RankingReport:
        """The inverse of `as_dict`.

        Args:
            data: what `as_dict` returned.
        """
        bins = tuple((float(predicted), float(true)) for predicted, true in data["reliability"]["bins"])
        hidden, found, candidates, nodes, graph_nodes = (
            int(data[name]) for name in ("hidden", "found", "candidates", "nodes", "graph_nodes")
        )
        methods = {name: ListQuality.from_dict(quality) for name, quality in data["methods"].items()}
        reliable = Reliability(bins, float(data["reliability"]["error"]))
        return RankingReport(str(data["population"]), hidden, found, candidates, nodes, graph_nodes, methods, reliable)

    @property
    def title(self) -> str:
        """The name of the run's list, which is the first."""
        return next(iter(self.methods))

    @property
    def sampled(self) -> bool:
        """Whether only some of the nodes were looked at."""
        return self.nodes < self.graph_nodes

    @property
    def recall(self) -> float:
        """The share of hidden links that are candidates at all: no ranking finds the others."""
        return self.found / self.hidden

    @property
    def chance(self) -> float:
        """The share of candidates that are hidden links: the precision of a list in random order."""
        return self.found / max(self.candidates, 1)


def compute_list_quality(
    score: Floats, hit: NDArray[np.bool_], pairs: NDArray[np.int64], hidden: NDArray[np.int64]
) -> ListQuality:
    """The quality of candidates `pairs [m, 2]` in the order of `score [m]`, where `hit [m]` says which are among the
    `hidden` links `[h, 2]`.

    >>> pairs = np.array([[0, 1], [0, 2], [1, 2]])
    >>> hidden = np.array([[0, 1], [0, 3]])
    >>> found = compute_list_quality(np.array([3.0, 2.0, 1.0]), np.array([True, False, False]), pairs, hidden)
    >>> found.average_precision.value, found.node_mrr.value
    (0.5, 0.6666666666666666)
    """
    if not len(hidden):
        raise InputError("no link is hidden: a ranking is measured by hidden links, so hold some out")
    order = np.argsort(-score, kind="stable")
    expected, at_least = _expected(score[order], hit[order])
    total = np.cumsum(expected)
    precision = {}
    for k in (k for k in TOPS if k <= len(score)):
        share = float(total[k - 1] / k)
        precision[k] = Estimate(share, float(np.sqrt(share * (1 - share) / k)))
    # the precision of the list down to each hidden link, 0 for one that is not a candidate
    each = np.zeros(len(hidden))
    hits = hit[order]
    each[: int(hits.sum())] = at_least[hits]
    mrr, top = _by_node(score, hit, pairs, hidden)
    return ListQuality(precision, _mean(each), _mean(mrr), _mean(top))


def _expected(score: Floats, hit: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Of a list in descending order: the expected number of hits at each place, and the precision of the list down to
    the end of each place's ties.
    """
    if not len(score):
        return np.zeros(0), np.zeros(0)
    first = np.flatnonzero(np.append(True, score[1:] != score[:-1]))
    size = np.diff(np.append(first, len(score)))
    hits = np.add.reduceat(hit.astype(np.float64), first)
    ends = np.cumsum(hits) / (first + size)
    return np.repeat(hits / size, size), np.repeat(ends, size)


def _by_node(
    score: Floats, hit: NDArray[np.bool_], pairs: NDArray[np.int64], hidden: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """For each node with a hidden link: 1 / the mean rank of its best hidden link, and the share of hits among its best
    ten.
    """
    nodes = np.unique(hidden)
    wanted = np.zeros(max(int(pairs.max(initial=-1)), int(nodes[-1])) + 1, dtype=bool)
    wanted[nodes] = True
    end, at = np.nonzero(wanted[pairs].T)
    owner, both, hits = pairs[at, end], score[at], hit[at]
    order = np.lexsort((-both, owner))
    owner, both, hits = owner[order], both[order], hits[order]
    mrr, top = np.zeros(len(nodes)), np.zeros(len(nodes))
    if not len(owner):
        return mrr, top
    # candidates of a node with equal scores, one after the other
    first = np.flatnonzero(np.append(True, (owner[1:] != owner[:-1]) | (both[1:] != both[:-1])))
    size = np.diff(np.append(first, len(owner)))
    count = np.add.reduceat(hits.astype(np.float64), first)
    node = np.searchsorted(nodes, owner[first])
    above = first - np.searchsorted(owner, nodes)[node]
    found = np.flatnonzero(count)[::-1]
    mrr[node[found]] = 1 / (above[found] + (size[found] + 1) / 2)  # of several, the first one is written last
    np.add.at(top, node, count / size * np.clip(NODE_TOP - above, 0, size) / NODE_TOP)
    return mrr, top


def _mean(values: Floats) -> Estimate:
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return Estimate(float(values.mean()), error)
