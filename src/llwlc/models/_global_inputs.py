"""Inputs of the global model for a pair: rows of eigenvectors, and statistics beyond two hops.

A training link is scored on a graph without its fold, and so are the negatives sampled with it: as at test time, links
and non-links are treated alike. (Removing only the link itself would leak its label: its ends would have lost a
neighbour, those of a non-link would not.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from llwlc.bases._global_basis import GlobalBasis, global_basis
from llwlc.graph._graph import Graph
from llwlc.heuristics._local_walks import compute_walk_statistics
from llwlc.heuristics._pair_statistics import compute_pair_statistics
from llwlc.heuristics._paths import compute_path_lengths
from llwlc.models._stack.node_statistics import NODE_STATISTICS, compute_node_statistics
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._making import training_non_edges

NUM_STATISTICS = 14 + 2 * (len(NODE_STATISTICS) - 1)
PARITY = 10
"""Longest path whose parity is an input."""


class GlobalInputs(NamedTuple):
    """Pairs of several graphs, padded to one width: `values [g, k]`, `known [g, k]`, `vectors [g, n, k]`; of each pair
    its `graph [m]`, its ends `pairs [m, 2]` and `statistics [m, NUM_STATISTICS]`.
    """

    values: Tensor
    known: Tensor
    vectors: Tensor
    graph: Tensor
    pairs: Tensor
    statistics: Tensor

    def rows(self, some: Tensor | slice) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        """The inputs of `GlobalNet` for some of the pairs."""
        graph, (u, v) = self.graph[some], self.pairs[some].unbind(1)
        at_u, at_v = self.vectors[graph, u], self.vectors[graph, v]
        return self.values, self.known, graph, at_u, at_v, self.statistics[some]


def pair_statistics(graph: Graph, pairs: Tensor) -> Tensor:
    """Statistics `[m, NUM_STATISTICS]` of pairs. Without their own link: common neighbours and degrees, the length of
    the shortest path (its logarithm, its inverse, its parity, and whether there is one), walks of two to four steps.
    With it, if the graph has it: node statistics of the two ends, the smaller value before the larger.
    """
    at = pairs.cpu().numpy()
    near = compute_pair_statistics(graph, at)
    walks = compute_walk_statistics(graph, at)
    length = compute_path_lengths(graph, at).astype(np.float64)
    apart = length >= max(graph.num_nodes, 1)
    length = np.maximum(np.where(apart, 1, length), 1)
    parity = np.where(apart | (length > PARITY), 0, 1 - 2 * (length % 2))
    columns = [
        *np.log1p(near[:, [0, 3, 4]]).T,
        *np.log(near[:, [1, 2]] + 0.1).T,
        *np.log(walks + 0.01).T,
        np.log(length),
        np.where(apart, 0, 1 / length),
        parity,
        apart,
    ]
    # without degrees, which are above, without the pair's own link
    ends = np.log(compute_node_statistics(graph)[:, 1:] + 0.01)[at]
    columns += [*ends.min(1).T, *ends.max(1).T]
    return torch.from_numpy(np.stack(columns, 1))


def score_inputs(graph: Graph, basis: GlobalBasis, pairs: Tensor) -> GlobalInputs:
    """The inputs of pairs of one graph, in float64."""
    ordered = torch.stack([pairs.amin(1), pairs.amax(1)], 1)
    return GlobalInputs(
        basis.values[None],
        torch.ones(1, len(basis.values), dtype=torch.bool),
        basis.vectors[None],
        torch.zeros(len(pairs), dtype=torch.long),
        ordered,
        pair_statistics(graph, ordered),
    )


def training_inputs(
    split: LinkSplit, *, low: int, high: int, folds: int, negatives: int, most: int, seed: int
) -> tuple[GlobalInputs, Tensor]:
    """Training pairs with their labels `[m]`, in float32.

    The links are divided into folds. The links of a fold, at most `most` over all folds, and `negatives` non-links for
    each of them are scored on the graph without the fold.
    """
    links, rng = split.train_pos, np.random.default_rng([seed, 37])
    free = training_non_edges(split)
    order = torch.from_numpy(rng.permutation(len(links)))
    parts: list[GlobalInputs] = []
    labels: list[Tensor] = []
    for fold in torch.tensor_split(order, min(folds, len(links))):
        graph = without_links(split.train_graph, links[fold])
        pos = links[fold[: max(1, most // folds)]]
        neg = free.sample(min(negatives * len(pos), len(free)), rng)
        parts.append(score_inputs(graph, global_basis(graph, low=low, high=high), torch.cat([pos, neg])))
        labels.append(torch.cat([torch.ones(len(pos)), torch.zeros(len(neg))]))
    return _concatenate(parts), torch.cat(labels)


def without_links(graph: Graph, links: Tensor) -> Graph:
    """The graph without these links, in either direction."""
    n = graph.num_nodes
    edges = graph.edges
    key = edges.amin(1) * n + edges.amax(1)
    return graph.with_edges(edges[~torch.isin(key, links.amin(1) * n + links.amax(1))])


def _concatenate(parts: Sequence[GlobalInputs]) -> GlobalInputs:
    """Concatenates inputs that have one graph each, padded to one width."""
    width = max(part.values.shape[1] for part in parts)
    pad = torch.nn.functional.pad

    def pad_and_join(tensors: Sequence[Tensor]) -> Tensor:
        return torch.cat([pad(t, (0, width - t.shape[-1])) for t in tensors])

    return GlobalInputs(
        pad_and_join([part.values.float() for part in parts]),
        pad_and_join([part.known for part in parts]),
        pad_and_join([part.vectors.float() for part in parts]),
        torch.cat([part.graph + i for i, part in enumerate(parts)]),
        torch.cat([part.pairs for part in parts]),
        torch.cat([part.statistics.float() for part in parts]),
    )
