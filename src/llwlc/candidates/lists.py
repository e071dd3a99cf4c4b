"""The own lists of nodes: the partners that look most like a missing link, best first, before any network is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc.candidates import nearest
from llwlc.candidates.best_first import Lists, best_first, distinct
from llwlc.candidates.config import CandidateConfig
from llwlc.candidates.kinds import Kinds
from llwlc.candidates.smoothing import Smoothed
from llwlc.candidates.walks import PRECISION, walk_ends
from llwlc.graph.graph import Graph

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]
ENTRIES_PER_BLOCK = 1 << 24
LARGE_BLOCK, LARGE_ENTRIES, FEW_SOURCES = 1 << 14, 1 << 21, 64
"""Sources at a time on a large graph, to list their partners: many, as every block begins with scratch as long as the graph has nodes, but no more than have so many partners together, whose
arrays would be asked of the system anew each time; and where all evidence is kept."""
ROWS_AT_ONCE = 1 << 16
NOWHERE = float("-inf")


class Evidence(NamedTuple):
    """What speaks for nodes as partners of some sources, `[b, k]` each: similarity, and the logarithm of PageRank; `open`: which may be listed.

    `node [b, k]`: the nodes that were looked at, None for all of them in their order.
    """

    node: Tensor | None
    like: Tensor
    walk: Tensor
    open: Tensor

    def score(self, config: CandidateConfig, raised: Tensor) -> Tensor:
        """−inf where a node may not be listed, or where nothing speaks for it. `raised [n]`: the part of the score that is the same in every list (`Lister.raised`)."""
        own = raised if self.node is None else raised[self.node]
        total = self.like + own + config.walk * self.walk
        return total.masked_fill(~self.open | ((self.like <= 0) & (self.walk <= 0)), NOWHERE)


@dataclass(frozen=True, eq=False)
class Lister:
    """Makes own lists on a graph, under weights that may be changed (`weighed`).

    `smoothed`: the nodes' smoothed features, None where there are none: then walks alone decide, and their weight is 1. `proposing`: how many nodes share the candidates that fit in
    memory, None for all.
    """

    graph: Graph
    smoothed: Smoothed | None
    config: CandidateConfig
    kinds: Kinds
    device: str = "cpu"
    proposing: int | None = None

    @property
    def budget(self) -> int:
        """Pairs that a node pays for on this graph."""
        return self.config.budget_for(self.graph.num_nodes if self.proposing is None else self.proposing)

    @cached_property
    def weights(self) -> CandidateConfig:
        return (
            self.config if self.smoothed is not None else CandidateConfig(self.config.budget, self.config.degree, 1.0)
        )

    @cached_property
    def log_degree(self) -> Tensor:
        return torch.log1p(self.graph.degree.float()).to(self.device)

    def weighed(self, config: CandidateConfig) -> Lister:
        """The same lister with other weights; what was computed and does not depend on them, crowds above all, is not computed again."""
        other = replace(self, config=config)
        same = (*WITHOUT_WEIGHTS, "_indexes") if config.degree == self.config.degree else WITHOUT_WEIGHTS
        vars(other).update({name: vars(self)[name] for name in same if name in vars(self)})
        return other

    def prepare(self) -> None:
        """Computes what is computed once, before the first list."""
        _ = self.crowd
        if self.smoothed is not None and not self.exact:
            _ = self._indexes

    def raised(self, config: CandidateConfig) -> Tensor:
        """The part of a node's list score that is the same in the list of every other node, by its degree and its crowd, `[n]`."""
        found = config.degree * self.log_degree
        return found - config.crowd * self.crowd if config.crowd else found

    @property
    def crowds(self) -> bool:
        """Whether crowds are computed: where there are features, and few enough nodes to compare all with all once more."""
        return self.smoothed is not None and self.exact and self.graph.num_nodes <= CROWDED_NODES

    @cached_property
    def crowd(self) -> Tensor:
        """The crowd of each node, the mean of its largest similarities, `[n]`; 0 where crowds are not computed."""
        if not self.crowds:
            return torch.zeros(self.graph.num_nodes, device=self.device)
        blocks = _blocks(np.arange(self.graph.num_nodes), self.sources_at_once)
        parts = [self.crowding(self._likeness(block), block) for block in blocks]
        return torch.cat([torch.zeros(0, device=self.device), *parts])

    def crowding(self, like: Tensor, sources: Integers) -> Tensor:
        """The mean of the `CROWD` largest similarities `like [b, n]` of each source, to other nodes of a fitting kind; what is below 0, or missing, counts as 0."""
        other = self._fitting(sources)
        near = like.masked_fill(~other, 0).clamp(min=0)
        return near.topk(min(CROWD, near.shape[1]), dim=1).values.sum(1) / CROWD

    @cached_property
    def _vectors(self) -> Tensor | None:
        return None if self.smoothed is None else torch.from_numpy(self.smoothed.vectors).to(self.device)

    @cached_property
    def _kind(self) -> Tensor:
        return torch.from_numpy(self.kinds.kind).to(self.device)

    @cached_property
    def _joined(self) -> Tensor:
        return torch.from_numpy(self.kinds.joined).to(self.device)

    def __call__(self, sources: Integers, length: int) -> Lists:
        """The lists of these nodes. A node that is linked with the source, or of a kind that no link joins with the source's, is in no list."""
        parts = [Lists(np.zeros((0, length), dtype=np.int64), np.zeros((0, length), dtype=np.float32))]
        many = max(FEW_SOURCES, min(LARGE_BLOCK, LARGE_ENTRIES // max(2 * length, 1)))
        links = self._most_links(sources)
        for block in _blocks(sources, self.sources_at_once if self.exact else many):
            parts.append(self._exactly(block, length) if self.exact else self._nearly(block, length, links))
        return Lists(np.concatenate([p.partner for p in parts]), np.concatenate([p.score for p in parts]))

    @property
    def precision(self) -> float:
        """Of walks: coarser on a graph so large that lists are short, whose few best ends are the same (of 10, 99.6 % on a graph of 3.5 million nodes)."""
        if self.exact:
            return PRECISION
        return PRECISION * min(max(ENDS_OF_A_WALK / (4 * self.budget), 1.0), COARSEST)

    @property
    def exact(self) -> bool:
        """Whether every node is looked at as a partner of every other one."""
        return self.graph.num_nodes <= nearest.EXACT_NODES

    @property
    def sources_at_once(self) -> int:
        """Whose evidence is looked at together."""
        return max(1, ENTRIES_PER_BLOCK // max(self.graph.num_nodes, 1)) if self.exact else FEW_SOURCES

    def evidence(self, sources: Integers, wanted: Integers, *, removed: bool = False) -> tuple[Evidence, Tensor]:
        """Of each source, and where its `wanted` node stands in it, `[b]`; `removed`: on the graph that lacks the link between the two, which then may be listed.

        Of all nodes; on a large graph of the wanted one and of those that lists are made of. (The wanted node's own vector is that of the graph without the link too; those
        of others are taken as they are, which they nearly are.)
        """
        if not self.exact:
            return self._near_evidence(sources, wanted, removed), torch.zeros(len(sources), dtype=torch.long)
        return self._all_evidence(sources, wanted if removed else None), torch.from_numpy(wanted)

    def _all_evidence(self, sources: Integers, removed: Integers | None = None) -> Evidence:
        n, b = self.graph.num_nodes, len(sources)
        gone = np.full(b, -1) if removed is None else removed
        row = torch.arange(b, device=self.device)
        walk = torch.zeros(b, n, device=self.device)
        ends, rank = walk_ends(self.graph, sources, gone, self.kinds, min(WALKED, n))
        at, place = np.nonzero(ends >= 0)
        value = torch.from_numpy(np.log1p(rank[at, place] / PRECISION)).float()
        walk[torch.from_numpy(at).to(self.device), torch.from_numpy(ends[at, place]).to(self.device)] = value.to(
            self.device
        )
        like = self._likeness(sources, removed)
        possible = self._fitting(sources)
        linked, owner = self._links(sources)
        possible[owner.to(self.device), linked.to(self.device)] = False
        if removed is not None:
            again = self.kinds.joined[self.kinds.kind[sources], self.kinds.kind[removed]]
            possible[row, torch.from_numpy(removed).to(self.device)] = torch.from_numpy(again).to(self.device)
        return Evidence(None, like, walk, possible)

    def _likeness(self, sources: Integers, removed: Integers | None = None) -> Tensor:
        """The similarities of the sources with all nodes, `[b, n]`; of a source and the other end on the graph that lacks their link."""
        if self._vectors is None or self.smoothed is None:
            return torch.zeros(len(sources), self.graph.num_nodes, device=self.device)
        query = self.smoothed.vectors[sources] if removed is None else self.smoothed.without_link(sources, removed)
        like = torch.from_numpy(query).to(self.device) @ self._vectors.T
        if removed is not None:
            other = (query * self.smoothed.without_link(removed, sources)).sum(1)
            row = torch.arange(len(sources), device=self.device)
            like[row, torch.from_numpy(removed).to(self.device)] = torch.from_numpy(other).to(self.device)
        return like

    def _fitting(self, sources: Integers) -> Tensor:
        """Which nodes are of a kind that a link may join with each source's, and not the source itself, `[b, n]`."""
        own = torch.from_numpy(sources).to(self.device)
        fitting = self._joined[self._kind[own]][:, self._kind]
        fitting[torch.arange(len(sources), device=self.device), own] = False
        return fitting

    def _near_evidence(self, sources: Integers, wanted: Integers, removed: bool) -> Evidence:
        """Of the wanted node, in the first column, of those where walks end, and of those that the index finds."""
        n, kind, joined = self.graph.num_nodes, self.kinds.kind, self.kinds.joined
        ends, rank = walk_ends(
            self.graph,
            sources,
            wanted if removed else np.full(len(sources), -1),
            self.kinds,
            min(WALKED, n),
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
        asked = np.stack([np.broadcast_to(sources[:, None], node.shape), node], 2)
        open_ &= joined[kind[asked[..., 0]], kind[asked[..., 1]]] & (node != sources[:, None])
        # walks end at no node that the source is linked to; the index knows nothing of links
        unsure = np.column_stack([open_[:, :1] & ~removed, open_[:, 1 + ends.shape[1] :]])
        columns = np.append(0, np.arange(1 + ends.shape[1], node.shape[1]))
        at = np.nonzero(unsure)
        linked = self.graph.has_edges(torch.from_numpy(asked[at[0], columns[at[1]]])).numpy()
        open_[at[0][linked], columns[at[1]][linked]] = False
        parts = (node, like, np.log1p(walk / PRECISION).astype(np.float32), open_)
        return Evidence(*(torch.from_numpy(np.ascontiguousarray(part)).to(self.device) for part in parts))

    def _links(self, sources: Integers) -> tuple[Tensor, Tensor]:
        begin, end = self.graph.indptr[sources], self.graph.indptr[sources + 1]
        owner = torch.repeat_interleave(torch.arange(len(sources)), end - begin)
        first = torch.repeat_interleave(
            begin - torch.cat([torch.zeros(1, dtype=torch.long), (end - begin).cumsum(0)[:-1]]), end - begin
        )
        return self.graph.indices[first + torch.arange(len(owner))], owner

    def _exactly(self, sources: Integers, length: int) -> Lists:
        best = (
            self._all_evidence(sources)
            .score(self.weights, self.raised(self.weights))
            .topk(min(length, self.graph.num_nodes), dim=1)
        )
        value, partner = best.values.cpu().numpy(), best.indices.cpu().numpy()
        missing = length - partner.shape[1]
        partner = np.pad(np.where(value > NOWHERE, partner, -1), ((0, 0), (0, missing)), constant_values=-1)
        return Lists(partner, np.pad(value, ((0, 0), (0, missing)), constant_values=NOWHERE))

    def _nearly(self, sources: Integers, length: int, links: int) -> Lists:
        """On a large graph: of the nodes where walks end and of those that an index finds; `links`: as many as any source has."""
        graph, weights = self.graph, self.weights
        partner, rank = walk_ends(graph, sources, np.full(len(sources), -1), self.kinds, 2 * length, self.precision)
        if self.smoothed is not None:
            partner = np.column_stack([partner, self._similar(sources, length, self.smoothed.vectors[sources], links)])
        found = distinct(partner, np.log1p(rank / PRECISION), sources, graph)
        score = weights.degree * self.log_degree.cpu().numpy()[found.partner] + weights.walk * found.walk
        if self.smoothed is not None:
            like = _products(self.smoothed.vectors, sources[found.row], found.partner)
            score = np.where((like > 0) | (found.walk > 0), score + like, NOWHERE)
        return best_first(found, score.astype(np.float32), length)

    def _most_links(self, sources: Integers) -> int:
        return int(self.graph.degree.numpy()[sources].max(initial=0))

    def _similar(self, sources: Integers, length: int, query: Floats, links: int) -> Integers:
        """By their vectors `query`, the nodes of a fitting kind nearest to each source, and as many more as it has `links`, since these are among the nearest."""
        most = length + 1 + min(links, 4 * length)
        found = np.full((len(sources), most), -1)
        own = self.kinds.kind[sources]
        for kind, index in self._indexes.items():
            at = np.flatnonzero(own == kind)
            best = index(query[at], most)
            found[at, : best.shape[1]] = best
        return found

    @cached_property
    def _indexes(self) -> dict[int, nearest.Nearest]:
        assert self.smoothed is not None
        raised = (self.weights.degree * self.log_degree).cpu().numpy()
        found = {}
        for kind, joined in enumerate(self.kinds.joined):
            members = np.flatnonzero(joined[self.kinds.kind])
            if len(members):
                found[kind] = nearest.Nearest(self.smoothed.vectors, raised, members)
        return found


WITHOUT_WEIGHTS = ("crowd", "log_degree", "_vectors", "_kind", "_joined")
"""What a lister computes once, whatever its weights."""
ENDS_OF_A_WALK, COARSEST = 300.0, 20.0
"""A walk of the usual precision has some hundred ends; how much coarser one may be."""
WALKED = 2000
"""Ends of walks from a node that are kept."""
CROWD, CROWDED_NODES = 5, 10_000
"""Nearest nodes that make a crowd, and the nodes up to which crowds are computed: on 18,000 nodes they took 13 s, several times a fit, and gained little."""


def lister_for(
    graph: Graph,
    x: Floats | None,
    config: CandidateConfig,
    *,
    gist: Floats | None = None,
    kinds: Kinds | None = None,
    device: str = "cpu",
) -> Lister:
    """`x`: features `[n, F]` in which cosines mean something, dense, or None; `gist`: their leading directions, where the configuration gives those a weight."""
    usable = x is not None and nearest.available(graph.num_nodes)
    smoothed = Smoothed.of(graph, x, gist, config.gist) if usable and x is not None else None
    return Lister(graph, smoothed, config, Kinds.any(graph.num_nodes) if kinds is None else kinds, device)


def _products(vectors: Floats, first: Integers, second: Integers) -> Floats:
    """The inner products of rows, `[m]`; part by part, since the rows of all would take more memory than the rest of the lists."""
    found = np.empty(len(first), dtype=np.float32)
    for at in range(0, len(first), ROWS_AT_ONCE):
        part = slice(at, at + ROWS_AT_ONCE)
        found[part] = np.einsum("ij,ij->i", vectors[first[part]], vectors[second[part]])
    return found


def _blocks(sources: Integers, step: int) -> Iterator[Integers]:
    for at in range(0, len(sources), step):
        yield sources[at : at + step]
