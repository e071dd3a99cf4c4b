"""LEAKS: variants of an experiment in which test links leak into the network. They serve to judge published numbers,
never as results.

Normally, a link to be predicted is not in the messages of its stage and is removed from its own subgraph. A leak undoes
part of this.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from llwlc.bases._config import BasisConfig
from llwlc.bases._eigenbasis import eigenbasis
from llwlc.bases._encoded_links import CHUNK, EncodedLinks, encode_subgraphs, make_encoded_links
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.models._base import RANDOM, Population
from llwlc.models._llwlc.encoded_split import EncodedSplit
from llwlc.models._llwlc.model import LLwLC
from llwlc.models._llwlc.scoring import OUTPUTS, Scorer
from llwlc.splits._linksplit import LinkSplit
from llwlc.subgraphs._batch import Subgraphs
from llwlc.subgraphs._extraction import extract
from llwlc.subgraphs._link_inputs import check_pairs

LEAKS = {
    "test epoch": "the best epoch is chosen on test links",
    "messages": "test links carry messages; a pair's own link is taken out of its subgraph",
    "laplacian": "test links carry messages, and a pair's own link stays in its Laplacian",
    "labels": "the same, and the ends are labelled as one apart",
}


def make_leaked_split(graph: Graph, split: LinkSplit, leak: str) -> LinkSplit:
    """The split under a leak."""
    if leak not in LEAKS:
        raise InputError(f"no leak is called {leak!r}; there are {', '.join(LEAKS)}")
    if leak == "test epoch":
        return replace(split, valid_pos=split.test_pos, valid_neg=split.test_neg, valid_graph=split.test_graph)
    return replace(split, train_graph=graph, valid_graph=graph, test_graph=graph)


class LinkKeptSplit(EncodedSplit):
    """Encoded links whose own link, where they are links, stays in the Laplacian."""

    labels = False

    def _encoded(self, graph: Graph, pairs: Tensor, about: str) -> EncodedLinks:
        data = encode_with_link(graph, pairs, self.preset.basis, labels=self.labels).to(self.device)
        return self._with_inputs(data, graph, pairs)


class LabelKeptSplit(LinkKeptSplit):
    """As `LinkKeptSplit`; the link also counts in the labels of the ends."""

    labels = True


class LinkKept(LLwLC):
    """Our network on subgraphs that hold the pair's own link: in training, in validation and in scores."""

    encoded_split: type[LinkKeptSplit] = LinkKeptSplit

    def score(self, graph: Graph, pairs: Tensor, population: Population = RANDOM) -> Tensor:
        scorer = Scorer(self.fitted, self.features)
        data = encode_with_link(graph, pairs, self.basis, labels=self.encoded_split.labels).to(self._device)
        data = data.with_pair(None if scorer.inputs is None else scorer.inputs(graph, pairs))
        return scorer(data, OUTPUTS[population])


class LabelKept(LinkKept):
    """As `LinkKept`; the link also counts in the labels of the ends."""

    encoded_split = LabelKeptSplit


MODELS: dict[str, type[LLwLC]] = {"laplacian": LinkKept, "labels": LabelKept}
"""The model under a leak that changes how links are encoded; under the others it is ours as it is."""


def encode_with_link(graph: Graph, pairs: Tensor, config: BasisConfig, *, labels: bool) -> EncodedLinks:
    """`encode`, stage by stage, each subgraph with the pair's own link where the graph has it."""
    pairs = check_pairs(graph, pairs)
    ordered = torch.stack([pairs.amin(1), pairs.amax(1)], 1)
    parts = []
    for chunk in torch.split(ordered, CHUNK):
        subs = add_link(extract(graph, chunk, config.hops, seed=config.seed), are_links(graph, chunk), labels=labels)
        basis = eigenbasis(
            subs,
            config.columns(subs),
            steps=config.steps,
            start=config.start,
            laplacian=config.laplacian,
            seed=config.seed,
            dtype=torch.float32,
        )
        parts.append(encode_subgraphs(subs, basis, config))
    return make_encoded_links({name: torch.cat([part[name] for part in parts]) for name in parts[0]})


def are_links(graph: Graph, pairs: Tensor) -> Tensor:
    """Which pairs `[B, 2]` are links of the graph, `[B]`."""
    row, col = graph.edge_index
    known, asked = row * graph.num_nodes + col, pairs[:, 0] * graph.num_nodes + pairs[:, 1]
    return torch.isin(asked, known)


def add_link(subs: Subgraphs, which: Tensor, *, labels: bool) -> Subgraphs:
    """The subgraphs with an edge between the ends in those of `which [B]`; with `labels` the ends are one apart
    there.
    """
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
