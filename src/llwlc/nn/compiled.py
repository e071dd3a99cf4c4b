"""CompiledNetwork: an `LLwLCNet` compiled for scoring on a CPU, a few links at a time from pairs to logits."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from llwlc.bases.config import BasisConfig
from llwlc.bases.encoded_links import EncodedLinks, encode_chunk, with_pointer
from llwlc.bases.kernel_plan import plan_of, reach_of
from llwlc.bases.link_bases import unable, warn_of_hubs
from llwlc.errors import InputError
from llwlc.graph.graph import Graph
from llwlc.kernels.backends import choose
from llwlc.nn.net import LLwLCNet
from llwlc.nn.packed import packed
from llwlc.subgraphs.extraction import adjacency_of

IN_SINGLE = 2048
"""Links whose vectors are brought from 16 to 32 bits at once."""


class CompiledNetwork:
    """A snapshot of a network for which `nn.packed.not_packable` is empty, with the compact features of all nodes.

    Its scores agree with the network's own to rounding (float32, or float64 where rows are sorted), and each has the same bits in any batch.
    """

    def __init__(self, net: LLwLCNet, features: Tensor | None) -> None:
        width = 0 if features is None else features.shape[1]
        if width != net.config.feature_channels:
            raise InputError(f"this network reads {net.config.feature_channels} compact features a node, got {width}")
        self.config = net.config
        self.weights = packed(net, features)

    def takes(self, kappa: int) -> bool:
        """Whether it computes links with so many basis vectors: always, unlike a GPU's kernel."""
        return kappa > 0

    def encoded(self, links: EncodedLinks) -> Tensor:
        """Logits `[B, outputs]` of encoded links."""
        from llwlc.kernels.numba.network import EncodedRows
        from llwlc.kernels.numba.scores import score_encoded

        links = links.to("cpu")
        if links.vectors.dtype != torch.float32:  # some at a time: in 32 bits they may not fit the memory
            parts = torch.split(torch.arange(len(links)), IN_SINGLE)
            return torch.cat([self.encoded(links.in_single(part)[0]) for part in parts])
        self._check_cap(int(links.label.max()) if links.label.numel() else 0)
        fields = (links.ptr, links.mask.sum(1), links.values, links.vectors, links.node, links.label, links.degree)
        arrays = [x.contiguous().numpy() for x in fields]
        arrays.append(self._known(links.pair, len(links)))
        rows = EncodedRows(*arrays)
        return torch.from_numpy(score_encoded(self.weights, rows))

    def pairs(self, graph: Graph, pairs: Tensor, config: BasisConfig, pair: Tensor | None) -> Tensor:
        """Logits `[B, outputs]` of checked pairs `[B, 2]`, the smaller id first; `pair [B, P]`: their `PairInputs`."""
        if choose("auto", unable(graph, config), what="these links").name != "numba":
            return self.encoded(with_pointer(encode_chunk(graph, pairs, config)).with_pair(pair))
        from llwlc.kernels.numba.scores import score_pairs

        classes = config.distance_cap * (config.distance_cap + 3) // 2
        self._check_cap(classes)
        plan, reach = plan_of(config, epoch=0, dtype=torch.float32), reach_of(config)
        known = self._known(pair, len(pairs))
        found, full = score_pairs(
            self.weights,
            adjacency_of(graph, config.drawn_by(graph), reach, len(pairs)),
            pairs.contiguous().numpy(),
            reach,
            plan,
            config.distance_cap,
            known,
        )
        warn_of_hubs(graph, len(pairs), full, config.max_nodes_per_hop)
        return torch.from_numpy(found)

    def _check_cap(self, most: int) -> None:
        if most >= self.weights.blocks.classes:
            raise InputError(
                f"the links have distance class {most}, this network knows 0 to {self.weights.blocks.classes - 1}: its distance_cap is not the basis's"
            )

    def _known(self, pair: Tensor | None, links: int) -> np.ndarray:
        if not self.config.pair_channels:
            return np.zeros((links, 0), np.float32)
        if pair is None or pair.shape[1] != self.config.pair_channels:
            raise InputError(
                f"this network reads {self.config.pair_channels} inputs of a pair: encode its links with PairInputs"
            )
        return pair.contiguous().numpy()
