"""CompiledNetwork: an `LLwLCNet` compiled for scoring on a CPU, a few links at a time from pairs to logits."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from llwlc._kernels.backends import choose
from llwlc.bases._config import BasisConfig
from llwlc.bases._encoded_links import EncodedLinks, encode_chunk, make_encoded_links
from llwlc.bases._kernel_options import make_extraction_options, make_fused_options
from llwlc.bases._link_bases import find_unfit_backends, warn_of_full_hops
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.nn._net import LLwLCNet
from llwlc.nn._weight_packing import pack_network
from llwlc.subgraphs._extraction import get_adjacency

FLOAT32_CHUNK = 2048
"""Links whose vectors are brought from 16 to 32 bits at once."""


class CompiledNetwork:
    """A snapshot of a network for which `nn._weight_packing.why_not_packable` is empty, with the compact features of
    all nodes.

    Its scores agree with the network's own to rounding (float32, or float64 where rows are sorted), and each has the
    same bits in any batch.
    """

    def __init__(self, net: LLwLCNet, features: Tensor | None) -> None:
        width = 0 if features is None else features.shape[1]
        if width != net.config.feature_channels:
            raise InputError(f"this network reads {net.config.feature_channels} compact features per node, got {width}")
        self.config = net.config
        self.weights = pack_network(net, features)

    def takes(self, kappa: int) -> bool:
        """Whether it computes links with this number of basis vectors: always, unlike a GPU's kernel."""
        return kappa > 0

    def encoded(self, links: EncodedLinks) -> Tensor:
        """Logits `[B, outputs]` of encoded links."""
        from llwlc._kernels.numba.network import EncodedRows
        from llwlc._kernels.numba.scores import score_encoded

        links = links.to("cpu")
        if links.vectors.dtype != torch.float32:  # some at a time: in 32 bits they may not fit the memory
            parts = torch.split(torch.arange(len(links)), FLOAT32_CHUNK)
            return torch.cat([self.encoded(links.as_float32(part)[0]) for part in parts])
        self._check_cap(int(links.label.max()) if links.label.numel() else 0)
        fields = (links.ptr, links.mask.sum(1), links.values, links.vectors, links.node, links.label, links.degree)
        arrays = [x.contiguous().numpy() for x in fields]
        arrays.append(self._known(links.pair, len(links)))
        rows = EncodedRows(*arrays)
        return torch.from_numpy(score_encoded(self.weights, rows))

    def pairs(self, graph: Graph, pairs: Tensor, config: BasisConfig, pair: Tensor | None) -> Tensor:
        """Logits `[B, outputs]` of checked pairs `[B, 2]`, the smaller id first; `pair [B, P]`: their `PairInputs`."""
        if choose("auto", find_unfit_backends(graph, config), what="these links").name != "numba":
            return self.encoded(make_encoded_links(encode_chunk(graph, pairs, config)).with_pair(pair))
        from llwlc._kernels.numba.scores import score_pairs

        classes = config.distance_cap * (config.distance_cap + 3) // 2
        self._check_cap(classes)
        plan, reach = make_fused_options(config, epoch=0, dtype=torch.float32), make_extraction_options(config)
        known = self._known(pair, len(pairs))
        logits, full = score_pairs(
            self.weights,
            get_adjacency(graph, graph.identity, reach, len(pairs)),
            pairs.contiguous().numpy(),
            reach,
            plan,
            config.distance_cap,
            known,
        )
        warn_of_full_hops(len(pairs), full, config.max_nodes_per_hop)
        return torch.from_numpy(logits)

    def _check_cap(self, most: int) -> None:
        if most >= self.weights.blocks.classes:
            raise InputError(
                f"the links have distance class {most}, this network knows 0 to {self.weights.blocks.classes - 1}: its"
                " distance_cap is not the basis's"
            )

    def _known(self, pair: Tensor | None, links: int) -> np.ndarray:
        if not self.config.pair_channels:
            return np.zeros((links, 0), np.float32)
        if pair is None or pair.shape[1] != self.config.pair_channels:
            raise InputError(
                f"this network reads {self.config.pair_channels} inputs of a pair: encode its links with PairInputs"
            )
        return pair.contiguous().numpy()
