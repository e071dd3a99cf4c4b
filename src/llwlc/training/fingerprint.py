"""The hash of everything that a run's weights depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from llwlc.errors import InputError
from llwlc.graph.graph import Graph
from llwlc.splits.linksplit import PARTS, STAGES, LinkSplit
from llwlc.splits.registry import PROTOCOLS
from llwlc.support.records import plain


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
        digest.update(b"-" if tensor is None else tensor.contiguous().numpy().tobytes())
    if kinds is not None:
        digest.update(json.dumps(list(kinds)).encode())
    later = later_fingerprint(graph, split)
    return f"{digest.hexdigest()[:32]}-{later}" if later else digest.hexdigest()[:32]


def later_fingerprint(graph: Graph, split: LinkSplit) -> str:
    """A hash of names, times and message graphs that do not follow from the parts; "" without any.

    The fingerprint of an older run lacks it, but it can be computed from the run.
    """
    found = []
    if graph.names is not None:
        found.append(json.dumps(["names", list(graph.names)]).encode())
    if graph.time is not None:
        found.append(b"times" + graph.time.contiguous().numpy().tobytes())
    found += [f"{name} {stage.digest}".encode() for name, stage in _own_stages(graph, split).items()]
    return hashlib.sha256(b"\n".join(found)).hexdigest()[:16] if found else ""


def _own_stages(graph: Graph, split: LinkSplit) -> dict[str, Graph]:
    """The message graphs of a split that differ from those of its protocol, as in a user's own split."""
    found: dict[str, Graph] = {name: getattr(split, name) for name in STAGES}
    late = split.protocol in PROTOCOLS and PROTOCOLS[split.protocol].late
    try:
        message = graph.with_edges(split.train_pos)
        last = graph.with_edges(torch.cat([split.train_pos, split.valid_pos])) if late else message
    except InputError:  # links that this graph does not have
        return found
    usual = dict(zip(STAGES, (message, message, last), strict=True))
    return {name: stage for name, stage in found.items() if not _same_links(stage, usual[name])}


def _same_links(a: Graph, b: Graph) -> bool:
    """Whether two graphs have the same links; compared directly, which is faster than their digests."""
    if (a.weight is None) != (b.weight is None) or len(a.indices) != len(b.indices):
        return False
    same = torch.equal(a.indptr, b.indptr) and torch.equal(a.indices, b.indices)
    return same and (a.weight is None or b.weight is None or torch.equal(a.weight, b.weight))
