"""The hash of everything that a run's weights depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from llwlc.errors import InputError
from llwlc.graph.edge_list import EdgeList
from llwlc.graph.graph import Graph
from llwlc.splits.linksplit import PARTS, STAGES, LinkSplit
from llwlc.splits.registry import PROTOCOLS
from llwlc.support.records import plain

Bytes = bytes | memoryview
AT_ONCE = 1 << 18
"""Names that are hashed together."""


class Options(Protocol):
    """Options that do not depend on the graph: a record, and digests of code that is no part of this package."""

    @property
    def code(self) -> dict[str, str]: ...


def fingerprint(graph: Graph, split: LinkSplit, preset: Options, kinds: Sequence[str] | None = None) -> str:
    """A hash of graph, features, split, options and code that is no part of this package; after a dash, a hash of what older versions left out.

    Options whose value equals the meaning of their absence are left out, so that the fingerprint of an older run does not change.
    """
    digest = hashlib.sha256(json.dumps(plain(preset, settled=True), sort_keys=True).encode())
    if preset.code:
        digest.update(json.dumps(preset.code, sort_keys=True).encode())
    tensors = [graph.indptr, graph.indices, graph.weight, *[getattr(split, part) for part in PARTS]]
    if graph.x is not None:
        x = graph.x
        tensors += [x] if isinstance(x, Tensor) else [torch.as_tensor(a) for a in (x.indptr, x.indices, x.data)]
    for tensor in tensors:
        digest.update(b"-" if tensor is None else _bytes(tensor))
    if kinds is not None:
        digest.update(json.dumps(list(kinds)).encode())
    later = later_fingerprint(graph, split)
    return f"{digest.hexdigest()[:32]}-{later}" if later else digest.hexdigest()[:32]


def later_fingerprint(graph: Graph, split: LinkSplit) -> str:
    """A hash of names, times and message graphs that do not follow from the parts; "" without any.

    The fingerprint of an older run lacks it, but it can be computed from the run.
    """
    digest, found = hashlib.sha256(), 0
    for part in _later(graph, split):
        for piece in (b"\n", *part) if found else part:
            digest.update(piece)
        found += 1
    return digest.hexdigest()[:16] if found else ""


def _later(graph: Graph, split: LinkSplit) -> Iterator[Iterable[Bytes]]:
    """What is hashed, one part after the other, each in pieces: names and times of a packed graph are never in memory together."""
    if graph.names is not None:
        yield _names_as_json(graph.names)
    if graph.time is not None:
        yield b"times", _bytes(graph.time)
    for name, stage in _own_stages(graph, split).items():
        yield (f"{name} {stage.digest}".encode(),)


def _names_as_json(names: Sequence[str]) -> Iterator[bytes]:
    """`json.dumps(["names", list(names)])`, piece by piece."""
    yield b'["names", ['
    for begin in range(0, len(names), AT_ONCE):
        text = json.dumps(list(names[begin : begin + AT_ONCE]))[1:-1]
        yield (f", {text}" if begin else text).encode()
    yield b"]]"


def _bytes(tensor: Tensor) -> Bytes:
    """The bytes of a tensor, not copied: a mapped one is read as it is hashed."""
    return tensor.contiguous().numpy().reshape(-1).view(np.uint8).data


def _own_stages(graph: Graph, split: LinkSplit) -> dict[str, Graph]:
    """The message graphs of a split that differ from those of its protocol, as in a user's own split."""
    found: dict[str, Graph] = {name: getattr(split, name) for name in STAGES}
    late = split.protocol in PROTOCOLS and PROTOCOLS[split.protocol].late
    edges = EdgeList(graph)
    train, valid = (edges.numbers(part) for part in (split.train_pos, split.valid_pos))
    if bool((train < 0).any()) or bool((valid < 0).any()):
        return _stages_with_others(graph, split, found, late)
    message = edges.flags(train)
    last = edges.flags(train, valid) if late else message
    same: dict[tuple[int, int], bool] = {}  # stages often share one graph
    for stage, flags in zip(found.values(), (message, message, last), strict=True):
        if (id(stage), id(flags)) not in same:
            same[id(stage), id(flags)] = edges.is_kept(stage, flags)
    usual = (same[id(stage), id(flags)] for stage, flags in zip(found.values(), (message, message, last), strict=True))
    return {name: stage for (name, stage), is_usual in zip(found.items(), usual, strict=True) if not is_usual}


def _stages_with_others(graph: Graph, split: LinkSplit, found: dict[str, Graph], late: bool) -> dict[str, Graph]:
    """`_own_stages` of a split that has links which the graph does not have."""
    try:
        message = graph.with_edges(split.train_pos)
        last = graph.with_edges(torch.cat([split.train_pos, split.valid_pos])) if late else message
    except InputError:
        return found
    usual = dict(zip(STAGES, (message, message, last), strict=True))
    return {name: stage for name, stage in found.items() if not _same_links(stage, usual[name])}


def _same_links(a: Graph, b: Graph) -> bool:
    """Whether two graphs have the same links; compared directly, which is faster than their digests."""
    if (a.weight is None) != (b.weight is None) or len(a.indices) != len(b.indices):
        return False
    same = torch.equal(a.indptr, b.indptr) and torch.equal(a.indices, b.indices)
    return same and (a.weight is None or b.weight is None or torch.equal(a.weight, b.weight))
