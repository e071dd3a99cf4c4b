"""The hash of everything that a run's weights depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from llwlc.graph._graph import Graph
from llwlc.models._base import LinkModel
from llwlc.splits._linksplit import PARTS, STAGES, LinkSplit

Bytes = bytes | memoryview
AT_ONCE = 1 << 18
"""Names that are hashed together."""


def content_digest(graph: Graph, split: LinkSplit, node_types: Sequence[str] | None = None) -> str:
    """A hash of graph, features, split and node types: all that a fit depends on apart from its model."""
    digest = hashlib.sha256()
    for part in _parts(graph, split, node_types):
        for piece in (*part, b"\n"):
            digest.update(piece)
    return digest.hexdigest()


def fingerprint(content: str, model: LinkModel, seed: int) -> str:
    """A hash of everything that the weights of a run depend on; `content`: what `content_digest` gave."""
    about = [content, model.name, dict(model.config), dict(model.code), seed]
    return hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()[:32]


def _parts(graph: Graph, split: LinkSplit, node_types: Sequence[str] | None) -> Iterator[Iterable[Bytes]]:
    """What is hashed, one part after the other, each in pieces: names and times of a packed graph are never in memory
    together.
    """
    yield (json.dumps(None if node_types is None else list(node_types)).encode(),)
    yield (f"graph {graph.digest}".encode(),)
    for name in PARTS:
        yield _tensor(name, getattr(split, name))
    if split.known_neg is not None:
        yield _tensor("known_neg", split.known_neg)
    for name in STAGES:
        yield (f"{name} {getattr(split, name).digest}".encode(),)
    if graph.x is not None:
        x = graph.x
        arrays = [x] if isinstance(x, Tensor) else [torch.as_tensor(a) for a in (x.indptr, x.indices, x.data)]
        for array in arrays:
            yield _tensor("x", array)
    if graph.names is not None:
        yield _names_as_json(graph.names)
    if graph.time is not None:
        yield _tensor("time", graph.time)
    if graph.forward is not None:
        yield _tensor("forward", graph.forward)
    if graph.attributes is not None:
        yield (json.dumps(graph.attributes.names).encode(),)
        yield _tensor("attributes", graph.attributes.values)


def _names_as_json(names: Sequence[str]) -> Iterator[bytes]:
    """`json.dumps(["names", list(names)])`, piece by piece."""
    yield b'["names", ['
    for begin in range(0, len(names), AT_ONCE):
        text = json.dumps(list(names[begin : begin + AT_ONCE]))[1:-1]
        yield (f", {text}" if begin else text).encode()
    yield b"]]"


def _tensor(name: str, tensor: Tensor) -> Iterable[Bytes]:
    """A tensor with its name, type and shape; its bytes are not copied: a mapped one is read as it is hashed."""
    yield f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode()
    yield tensor.contiguous().numpy().reshape(-1).view(np.uint8).data
