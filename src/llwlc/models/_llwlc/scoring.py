"""Logits of links: by a kernel of the network's device if it supports the network, else by torch in float64."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator
from functools import cached_property

import torch
from torch import Tensor

from llwlc._support.progress import print_notice
from llwlc._support.threads import use_one_thread
from llwlc.bases._config import BasisConfig
from llwlc.bases._encoded_links import (
    CHUNK_ON_GPU,
    EncodedLinks,
    EncodedSubgraphs,
    encode_chunk,
    encode_without_bases,
    make_encoded_links,
)
from llwlc.graph._graph import Graph
from llwlc.models._base import Population
from llwlc.nn._compiled_network import CompiledNetwork
from llwlc.nn._gpu_network import GpuNetwork, why_not_gpu_network
from llwlc.nn._learned_constraints import LearnedConstraintNet
from llwlc.nn._net import LLwLCNet
from llwlc.nn._weight_packing import why_not_packable
from llwlc.training._node_features import NodeFeatures

BATCH_ROWS = 400_000
"""Most padded rows of a batch in torch: links of similar size are padded to the largest of them."""
CHUNK = 4096
"""Pairs of a chunk on a CPU: progress is reported after each, and only its logits are kept."""
MEMORY_OF_A_CHUNK = 16 << 30
"""Bytes of a GPU's memory for each `CHUNK_ON_GPU` pairs: links of 300 nodes and 4000 edges take a tenth of it."""
OUTPUTS: dict[Population, int] = {"random": 0, "candidates": -1}
"""The outputs of a network: for random pairs, and for candidates; a network with one output uses it for both."""
RANDOM_OUTPUT, CANDIDATES_OUTPUT = OUTPUTS["random"], OUTPUTS["candidates"]


class Scorer:
    """Scores links by a copy of the network's weights, made at construction, and the features of all nodes. `by_torch`:
    use the specification in torch even if the kernel supports the network.
    """

    def __init__(self, net: LLwLCNet, features: NodeFeatures, *, by_torch: bool = False) -> None:
        self.device = next(net.parameters()).device
        self.inputs = features.pair_inputs if net.config.pair_channels else None
        self.compiled: CompiledNetwork | GpuNetwork | None = None
        self._compact = features.compact
        self.learned = copy.deepcopy(net).double().eval() if isinstance(net, LearnedConstraintNet) else None
        """Makes the bases, in float64; what comes after them is a plain network."""
        net = net.plain() if isinstance(net, LearnedConstraintNet) else net
        on_gpu = self.device.type == "cuda"
        reason = why_not_gpu_network(net) if on_gpu else why_not_packable(net)
        if reason and reason not in _WARNED:
            _WARNED.add(reason)
            times = "five" if on_gpu else "ten"
            text = f"scores come from torch, some {times} times as slow as compiled ones: {reason}"
            print_notice(text, logging.WARNING)
        if not reason and not by_torch:
            self.compiled = (GpuNetwork if on_gpu else CompiledNetwork)(net, features.compact)
        # in float64: then no rounding of a batch's shape reaches a probability's sixth digit
        if self.compiled is None:
            self.net = copy.deepcopy(net).double().eval()
        elif isinstance(self.compiled, GpuNetwork):
            self.net = self.compiled.layers

    @cached_property
    def features(self) -> Tensor | None:
        """The features of all nodes as torch reads them."""
        return None if self._compact is None else self._compact.to(self.device).double()

    def __call__(self, data: EncodedLinks, output: int = RANDOM_OUTPUT) -> Tensor:
        """The logits `[B]` of encoded links."""
        if self.learned is not None and isinstance(data, EncodedSubgraphs):
            parts = torch.split(torch.arange(len(data)), CHUNK)
            return torch.cat([torch.zeros(0, dtype=torch.float64), *(self._learned(data, p, output) for p in parts)])
        if self.compiled is not None and self.compiled.takes(data.values.shape[1]):
            return self.compiled.encoded(data)[:, output].double().cpu()
        out = torch.empty(len(data), dtype=torch.float64)
        sizes = data.sizes.cpu()
        with torch.inference_mode():
            for index in split_by_size(sizes.argsort(stable=True), sizes, BATCH_ROWS):
                batch = data.batch(index.to(data.sizes.device)).to(self.device, torch.float64)
                out[index] = self.net.outputs(batch, self.features)[:, output].cpu()
        return out

    def _learned(self, data: EncodedSubgraphs, index: Tensor, output: int) -> Tensor:
        assert self.learned is not None
        return self(self.learned.encode(data.batch(index.to(data.sizes.device))), output)

    def pairs(self, graph: Graph, pairs: Tensor, config: BasisConfig, output: int = RANDOM_OUTPUT) -> Iterator[Tensor]:
        """The logits of pairs `[m, 2]` that were checked before, chunk by chunk: memory does not grow with their
        number.
        """
        compiled = self.compiled if self.compiled is not None and self.compiled.takes(config.steps) else None
        if compiled is not None:
            graph = graph.to(self.device)  # its kernels read the graph's memory
        for chunk in torch.split(pairs, chunk_size(graph.indptr.device, compiled=compiled is not None)):
            chunk = torch.stack([chunk.amin(1), chunk.amax(1)], 1).to(graph.indptr.device)
            known = None if self.inputs is None else self.inputs(graph, chunk)
            if self.learned is not None:
                with use_one_thread():
                    yield self(encode_without_bases(graph, chunk, config, about="").with_pair(known), output)
                continue
            if compiled is not None:
                yield compiled.pairs(graph, chunk, config, known)[:, output].double().cpu()
                continue
            data = make_encoded_links(encode_chunk(graph, chunk, config)).with_pair(known)
            with use_one_thread():
                yield self(data, output)


_WARNED: set[str] = set()


def chunk_size(device: torch.device, *, compiled: bool = True) -> int:
    """Pairs of a chunk: on a GPU more in a larger memory, since a kernel's last links leave most of it idle."""
    if device.type == "cpu":
        return CHUNK
    if not compiled:
        return CHUNK_ON_GPU
    memory: int = torch.cuda.get_device_properties(device).total_memory
    return CHUNK_ON_GPU * max(1, min(6, memory // MEMORY_OF_A_CHUNK))


def split_by_size(order: Tensor, sizes: Tensor, rows: int) -> Iterator[Tensor]:
    """Runs of links of similar size whose padded rows stay within a bound."""
    sizes = sizes[order]
    begin = 0
    while begin < len(order):
        # of links in the order of their sizes the last is the widest
        padded = torch.arange(1, 4097)[: len(order) - begin] * sizes[begin : begin + 4096]
        end = begin + max(1, int((padded <= rows).sum()))
        yield order[begin:end]
        begin = end
