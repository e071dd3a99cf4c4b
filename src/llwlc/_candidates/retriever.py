"""The candidate lists of nodes: the partners that look most like a missing link, best first, before any network is
asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc._candidates import inner_product_index
from llwlc._candidates.candidate_lists import CandidateLists, list_proposals
from llwlc._candidates.config import CandidateConfig
from llwlc._candidates.evidence import Evidence, choose_best
from llwlc._candidates.factor_vectors import FactorVectors
from llwlc._candidates.node_types import NodeTypes
from llwlc._candidates.scope import CandidateScope
from llwlc._candidates.smoothing import SmoothedFeatures
from llwlc._candidates.walks import PRECISION, find_walk_ends
from llwlc.graph._graph import Graph
from llwlc.graph._sides import is_two_sided
from llwlc.heuristics._registry import MAX_SIDED_NODES

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]
ENTRIES_PER_BLOCK = 1 << 24
LARGE_BLOCK, LARGE_ENTRIES, FEW_SOURCES = 1 << 14, 1 << 21, 64
"""Sources at a time on a large graph, to list their partners: many, as every block begins with scratch as long as the
graph has nodes, but no more than have so many partners together, whose arrays would be asked of the system again each
time; and where all evidence is kept."""
UNREACHED = 0.01
"""The logarithm of PageRank that stands for a node where no walk ends, below that of any node where one does, where the
budget pays for all pairs: of metros' hidden links, most of which join components, candidates then hold all instead of a
quarter."""


@dataclass(frozen=True, eq=False)
class CandidateRetriever:
    """Makes candidate lists on a graph, under weights that may be changed (`with_weights`).

    `smoothed`: the nodes' smoothed features, on a bipartite graph their implicit factors too; None where there are
    neither: then walks alone decide, and their weight is 1.
    `num_proposing_nodes`: how many nodes share the candidates that fit in memory, None for all. `excluded`: pairs that
    are in no list, as the edges of a graph.
    """

    graph: Graph
    smoothed: SmoothedFeatures | FactorVectors | None
    config: CandidateConfig
    node_types: NodeTypes
    device: str = "cpu"
    num_proposing_nodes: int | None = None
    excluded: Graph | None = None

    @property
    def budget(self) -> int:
        """Pairs that a node pays for on this graph."""
        return self.config.budget_for(
            self.graph.num_nodes if self.num_proposing_nodes is None else self.num_proposing_nodes
        )

    @cached_property
    def weights(self) -> CandidateConfig:
        return (
            self.config if self.smoothed is not None else CandidateConfig(self.config.budget, self.config.degree, 1.0)
        )

    @cached_property
    def log_degree(self) -> Tensor:
        return torch.log1p(self.graph.degree.float()).to(self.device)

    def with_weights(self, config: CandidateConfig) -> CandidateRetriever:
        """The same retriever with other weights; what was computed and does not depend on them, hubness above all, is
        not computed again.
        """
        other = replace(self, config=config)
        same = (*WEIGHT_INDEPENDENT, "_indexes") if config.degree == self.config.degree else WEIGHT_INDEPENDENT
        vars(other).update({name: vars(self)[name] for name in same if name in vars(self)})
        return other

    def within(self, scope: CandidateScope) -> CandidateRetriever:
        """The retriever whose lists hold only pairs of a scope, with the scores that these pairs have without it."""
        node_types = self.node_types if scope.ends is None else self.node_types.across(*scope.ends)
        proposing = self.num_proposing_nodes
        if proposing is None and scope.ends is not None:
            proposing = len(node_types.linkable_nodes)
        excluded = scope.excluded if self.excluded is None else self.excluded
        if self.excluded is not None and scope.excluded is not None:
            pairs = torch.cat([self.excluded.edges, scope.excluded.edges])
            excluded = Graph.from_edges(pairs, num_nodes=self.graph.num_nodes)
        other = replace(self, node_types=node_types, excluded=excluded, num_proposing_nodes=proposing)
        vars(other)["hubness"] = self.hubness  # that of a node among all others
        vars(other).update({name: vars(self)[name] for name in ("_vectors", "_all_likeness") if name in vars(self)})
        return other

    def prepare(self) -> None:
        """Computes what is computed once, before the first list."""
        _ = self.hubness
        if self.smoothed is not None and not self.exact:
            _ = self._indexes

    def node_bias(self, config: CandidateConfig) -> Tensor:
        """The part of a node's list score that is the same in the list of every other node, by its degree and its
        hubness, `[n]`.
        """
        bias = config.degree * self.log_degree
        return bias - config.hubness_penalty * self.hubness if config.hubness_penalty else bias

    @property
    def has_hubness(self) -> bool:
        """Whether hubness is computed: where there are features, and few enough nodes to compare all with all once
        more.
        """
        return self.smoothed is not None and self.exact and self.graph.num_nodes <= MAX_HUBNESS_NODES

    @cached_property
    def hubness(self) -> Tensor:
        """The hubness of each node, the mean of its largest similarities, `[n]`; 0 where it is not computed."""
        if not self.has_hubness:
            return torch.zeros(self.graph.num_nodes, device=self.device)
        blocks = _blocks(np.arange(self.graph.num_nodes), self.sources_at_once)
        parts = [self.compute_hubness(self._likeness(block), block) for block in blocks]
        return torch.cat([torch.zeros(0, device=self.device), *parts])

    def compute_hubness(self, like: Tensor, sources: Integers) -> Tensor:
        """The mean of the `HUBNESS_NEIGHBORS` largest similarities `like [b, n]` of each source, to other nodes of an
        admissible type; what is below 0, or missing, counts as 0.
        """
        other = self._fitting(sources)
        near = like.masked_fill(~other, 0).clamp(min=0)
        return near.topk(min(HUBNESS_NEIGHBORS, near.shape[1]), dim=1).values.sum(1) / HUBNESS_NEIGHBORS

    @cached_property
    def _vectors(self) -> Tensor | None:
        return None if self.smoothed is None else torch.from_numpy(self.smoothed.vectors).to(self.device)

    @cached_property
    def _codes(self) -> Tensor:
        return torch.from_numpy(self.node_types.codes).to(self.device)

    @cached_property
    def _linkable_nodes(self) -> Tensor:
        """Which nodes a link may join with one of each type, `[types, n]`."""
        return torch.from_numpy(self.node_types.linkable[:, self.node_types.codes]).to(self.device)

    def __call__(self, sources: Integers, length: int) -> CandidateLists:
        """The lists of these nodes. A node that is linked with the source, or of a type that no link joins with the
        source's, is in no list.
        """
        parts = [CandidateLists(np.zeros((0, length), dtype=np.int64), np.zeros((0, length), dtype=np.float32))]
        many = max(FEW_SOURCES, min(LARGE_BLOCK, LARGE_ENTRIES // max(2 * length, 1)))
        links = self._most_links(sources)
        many = max(FEW_SOURCES, many * length // (length + self._most_excluded(sources)))
        for block in _blocks(sources, self.sources_at_once if self.exact else many):
            parts.append(self._exactly(block, length) if self.exact else self._nearly(block, length, links))
        return CandidateLists(np.concatenate([p.partner for p in parts]), np.concatenate([p.score for p in parts]))

    @property
    def precision(self) -> float:
        """Of walks: coarser on a graph so large that lists are short, whose few best ends are the same (of 10, 99.6 %
        on a graph of 3.5 million nodes).
        """
        if self.exact:
            return PRECISION
        return PRECISION * min(max(ENDS_OF_A_WALK / (4 * self.budget), 1.0), COARSEST)

    @property
    def exact(self) -> bool:
        """Whether every node is looked at as a partner of every other one."""
        return self.graph.num_nodes <= inner_product_index.EXACT_NODES

    @property
    def lists_all(self) -> bool:
        """Whether the budget pays for every pair of a graph without features: then every node is in every list."""
        return self.exact and self.smoothed is None and self.graph.num_nodes - 1 <= 2 * self.budget

    @property
    def sources_at_once(self) -> int:
        """Whose evidence is looked at together."""
        return max(1, ENTRIES_PER_BLOCK // max(self.graph.num_nodes, 1)) if self.exact else FEW_SOURCES

    def evidence(self, sources: Integers, wanted: Integers, *, removed: bool = False) -> tuple[Evidence, Tensor]:
        """Of each source, and where its `wanted` node stands in it, `[b]`; `removed`: on the graph that lacks the link
        between the two, which then may be listed.

        Of all nodes; on a large graph of the wanted one and of those that lists are made of. (The wanted node's own
        vector is that of the graph without the link too; those of others are taken as they are, which they nearly are.)
        """
        if not self.exact:
            return self._near_evidence(sources, wanted, removed), torch.zeros(len(sources), dtype=torch.long)
        return self._all_evidence(sources, wanted if removed else None), torch.from_numpy(wanted)

    def evidence_of_links(self, sources: Integers, wanted: Integers) -> Evidence:
        """Of the wanted node alone, `[b, 1]`, on the graph that lacks its link with the source: as in `evidence`."""
        most = min(MAX_WALK_ENDS, self.graph.num_nodes)
        ends, rank = find_walk_ends(self.graph, sources, wanted, self.node_types, most, self.precision)
        own = np.where(ends == wanted[:, None], rank, 0).sum(1)
        walk = np.maximum(np.log1p(own / PRECISION), UNREACHED if self.lists_all else 0).astype(np.float32)
        like = np.zeros(len(sources), np.float32)
        if self.smoothed is not None:
            like = (self.smoothed.without_link(sources, wanted) * self.smoothed.without_link(wanted, sources)).sum(1)
        open_ = self.node_types.linkable[self.node_types.codes[sources], self.node_types.codes[wanted]]
        return Evidence(*(torch.from_numpy(x[:, None]).to(self.device) for x in (wanted, like, walk, open_)))

    def _all_evidence(self, sources: Integers, removed: Integers | None = None) -> Evidence:
        n, b = self.graph.num_nodes, len(sources)
        gone = np.full(b, -1) if removed is None else removed
        row = torch.arange(b, device=self.device)
        walk = torch.zeros(b, n, device=self.device)
        ends, rank = find_walk_ends(self.graph, sources, gone, self.node_types, min(MAX_WALK_ENDS, n))
        at, place = np.nonzero(ends >= 0)
        value = torch.from_numpy(np.log1p(rank[at, place] / PRECISION)).float()
        walk[torch.from_numpy(at).to(self.device), torch.from_numpy(ends[at, place]).to(self.device)] = value.to(
            self.device
        )
        if self.lists_all:
            walk.clamp_(min=UNREACHED)
        like = self._likeness(sources, removed)
        possible = self._fitting(sources)
        for known in (self.graph, *([] if self.excluded is None else [self.excluded])):
            linked, owner = _links(known, sources)
            possible[owner.to(self.device), linked.to(self.device)] = False
        if removed is not None:
            again = self.node_types.linkable[self.node_types.codes[sources], self.node_types.codes[removed]]
            possible[row, torch.from_numpy(removed).to(self.device)] = torch.from_numpy(again).to(self.device)
        return Evidence(None, like, walk, possible)

    def _likeness(self, sources: Integers, removed: Integers | None = None) -> Tensor:
        """The similarities of the sources with all nodes, `[b, n]`; of a source and the other end on the graph that
        lacks their link. Not to be written to: where they are few, those of all nodes are kept.
        """
        if self._vectors is None or self.smoothed is None:
            return torch.zeros(len(sources), self.graph.num_nodes, device=self.device)
        n = self.graph.num_nodes
        if removed is None and len(sources) == n <= self.sources_at_once and (sources == np.arange(n)).all():
            return self._all_likeness
        query = self.smoothed.vectors[sources] if removed is None else self.smoothed.without_link(sources, removed)
        like = torch.from_numpy(query).to(self.device) @ self._vectors.T
        if removed is not None:
            other = (query * self.smoothed.without_link(removed, sources)).sum(1)
            row = torch.arange(len(sources), device=self.device)
            like[row, torch.from_numpy(removed).to(self.device)] = torch.from_numpy(other).to(self.device)
        return like

    @cached_property
    def _all_likeness(self) -> Tensor:
        """Those of all nodes with all nodes `[n, n]`, which hubness and lists need: at most `ENTRIES_PER_BLOCK`."""
        assert self._vectors is not None
        return self._vectors @ self._vectors.T

    def _fitting(self, sources: Integers) -> Tensor:
        """Which nodes are of a type that a link may join with each source's, and not the source itself, `[b, n]`."""
        own = torch.from_numpy(sources).to(self.device)
        fitting = self._linkable_nodes[self._codes[own]]
        fitting[torch.arange(len(sources), device=self.device), own] = False
        return fitting

    def _near_evidence(self, sources: Integers, wanted: Integers, removed: bool) -> Evidence:
        """Of the wanted node, in the first column, of those where walks end, and of those that the index finds."""
        n, codes, linkable = self.graph.num_nodes, self.node_types.codes, self.node_types.linkable
        ends, rank = find_walk_ends(
            self.graph,
            sources,
            wanted if removed else np.full(len(sources), -1),
            self.node_types,
            min(MAX_WALK_ENDS, n),
            self.precision,
        )
        again = ends == wanted[:, None]
        first = np.where(again, rank, 0).sum(1, keepdims=True)
        node, walk = np.column_stack([wanted, ends]), np.column_stack([first, rank])
        open_ = np.column_stack([np.ones(len(wanted), dtype=bool), (ends >= 0) & ~again])
        like = np.zeros(node.shape, dtype=np.float32)
        if self.smoothed is not None:
            vectors = self.smoothed.vectors
            query = self.smoothed.without_link(sources, wanted) if removed else vectors[sources]
            similar = self._similar(sources, 2 * self.budget, query, self._most_links(sources))
            row = np.arange(len(sources))[:, None] * n
            known = np.isin(row + similar, row + np.where(open_, node, wanted[:, None]))
            node, walk = np.column_stack([node, similar]), np.column_stack([walk, np.zeros(similar.shape)])
            open_ = np.column_stack([open_, (similar >= 0) & ~known])
            like = np.einsum("bd,bkd->bk", query, vectors[np.maximum(node, 0)])
            if removed:
                like[:, 0] = (query * self.smoothed.without_link(wanted, sources)).sum(1)
        node = np.where(open_, node, sources[:, None])
        pairs = np.stack([np.broadcast_to(sources[:, None], node.shape), node], 2)
        open_ &= linkable[codes[pairs[..., 0]], codes[pairs[..., 1]]] & (node != sources[:, None])
        # walks end at no node that the source is linked to; the index knows nothing of links
        unsure = np.column_stack([open_[:, :1] & (not removed), open_[:, 1 + ends.shape[1] :]])
        columns = np.append(0, np.arange(1 + ends.shape[1], node.shape[1]))
        at = np.nonzero(unsure)
        linked = self.graph.has_edges(torch.from_numpy(pairs[at[0], columns[at[1]]])).numpy()
        open_[at[0][linked], columns[at[1]][linked]] = False
        parts = (node, like, np.log1p(walk / PRECISION).astype(np.float32), open_)
        return Evidence(*(torch.from_numpy(np.ascontiguousarray(part)).to(self.device) for part in parts))

    def _exactly(self, sources: Integers, length: int) -> CandidateLists:
        return choose_best(self._all_evidence(sources), self.weights, self.node_bias(self.weights), length)

    def _nearly(self, sources: Integers, length: int, links: int) -> CandidateLists:
        """On a large graph: of the nodes where walks end and of those that an index finds; `links`: as many as any
        source has.
        """
        graph, weights, excluded = self.graph, self.weights, self._most_excluded(sources)
        partner, rank = find_walk_ends(
            graph,
            sources,
            np.full(len(sources), -1),
            self.node_types,
            2 * length + excluded,
            self.precision,
        )
        similar, vectors = np.zeros((len(sources), 0), np.int64), None
        if self.smoothed is not None:
            vectors = self.smoothed.vectors
            similar = self._similar(sources, length + excluded, vectors[sources], links)
        return list_proposals(
            partner,
            np.log1p(rank / PRECISION),
            similar,
            sources,
            [graph] if self.excluded is None else [graph, self.excluded],
            (weights.degree * self.log_degree).cpu().numpy(),
            weights.walk,
            vectors,
            length,
        )

    def _most_links(self, sources: Integers) -> int:
        return int(self.graph.degree.numpy()[sources].max(initial=0))

    def _most_excluded(self, sources: Integers) -> int:
        """As many partners as are looked at beyond those of a list, since they may turn out to be excluded."""
        if self.excluded is None:
            return 0
        return min(int(self.excluded.degree.numpy()[sources].max(initial=0)), MAX_WALK_ENDS)

    def _similar(self, sources: Integers, length: int, query: Floats, links: int) -> Integers:
        """By their vectors `query`, the nodes of an admissible type nearest to each source, and as many more as it has
        `links`, since these are among the nearest.
        """
        most = length + 1 + min(links, 4 * length)
        nearest = np.full((len(sources), most), -1)
        own = self.node_types.codes[sources]
        for kind, index in self._indexes.items():
            at = np.flatnonzero(own == kind)
            best = index(query[at], most)
            nearest[at, : best.shape[1]] = best
        return nearest

    @cached_property
    def _indexes(self) -> dict[int, inner_product_index.InnerProductIndex]:
        assert self.smoothed is not None
        node_bias = (self.weights.degree * self.log_degree).cpu().numpy()
        indexes = {}
        for kind, linkable in enumerate(self.node_types.linkable):
            members = np.flatnonzero(linkable[self.node_types.codes])
            if len(members):
                indexes[kind] = inner_product_index.InnerProductIndex(self.smoothed.vectors, node_bias, members)
        return indexes


WEIGHT_INDEPENDENT = ("hubness", "log_degree", "_vectors", "_codes", "_linkable_nodes", "_all_likeness")
"""What a retriever computes once, whatever its weights."""
ENDS_OF_A_WALK, COARSEST = 300.0, 20.0
"""A walk of the usual precision has some hundred ends; how much coarser one may be."""
MAX_WALK_ENDS = 2000
"""Ends of walks from a node that are kept."""
HUBNESS_NEIGHBORS, MAX_HUBNESS_NODES = 5, 10_000
"""The nearest nodes whose similarities make up hubness, and the nodes up to which it is computed: on 18,000 nodes they
took 13 s, several times a fit, and gained little.
"""


def make_retriever(
    graph: Graph,
    x: Floats | None,
    config: CandidateConfig,
    *,
    svd_vectors: Floats | None = None,
    node_types: NodeTypes | None = None,
    device: str = "cpu",
) -> CandidateRetriever:
    """`x`: features `[n, F]` in which cosines mean something, dense, or None; `svd_vectors`: their leading directions,
    where the configuration gives those a weight.
    """
    node_types = NodeTypes.any(graph.num_nodes) if node_types is None else node_types
    factored = graph.num_nodes <= MAX_SIDED_NODES and is_two_sided(graph)
    vectors: SmoothedFeatures | FactorVectors | None = None
    if (x is not None or factored) and inner_product_index.is_available(graph.num_nodes):
        features = None if x is None else SmoothedFeatures.of(graph, x, svd_vectors, config.svd_similarity)
        vectors = FactorVectors.of(graph, features) if factored else features
    return CandidateRetriever(graph, vectors, config, node_types, device)


def _links(graph: Graph, sources: Integers) -> tuple[Tensor, Tensor]:
    """The neighbours of all sources, one after the other, and the place of each one's source."""
    begin, end = graph.indptr[sources], graph.indptr[sources + 1]
    owner = torch.repeat_interleave(torch.arange(len(sources)), end - begin)
    first = torch.repeat_interleave(
        begin - torch.cat([torch.zeros(1, dtype=torch.long), (end - begin).cumsum(0)[:-1]]), end - begin
    )
    return graph.indices[first + torch.arange(len(owner))], owner


def _blocks(sources: Integers, step: int) -> Iterator[Integers]:
    for at in range(0, len(sources), step):
        yield sources[at : at + step]
