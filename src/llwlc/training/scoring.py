"""Logits of links, in float64: then no rounding of a batch's shape reaches a probability's sixth digit."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Protocol

import torch
from torch import Tensor

from llwlc.bases.config import BasisConfig
from llwlc.bases.encoded_links import CHUNK, CHUNK_ON_GPU, EncodedLinks, encode_chunk, with_pointer
from llwlc.graph.graph import Graph
from llwlc.nn.net import LLwLCNet
from llwlc.support.threads import one_thread
from llwlc.training.node_features import NodeFeatures

BATCH_ROWS = 400_000
"""Rows that links of like size, filled up to the widest of them, may have together."""
RANDOM, CANDIDATES = 0, -1
"""Which output is asked: that for random pairs, or that for candidates, which is the same where a network has one output only."""


class PairScorer(Protocol):
    """What ranking asks of a model, ours or an opponent."""

    device: torch.device
    """Where it wants the graph."""

    def pairs(self, graph: Graph, pairs: Tensor, config: BasisConfig, output: int = RANDOM) -> Iterator[Tensor]:
        """Scores of pairs `[m, 2]`, larger is likelier, chunk by chunk, in float64 on the CPU."""


class Scorer:
    """A network as it scores: a copy in float64, with the features of all nodes beside it, made once."""

    def __init__(self, net: LLwLCNet, features: NodeFeatures) -> None:
        self.net = copy.deepcopy(net).double().eval()
        self.device = next(net.parameters()).device
        self.features = None if features.compact is None else features.compact.to(self.device).double()
        self.inputs = features.pair_inputs if net.config.pair_channels else None

    def __call__(self, data: EncodedLinks, output: int = RANDOM) -> Tensor:
        """The logits `[B]` of encoded links."""
        out = torch.empty(len(data), dtype=torch.float64)
        sizes = data.sizes.cpu()
        with torch.inference_mode():
            for index in runs(sizes.argsort(stable=True), sizes, BATCH_ROWS):
                batch = data.batch(index.to(data.sizes.device)).to(self.device, torch.float64)
                out[index] = self.net.outputs(batch, self.features)[:, output].cpu()
        return out

    def pairs(self, graph: Graph, pairs: Tensor, config: BasisConfig, output: int = RANDOM) -> Iterator[Tensor]:
        """The logits of pairs `[m, 2]` that were looked at before, chunk by chunk: memory does not grow with their number."""
        ordered = torch.stack([pairs.amin(1), pairs.amax(1)], 1).to(graph.indptr.device)
        for chunk in torch.split(ordered, CHUNK_ON_GPU if graph.indptr.is_cuda else CHUNK):
            data = with_pointer(encode_chunk(graph, chunk, config))
            if self.inputs is not None:
                data = data.with_pair(self.inputs(graph, chunk))
            with one_thread():
                yield self(data, output)


def runs(order: Tensor, sizes: Tensor, rows: int) -> Iterator[Tensor]:
    """Runs of links of like size whose padded rows stay within a bound."""
    sizes = sizes[order]
    begin = 0
    while begin < len(order):
        # of links in the order of their sizes the last is the widest
        padded = torch.arange(1, 4097)[: len(order) - begin] * sizes[begin : begin + 4096]
        end = begin + max(1, int((padded <= rows).sum()))
        yield order[begin:end]
        begin = end
