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
    """What was chosen before a graph was seen: a record, and the digests of code that is not part of this package."""

    @property
    def code(self) -> dict[str, str]: ...


def fingerprint(graph: Graph, split: LinkSplit, preset: Options, kinds: Sequence[str] | None = None) -> str:
    """Of graph, features, split, options and the code of what is not part of this package; behind a dash, of what was not looked at once.

    Options that are what they were before there was a choice do not count: so the fingerprint of an older run stays.
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
    """Of names, times and message graphs that do not follow from the parts; "" where there is nothing of these.

    The fingerprint of an older run lacks it, but the run has all that it takes.
    """
    found = []
    if graph.names is not None:
        found.append(json.dumps(["names", list(graph.names)]).encode())
    if graph.time is not None:
        found.append(b"times" + graph.time.contiguous().numpy().tobytes())
    found += [f"{name} {stage.digest}".encode() for name, stage in _own_stages(graph, split).items()]
    return hashlib.sha256(b"\n".join(found)).hexdigest()[:16] if found else ""


def _own_stages(graph: Graph, split: LinkSplit) -> dict[str, Graph]:
    """The message graphs of a split that are not those of its protocol, as in a split of somebody's own."""
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
    """Compared, not hashed: the digest of a graph is for looking it up elsewhere."""
    if (a.weight is None) != (b.weight is None) or len(a.indices) != len(b.indices):
        return False
    same = torch.equal(a.indptr, b.indptr) and torch.equal(a.indices, b.indices)
    return same and (a.weight is None or b.weight is None or torch.equal(a.weight, b.weight))
