"""Reasons: what speaks for a pair and what against it, as plain records. All effects are in log-odds, so that they add
up on one scale.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Prediction:
    """A probability and its population. `score`: the log-odds among random pairs, whatever the population, as
    `LinkPredictor.score` has it; `log_odds`: those of the probability; `low` and `high`, where known, are its 90 %
    range."""

    population: str
    about: str
    score: float
    log_odds: float
    probability: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class PartEffect:
    """What a part of the readout adds to the log-odds of an average random pair."""

    name: str
    about: str
    effect: float


@dataclass(frozen=True)
class EigenvectorEffect:
    """An eigenpair of the constrained Laplacian: its value, its entries at the two ends, the log-odds that are lost
    without it.
    """

    index: int
    value: float
    at_source: float
    at_target: float
    lost: float


@dataclass(frozen=True)
class FilterEffect:
    """A learned filter: where it stands, which of its place it is, the log-odds that are lost without it."""

    where: str
    index: int
    lost: float


@dataclass(frozen=True)
class Removal:
    """Nodes along what was removed (an edge, the two edges of a common neighbour, a path), the log-odds lost by it, the
    probability that is left.
    """

    nodes: tuple[str, ...]
    lost: float
    probability: float


@dataclass(frozen=True)
class SharedFeature:
    """A feature of both ends: its column, the title of that column in the file of features, and its part of the cosine
    of their raw features.
    """

    column: int
    share: float
    name: str


@dataclass(frozen=True)
class SimilarLink:
    """An existing link that the network reads alike: `distance` of the readouts, and its own probability without itself
    in the graph.
    """

    source: str
    target: str
    distance: float
    probability: float


@dataclass(frozen=True)
class DrawnNode:
    """A node as it is drawn: `x` and `y` in −1 to 1, `hop` from the nearer end (0 at the two ends), its entry in each
    eigenvector.
    """

    name: str
    x: float
    y: float
    hop: int
    vectors: tuple[float, ...]


@dataclass(frozen=True)
class Drawing:
    """What is shown of the enclosing subgraph: the ends first; edges by the position of their nodes, with the log-odds
    lost without each, None where it was not tried.
    """

    nodes: tuple[DrawnNode, ...]
    edges: tuple[tuple[int, int, float | None], ...]
    all_nodes: int
    all_edges: int


@dataclass(frozen=True)
class DirectionReasons:
    """Which way the link of a pair points, if there is one: the chances that it points from source to target
    (`forward`), from target to source (`backward`), and both ways, which both of them contain. `parts` add up to the
    log-odds that it points from source to target, if it points one way only.
    """

    source: str
    target: str
    forward: float
    backward: float
    both: float
    parts: tuple[PartEffect, ...]


@dataclass(frozen=True)
class Reasons:
    """Why a pair has its score; the same for (u, v) and (v, u), with the end of the smaller number as `source`.

    `predictions` first for the population that is explained, then for the other. `parts` add up to its log-odds less
    `reference`, the mean log-odds of `references` random pairs. `edges`, `common_neighbors` and `paths` are sorted by
    how much is lost without them, most first; a negative loss speaks against the link. `direction`: of a directed run,
    in the order in which the ends were named.
    """

    source: str
    target: str
    linked: bool
    predictions: tuple[Prediction, ...]
    reference: float
    references: int
    parts: tuple[PartEffect, ...]
    eigenvectors: tuple[EigenvectorEffect, ...]
    filters: tuple[FilterEffect, ...]
    edges: tuple[Removal, ...]
    num_subgraph_edges: int
    common_neighbors: tuple[Removal, ...]
    paths: tuple[Removal, ...]
    cosine: float | None
    features: tuple[SharedFeature, ...]
    similar: tuple[SimilarLink, ...]
    drawing: Drawing
    notes: tuple[str, ...]
    direction: DirectionReasons | None = None

    @property
    def probability(self) -> float:
        return self.predictions[0].probability

    def as_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and texts."""
        return asdict(self)
