"""Splits made by a named protocol."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from llwlc._support.bounds import require_whole
from llwlc._support.registry import Target, resolve
from llwlc.errors import InputError
from llwlc.graph._edge_list import EdgeList
from llwlc.graph._graph import Graph
from llwlc.graph._report import describe_dates
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._negatives import NonEdges, replace_share
from llwlc.splits._registry import PROTOCOLS, Protocol, Sizes
from llwlc.splits._sizing import sizes

NUM_HARD = 500
"""Hard negatives for each link unless told otherwise, as HeaRT has them."""

LARGEST_SEED = 1 << 40


def make(
    graph: Graph,
    *,
    protocol: str = "ncn",
    seed: int = 0,
    val: float | None = None,
    test: float | None = None,
    num_hard: int = NUM_HARD,
) -> LinkSplit:
    """The split of a graph by a named protocol.

    Under `seal` and `ncn` a seed gives the very links and negatives that the published code draws after
    `torch.manual_seed(seed)` from a graph whose nodes are numbered alike; SEAL's one fixed split is seed 234, run r of
    NCN is seed r. `heart` is the published split where its files are in the data root (`splits._heart_files`), whatever
    the seed.

    Args:
        graph: the graph of all known links.
        protocol: one of `PROTOCOLS`.
        seed: seed of the random draws.
        val: the share of validation links under `random` and `temporal`, 0.05 by default; refused elsewhere.
        test: the share of test links under `random` and `temporal`, 0.1 by default; refused elsewhere.
        num_hard: negatives for each link under `heart`.

    >>> ring = Graph.from_edges(torch.stack([torch.arange(20), torch.arange(1, 21) % 20], 1))
    >>> make(ring, protocol="seal", seed=234)
    LinkSplit(seal, seed=234, train_pos=17, train_neg=17, valid_pos=1, valid_neg=1, test_pos=2, test_neg=2)
    """
    require_whole("seed", seed, least=0, most=LARGEST_SEED)
    record = PROTOCOLS[protocol]
    if record.from_dataset:
        if val is not None or test is not None:
            raise InputError(f"protocol {protocol!r} fixes its parts: use protocol='random' to choose val and test")
        published: LinkSplit = record.load()(graph, protocol=protocol, seed=seed)
        return published
    if record.published is not None and num_hard == NUM_HARD:
        as_published: LinkSplit | None = _call(record.published, graph, protocol=protocol, seed=seed)
        if as_published is not None:
            return _call(record.allow, as_published) if record.allow is not None else as_published
    edges = EdgeList(graph.without_direction())  # a split hides links, whichever way they point
    nodes, inside = _scope(edges, record)
    count = len(edges) if inside is None else len(inside)
    size = sizes(protocol, count, val=val, test=test)
    _require_edges(protocol, count, size, val=val, test=test)

    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(count, generator=generator)
    notes: list[str] = []
    if nodes is not None:
        notes = [f"largest component: {len(nodes)} of {graph.num_nodes} nodes, original node ids"]
    if record.order is not None:
        order, notes = _call(record.order, graph, order, size)
    order = order if inside is None else inside[order]
    negative = _negatives(edges, order, size, generator, record, nodes, seed)
    parts = _parts(record, edges, order, size, generator)
    del order  # as large as the graph, like what follows
    message, last = _messages(edges, parts, valid_messages=record.valid_messages)
    split = LinkSplit(
        protocol,
        seed,
        parts.train,
        torch.empty(0, 2, dtype=torch.long),
        parts.valid,
        negative[: size.valid_neg],
        parts.test,
        negative[size.valid_neg :],
        message,
        message,
        last,
        nodes,
        notes=tuple(notes),
        metric=record.metric,
    )
    if record.negatives is not None:
        options = {"num_hard": num_hard}
        split = _call(record.negatives, split, **{name: options[name] for name in record.options})
    split = with_training_negatives(split)
    return _call(record.allow, split) if record.allow is not None else split


def part_sizes(graph: Graph, protocol: str) -> Sizes:
    """How many links and negatives each part of a graph has under a protocol that draws them."""
    inside = _scope(EdgeList(graph), PROTOCOLS[protocol])[1]
    return sizes(protocol, graph.num_edges if inside is None else len(inside))


def load_dataset_split(graph: Graph, *, protocol: str, seed: int) -> LinkSplit:
    """The split that comes with the dataset a graph was loaded as; `seed` draws training negatives, where the dataset
    has none of its own.
    """
    origin = graph.origin
    if origin is None or origin.split is None:
        whose = "was not loaded by name" if origin is None else f"is {origin.name}, which brings no split"
        raise InputError(
            f"protocol {protocol!r} is the split of an ogbl dataset, but this graph {whose}: load one, as in"
            " llwlc.datasets.load('ogbl-ddi'), or choose another protocol"
        )
    split: LinkSplit = origin.split(seed=seed)
    if not torch.equal(split.train_graph.indices, graph.indices):
        raise InputError(
            f"this graph has other links than the training part of {origin.name}: split it as it was loaded"
        )
    return split


def _call(target: Target, *arguments: object, **options: object) -> Any:
    return (resolve(target) if isinstance(target, str) else target)(*arguments, **options)


def with_training_negatives(split: LinkSplit) -> LinkSplit:
    negative, needed = fresh_negatives(split, epoch=0), len(split.train_pos)
    notes = split.notes
    if len(negative) < needed:
        notes = (*notes, f"dense graph: only {len(negative)} pairs are left as training negatives for {needed} links")
    return replace(split, train_neg=negative, notes=notes)


def fresh_negatives(split: LinkSplit, *, epoch: int, seed: int | None = None, count: int | None = None) -> Tensor:
    """New training negatives for an epoch; epoch 0 with the split's own seed gives its `train_neg`.

    Never a training link, nor any pair asked about in validation or test, link or not: so no held-out link is trained
    on as a negative, and what is left out tells nothing of which held-out pairs are links. Known non-links of
    training (`with_known_negatives`) are among them.

    Args:
        split: the split whose training links need negatives.
        epoch: each has its own draw.
        seed: seed of the random draw; by default the split's.
        count: how many; by default as many as training links, or what a dense graph has left.

    Returns:
        Pairs `[count, 2]`.

    >>> ring = Graph.from_edges(torch.stack([torch.arange(20), torch.arange(1, 21) % 20], 1))
    >>> fresh_negatives(make(ring, protocol="seal"), epoch=1).shape
    torch.Size([17, 2])
    """
    free = training_non_edges(split)
    drawn = free.at(fresh_ranks(split, free, epoch=epoch, seed=seed, count=count))
    return mix_known_negatives(split, drawn, epoch=epoch, seed=split.seed if seed is None else seed)


def mix_known_negatives(split: LinkSplit, drawn: Tensor, *, epoch: int, seed: int) -> Tensor:
    """Training negatives drawn at random, in which the known non-links of training take the places of some: of as large
    a share as they have beside the training links.
    """
    known = split.known_train_neg
    share = len(known) / max(len(split.train_pos), 1)
    return replace_share(drawn, known, share, np.random.default_rng([seed, epoch, 18]))


def fresh_ranks(
    split: LinkSplit, free: NonEdges, *, epoch: int, seed: int | None = None, count: int | None = None
) -> Tensor:
    """The ranks of `fresh_negatives` among `free`, the `training_non_edges` of the split."""
    num_wanted = min(len(split.train_pos), len(free)) if count is None else count
    return free.ranks(num_wanted, np.random.default_rng([split.seed if seed is None else seed, epoch]))


def training_non_edges(split: LinkSplit) -> NonEdges:
    """The pairs that training negatives are drawn from; see `fresh_negatives`."""
    # Hard negatives are not excluded: they are drawn near links and can be so many that leaving them out would reveal
    # where links are.
    parts = [p for p in (split.valid_pos, split.test_pos, split.valid_neg, split.test_neg) if p.ndim == 2]
    parts += [] if split.known_neg is None else [split.known_neg]  # these are mixed in
    graph = split.train_graph
    excluded: list[Tensor | EdgeList] = [split.train_pos, EdgeList(graph), *parts]
    free = NonEdges(graph.num_nodes, excluded, split.nodes, mapped=graph.folder is not None)
    if not len(free):
        raise InputError("no pair without a link is left to train on: the graph is too dense for this split")
    return free


def largest_component(graph: Graph) -> Tensor:
    """The nodes of the component with the most nodes, ascending.

    Args:
        graph: the graph.

    Returns:
        Node numbers `[k]`.

    >>> largest_component(Graph.from_edges(torch.tensor([[0, 1], [2, 3], [3, 4]]))).tolist()
    [2, 3, 4]
    """
    if not graph.num_nodes:
        return torch.empty(0, dtype=torch.long)
    matrix = csr_array(
        (np.ones(len(graph.indices), dtype=np.int8), graph.indices.numpy(), graph.indptr.numpy()),
        shape=(graph.num_nodes, graph.num_nodes),
    )
    label = torch.from_numpy(connected_components(matrix, directed=False)[1]).long()
    return (label == torch.bincount(label).argmax()).nonzero().view(-1)


def _scope(edges: EdgeList, protocol: Protocol) -> tuple[Tensor | None, Tensor | None]:
    """The nodes and the numbers of the links that a protocol splits; None for all."""
    if protocol.nodes is None:
        return None, None
    graph = edges.graph
    nodes: Tensor = _call(protocol.nodes, graph)
    inside = torch.zeros(graph.num_nodes, dtype=torch.bool)
    inside[nodes] = True
    return nodes, torch.cat(
        [torch.zeros(0, dtype=torch.bool), *(inside[part].all(1) for part in edges.parts())]
    ).nonzero().view(-1)


def _negatives(
    edges: EdgeList,
    order: Tensor,
    size: Sizes,
    generator: torch.Generator,
    protocol: Protocol,
    nodes: Tensor | None,
    seed: int,
) -> Tensor:
    """The negatives of validation and test, one after the other."""
    excluded = edges if nodes is None else edges.at(order)
    free, wanted = (
        NonEdges(edges.graph.num_nodes, [excluded], nodes, mapped=edges.mapped),
        size.valid_neg + size.test_neg,
    )
    if protocol.as_pyg:
        return free.sample_as_pyg(wanted, generator)
    return free.sample(wanted, np.random.default_rng(seed))


class _Parts(NamedTuple):
    """The links of each part, and their numbers, where they are links of the graph."""

    train: Tensor
    valid: Tensor
    test: Tensor
    numbers: tuple[Tensor, Tensor] | None


def _parts(protocol: Protocol, edges: EdgeList, order: Tensor, size: Sizes, generator: torch.Generator) -> _Parts:
    """The parts of the edges in drawn order: validation first, as in PyG's `train_test_split_edges`."""
    if protocol.parts is not None:
        train, valid, test = _call(protocol.parts, edges.at(order), size, generator)
        numbers = edges.numbers(train), edges.numbers(valid)
        numbered = all(bool((some >= 0).all()) for some in numbers)
        return _Parts(train, valid, test, numbers if numbered else None)
    if protocol.order is not None:
        test_from = size.train + size.valid
        train, valid, test = order[: size.train], order[size.train : test_from], order[test_from:]
    else:
        test_to = size.valid + size.test
        train, valid, test = order[test_to:], order[: size.valid], order[size.valid : test_to]
    return _Parts(edges.at(train), edges.at(valid), edges.at(test), (train, valid))


def _messages(edges: EdgeList, parts: _Parts, *, valid_messages: bool) -> tuple[Graph, Graph]:
    """The graphs of the training links, and of those that carry messages at test time."""
    if parts.numbers is None:  # a protocol of the user's own made up links
        message = edges.graph.with_edges(parts.train)
        return message, edges.graph.with_edges(torch.cat([parts.train, parts.valid])) if valid_messages else message
    train, valid = parts.numbers
    message = edges.select(edges.flags(train))
    return message, edges.select(edges.flags(train, valid)) if valid_messages else message


def split_as_ncn(edges: Tensor, size: Sizes, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """As many links held out for validation as for test, then half of these given back to training."""
    num_held_out = size.test
    valid, test, train = edges[:num_held_out], edges[num_held_out : 2 * num_held_out], edges[2 * num_held_out :]
    valid = valid[torch.randperm(num_held_out, generator=generator)]
    given_back = num_held_out - size.valid
    return torch.cat([train, valid[:given_back]]), valid[given_back:], test


def order_by_time(graph: Graph, order: Tensor, size: Sizes) -> tuple[Tensor, list[str]]:
    """The edges in order of time, ties in drawn order, and a note for each border between parts that separates links of
    equal time.
    """
    if graph.time is None:
        dates = () if graph.report is None else graph.report.dates
        raise InputError(
            "protocol 'temporal' needs the time of every link, and this graph was read without times: name their column"
            f" with --time COLUMN (time=).{describe_dates(dates)}"
        )
    time = EdgeList(graph).once(graph.time)
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
    nearby = range(num_edges + 1, num_edges + 10_000)
    least = next((m for m in nearby if complete(sizes(protocol, m, val=val, test=test))), None)
    needed = f"more than {nearby[-1]}" if least is None else f"at least {least}"
    raise InputError(
        f"the graph has {num_edges} links, too few to split: protocol {protocol!r} needs {needed}, "
        "so that every part has one; give more links, larger shares or another protocol"
    )
