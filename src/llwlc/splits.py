"""Named protocols: which links are trained on, validated on and tested on, against which negatives, with which messages.

`docs/protocols.md` says what each protocol is, whose it is, and where ours differs.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from llwlc.audit import Audit, audit, audit_parts, from_pyg
from llwlc.errors import InputError
from llwlc.graph import Graph
from llwlc.heart import allow_by_recipe, with_hard_negatives
from llwlc.linksplit import LinkSplit
from llwlc.negatives import NonEdges

__all__ = [
    "PROTOCOLS",
    "Audit",
    "LinkSplit",
    "Sizes",
    "audit",
    "audit_parts",
    "fresh_negatives",
    "from_pyg",
    "largest_component",
    "make",
    "sizes",
]

PROTOCOLS = ("paper", "seal", "ncn", "buddy", "heart", "random", "temporal")


class Sizes(NamedTuple):
    """How many links and negatives each part has."""

    train: int
    valid: int
    test: int
    valid_neg: int
    test_neg: int


def sizes(protocol: str, num_edges: int, *, val: float | None = None, test: float | None = None) -> Sizes:
    """Sizes of the parts, rounded as each protocol's own code rounds.

    >>> sizes("ncn", 5278)
    Sizes(train=3696, valid=527, test=1055, valid_neg=1055, test_neg=1055)
    """
    if protocol not in PROTOCOLS:
        raise InputError(f"unknown protocol {protocol!r}: choose one of {', '.join(PROTOCOLS)}")
    free = protocol in ("random", "temporal")
    if not free and (val is not None or test is not None):
        raise InputError(f"protocol {protocol!r} fixes its ratios: use protocol='random' to choose val and test")
    if protocol == "paper":
        t = math.floor(0.1 * num_edges)
        v = math.floor(0.1 * (num_edges - t))
    elif protocol == "ncn":
        # NCN holds out 20 % + 20 %, then gives half of the former back to training but keeps all its negatives
        t = math.floor(0.2 * num_edges)
        v = int(t * 0.1 / 0.2)
        return Sizes(num_edges - v - t, v, t, t, t)
    elif protocol == "buddy":
        v, t = math.floor(0.1 * num_edges), math.floor(0.2 * num_edges)
    else:
        low, high = (0.05, 0.1) if not free else (0.05 if val is None else val, 0.1 if test is None else test)
        if not (0 <= low < 1 and 0 <= high < 1 and low + high < 1):
            raise InputError(f"val={low} and test={high} must be shares of the links, at least 0 and below 1 together")
        v, t = math.floor(low * num_edges), math.floor(high * num_edges)
    return Sizes(num_edges - v - t, v, t, v, t)


def make(
    graph: Graph,
    *,
    protocol: str = "ncn",
    seed: int = 0,
    val: float | None = None,
    test: float | None = None,
    num_hard: int = 500,
) -> LinkSplit:
    """The split of a graph by a named protocol: `paper`, `seal`, `ncn`, `buddy`, `heart`, `random` or `temporal`.

    `val` and `test` (default 0.05 and 0.1) are for `random` and `temporal`, the number of hard negatives for `heart`. Under `seal`
    and `ncn` a seed gives the very links and negatives that the published code draws after `torch.manual_seed(seed)` from a graph
    whose nodes are numbered alike; SEAL's one fixed split is seed 234, run r of NCN is seed r.

    >>> ring = Graph.from_edges(torch.stack([torch.arange(20), torch.arange(1, 21) % 20], 1))
    >>> make(ring, protocol="seal", seed=234)
    LinkSplit(seal, seed=234, train_pos=17, train_neg=17, valid_pos=1, valid_neg=1, test_pos=2, test_neg=2)
    """
    if seed < 0:
        raise InputError(f"seed={seed}: a seed is 0 or more")
    nodes, edges = _scope(graph, protocol)
    size = sizes(protocol, len(edges), val=val, test=test)
    _require_edges(protocol, len(edges), size, val=val, test=test)

    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(edges), generator=generator)
    notes: list[str] = []
    if nodes is not None:
        notes = [f"largest component: {len(nodes)} of {graph.num_nodes} nodes, original node ids"]
    if protocol == "temporal":
        order, notes = _by_time(graph, order, size)
    free, wanted = NonEdges(graph.num_nodes, edges, nodes), size.valid_neg + size.test_neg
    if protocol in ("seal", "ncn"):
        negative = free.sample_as_pyg(wanted, generator)
    else:
        negative = free.sample(wanted, np.random.default_rng(seed))
    train, valid, test_pos = _parts(protocol, edges[order], size, generator)
    message = graph.with_edges(train)
    late = protocol in ("paper", "buddy", "random", "temporal")
    split = LinkSplit(
        protocol,
        seed,
        train,
        torch.empty(0, 2, dtype=torch.long),
        valid,
        negative[: size.valid_neg],
        test_pos,
        negative[size.valid_neg :],
        message,
        message,
        graph.with_edges(torch.cat([train, valid])) if late else message,
        nodes,
        notes=tuple(notes),
    )
    return _finish(split, num_hard=num_hard)


def _finish(split: LinkSplit, *, num_hard: int) -> LinkSplit:
    """The split with its training negatives and, under `heart`, its hard ones."""
    if split.protocol == "heart":
        split = with_hard_negatives(split, num_hard=num_hard)
    negative, needed = fresh_negatives(split, epoch=0), len(split.train_pos)
    notes = split.notes
    if len(negative) < needed:
        notes = (*notes, f"dense graph: only {len(negative)} pairs are left as training negatives for {needed} links")
    split = replace(split, train_neg=negative, notes=notes)
    return allow_by_recipe(split) if split.protocol == "heart" else split


def fresh_negatives(split: LinkSplit, *, epoch: int, seed: int | None = None, count: int | None = None) -> Tensor:
    """New training negatives `[count, 2]` for an epoch; epoch 0 with the split's own seed gives its `train_neg`.

    Never a training link, nor any pair asked about in validation or test, link or not: so no held-out link is trained on as a
    negative, and what is left out tells nothing of which held-out pairs are links. `count` is the number of training links by
    default, or what a dense graph has left.
    """
    # of hard negatives there may be so many that excluding them would say something; they are drawn near links by design
    held = [p for p in (split.valid_pos, split.test_pos, split.valid_neg, split.test_neg) if p.ndim == 2]
    free = NonEdges(
        split.train_graph.num_nodes, torch.cat([split.train_pos, split.train_graph.edges, *held]), split.nodes
    )
    wanted = min(len(split.train_pos), len(free)) if count is None else count
    if not len(free):
        raise InputError("no pair without a link is left to train on: the graph is too dense for this split")
    return free.sample(wanted, np.random.default_rng([split.seed if seed is None else seed, epoch]))


def largest_component(graph: Graph) -> Tensor:
    """The nodes of the component with the most nodes, ascending."""
    if not graph.num_nodes:
        return torch.empty(0, dtype=torch.long)
    matrix = csr_array(
        (np.ones(len(graph.indices), dtype=np.int8), graph.indices.numpy(), graph.indptr.numpy()),
        shape=(graph.num_nodes, graph.num_nodes),
    )
    label = torch.from_numpy(connected_components(matrix, directed=False)[1]).long()
    return (label == torch.bincount(label).argmax()).nonzero().view(-1)


def _scope(graph: Graph, protocol: str) -> tuple[Tensor | None, Tensor]:
    """The nodes (None: all) and the links `[m, 2]` that a protocol splits."""
    if protocol != "buddy":
        return None, graph.edges
    nodes = largest_component(graph)
    inside = torch.zeros(graph.num_nodes, dtype=torch.bool)
    inside[nodes] = True
    return nodes, graph.edges[inside[graph.edges[:, 0]]]


def _parts(protocol: str, edges: Tensor, size: Sizes, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Train, valid and test of the edges in drawn order: validation first, as in PyG's `train_test_split_edges`."""
    if protocol == "temporal":
        test_from = size.train + size.valid
        return edges[: size.train], edges[size.train : test_from], edges[test_from:]
    held = size.test if protocol == "ncn" else size.valid
    valid, test, train = edges[:held], edges[held : held + size.test], edges[held + size.test :]
    if protocol == "ncn":
        valid = valid[torch.randperm(held, generator=generator)]
        train = torch.cat([train, valid[: held - size.valid]])
        valid = valid[held - size.valid :]
    return train, valid, test


def _by_time(graph: Graph, order: Tensor, size: Sizes) -> tuple[Tensor, list[str]]:
    """The order of the edges by time, ties as drawn, and a note for each border that runs through links of one time."""
    if graph.time is None:
        raise InputError("protocol 'temporal' needs the time of every link: load the graph with a time column")
    row, col = graph.edge_index
    time = graph.time[row < col]
    if torch.isnan(time.double()).any():
        raise InputError("protocol 'temporal': some links have no time (NaN); drop them or fill them in")
    order = order[torch.argsort(time[order], stable=True)]
    time, notes = time[order], []
    for name, at in (("train and valid", size.train), ("valid and test", size.train + size.valid)):
        if 0 < at < len(time) and time[at - 1] == time[at]:
            notes.append(
                f"{int((time == time[at]).sum())} links of time {time[at].item()} are shared between {name} at random"
            )
    return order, notes


def _require_edges(protocol: str, num_edges: int, size: Sizes, *, val: float | None, test: float | None) -> None:
    def complete(s: Sizes) -> bool:
        return s.train > 0 and (s.valid > 0 or val == 0) and (s.test > 0 or test == 0)

    if complete(size):
        return
    least = next(m for m in range(num_edges + 1, 10**9) if complete(sizes(protocol, m, val=val, test=test)))
    raise InputError(
        f"the graph has {num_edges} links, too few to split: protocol {protocol!r} needs at least {least}, "
        "so that every part has one; give more links, larger shares or another protocol"
    )
