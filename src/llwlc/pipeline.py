"""`link_bases`: from pairs to constrained eigenbases in one call, fused where a backend can; `stream_bases`: batch by batch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from llwlc import kernels
from llwlc.bases import STREAM as START_STREAM
from llwlc.bases import eigenbasis, on_gpu
from llwlc.constraints import STREAM as DELETED_STREAM
from llwlc.constraints import Constraints, Count, by_name
from llwlc.graph import Graph
from llwlc.kernels.cuda.solving import NEUMANN
from llwlc.linalg.basis import Eigenbasis
from llwlc.linalg.krylov import TOLERANCE
from llwlc.linalg.matrix import check_dtype, check_steps
from llwlc.linalg.projector import RANK_TOLERANCE
from llwlc.subgraphs import (
    CAP_STREAM,
    NOT_COMPILABLE,
    Subgraphs,
    adjacency_of,
    check_pairs,
    compilable,
    extract,
    from_arrays,
)

if TYPE_CHECKING:
    from llwlc.kernels.fused import Plan

Family = str | Callable[[Subgraphs], Constraints]
Laplacian = Literal["normalized", "combinatorial"]

NOT_ON_GPU = "the graph is not on a GPU, or something asks for gradients"

DEFAULT_CAP = 10_000
"""Nodes that one hop keeps unless told otherwise. No subgraph of the citation, co-authorship or vessel graphs comes near it (Pubmed's
largest has 2030 nodes); a hub with a million neighbours would otherwise be a million rows of every basis around it."""


def link_bases(
    graph: Graph,
    pairs: Tensor,
    *,
    hops: int = 2,
    constraints: Family = "neumann",
    count: Count = 10,
    steps: int = 10,
    start: str = "query",
    laplacian: Laplacian = "normalized",
    dtype: torch.dtype = torch.float32,
    seed: int = 0,
    epoch: int = 0,
    max_nodes_per_hop: int | None = DEFAULT_CAP,
    backend: kernels.Backend = "auto",
) -> tuple[Subgraphs, Eigenbasis]:
    """The enclosing subgraphs of the pairs `[B, 2]` and the Ritz pairs of PLP on each.

    The same as `extract`, `constraints.by_name` and `eigenbasis` one after the other. `constraints`: a name or several joined by "+" (see
    `constraints.FAMILIES`; `count` is the number of deleted vertices), or a function from `Subgraphs` to `Constraints`, which only the
    reference can call. `max_nodes_per_hop`: None for no limit; a warning says how many pairs met it. `backend`: "numba" is a
    compiled kernel that takes one link at a time through all stages, in as many threads as torch uses; "cuda", for a graph on a
    GPU (`graph.to("cuda")`), gives each link a block of threads; "reference" is the specification in torch; "auto" takes the kernel of
    the graph's device where it can do what is asked.

    >>> ring = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [0, 5]]))
    >>> subs, basis = link_bases(ring, torch.tensor([[0, 1], [0, 3]]), steps=4)
    >>> subs.ptr.tolist(), tuple(basis.vectors.shape), basis.mask.sum(1).tolist()
    ([0, 6, 12], (12, 4), [4, 3])
    """
    check_steps(steps)
    check_dtype(dtype)
    plan = None
    if kernels.available():
        plan = _plan(constraints, count, steps, start, laplacian, dtype, seed, epoch)
    why = f"constraints={constraints!r}, start={start!r}" if compilable(graph, hops) else NOT_COMPILABLE
    if kernels.use_numba(backend, possible=plan is not None and compilable(graph, hops), why=why) and plan is not None:
        subs, basis = _fused(graph, pairs, hops, max_nodes_per_hop, seed, plan, dtype)
    else:
        subs = extract(graph, pairs, hops, max_nodes_per_hop=max_nodes_per_hop, seed=seed, backend=backend)
        basis = _basis(graph, subs, constraints, count, steps, start, laplacian, dtype, seed, epoch, backend)
    _warn_of_hubs(graph, subs, max_nodes_per_hop)
    return subs, basis


def stream_bases(
    graph: Graph, pairs: Tensor, *, batch_size: int = 1024, **options: object
) -> Iterator[tuple[Subgraphs, Eigenbasis]]:
    """`link_bases` in batches of at most `batch_size` pairs, in order: memory does not grow with the number of pairs.

    On the CPU small batches are the faster ones: the system hands out and clears memory anew for every large array, while small ones are
    used again. On a GPU take large ones, as many as its memory holds (100,000 links of Pubmed are 3 GB).

    >>> ring = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [0, 3]]))
    >>> [basis.num_graphs for _, basis in stream_bases(ring, ring.edges, batch_size=3, steps=2)]
    [3, 1]
    """
    for batch in torch.split(check_pairs(graph, pairs), batch_size):
        yield link_bases(graph, batch, **options)  # type: ignore[arg-type]  # link_bases checks its own options


def _constraints(subs: Subgraphs, family: Family, count: Count, seed: int, epoch: int) -> Constraints:
    if callable(family):
        return family(subs)
    return by_name(subs, family, count=count, seed=seed, epoch=epoch)


def _basis(
    graph: Graph,
    subs: Subgraphs,
    family: Family,
    count: Count,
    steps: int,
    start: str,
    laplacian: Laplacian,
    dtype: torch.dtype,
    seed: int,
    epoch: int,
    backend: kernels.Backend,
) -> Eigenbasis:
    """The bases of subgraphs of this graph, where no kernel does both at once."""
    gpu = kernels.use_cuda(backend, possible=_on_gpu(graph), why=NOT_ON_GPU)
    # those the CUDA kernel makes by itself
    named = gpu and isinstance(family, str) and family in NEUMANN and start in ("query", "random")
    cons: str | Constraints = str(family) if named else _constraints(subs, family, count, seed, epoch)
    if isinstance(cons, str) or (gpu and not cons.columns.requires_grad):
        # of an undirected graph: both directions of an edge weigh the same already
        weight = None if subs.weight is None else subs.weight.double()
        return on_gpu(subs, cons, weight, start, steps, laplacian, dtype, seed, epoch)
    return eigenbasis(
        subs, cons, steps=steps, start=start, laplacian=laplacian, dtype=dtype, seed=seed, epoch=epoch, backend=backend
    )


def _on_gpu(graph: Graph) -> bool:
    return graph.indptr.is_cuda and (graph.weight is None or not graph.weight.requires_grad)


def _plan(
    family: Family, count: Count, steps: int, start: str, laplacian: str, dtype: torch.dtype, seed: int, epoch: int
) -> Plan | None:
    """What the kernel has to do, or None where it cannot: the reference then does it, or says what is wrong with it."""
    from llwlc.kernels.fused import STARTS, Plan

    parts = [part.strip() for part in family.split("+")] if isinstance(family, str) else ["custom"]
    named = {"neumann_boundary", "neumann_degree"} if "neumann" in parts else set()
    named |= set(parts) - {"neumann", "none"}
    # a column twice over spans no more, but weighs twice in the start "constraint"
    doubled = len(named) < sum(2 if part == "neumann" else part != "none" for part in parts)
    deletes, closed = "vertex_deleted" in named, named == {"vertex_deleted"}
    known = named <= {"neumann_boundary", "neumann_degree", "vertex_deleted"}
    dense_all = deletes and count == "all" and not closed
    empty = start == "constraint" and (not named or (closed and count == 0))
    wrong = empty or (count != "all" and not (isinstance(count, int) and count >= 0)) or start not in STARTS
    if not known or doubled or dense_all or wrong or laplacian not in ("normalized", "combinatorial"):
        return None
    taken = 0 if not deletes else -1 if count == "all" else int(count)
    flat = len(named & {"neumann_boundary", "neumann_degree"})
    return Plan(
        steps=steps,
        start=STARTS[start],
        normalized=laplacian == "normalized",
        tolerance=TOLERANCE[dtype],
        rank_tolerance=RANK_TOLERANCE,
        boundary="neumann_boundary" in named,
        degree="neumann_degree" in named,
        deleted=taken,
        closed=closed,
        columns=0 if closed else flat + taken,
        seed=seed,
        epoch=epoch,
        start_stream=START_STREAM,
        deleted_stream=DELETED_STREAM,
    )


def _fused(
    graph: Graph, pairs: Tensor, hops: int, cap: int | None, seed: int, plan: Plan, dtype: torch.dtype
) -> tuple[Subgraphs, Eigenbasis]:
    from llwlc.kernels import fused
    from llwlc.kernels.extraction import Reach

    pairs = check_pairs(graph, pairs, hops, cap)
    kind = torch.empty(0, dtype=dtype).numpy().dtype.type
    reach = Reach(hops, cap or 0, seed, CAP_STREAM)
    arrays, ritz = fused.link_bases(adjacency_of(graph), pairs.contiguous().numpy(), reach, plan, kind)
    subs = from_arrays(arrays, hops, weighted=graph.weight is not None)
    values, vectors, mask, residual = (
        torch.from_numpy(x) for x in (ritz.values, ritz.vectors, ritz.mask, ritz.residual)
    )
    return subs, Eigenbasis(values, vectors, mask, residual, subs.ptr)


def _warn_of_hubs(graph: Graph, subs: Subgraphs, cap: int | None) -> None:
    """Says how many pairs met the cap, from sizes alone: a subgraph in which no hop is full has at most cap·hops + 1 nodes."""
    large = (subs.ptr.diff() > cap).nonzero()[:, 0].tolist() if cap is not None else []
    full = [b for b in large if int(torch.bincount(subs.hop[subs.ptr[b] : subs.ptr[b + 1]]).max()) >= (cap or 0)]
    if full:
        warnings.warn(
            f"{len(full)} of {subs.num_graphs} pairs reach {cap} nodes in one hop (the largest degree is {int(graph.degree.max())}); "
            f"only {cap} of them are kept, drawn by the pair. Set max_nodes_per_hop to change that, None for no limit",
            stacklevel=3,
        )
