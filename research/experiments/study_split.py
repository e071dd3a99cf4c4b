"""SPLIT_OPTIONS: options of a cell that change its split, of any method: fewer links that are known at all, and
negatives that lie near each other in space.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.splits._known_negatives import with_known_negatives
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._making import with_training_negatives

SPLIT_OPTIONS = {
    "kept": "share of the links beside the test links that are known at all: they alone carry messages and train",
    "near": "whether negatives are near in space, as ogbl-vessel's are",
}


def make_study_split(graph: Graph, split: LinkSplit, options: Mapping[str, Any]) -> LinkSplit:
    """The split under those of the options that are named in `SPLIT_OPTIONS`."""
    if "kept" in options:
        split = thin_split(split, options["kept"])
    return with_near_negatives(split, graph) if options.get("near") else split


def thin_split(split: LinkSplit, share: float) -> LinkSplit:
    """The split of which a share of the training links is known, drawn once, and a share of the validation links where
    these carry messages at test time; validation and test ask about all of theirs.
    """
    if not 0 < share <= 1:
        raise InputError(f"kept is a share above 0 and at most 1, got {share}")
    generator = torch.Generator().manual_seed(split.seed)

    def some(pairs: Tensor) -> Tensor:
        order = torch.randperm(len(pairs), generator=generator)
        return pairs[order[: max(1, round(share * len(pairs)))].sort().values]

    train = some(split.train_pos)
    last = torch.cat([train, some(split.valid_pos)]) if _validation_carries(split) else train
    messages = split.train_graph.with_edges(train)
    test_graph = split.test_graph.with_edges(last) if len(last) > len(train) else messages
    thinned = replace(split, train_pos=train, train_graph=messages, valid_graph=messages, test_graph=test_graph)
    return with_training_negatives(thinned)


def _validation_carries(split: LinkSplit) -> bool:
    return split.test_graph.num_edges > split.train_graph.num_edges


def with_near_negatives(split: LinkSplit, graph: Graph) -> LinkSplit:
    """The split with negatives that lie near in space: drawn once, one for each link, in all parts."""
    return with_known_negatives(split, graph, near_pairs(graph, graph.num_edges + 3, seed=split.seed))


def near_pairs(graph: Graph, count: int, *, seed: int) -> Tensor:
    """Pairs `[count, 2]` without a link, drawn from those not farther apart than the mean length of a link and two
    standard deviations: the rule by which ogbl-vessel's negatives were drawn. A node's features are its coordinates.
    """
    if graph.x is None:
        raise InputError("near negatives need coordinates: the graph has no features")
    place = np.asarray(graph.x.todense() if hasattr(graph.x, "todense") else graph.x, dtype=np.float64)
    edges = graph.edges.numpy()
    length = np.linalg.norm(place[edges[:, 0]] - place[edges[:, 1]], axis=1)
    near = cKDTree(place).query_pairs(length.mean() + 2 * length.std(), output_type="ndarray").astype(np.int64)
    n = graph.num_nodes
    free = near[~np.isin(near[:, 0] * n + near[:, 1], edges.min(1) * n + edges.max(1))]
    if len(free) < count:
        raise InputError(f"only {len(free)} pairs without a link are near, {count} negatives were asked for")
    drawn = np.random.default_rng([seed, 40]).choice(len(free), count, replace=False)
    return torch.from_numpy(free[np.sort(drawn)])
