"""LEAKS: variants of an experiment in which test links leak into the network. They serve to judge published numbers, never as results.

Normally, a link to be predicted is not in the messages of its stage and is removed from its own subgraph. A leak undoes part of this.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from llwlc.bases.config import BasisConfig
from llwlc.bases.eigenbasis import eigenbasis
from llwlc.bases.encoded_links import CHUNK, EncodedLinks, fields_of, with_pointer
from llwlc.errors import InputError
from llwlc.graph.graph import Graph
from llwlc.splits.linksplit import LinkSplit
from llwlc.subgraphs.batch import Subgraphs
from llwlc.subgraphs.extraction import check_pairs, extract
from llwlc.training.encoded_split import EncodedSplit

LEAKS = {
    "test epoch": "the best epoch is chosen on test links",
    "messages": "test links carry messages; a pair's own link is taken out of its subgraph",
    "laplacian": "test links carry messages, and a pair's own link stays in its Laplacian",
    "labels": "the same, and the ends are labelled as one apart",
}


def leaked_split(graph: Graph, split: LinkSplit, leak: str) -> LinkSplit:
    """The split under a leak."""
    if leak not in LEAKS:
        raise InputError(f"no leak is called {leak!r}; there are {', '.join(LEAKS)}")
    if leak == "test epoch":
        return replace(split, valid_pos=split.test_pos, valid_neg=split.test_neg, valid_graph=split.test_graph)
    return replace(split, train_graph=graph, valid_graph=graph, test_graph=graph)


class LinkKept(EncodedSplit):
    """Encoded links whose own link, where they are links, stays in the Laplacian."""

    labels = False

    def _encoded(self, graph: Graph, pairs: Tensor, about: str, *, stored: bool = True) -> EncodedLinks:
        return encode_with_link(graph, pairs, self.preset.basis, labels=self.labels).to(self.device)


class LabelKept(LinkKept):
    """As `LinkKept`; the link also counts in the labels of the ends."""

    labels = True


ENCODED = {"laplacian": LinkKept, "labels": LabelKept}
"""The class that encodes the links of a split, for leaks that change the encoding."""


def encode_with_link(graph: Graph, pairs: Tensor, config: BasisConfig, *, labels: bool) -> EncodedLinks:
    """`encode`, stage by stage, each subgraph with the pair's own link where the graph has it."""
    pairs = check_pairs(graph, pairs)
    ordered = torch.stack([pairs.amin(1), pairs.amax(1)], 1)
    parts = []
    for chunk in torch.split(ordered, CHUNK):
        subs = with_link(extract(graph, chunk, config.hops, seed=config.seed), linked(graph, chunk), labels=labels)
        basis = eigenbasis(
            subs,
            config.columns(subs),
            steps=config.steps,
            start=config.start,
            laplacian=config.laplacian,
            seed=config.seed,
            dtype=torch.float32,
        )
        parts.append(fields_of(subs, basis, config))
    return with_pointer({name: torch.cat([part[name] for part in parts]) for name in parts[0]})


def linked(graph: Graph, pairs: Tensor) -> Tensor:
    """Which pairs `[B, 2]` are links of the graph, `[B]`."""
    row, col = graph.edge_index
    known, asked = row * graph.num_nodes + col, pairs[:, 0] * graph.num_nodes + pairs[:, 1]
    return torch.isin(asked, known)


def with_link(subs: Subgraphs, which: Tensor, *, labels: bool) -> Subgraphs:
    """The subgraphs with an edge between the ends in those of `which [B]`; with `labels` the ends are one apart there."""
    if subs.weight is not None:
        raise InputError("a leak is measured on graphs without weights")
    u, v = subs.u[which], subs.v[which]
    row, col = torch.cat([subs.row, u, v]), torch.cat([subs.col, v, u])
    order = torch.argsort(row, stable=True)
    kept = replace(subs, row=row[order], col=col[order])
    if not labels:
        return kept
    dist_u, dist_v = subs.dist_u.clone(), subs.dist_v.clone()
    dist_u[v], dist_v[u] = 1, 1
    return replace(kept, dist_u=dist_u, dist_v=dist_v)
