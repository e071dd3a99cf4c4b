"""Recommendations: candidates of a graph with their chance of being missing links, ready to print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import pyarrow as pa
import torch
from torch import Tensor

from llwlc._io.database import write_to_database
from llwlc._support.charts import new_figure
from llwlc._support.html_table import html_table
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.heuristics._neighbors import common_neighbors
from llwlc.heuristics._paths import compute_path_lengths
from llwlc.ranking._candidate_calibration import describe_share
from llwlc.ranking._ranking import RankedCandidates, RankingConfig, ScoreCandidates

MAX_DISTANCE = 5
"""Steps between two ends are counted up to this number."""

COLUMNS = {
    **dict.fromkeys(("source", "target"), pa.string()),
    **dict.fromkeys(("score", "probability", "probability_low", "probability_high", "candidate_score"), pa.float64()),
    **dict.fromkeys(("common_neighbors", "distance"), pa.int64()),
}
"""The columns of a table of recommendations."""
DIRECTED_COLUMNS = COLUMNS | {"direction": pa.float64()}
"""Those of a directed run."""


@dataclass(frozen=True)
class Recommendation:
    """A missing link: its ends by name, its score and probability, and some facts about the pair.

    >>> import networkx, llwlc
    >>> graph = llwlc.Graph.from_networkx(networkx.karate_club_graph())
    >>> best = llwlc.LinkPredictor(model="adamic-adar").fit(graph).recommend(top=3)[0]
    >>> best.probability_low <= best.probability <= best.probability_high
    True
    """

    source: str
    """One end, by name."""
    target: str
    """The other end, by name."""
    score: float
    """The log-odds among random pairs, as `LinkPredictor.score` has it."""
    probability: float
    """The chance among candidates."""
    probability_low: float
    """The lower end of its 90 % range, by the uncertainty of the calibration."""
    probability_high: float
    """The upper end."""
    candidate_score: float
    """What the list is sorted by: the log-odds among candidates less those of the assumed share of missing links."""
    common_neighbors: int
    """The number of common neighbours."""
    distance: int | None
    """The number of steps between the ends, None if it is more than 5."""
    direction: float | None = None
    """Of a directed run: the chance that a link of the two ends, if there is one, points from source to target; the
    probability and its range contain it."""


@dataclass(frozen=True)
class Recommendations(Sequence[Recommendation]):
    """The best links, best first; a sequence of `Recommendation`.

    >>> import networkx, llwlc
    >>> graph = llwlc.Graph.from_networkx(networkx.karate_club_graph())
    >>> found = llwlc.LinkPredictor(model="adamic-adar").fit(graph).recommend(top=3)
    >>> len(found), found[0].candidate_score >= found[1].candidate_score
    (3, True)
    """

    links: tuple[Recommendation, ...] = ()
    """The links."""
    missing_per_known: float = 0.0
    """How many links are taken to be missing for each known one."""
    expected: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """The share of missing links to expect among these, and a range of it."""
    candidates: int = 0
    """How many pairs they were chosen from."""
    sources: int | None = None
    """Nodes whose lists they were chosen from, None for all."""
    calibrated_on: int | None = None
    """How many candidates a node had when probabilities were calibrated, if this list of a node is longer."""
    share_assumed: bool = False
    """Whether the share of missing links is that of the fit's validation links, since none was stated."""
    directed: bool = False
    """Whether links point from source to target; a pair may then be two links."""
    links_per_new_node: float | None = None
    """Of a list of new nodes: how many links the nodes that have some have on average, which a new one is taken to get;
    its candidates are all nodes."""

    @overload
    def __getitem__(self, at: int) -> Recommendation: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Recommendation, ...]: ...
    def __getitem__(self, at: int | slice) -> Recommendation | tuple[Recommendation, ...]:
        return self.links[at]

    def __len__(self) -> int:
        return len(self.links)

    @property
    def missing_share(self) -> float:
        """Missing links ÷ known and missing ones."""
        return self.missing_per_known / (1 + self.missing_per_known)

    @property
    def condition(self) -> str:
        """What every probability depends on, in words."""
        if self.links_per_new_node is not None:
            return f"if {100 * self.missing_share:.3g} % of the pairs of a new node are links"
        return describe_share(self.missing_per_known, self.share_assumed)

    def to_arrow(self) -> pa.Table:
        """The links as an arrow table, whose columns have the same types where there is no link."""
        columns = DIRECTED_COLUMNS if self.directed else COLUMNS
        return pa.table({name: pa.array([getattr(r, name) for r in self], kind) for name, kind in columns.items()})

    def to_database(self, url: str, table: str = "links", *, if_exists: str = "fail") -> None:
        """Writes the links to a table of a database in one transaction: all of them or, if anything fails, none.

        Args:
            url: `sqlite:///shop.db`, `duckdb:///shop.duckdb` or `postgresql://host/shop`, as in `llwlc.Query`.
            table: its name, with the schema before a dot where that matters.
            if_exists: what happens to a table that is there: "fail" refuses it, "append" adds the rows to it.
        """
        write_to_database(url, table, self.to_arrow(), if_exists)

    def _repr_html_(self) -> str:
        rows = [
            (
                r.source,
                r.target,
                f"{r.probability:.3f}",
                f"{r.probability_low:.3f}–{r.probability_high:.3f}",
                str(r.common_neighbors),
                "> 5" if r.distance is None else str(r.distance),
                *(() if r.direction is None else (f"{r.direction:.3f}",)),
            )
            for r in self
        ]
        title = f"{len(self):,} links of {self.candidates:,} candidates, {self.condition}"
        columns = ("source", "target", "probability", "90 % range", "common neighbours", "distance")
        return html_table(title, (*columns, "direction") if self.directed else columns, rows)

    def plot(self) -> Any:
        """Probabilities and their ranges against the rank, as a matplotlib figure (extra `plots`)."""
        figure, axes = new_figure()
        place = range(1, len(self) + 1)
        axes.fill_between(place, [r.probability_low for r in self], [r.probability_high for r in self], alpha=0.25)
        axes.plot(place, [r.probability for r in self])
        axes.set(xlabel="place in the list", ylabel="probability among candidates")
        return figure


def find_cutoff(probability: Tensor, precision: float) -> int:
    """How many of a list in descending order to take for a wanted share of true links.

    >>> find_cutoff(torch.tensor([0.9, 0.5, 0.1, 0.1]), 0.5)
    3
    """
    if not 0 < precision <= 1:
        raise InputError(f"precision is above 0 and at most 1, got {precision}")
    mean = probability.cumsum(0) / torch.arange(1, len(probability) + 1)
    return int((mean >= precision).sum())


def find_ratio_for_prior(ranked: RankedCandidates, config: RankingConfig, candidates: int, prior: float) -> float:
    """The number of missing links for each known one at which a share `prior` of all candidates are expected to be
    links.
    """
    target, low, high = prior * candidates, -30.0, 30.0
    for _ in range(40):
        middle = (low + high) / 2
        log_ratio = ranked.log_ratio
        if config.counts is not None:
            log_ratio = config.counts.refit(math.exp(middle), draws=False).log_ratio(ranked.score, ranked.sharing)
        if float(torch.sigmoid(log_ratio + middle).sum()) < target:
            low = middle
        else:
            high = middle
    return math.exp(low)


def describe_pairs(
    graph: Graph,
    ranked: RankedCandidates,
    config: RankingConfig,
    rho: float,
    top: int,
    score_random: ScoreCandidates,
    direction: Tensor | None = None,
) -> tuple[Recommendation, ...]:
    """The `top` best pairs by name, with score, chance, range, common neighbours and distance; `score_random` gives
    their log-odds among random pairs. `direction [m]`: the chance that each, if it is a link, points as it is written.
    """
    pairs, shift = ranked.pairs[:top], math.log(rho)
    if not len(pairs):
        return ()
    predicted = torch.sigmoid(ranked.log_ratio[:top] + shift)
    probabilities = torch.sigmoid(config.calibration.draws(ranked.score[:top], ranked.sharing[:top]) + shift)
    low, high = torch.quantile(probabilities, torch.tensor([0.05, 0.95], dtype=torch.float64), dim=0)
    # the range of a few refits may not contain the estimate itself
    low, high = torch.minimum(low, predicted), torch.maximum(high, predicted)
    random = score_random(graph, pairs)
    if direction is not None:
        direction = direction[:top]
        predicted, low, high = (part * direction for part in (predicted, low, high))
        random = torch.logit(torch.sigmoid(random) * direction)
    rows = zip(
        pairs.tolist(),
        random.tolist(),
        predicted.tolist(),
        low.tolist(),
        high.tolist(),
        ranked.log_ratio[:top].tolist(),
        common_neighbors(graph, pairs).tolist(),
        compute_distances(graph, pairs),
        [None] * len(pairs) if direction is None else direction.tolist(),
        strict=True,
    )
    return tuple(
        Recommendation(graph.name(u), graph.name(v), s, p, a, b, r, int(c), d, w)
        for (u, v), s, p, a, b, r, c, d, w in rows
    )


def compute_distances(graph: Graph, pairs: Tensor) -> list[int | None]:
    """Steps between the ends `[m]`, without the pair's own link; None for more than `MAX_DISTANCE`."""
    every = 2 * graph.num_edges + 1  # no search is given up
    lengths = compute_path_lengths(graph, pairs.cpu().numpy(), every, longest=MAX_DISTANCE)
    shown = min(MAX_DISTANCE, graph.num_nodes - 1)  # a path that does not exist has as many steps as there are nodes
    return [length if length <= shown else None for length in lengths.tolist()]
