"""Logits of links, in float64: then no rounding of a batch's shape reaches a probability's sixth digit."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import torch
from torch import Tensor

from llwlc.bases.config import BasisConfig
from llwlc.bases.encoded_links import CHUNK, CHUNK_ON_GPU, EncodedLinks, encode_chunk, with_pointer
from llwlc.graph.graph import Graph
from llwlc.nn.net import LLwLCNet
from llwlc.support.threads import one_thread

BATCH_ROWS = 400_000
"""Rows that links of like size, filled up to the widest of them, may have together."""


class Scorer:
    """A network as it scores: a copy in float64, with the compact features `[n, d]` of all nodes in float64 beside it, both made once."""

    def __init__(self, net: LLwLCNet, features: Tensor | None) -> None:
        self.net = copy.deepcopy(net).double().eval()
        self.device = next(net.parameters()).device
        self.features = None if features is None else features.to(self.device).double()

    def __call__(self, data: EncodedLinks) -> Tensor:
        """The logits `[B]` of encoded links."""
        out = torch.empty(len(data), dtype=torch.float64)
        sizes = data.sizes.cpu()
        with torch.inference_mode():
            for index in runs(sizes.argsort(stable=True), sizes, BATCH_ROWS):
                batch = data.batch(index.to(data.sizes.device)).to(self.device, torch.float64)
                out[index] = self.net(batch, self.features).cpu()
        return out

    def pairs(self, graph: Graph, pairs: Tensor, config: BasisConfig) -> Iterator[Tensor]:
        """The logits of pairs `[m, 2]` that were looked at before, chunk by chunk: memory does not grow with their number."""
        ordered = torch.stack([pairs.amin(1), pairs.amax(1)], 1).to(graph.indptr.device)
        for chunk in torch.split(ordered, CHUNK_ON_GPU if graph.indptr.is_cuda else CHUNK):
            data = with_pointer(encode_chunk(graph, chunk, config))
            with one_thread():
                yield self(data)


def scores(net: LLwLCNet, data: EncodedLinks, features: Tensor | None) -> Tensor:
    """The logits `[B]` of encoded links by a network that scores them alone."""
    return Scorer(net, features)(data)


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
