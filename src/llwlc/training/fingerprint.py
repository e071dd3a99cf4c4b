"""The hash of everything that a run's weights depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import torch
from torch import Tensor

from llwlc.graph.graph import Graph
from llwlc.splits.linksplit import PARTS, LinkSplit
from llwlc.support.records import plain
from llwlc.training.presets import Preset


def fingerprint(graph: Graph, split: LinkSplit, preset: Preset, kinds: Sequence[str] | None = None) -> str:
    """Of graph, features, split, options and the code of what is not part of this package.

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
    return digest.hexdigest()[:32]
