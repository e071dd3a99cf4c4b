"""GpuNetwork: an `LLwLCNet` on a GPU, from pairs to logits: kernels for subgraphs, bases and rows; torch for the layers
that have one row per link.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from llwlc._kernels.backends import why_not_cuda
from llwlc._kernels.cuda import network as kernel
from llwlc._kernels.cuda.driver import KernelEngine, engine_of
from llwlc.bases._config import BasisConfig
from llwlc.bases._encoded_links import EncodedLinks
from llwlc.bases._link_bases import link_bases_checked
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.linalg._basis import Eigenbasis
from llwlc.nn._config import NetConfig
from llwlc.nn._end_readout import combine_symmetrically
from llwlc.nn._net import LLwLCNet
from llwlc.nn._readouts import ClassReadout
from llwlc.nn._weight_packing import unsupported_config
from llwlc.subgraphs._batch import Subgraphs
from llwlc.subgraphs._labels import distance_classes


def why_not_gpu_network(net: LLwLCNet) -> str:
    """Why the kernels cannot compute a network on its device, "" where they can."""
    if type(net) is not LLwLCNet:
        return f"{type(net).__name__} is a user's own network"
    if not next(net.parameters()).is_cuda:
        return "it is not on a GPU"
    return unsupported_by_cuda(net) or why_not_cuda()


def unsupported_by_cuda(net: LLwLCNet) -> str:
    """What the kernel does not support of a network; "" if it supports all of it."""
    if reason := unsupported_config(net.config):
        return reason
    return "" if type(net.pool) is ClassReadout else f"readout {net.config.pooling!r} is made in torch"


class GpuNetwork:
    """A snapshot of a network for which `why_not_gpu_network` is empty, with the compact features of all nodes.

    Rows are computed in float32, in an order that depends on the link alone; the layers behind them in float64, since a
    product of matrices in torch rounds by its shape.
    """

    def __init__(self, net: LLwLCNet, features: Tensor | None, engine: KernelEngine | None = None) -> None:
        width = 0 if features is None else features.shape[1]
        if width != net.config.feature_channels:
            raise InputError(f"this network reads {net.config.feature_channels} compact features per node, got {width}")
        weight = next(net.parameters())
        self.device, self.config = weight.device, net.config
        self.engine = engine_of(weight) if engine is None else engine
        self.shape = make_kernel_shape(net)
        table = None if features is None or net.filtered is None else features.to(self.device, torch.float32)
        with torch.no_grad():
            self.weights = pack_gpu_weights(net, table)
            self.layers = copy.deepcopy(net).double().eval()

    def takes(self, kappa: int) -> bool:
        """Whether links with this number of basis vectors fit into the fast memory of a group."""
        return kernel.group_of(self.engine, self.shape, kappa) > 0

    def encoded(self, links: EncodedLinks) -> Tensor:
        """Logits `[B, outputs]` of encoded links, in float64."""
        links = links.to(self.device)
        self._check_cap(int(links.label.max()) if links.label.numel() else 0)
        rows = kernel.GpuRows(
            links.ptr, links.values, links.vectors, links.degree, links.node.long(), label=links.label
        )
        return self.heads(self.read(rows), links.pair)

    def pairs(self, graph: Graph, pairs: Tensor, config: BasisConfig, pair: Tensor | None) -> Tensor:
        """Logits `[B, outputs]` of checked pairs `[B, 2]`, the smaller id first, in float64; `pair [B, P]`: their
        `PairInputs`.
        """
        self._check_cap(distance_classes(config.distance_cap) - 1)
        subs, basis = link_bases_checked(graph, pairs, config, epoch=0, dtype=torch.float32)
        return self.heads(self.read(make_gpu_rows(subs, basis, config)), pair)

    def read(self, rows: kernel.GpuRows) -> Tensor:
        """The readout of each link, by the kernel."""
        return kernel.compute_readouts(self.engine, self.shape, self.weights, rows)

    @torch.no_grad()
    def heads(self, read: Tensor, pair: Tensor | None) -> Tensor:
        """The logits from what the kernel read of the rows."""
        net: Any = self.layers
        pooled, largest, ends, filtered = torch.split(read.double(), list(self.shape.parts.values()), 1)
        parts = [net.pool.read(pooled, largest)]
        if self.config.ends:
            parts.append(combine_symmetrically(*ends.chunk(2, 1)))
        if net.filtered is not None:
            both = filtered.reshape(len(read), 2, self.shape.filters + 1, self.shape.features)
            parts.append(net.filtered.read(*both.unbind(1)))
        if not self.config.pair_channels:
            pair = None
        elif pair is None or pair.shape[1] != self.config.pair_channels:
            raise InputError(
                f"this network reads {self.config.pair_channels} inputs of a pair: encode its links with PairInputs"
            )
        else:
            pair = pair.to(self.device, torch.float64)
            parts.append(pair)
        out: Tensor = net.heads(torch.cat(parts, 1), pair)
        return out

    def _check_cap(self, most: int) -> None:
        if most >= self.shape.classes:
            raise InputError(
                f"the links have distance class {most}, this network knows 0 to {self.shape.classes - 1}: its"
                " distance_cap is not the basis's"
            )


def make_gpu_rows(subs: Subgraphs, basis: Eigenbasis, config: BasisConfig) -> kernel.GpuRows:
    """Subgraphs and their bases as the kernel reads them."""
    return kernel.GpuRows(
        subs.ptr, basis.values, basis.vectors, subs.degree.float(), subs.node,
        dist_u=subs.dist_u, dist_v=subs.dist_v, cap=config.distance_cap,
    )  # fmt: skip


def make_kernel_shape(net: LLwLCNet) -> kernel.NetworkKernelShape:
    c: NetConfig = net.config
    return kernel.NetworkKernelShape(
        c.blocks,
        c.channels,
        kernel.padded_channels(c.channels),
        distance_classes(c.distance_cap),
        c.filters,
        c.filter_hidden,
        c.feature_channels if net.filtered is not None else 0,
        c.skip,
        c.jumping,
        c.ends,
    )


def pack_gpu_weights(net: Any, table: Tensor | None) -> kernel.GpuWeights:
    """The weights as the kernel reads them, on their device, rows padded with zeros to whole chunks of channels."""
    c, C = net.config, kernel.padded_channels(net.config.channels)
    first, later = net.convs[0], list(net.convs)[1:]
    beyond = C - c.channels

    def wide(x: Tensor) -> Tensor:
        return pad(x.detach().float(), (0, beyond))

    def square(x: Tensor) -> Tensor:
        return pad(x.detach().float(), (0, beyond, 0, beyond))

    classes = distance_classes(c.distance_cap)
    rows = wide(first.skip.weight.T) if c.skip else torch.zeros(classes + 1, C, device=first.bias.device)
    filters = [conv.filter.layers for conv in net.convs]
    if net.filtered is not None:
        filters.append(net.filtered.filter.layers)
    resident = [rows[:-1] + wide(first.bias), rows[-1]]
    resident += [wide(conv.bias) for conv in later]
    resident += [square(conv.skip.weight.T) for conv in later if c.skip]
    for at, name in ((0, "weight"), (0, "bias"), (-1, "weight"), (-1, "bias")):
        resident += [getattr(layers[at], name).detach().float() for layers in filters]
    mix = [square(conv.weight.unflatten(0, (c.filters, c.channels))) for conv in later]
    return kernel.GpuWeights(
        resident=torch.cat([x.flatten() for x in resident]),
        first=wide(first.weight).contiguous(),
        mix=torch.stack(mix) if mix else torch.zeros(0, device=first.bias.device),
        table=None if table is None else table.contiguous(),
    )
