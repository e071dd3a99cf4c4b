"""One trial: hide links, fit and recommend as a user would, and compare what is predicted with what is observed."""

from __future__ import annotations

import time
import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from llwlc import Graph, LinkPredictor
from llwlc.ranking import Recommendations
from research.bench.clock import describe_machine
from research.experiments.measures import commit
from research.outside.networks import Pairs, SourceNetwork, hide_links, read_graph

TOPS = (50, 200, 1000)
SHARES = ("stated", "default")
"""Whether `--missing-share` is given the true share or left at its default."""
BINS = 10


@dataclass(frozen=True)
class HidingTrial:
    """A network, the share of its links to hide, the seed of the hiding, a model and its minutes."""

    network: str
    share: float
    hiding: int
    model: str
    minutes: float

    @property
    def key(self) -> tuple[Any, ...]:
        return tuple(asdict(self).values())


def run_trial(trial: HidingTrial, network: SourceNetwork) -> dict[str, Any]:
    """The line of a trial: predicted share, its 90 % range and observed share, for each top and each of `SHARES`."""
    whole = read_graph(network)
    links = whole.edges.numpy()
    known, hidden = hide_links(links, network.name, trial.share, trial.hiding)
    graph = Graph.from_edges(torch.from_numpy(known), num_nodes=whole.num_nodes, x=whole.x)
    begin, busy = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinkPredictor(model=trial.model, seed=trial.hiding, minutes=trial.minutes, device="cpu", cache=None)
        model.fit(graph)
        fitted = time.perf_counter() - begin
        lists = {"stated": measure_lists(model, hidden, trial.share), "default": measure_lists(model, hidden, None)}
    ranking = model.metrics_.ranking
    quality = None if ranking is None else ranking.methods[ranking.title].precision
    return {
        **asdict(trial),
        "title": model.model_.title,
        "remark": model.model_.remark,
        "domain": network.domain,
        "use": network.use,
        "links": len(links),
        "hidden": len(hidden),
        "measured": {} if quality is None else {str(k): round(m.value, 4) for k, m in quality.items()},
        **lists,
        "fit_seconds": round(fitted, 1),
        "seconds": round(time.perf_counter() - begin, 1),
        "processor_seconds": round(time.process_time() - busy, 1),
        "machine": describe_machine()["processor"],
        "commit": commit(),
    }


def warm_up(name: str) -> None:
    """Fits a model on a small graph, which compiles the kernels that it needs."""
    ends = torch.randint(60, (400, 2), generator=torch.Generator().manual_seed(0))
    LinkPredictor(model=name, minutes=None, device="cpu", cache=None).fit(Graph.from_edges(ends)).recommend()


def measure_lists(model: LinkPredictor, hidden: Pairs, share: float | None) -> dict[str, Any]:
    """Predicted share with its 90 % range and observed share of each list that is as long as wanted; and the longest
    list in bins of probability: how many, sum of probabilities, hidden links.
    """
    found: dict[str, Any] = {}
    for top in TOPS:
        listed = model.recommend(top=top, missing_share=share)
        hit = find_hits(listed, hidden)
        if len(listed) == top:
            found[str(top)] = [round(float(value), 5) for value in (*listed.expected, hit.mean())]
    probability = np.array([link.probability for link in listed])
    place = np.minimum((BINS * probability).astype(int), BINS - 1)
    sums = (np.bincount(place, weight, BINS) for weight in (np.ones(len(hit)), probability, hit))
    found["bins"] = [[round(float(value), 4) for value in column] for column in sums]
    found["assumed"] = round(listed.missing_share, 4)
    return found


def find_hits(listed: Recommendations, hidden: Pairs) -> np.ndarray:
    """Which links of the list are hidden ones `[k]`."""
    truth = {(int(a), int(b)) for a, b in np.sort(hidden, axis=1)}
    pairs = (sorted((int(link.source), int(link.target))) for link in listed)
    return np.array([(a, b) in truth for a, b in pairs], dtype=np.float64)
