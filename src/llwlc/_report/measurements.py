"""What a report measures on a run's test links: scores, reliability, accuracy by distance and degree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc._predictor import LinkPredictor
from llwlc._runs.scoring import score as score_by_run
from llwlc.graph._graph import Graph
from llwlc.ranking._recommendations import compute_distances

MAX_PAIRS = 10_000
"""Test links and non-links that are scored, evenly chosen of more."""
FALSE_POSITIVE_RATE = 0.01
BINS = 10
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bin:
    """Test links of one kind: how many, the share of them above the score that `FALSE_POSITIVE_RATE` of all non-links
    exceed, and the same of non-links.
    """

    name: str
    links: int
    found: float
    non_links: int
    false_positive_rate: float


@dataclass(frozen=True)
class LinkMeasurements:
    """`links`, `non_links`: scores; `reliability`: predicted probability at a prior of one half and observed share of
    links, for bins of equal width that are not empty.
    """

    links: Floats
    non_links: Floats
    reliability: tuple[tuple[float, float], ...]
    by_distance: tuple[Bin, ...]
    by_degree: tuple[Bin, ...]


def measure_test_links(model: LinkPredictor) -> LinkMeasurements:
    """On the split's own test messages, as the run was measured: whether there is a link, whichever way it points."""
    run = replace(model.run_, graph=model.graph_.without_direction(), direction=None)
    split = run.split
    graph = split.test_graph
    pos, neg = subsample(split.test_pos), subsample(split.test_neg.reshape(-1, 2))
    scores = score_by_run(run, torch.cat([pos, neg]), prior=0.5, graph=graph, unknown="error")
    score, label = scores.score.numpy(), np.arange(len(pos) + len(neg)) < len(pos)
    threshold = float(np.quantile(score[~label], 1 - FALSE_POSITIVE_RATE))
    pairs = torch.cat([pos, neg])
    far = np.array([6 if d is None else d for d in compute_distances(graph, pairs)])
    named = {2: "2 steps", 3: "3 steps", 4: "4 steps", 5: "5 steps", 6: "more than 5"}
    degree = np.minimum(*degrees_without_link(graph, pairs).T)
    edges = (0, 1, 2, 4, 8, 16, 64)
    kinds = {f"{a}" if b == a + 1 else f"{a} to {b - 1}": (degree >= a) & (degree < b) for a, b in pairwise(edges)}
    kinds[f"{edges[-1]} and more"] = degree >= edges[-1]
    return LinkMeasurements(
        score[label],
        score[~label],
        bin_reliability(scores.probability.numpy(), label),
        tuple(b for k, n in named.items() if (b := _bin(n, far == k, score, label, threshold)) is not None),
        tuple(b for n, inside in kinds.items() if (b := _bin(n, inside, score, label, threshold)) is not None),
    )


def degrees_without_link(graph: Graph, pairs: Tensor) -> NDArray[np.int64]:
    """The degrees of both ends `[m, 2]`, their own link not counted."""
    degrees: NDArray[np.int64] = (graph.degree[pairs] - graph.has_edges(pairs).long().unsqueeze(1)).numpy()
    return degrees


def bin_reliability(predicted: Floats, label: NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    """Mean predicted probability and observed share of links, both classes weighing the same.

    >>> bin_reliability(np.array([0.1, 0.9, 0.9]), np.array([False, True, True]))
    ((0.1, 0.0), (0.9, 1.0))
    """
    weight = np.where(label, 0.5 / max(label.sum(), 1), 0.5 / max((~label).sum(), 1))
    place = np.minimum((predicted * BINS).astype(int), BINS - 1)
    points = []
    for k in range(BINS):
        inside = place == k
        if inside.any():
            share = weight[inside] / weight[inside].sum()
            points.append((float(share @ predicted[inside]), float(share @ label[inside])))
    return tuple(points)


def subsample(pairs: Tensor) -> Tensor:
    if len(pairs) <= MAX_PAIRS:
        return pairs
    return pairs[torch.linspace(0, len(pairs) - 1, MAX_PAIRS).long()]


def _bin(name: str, inside: NDArray[np.bool_], score: Floats, label: NDArray[np.bool_], threshold: float) -> Bin | None:
    links, others = inside & label, inside & ~label
    if not links.any():
        return None
    false_positive_rate = float((score[others] > threshold).mean()) if others.any() else 0.0
    return Bin(name, int(links.sum()), float((score[links] > threshold).mean()), int(others.sum()), false_positive_rate)
