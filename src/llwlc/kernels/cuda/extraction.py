"""`subgraphs.extract` by the kernel of `extract.cu`: a launch that counts, one allocation, a launch that fills."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from llwlc.kernels.cuda.driver import Engine
from llwlc.kernels.cuda.task import address, task_type
from llwlc.support.counter import mix
from llwlc.support.ragged import pointer

MOST_HOPS = 15
MOST_NODES = 1 << 30  # places and marks share a 32-bit word
SLOTS = 2048  # of the hash table; links of more than 3/4 of that many nodes are large
SMALL, LARGE = 128, 512  # threads of a group
SCRATCH_BYTES = 1 << 31  # of all large groups together

Extraction = task_type(
    "Extraction",
    "indptr indices pairs order drawn_by counter sizes edges ptr first node row col hop dist_u dist_v edge scratch",
    stride="int64", num_nodes="int64", key="int64", cap="int64", links="int32", hops="int32", slots="int32",
)  # fmt: skip


class Ragged(NamedTuple):
    """The arrays of `Subgraphs`; `edge [E]` the places of the edges in the graph, or empty where they are not asked for."""

    ptr: Tensor
    first: Tensor
    node: Tensor
    row: Tensor
    col: Tensor
    hop: Tensor
    dist_u: Tensor
    dist_v: Tensor
    edge: Tensor


def possible(num_nodes: int, hops: int) -> bool:
    """Whether node ids and hops fit the kernel's words."""
    return hops <= MOST_HOPS and num_nodes < MOST_NODES


def extract(
    engine: Engine, indptr: Tensor, indices: Tensor, pairs: Tensor, *,
    hops: int, cap: int, seed: int, stream: int, with_edges: bool, drawn_by: Tensor | None,
) -> Ragged:  # fmt: skip
    """The enclosing subgraphs of `pairs [B, 2]`, on the device of the graph; `drawn_by [n]`: what random draws identify its nodes by, None for their numbers."""
    links, n, device = len(pairs), len(indptr) - 1, indptr.device
    h = mix(torch.tensor([seed, 0, stream]))
    key = int(mix(mix(h[0] ^ h[1] * 3) ^ h[2] * 5))
    sizes, edges = torch.empty(2, links, dtype=torch.long, device=device)
    arrays = {"indptr": indptr, "indices": indices, "pairs": pairs, "sizes": sizes, "edges": edges}
    graph = {name: address(tensor) for name, tensor in arrays.items()} | {"drawn_by": address(drawn_by)}
    graph |= {"num_nodes": n, "key": key, "cap": cap, "hops": hops, "slots": SLOTS}
    _small(engine, graph, None, links, device)
    large = (sizes < 0).nonzero()[:, 0]
    _large(engine, graph, large, n, device)
    ptr, first = pointer(sizes), pointer(edges)
    nodes, total = torch.stack([ptr[-1], first[-1]]).tolist()
    lengths = {"node": nodes, "row": total, "col": total, "hop": nodes, "dist_u": nodes, "dist_v": nodes}
    lengths["edge"] = total if with_edges else 0
    new = {name: torch.empty(length, dtype=torch.long, device=device) for name, length in lengths.items()}
    out = Ragged(ptr, first, **new)
    graph |= {name: address(tensor) for name, tensor in out._asdict().items() if len(tensor)}
    _small(engine, graph, _others(large, links), links - len(large), device)
    _large(engine, graph, large, n, device)
    return out


def _others(large: Tensor, links: int) -> Tensor | None:
    """The links that are not large, None where that is all."""
    if not len(large):
        return None
    mask = torch.ones(links, dtype=torch.bool, device=large.device)
    mask[large] = False
    return mask.nonzero()[:, 0]


def _small(engine: Engine, graph: dict[str, int], order: Tensor | None, links: int, device: torch.device) -> None:
    if links:
        counter = torch.zeros(1, dtype=torch.int32, device=device)
        task = Extraction(**graph, counter=address(counter), order=address(order), links=links)
        words = 2 * SLOTS + SLOTS - SLOTS // 4
        engine.launch("extract", SMALL, min(links, engine.groups), 4 * words, task)


def _large(engine: Engine, graph: dict[str, int], order: Tensor, n: int, device: torch.device) -> None:
    """Launches the kernel for large links: each group has its own `places [n]`, all absent, and space for the nodes and distances of a subgraph as large as the graph."""
    if not len(order):
        return
    groups = max(1, min(len(order), engine.groups, SCRATCH_BYTES // (16 * n)))
    scratch = torch.full((groups, 4, n), 0x7FFFFFFF, dtype=torch.int32, device=device)
    counter = torch.zeros(1, dtype=torch.int32, device=device)
    task = Extraction(**graph, counter=address(counter), order=address(order), links=len(order))
    task.scratch, task.stride = address(scratch), 4 * n
    engine.launch("extract", LARGE, groups, 0, task)
