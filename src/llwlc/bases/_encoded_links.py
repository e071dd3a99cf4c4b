"""EncodedLinks: the eigenbases of many links as arrays, in the form that a network reads.

With fixed constraints nothing in a basis is learned, so it is computed once for a (graph, pairs, configuration) and
kept as plain arrays, in memory or in the cache (`bases._cache`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from llwlc._kernels import cuda
from llwlc._kernels.backends import choose
from llwlc._support.counter_hash import DROPOUT_STREAM, draw
from llwlc._support.progress import track
from llwlc._support.ragged import expand, pointer
from llwlc.bases._config import BasisConfig
from llwlc.bases._kernel_options import make_extraction_options, make_fused_options
from llwlc.bases._link_bases import find_unfit_backends, link_bases_checked, warn_of_full_hops
from llwlc.bases._link_batch import LinkBatch
from llwlc.graph._graph import Graph
from llwlc.linalg._basis import Eigenbasis
from llwlc.subgraphs._batch import Subgraphs, concat, select
from llwlc.subgraphs._extraction import extract, get_adjacency
from llwlc.subgraphs._labels import distance_encoding
from llwlc.subgraphs._link_inputs import check_pairs

CHUNK, CHUNK_ON_GPU = 2048, 16_384  # links encoded at once
FIELD_TYPES = {
    "sizes": torch.int64,
    "values": torch.float32,
    "mask": torch.bool,
    "residual": torch.float32,
    "vectors": torch.float32,
    "node": torch.int32,
    "label": torch.uint8,
    "degree": torch.float32,
}


@dataclass(frozen=True, eq=False)
class EncodedLinks:
    """The bases of B links. Shapes: `sizes [B]`, `values`, `mask`, `residual [B, κ]`, `vectors [N, κ]`, `node`,
    `label`, `degree [N]`; `pair [B, P]`, the `PairInputs` of each pair where they are wanted; they are cheap and not
    cached. `vectors` have 32 bits an entry, or 16 where the configuration says so.

    In every graph row 0 is u and row 1 is v, the smaller id first, so (u, v) and (v, u) are one link to the last bit.
    """

    sizes: Tensor
    values: Tensor
    mask: Tensor
    residual: Tensor
    vectors: Tensor
    node: Tensor
    label: Tensor
    degree: Tensor
    ptr: Tensor
    pair: Tensor | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def num_bytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in FIELD_TYPES)

    def batch(self, index: Tensor, draws: Tensor | None = None) -> LinkBatch:
        """The links at these positions; `draws`: the bits of each, see `draws`."""
        sizes = self.sizes[index]
        rows, _ = expand(self.ptr[index], sizes)
        ptr = pointer(sizes)
        basis = Eigenbasis(
            values=self.values[index],
            vectors=self.vectors[rows].float(),
            mask=self.mask[index],
            residual=self.residual[index],
            ptr=ptr,
        )
        node, label = self.node[rows].long(), self.label[rows].long()
        return LinkBatch(basis, node, label, self.degree[rows], ptr[:-1], ptr[:-1] + 1, self._pair(index), draws)

    def uniform_batch(self, index: Tensor, width: int, draws: Tensor | None = None) -> LinkBatch:
        """`batch` with `width` rows for each link, padded with empty rows: all shapes are known beforehand, so nothing
        waits for the device. No link may be larger.
        """
        place = torch.arange(width, device=index.device)
        live = (place < self.sizes[index].unsqueeze(1)).flatten()
        rows = (self.ptr[index].unsqueeze(1) + place).flatten().clamp(max=len(self.node) - 1)
        basis = Eigenbasis.uniform(
            values=self.values[index],
            vectors=self.vectors[rows].float() * live.unsqueeze(1),
            mask=self.mask[index],
            residual=self.residual[index],
        )
        u = torch.arange(len(index), device=index.device) * width
        label = torch.where(live, self.label[rows].long(), -1)
        return LinkBatch(
            basis, self.node[rows].long(), label, self.degree[rows] * live, u, u + 1, self._pair(index), draws
        )

    def draws(self, index: Tensor, *, seed: int, epoch: int) -> Tensor:
        """64 random bits for each of the links at these positions, for dropout in an epoch; they depend on the pair,
        not on its position.
        """
        low, high = self.node[self.ptr[index]].long(), self.node[self.ptr[index] + 1].long()
        return draw(seed, epoch, low, high, torch.zeros_like(low), DROPOUT_STREAM)

    def _pair(self, index: Tensor) -> Tensor | None:
        return None if self.pair is None else self.pair[index]

    def with_pair(self, pair: Tensor | None) -> EncodedLinks:
        return replace(self, pair=None if pair is None else pair.to(self.sizes.device))

    def to(self, device: torch.device | str) -> EncodedLinks:
        tensors = {name: getattr(self, name).to(device) for name in FIELD_TYPES}
        if tensors["vectors"].is_cuda:
            tensors["vectors"] = tensors[
                "vectors"
            ].float()  # kernels read 32 bits, and a GPU has room for what a batch needs
        return make_encoded_links(tensors).with_pair(self.pair)

    def as_float32(self, index: Tensor) -> tuple[EncodedLinks, Tensor]:
        """What holds the links at these positions with vectors of 32 bits, as compiled code reads them, and their
        positions there: nothing is copied where they are stored so.
        """
        if self.vectors.dtype != torch.float16:
            return self, index
        rows, _ = expand(self.ptr[index], self.sizes[index])
        by_link = ("sizes", "values", "mask", "residual")
        own = {name: getattr(self, name)[index if name in by_link else rows] for name in FIELD_TYPES}
        own["vectors"] = own["vectors"].float()
        return make_encoded_links(own).with_pair(self._pair(index)), torch.arange(len(index))


@dataclass(frozen=True, eq=False)
class EncodedSubgraphs(EncodedLinks):
    """B links without bases (κ = 0), and their subgraphs, for a network that learns its constraints and makes the bases
    itself."""

    subs: Subgraphs = field(kw_only=True)

    @property
    def num_bytes(self) -> int:
        parts = (self.subs.row, self.subs.col, self.subs.node, self.subs.hop, self.subs.dist_u, self.subs.dist_v)
        return super().num_bytes + sum(x.nbytes for x in parts)

    def batch(self, index: Tensor, draws: Tensor | None = None) -> LinkBatch:
        return replace(super().batch(index, draws), subs=select(self.subs, index))

    def to(self, device: torch.device | str) -> EncodedSubgraphs:
        tensors = {name: getattr(self, name).to(device) for name in FIELD_TYPES}
        links = EncodedSubgraphs(**tensors, ptr=pointer(tensors["sizes"]), subs=self.subs.to(device))
        return replace(links, pair=None if self.pair is None else self.pair.to(device))


def encode_pairs(
    graph: Graph, pairs: Tensor, config: BasisConfig, *, epoch: int = 0, about: str = "eigenbases"
) -> EncodedLinks:
    """The bases of these pairs `[B, 2]` in the memory of the graph's device. `about` heads the progress bar; none where
    it is empty.
    """
    if config.learned:
        return encode_without_bases(graph, pairs, config, about=about)
    parts = list(iterate_encoded_parts(graph, pairs, config, epoch=epoch, about=about))
    if len(parts) == 1:
        return make_encoded_links(parts[0])
    return make_encoded_links({name: torch.cat([p[name] for p in parts]) for name in FIELD_TYPES})


def encode_without_bases(
    graph: Graph, pairs: Tensor, config: BasisConfig, *, about: str = "subgraphs"
) -> EncodedSubgraphs:
    """The subgraphs of these pairs `[B, 2]`, the smaller id first, whose bases a network makes."""
    pairs = check_pairs(graph, pairs)
    chunks = torch.split(torch.stack([pairs.amin(1), pairs.amax(1)], 1), CHUNK)
    parts = [
        extract(graph, chunk, hops=config.hops, max_nodes_per_hop=config.max_nodes_per_hop, seed=config.seed)
        for chunk in (track(chunks, about) if about else chunks)
    ]
    subs = concat(parts)
    zero = torch.zeros(subs.num_graphs, 0, device=subs.ptr.device)
    empty = Eigenbasis(zero, zero.new_zeros(subs.num_nodes, 0), zero.bool(), zero, subs.ptr)
    return EncodedSubgraphs(**encode_subgraphs(subs, empty, config), ptr=subs.ptr, subs=subs)


def place_message_graph(graph: Graph, device: torch.device | str) -> Graph:
    """The graph on the device that computes the bases of a network on `device`: the GPU where both the network and the
    kernels run there.
    """
    return replace(graph, time=None, x=None).to(device) if cuda.available() else graph


def iterate_encoded_parts(
    graph: Graph, pairs: Tensor, config: BasisConfig, *, epoch: int = 0, about: str = "eigenbases"
) -> Iterator[dict[str, Tensor]]:
    """The fields of `EncodedLinks`, some thousand links at a time."""
    pairs = check_pairs(graph, pairs)
    ordered = torch.stack([pairs.amin(1), pairs.amax(1)], 1)
    chunks = torch.split(ordered, CHUNK_ON_GPU if graph.indptr.is_cuda else CHUNK)
    for chunk in track(chunks, about) if about else chunks:
        fields = encode_chunk(graph, chunk, config, epoch=epoch)
        yield fields | {"vectors": fields["vectors"].to(stored_type("vectors", config))}


def stored_type(name: str, config: BasisConfig) -> torch.dtype:
    """The type in which a field is kept."""
    return torch.float16 if name == "vectors" and config.stored_bits == 16 else FIELD_TYPES[name]


def encode_chunk(graph: Graph, pairs: Tensor, config: BasisConfig, *, epoch: int = 0) -> dict[str, Tensor]:
    """The fields of checked pairs, the smaller id first, all at once: by the fused kernel where it can, else from
    `link_bases`.
    """
    if choose("auto", find_unfit_backends(graph, config), what="these links").name == "numba":
        return _by_kernel(graph, pairs, config, epoch)
    return encode_subgraphs(*link_bases_checked(graph, pairs, config, epoch=epoch, dtype=torch.float32), config)


def encode_subgraphs(subs: Subgraphs, basis: Eigenbasis, config: BasisConfig) -> dict[str, Tensor]:
    """The fields from subgraphs and their bases, the specification of what a kernel makes."""
    fields = {
        "sizes": subs.ptr.diff(),
        "values": basis.values,
        "mask": basis.mask,
        "residual": basis.residual,
        "vectors": basis.vectors,
        "node": subs.node,
        "label": distance_encoding(subs, config.distance_cap),
        "degree": subs.degree,
    }
    return {name: fields[name].to(dtype) for name, dtype in FIELD_TYPES.items()}


def estimate_bytes(num_links: int, mean_size: float, steps: int, bits: int = 32) -> int:
    """Bytes of `EncodedLinks` of this many links, with `bits` bits for each entry of a vector."""
    return int(num_links * (mean_size * (bits // 8 * steps + 9) + 9 * steps + 8))


def make_encoded_links(fields: dict[str, Tensor]) -> EncodedLinks:
    """The fields as `EncodedLinks`, with the row pointer computed from their sizes."""
    return EncodedLinks(**fields, ptr=pointer(fields["sizes"]))


def _by_kernel(graph: Graph, pairs: Tensor, config: BasisConfig, epoch: int) -> dict[str, Tensor]:
    """The fields by the fused kernel, directly from the graph, without an intermediate `Subgraphs`."""
    from llwlc._kernels.numba.fused_bases import encode_links

    plan = make_fused_options(config, epoch=epoch, dtype=torch.float32)
    reach = make_extraction_options(config)
    adjacency = get_adjacency(graph, graph.identity, reach, len(pairs))
    links = encode_links(adjacency, pairs.contiguous().numpy(), reach, plan, config.distance_cap)
    warn_of_full_hops(len(pairs), int(links.encoded.full.sum()), config.max_nodes_per_hop)
    fields = {
        "sizes": np.diff(links.ptr),
        "values": links.ritz.values,
        "mask": links.ritz.mask,
        "residual": links.ritz.residual,
        "vectors": links.ritz.vectors,
        "node": links.encoded.node,
        "label": links.encoded.label,
        "degree": links.encoded.degree,
    }
    return {name: torch.from_numpy(fields[name]) for name in FIELD_TYPES}
