"""`link_bases`: from pairs to constrained eigenbases in one call, fused where a backend can; `stream_bases`: batch by
batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Unpack

import torch
from torch import Tensor

from llwlc._kernels.backends import choose
from llwlc._support.repeated_warnings import warn
from llwlc.bases._config import DEFAULT_CAP, BasisConfig, BasisOptions, update_config
from llwlc.bases._eigenbasis import compute_gpu_eigenbasis, eigenbasis
from llwlc.bases._kernel_options import (
    make_extraction_options,
    make_fused_options,
    make_solve_options,
    neumann_bits,
    why_not_fusible,
)
from llwlc.bases._laplacian import laplacian_of
from llwlc.bases._starts import StartInputs
from llwlc.constraints._columns import Constraints
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.linalg._basis import Eigenbasis
from llwlc.linalg._matrix import check_dtype
from llwlc.subgraphs._batch import Subgraphs
from llwlc.subgraphs._extraction import (
    extract_checked,
    get_adjacency,
    subgraphs_from_arrays,
    why_not_cuda_extraction,
    why_not_numba_extraction,
)
from llwlc.subgraphs._link_inputs import read_links

if TYPE_CHECKING:
    from torch_geometric.data import Data


def link_bases(
    graph: Graph | Data,
    pairs: Tensor | None = None,
    config: BasisConfig | None = None,
    *,
    edge_label_index: Tensor | None = None,
    epoch: int = 0,
    dtype: torch.dtype = torch.float32,
    backend: str = "auto",
    **options: Unpack[BasisOptions],
) -> tuple[Subgraphs, Eigenbasis]:
    """The enclosing subgraphs of pairs and the Ritz pairs of PLP on each.

    The same as `subgraphs.extract`, `constraints.by_name` and `eigenbasis` one after the other, in one pass where a
    backend can.

    Args:
        graph: the links that are known, or a PyG `Data`, whose edges are read as by `Subgraphs.from_batch`.
        pairs: `[B, 2]` node numbers of a `Graph`; a pair that is a link loses it in its own subgraph.
        config: how a pair becomes a basis; None is the default `BasisConfig`.
        edge_label_index: the pairs in PyG's form, `[2, B]`; of a `Data` by default its own. By name alone, since two
            pairs are `[2, 2]` in both forms.
        epoch: number of the epoch: what is drawn at random for a link differs from epoch to epoch.
        dtype: float32 or float64, of the basis.
        backend: `"numba"` is a compiled kernel that takes one link at a time through all stages, in as many threads as
            torch uses; `"cuda"`, for a graph on a GPU (`graph.to("cuda")`), gives each link a block of threads;
            `"reference"` is the specification in torch; `"auto"` takes the kernel of the graph's device where it can do
            what is asked.
        **options: fields of `BasisConfig` that change `config`: `hops`, `constraints` (a name, several joined by "+",
            see `constraints.FAMILIES`, or a function from `Subgraphs` to `Constraints`), `count` (deleted vertices),
            `steps`, `start`, `laplacian`, `max_nodes_per_hop` (None for no limit; a warning says how many pairs met the
            usual one), `seed`.

    Returns:
        `Subgraphs` of B pairs with N nodes in all, and their `Eigenbasis`, `values [B, κ]`, `vectors [N, κ]`.

    >>> ring = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [0, 5]]))
    >>> subs, basis = link_bases(ring, torch.tensor([[0, 1], [0, 3]]), steps=4)
    >>> subs.ptr.tolist(), tuple(basis.vectors.shape), basis.mask.sum(1).tolist()
    ([0, 6, 12], (12, 4), [4, 3])
    """
    config = update_config(config, options)
    check_dtype(dtype)
    known, links = read_links(graph, pairs, edge_label_index)
    return link_bases_checked(known, links, config, epoch=epoch, dtype=dtype, backend=backend)


def stream_bases(
    graph: Graph | Data,
    pairs: Tensor | None = None,
    config: BasisConfig | None = None,
    *,
    edge_label_index: Tensor | None = None,
    batch_size: int = 1024,
    epoch: int = 0,
    dtype: torch.dtype = torch.float32,
    backend: str = "auto",
    **options: Unpack[BasisOptions],
) -> Iterator[tuple[Subgraphs, Eigenbasis]]:
    """`link_bases` in batches of at most `batch_size` pairs, in order: memory does not grow with the number of pairs.

    On the CPU small batches are faster: the system provides and zeroes fresh memory for every large array, while small
    ones are reused. On a GPU take large ones, as many as its memory holds (100,000 links of Pubmed are 3 GB).

    Args:
        graph: the links that are known, or a PyG `Data`.
        pairs: `[m, 2]` node numbers of a `Graph`.
        config: how a pair becomes a basis; None is the default `BasisConfig`.
        edge_label_index: as in `link_bases`, `[2, m]`.
        batch_size: pairs in a batch.
        epoch: number of the epoch: what is drawn at random for a link differs from epoch to epoch.
        dtype: float32 or float64, of the bases.
        backend: as in `link_bases`.
        **options: fields of `BasisConfig`, as in `link_bases`.

    Yields:
        What `link_bases` returns for each batch.

    >>> ring = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [0, 3]]))
    >>> [basis.num_graphs for _, basis in stream_bases(ring, ring.edges, batch_size=3, steps=2)]
    [3, 1]
    """
    config = update_config(config, options)
    check_dtype(dtype)
    if batch_size < 1:
        raise InputError(f"batch_size must be at least 1, got {batch_size}")
    known, links = read_links(graph, pairs, edge_label_index)
    for batch in torch.split(links, batch_size):
        yield link_bases_checked(known, batch, config, epoch=epoch, dtype=dtype, backend=backend)


def link_bases_checked(
    graph: Graph, pairs: Tensor, config: BasisConfig, *, epoch: int, dtype: torch.dtype, backend: str = "auto"
) -> tuple[Subgraphs, Eigenbasis]:
    """`link_bases` of checked pairs."""
    backend_name = choose(backend, find_unfit_backends(graph, config), what="these bases").name
    compute = _fused if backend_name == "numba" else _staged
    subs, basis = compute(graph, pairs, config, epoch, dtype, backend)
    if config.max_nodes_per_hop == DEFAULT_CAP:
        warn_of_full_hops(len(pairs), _full(subs, config.max_nodes_per_hop), config.max_nodes_per_hop)
    return subs, basis


def find_unfit_backends(graph: Graph, config: BasisConfig) -> dict[str, str]:
    """Why a backend cannot take a link through all stages at once, "" where it can."""
    return {
        "cuda": why_not_cuda_extraction(graph, config.hops),
        "numba": why_not_numba_extraction(graph, config.hops) or why_not_fusible(config),
    }


def _fused(
    graph: Graph, pairs: Tensor, config: BasisConfig, epoch: int, dtype: torch.dtype, backend: str
) -> tuple[Subgraphs, Eigenbasis]:
    """Compiled: all stages of one link, then the next link."""
    from llwlc._kernels.numba import fused_bases

    kind = torch.empty(0, dtype=dtype).numpy().dtype.type
    plan = make_fused_options(config, epoch=epoch, dtype=dtype)
    draw_ids = graph.identity
    reach = make_extraction_options(config)
    adjacency = get_adjacency(graph, draw_ids, reach, len(pairs))
    arrays, ritz = fused_bases.link_bases(adjacency, pairs.contiguous().numpy(), reach, plan, kind)
    subs = subgraphs_from_arrays(arrays, config.hops, weighted=graph.weight is not None, draw_ids=draw_ids)
    values, vectors, mask, residual = (
        torch.from_numpy(x) for x in (ritz.values, ritz.vectors, ritz.mask, ritz.residual)
    )
    return subs, Eigenbasis(values, vectors, mask, residual, subs.ptr)


def _staged(
    graph: Graph, pairs: Tensor, config: BasisConfig, epoch: int, dtype: torch.dtype, backend: str
) -> tuple[Subgraphs, Eigenbasis]:
    """Subgraphs, constraints, bases, one stage after the other for all links, each by the first backend that can."""
    cap, known = config.max_nodes_per_hop, graph.identity
    subs = extract_checked(graph, pairs, config.hops, cap, config.seed, backend, known)
    gradients = subs.weight is not None and subs.weight.requires_grad
    on_its_gpu = subs.ptr.is_cuda and not gradients and choose(backend, {}, what="these bases").name == "cuda"
    if on_its_gpu and (bits := neumann_bits(config)):
        return subs, make_gpu_basis(subs, bits, config, epoch=epoch, dtype=dtype)
    cons = config.columns(subs, epoch=epoch)
    if on_its_gpu and not cons.columns.requires_grad:
        return subs, make_gpu_basis(subs, cons, config, epoch=epoch, dtype=dtype)
    basis = eigenbasis(
        subs,
        cons,
        steps=config.steps,
        start=config.start,
        laplacian=config.laplacian,
        dtype=dtype,
        seed=config.seed,
        epoch=epoch,
        backend=backend,
    )
    return subs, basis


def _full(subs: Subgraphs, cap: int | None) -> int:
    """How many of the subgraphs have a hop of `cap` nodes. Only subgraphs of at least cap + 2 nodes are examined,
    nearly always none.
    """
    if cap is None:
        return 0
    large = (subs.ptr.diff() >= cap + 2).nonzero()[:, 0].tolist()
    hops = [torch.bincount(subs.hop[subs.ptr[b] : subs.ptr[b + 1]])[1:] for b in large]
    return sum(bool((sizes >= cap).any()) for sizes in hops)


def make_gpu_basis(
    subs: Subgraphs, cons: Constraints | int, config: BasisConfig, *, epoch: int = 0, dtype: torch.dtype = torch.float32
) -> Eigenbasis:
    """The bases of subgraphs on a GPU by the CUDA kernel; `cons` is a number where the kernel makes the columns by
    itself.
    """
    # both directions of an edge have the same weight in an undirected graph
    weight = None if subs.weight is None else subs.weight.double()
    none = torch.zeros(subs.num_nodes, 0, dtype=torch.float64, device=subs.ptr.device)
    inputs = StartInputs(subs, none, lambda: laplacian_of(subs, config.laplacian), config.seed, epoch)
    solve = make_solve_options(config.steps, config.laplacian, dtype)
    basis, degree = compute_gpu_eigenbasis(subs, cons, weight, config.start, inputs, solve, dtype)
    # where `cached_property` stores its value: the kernel has computed them, and counting all edges again takes a while
    subs.__dict__["degree"] = degree if subs.weight is None else degree.to(subs.weight.dtype)
    return basis


def warn_of_full_hops(links: int, full: int, cap: int | None) -> None:
    """Warns that `full` of `links` pairs have a hop at the default cap; of a cap that the user chose, nobody is
    warned.
    """
    if full and cap == DEFAULT_CAP:
        # a hop is all nodes at one distance from the pair: the second one of a few hundred neighbours is large without
        # any hub
        warn(
            f"{full:,} of {links:,} pairs have {cap:,} or more nodes at one distance from their ends; {cap:,} of them"
            " are kept, drawn by the pair. Set max_nodes_per_hop to change that, None for no limit",
            stacklevel=4,
        )
