"""`extract`: the enclosing subgraphs of pairs, by a backend that supports them, and the graph in the form that kernels
need.

`reference` is the specification; compiled kernels give the same arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from llwlc._kernels.backends import choose
from llwlc._support.counter_hash import CAP_STREAM
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.subgraphs._batch import Subgraphs, concat, subgraphs_around
from llwlc.subgraphs._hub_order import order_hubs_on_demand
from llwlc.subgraphs._link_inputs import read_links
from llwlc.subgraphs._reference import Neighborhoods, extract_chunk, split_pairs
from llwlc.subgraphs._roots import check_hops

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from llwlc._kernels.cuda.extraction import SubgraphTensors as CudaRagged
    from llwlc._kernels.numba.enclosing_subgraph import Adjacency
    from llwlc._kernels.numba.extraction import ExtractionOptions, SubgraphArrays

MAX_KERNEL_HOPS = 15


def extract(
    graph: Graph | Data,
    pairs: Tensor | None = None,
    hops: int = 2,
    *,
    edge_label_index: Tensor | None = None,
    max_nodes_per_hop: int | None = None,
    seed: int = 0,
    backend: str = "auto",
) -> Subgraphs:
    """Enclosing subgraphs: all nodes within `hops` of either end, all edges among them but the link itself.

    Args:
        graph: the links that are known, or a PyG `Data`.
        pairs: `[B, 2]` node numbers of a `Graph`.
        hops: how far to go.
        edge_label_index: the pairs in PyG's form, `[2, B]`; of a `Data` by default its own.
        max_nodes_per_hop: a hop that finds more new nodes keeps that many, drawn by `seed` from the pair and the node
            alone (by their names, where the graph has any), so a subgraph never depends on the batch. None for no
            limit. At a hub the time of a pair grows with this number and not with the hub's links.
        seed: seed of the draw under `max_nodes_per_hop`.
        backend: `"auto"`, `"numba"`, `"cuda"` or `"reference"`; they agree.

    Returns:
        `Subgraphs` of B pairs with N nodes and E directed edges in all.

    >>> path = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [0, 5]]))
    >>> subs = extract(path, torch.tensor([[0, 1]]), hops=1)
    >>> subs.node.tolist(), subs.dist_u.tolist(), subs.dist_v.tolist()
    ([0, 1, 5, 2], [0, 3, 1, 3], [3, 0, 3, 1])
    """
    check_hops(hops, max_nodes_per_hop)
    known, links = read_links(graph, pairs, edge_label_index)
    return extract_checked(known, links, hops, max_nodes_per_hop, seed, backend, known.identity)


def stream(
    graph: Graph | Data,
    pairs: Tensor | None = None,
    hops: int = 2,
    *,
    edge_label_index: Tensor | None = None,
    batch_size: int = 4096,
    max_nodes_per_hop: int | None = None,
    seed: int = 0,
    backend: str = "auto",
) -> Iterator[Subgraphs]:
    """`extract` in batches of at most `batch_size` pairs, in order: memory does not grow with the number of pairs.

    Args:
        graph: the links that are known, or a PyG `Data`.
        pairs: `[m, 2]` node numbers of a `Graph`.
        hops: how far to go.
        edge_label_index: as in `extract`, `[2, m]`.
        batch_size: pairs in a batch.
        max_nodes_per_hop: as in `extract`.
        seed: as in `extract`.
        backend: as in `extract`.

    Yields:
        `Subgraphs` of each batch.

    >>> ring = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [0, 3]]))
    >>> [subs.num_graphs for subs in stream(ring, ring.edges, batch_size=3)]
    [3, 1]
    """
    check_hops(hops, max_nodes_per_hop)
    known, links = read_links(graph, pairs, edge_label_index)
    if batch_size < 1:
        raise InputError(f"batch_size must be at least 1, got {batch_size}")
    for batch in torch.split(links, batch_size):
        yield extract_checked(known, batch, hops, max_nodes_per_hop, seed, backend, known.identity)


def extract_checked(
    graph: Graph, pairs: Tensor, hops: int, cap: int | None, seed: int, backend: str, draw_ids: Tensor | None
) -> Subgraphs:
    (
        """`extract` for pairs and options that were checked before; `draw_ids [n]`: the numbers by which random draws
        identify the nodes, None for their ids."""
        ""
    )
    unable = {"cuda": why_not_cuda_extraction(graph, hops), "numba": why_not_numba_extraction(graph, hops)}
    backend_name = choose(backend, unable, what="this extraction").name
    if backend_name == "cuda":
        return _on_gpu(graph, pairs, hops, cap, seed, draw_ids)
    if backend_name == "numba":
        from llwlc._kernels.numba.extraction import ExtractionOptions
        from llwlc._kernels.numba.extraction import extract as compiled

        reach = ExtractionOptions(hops, cap or 0, seed, CAP_STREAM)
        arrays = compiled(get_adjacency(graph, draw_ids, reach, len(pairs)), pairs.contiguous().numpy(), reach)
        return subgraphs_from_arrays(arrays, hops, weighted=graph.weight is not None, draw_ids=draw_ids)
    parts = split_pairs(graph, pairs, hops, cap)
    neighborhoods = (extract_chunk(graph, part, hops, cap, seed, draw_ids) for part in parts)
    return concat([subgraphs_around(part, 2, hops, draw_ids) for part in neighborhoods])


def why_not_numba_extraction(graph: Graph, hops: int) -> str:
    """Why a CPU kernel cannot take the graph, "" where it can."""
    if graph.indptr.is_cuda:
        return "the graph is on a GPU"
    if graph.weight is not None and graph.weight.requires_grad:
        return "the graph's weights ask for gradients"
    return (
        f"hops is above {MAX_KERNEL_HOPS}" if hops > MAX_KERNEL_HOPS else ""
    )  # distances have to fit into half a word


def why_not_cuda_extraction(graph: Graph, hops: int) -> str:
    """Why a GPU kernel cannot take the graph, "" where it can."""
    if not graph.indptr.is_cuda:
        return "the graph is not on a GPU"
    from llwlc._kernels.cuda import extraction

    return (
        ""
        if extraction.fits_kernel(graph.num_nodes, hops)
        else f"hops is above {MAX_KERNEL_HOPS}, or there are too many nodes"
    )


def _on_gpu(graph: Graph, pairs: Tensor, hops: int, cap: int | None, seed: int, draw_ids: Tensor | None) -> Subgraphs:
    from llwlc._kernels.cuda import extraction
    from llwlc._kernels.cuda.driver import engine_of
    from llwlc._kernels.cuda.hub_rows import GpuHubRows, hub_rows

    indptr, indices, pairs = (x.contiguous() for x in (graph.indptr, graph.indices, pairs))

    def order(longer_than: int) -> GpuHubRows:
        return hub_rows(indptr, indices, draw_ids, seed, CAP_STREAM, longer_than)

    hubs = None
    if cap:
        hubs = order_hubs_on_demand(graph, cap, seed, named=draw_ids is not None, pairs=len(pairs), order=order)
    arrays = extraction.extract(
        engine_of(indptr),
        indptr,
        indices,
        pairs,
        hops=hops,
        cap=cap or 0,
        seed=seed,
        stream=CAP_STREAM,
        with_edges=graph.weight is not None,
        draw_ids=draw_ids,
        hubs=hubs,
    )
    return subgraphs_from_tensors(arrays, graph.weight, hops, draw_ids)


def subgraphs_from_tensors(arrays: CudaRagged, weight: Tensor | None, hops: int, draw_ids: Tensor | None) -> Subgraphs:
    """The arrays that the CUDA kernel filled, as `Subgraphs`; `weight [2m]` of the graph, through which gradients flow;
    `draw_ids [n]` of its nodes.
    """
    ptr, _, node, row, col, hop, dist_u, dist_v, edge = arrays
    weights = None if weight is None else weight[edge]
    neighborhoods = Neighborhoods(ptr, node, row, col, weights, hop, dist_u, dist_v)
    return subgraphs_around(neighborhoods, 2, hops, draw_ids)


def get_adjacency(graph: Graph, draw_ids: Tensor | None, reach: ExtractionOptions, pairs: int) -> Adjacency:
    """The graph in the form of the CPU kernels, kept as long as the graph exists: neighbours have 32 bits, so that
    twice as many fit into a cache. Chosen for this many pairs of this reach.
    """
    from llwlc._kernels.numba.enclosing_subgraph import Adjacency
    from llwlc._kernels.numba.hub_rows import HubRows, hub_rows, no_hub_rows

    if graph not in _COMPACT:
        _COMPACT[graph] = graph.indices.numpy().astype(np.uint32)
    weight = np.empty(0, np.float32) if graph.weight is None else graph.weight.contiguous().numpy()
    known = np.empty(0, np.uint64) if draw_ids is None else draw_ids.contiguous().numpy().view(np.uint64)
    indptr, indices = graph.indptr.contiguous().numpy().view(np.uint64), _COMPACT[graph]

    def order(longer_than: int) -> HubRows:
        return hub_rows(indptr, indices, known, reach.seed, reach.stream, longer_than)

    hubs = None
    if reach.cap:
        hubs = order_hubs_on_demand(graph, reach.cap, reach.seed, named=len(known) > 0, pairs=pairs, order=order)
    return Adjacency(indptr, indices, weight, known, hubs or no_hub_rows())


_COMPACT: WeakKeyDictionary[Graph, np.ndarray] = WeakKeyDictionary()


def subgraphs_from_arrays(arrays: SubgraphArrays, hops: int, *, weighted: bool, draw_ids: Tensor | None) -> Subgraphs:
    """The arrays that a CPU kernel filled, as `Subgraphs` that share their memory."""
    ptr, _, node, row, col, weight, hop, dist_u, dist_v = (torch.from_numpy(x) for x in arrays)
    neighborhoods = Neighborhoods(ptr, node, row, col, weight if weighted else None, hop, dist_u, dist_v)
    return subgraphs_around(neighborhoods, 2, hops, draw_ids)
