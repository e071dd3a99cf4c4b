"""The hash of everything that a run's weights depend on."""

from __future__ import annotations

import hashlib
import json

import torch
from torch import Tensor

from llwlc.graph.graph import Graph
from llwlc.splits.linksplit import PARTS, STAGES, LinkSplit
from llwlc.splits.registry import PROTOCOLS
from llwlc.support.records import plain
from llwlc.training.presets import Preset


def fingerprint(graph: Graph, split: LinkSplit, preset: Preset) -> str:
    """Of graph, features, split, options and the code of what is not part of this package.

    Options that are what they were before there was a choice do not count, nor does what a graph does not have, nor the message graphs that
    follow from the parts: so the fingerprint of an older run of a graph without names and times stays.
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
    if graph.names is not None:
        digest.update(json.dumps(["names", list(graph.names)]).encode())
    if graph.time is not None:
        digest.update(b"times" + graph.time.contiguous().numpy().tobytes())
    for name, stage in _own_stages(graph, split).items():
        digest.update(f"{name} {stage.digest}".encode())
    return digest.hexdigest()[:32]


def _own_stages(graph: Graph, split: LinkSplit) -> dict[str, Graph]:
    """The message graphs of a split that are not those of its protocol, as in a split of somebody's own."""
    late = split.protocol in PROTOCOLS and PROTOCOLS[split.protocol].late
    message = graph.with_edges(split.train_pos)
    usual = [message, message, graph.with_edges(torch.cat([split.train_pos, split.valid_pos])) if late else message]
    found = {name: getattr(split, name) for name in STAGES}
    return {name: found[name] for name, plain in zip(STAGES, usual, strict=True) if found[name].digest != plain.digest}
