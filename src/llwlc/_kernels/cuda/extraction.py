"""`subgraphs.extract` by the kernel of `extract.cu`: a launch that counts, one allocation, a launch that fills."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from llwlc._kernels.cuda.driver import KernelEngine
from llwlc._kernels.cuda.hub_rows import GpuHubRows, window_key
from llwlc._kernels.cuda.task import address, task_type
from llwlc._support.ragged import pointer

MAX_KERNEL_HOPS = 15
MAX_KERNEL_NODES = 1 << 30  # places and marks share a 32-bit word
LARGE = 512  # threads of a group for larger links
SCRATCH = 5  # words of scratch for each node of the graph in a large group
SCRATCH_BYTES = 1 << 31  # of all large groups together

ExtractionTask = task_type(
    "Extraction",
    "indptr indices pairs order drawn_by hub hub_begin hub_neighbor counter sizes edges"
    " ptr first node row col hop dist_u dist_v edge scratch",
    stride="int64",
    num_nodes="int64",
    key="int64",
    cap="int64",
    longer_than="int64",
    links="int32",
    hops="int32",
    slots="int32",
    hubs="int32",
)


class HashTable(NamedTuple):
    """The slots of a hash table in fast memory, for links of up to three quarters as many nodes, and the threads of a
    group that share it.
    """

    slots: int
    group: int


HASH_TABLES = (HashTable(2048, 128), HashTable(8192, 512))


class SubgraphTensors(NamedTuple):
    """The arrays of `Subgraphs`; `edge [E]` the places of the edges in the graph, or empty where they are not asked
    for.
    """

    ptr: Tensor
    first: Tensor
    node: Tensor
    row: Tensor
    col: Tensor
    hop: Tensor
    dist_u: Tensor
    dist_v: Tensor
    edge: Tensor


def fits_kernel(num_nodes: int, hops: int) -> bool:
    """Whether node ids and hops fit the kernel's words."""
    return hops <= MAX_KERNEL_HOPS and num_nodes < MAX_KERNEL_NODES


def extract(
    engine: KernelEngine,
    indptr: Tensor,
    indices: Tensor,
    pairs: Tensor,
    *,
    hops: int,
    cap: int,
    seed: int,
    stream: int,
    with_edges: bool,
    draw_ids: Tensor | None,
    hubs: GpuHubRows | None = None,
) -> SubgraphTensors:
    """The enclosing subgraphs of `pairs [B, 2]`, on the device of the graph; `draw_ids [n]`: what random draws identify
    its nodes by, None for their numbers; `hubs`: rows that need not be read in full for a capped hop."""
    links, n, device = len(pairs), len(indptr) - 1, indptr.device
    sizes, edges = torch.empty(2, links, dtype=torch.long, device=device)
    arrays = {"indptr": indptr, "indices": indices, "pairs": pairs, "sizes": sizes, "edges": edges}
    graph = {name: address(tensor) for name, tensor in arrays.items()} | {"drawn_by": address(draw_ids)}
    graph |= {"num_nodes": n, "key": window_key(seed, stream), "cap": cap, "hops": hops}
    if hubs is not None:
        graph |= {"hub": address(hubs.hub), "hub_begin": address(hubs.begin), "hub_neighbor": address(hubs.neighbor)}
        graph |= {"hubs": len(hubs.hub), "longer_than": hubs.longer_than}
    # links are tried in one table after the other; those that overflow all of them are large
    tried: list[tuple[HashTable, Tensor]] = []
    left = torch.arange(links, device=device)
    for table in HASH_TABLES:
        if not len(left) or table_bytes(table.slots, "hub" in graph) > engine.shared_bytes:
            break
        _in_table(engine, graph, left, table)
        overflowing = left[sizes[left] < 0]
        tried.append((table, left))
        left = overflowing
    _large(engine, graph, left, n, device)
    ptr, first = pointer(sizes), pointer(edges)
    nodes, total = torch.stack([ptr[-1], first[-1]]).tolist()
    lengths = {"node": nodes, "row": total, "col": total, "hop": nodes, "dist_u": nodes, "dist_v": nodes}
    lengths["edge"] = total if with_edges else 0
    new = {name: torch.empty(length, dtype=torch.long, device=device) for name, length in lengths.items()}
    out = SubgraphTensors(ptr, first, **new)
    graph |= {name: address(tensor) for name, tensor in out._asdict().items() if len(tensor)}
    for place, (table, order) in enumerate(tried):
        after = tried[place + 1][1] if place + 1 < len(tried) else left
        _in_table(engine, graph, _without(order, after, links), table)
    _large(engine, graph, left, n, device)
    return out


def _without(order: Tensor, others: Tensor, links: int) -> Tensor:
    """The links of an order but for some others."""
    if not len(others):
        return order
    other = torch.zeros(links, dtype=torch.bool, device=order.device)
    other[others] = True
    return order[~other[order]]


def table_bytes(slots: int, by_id: bool = False) -> int:
    """Keys, places, and nodes up to three quarters of them, these twice where they are also needed by number."""
    return 4 * (2 * slots + (1 + by_id) * (slots - slots // 4))


def _in_table(engine: KernelEngine, graph: dict[str, int], order: Tensor, table: HashTable) -> None:
    if len(order):
        counter = torch.zeros(1, dtype=torch.int32, device=order.device)
        task = ExtractionTask(
            **graph, counter=address(counter), order=address(order), links=len(order), slots=table.slots
        )
        engine.launch(
            "extract", table.group, min(len(order), engine.groups), table_bytes(table.slots, "hub" in graph), task
        )


def _large(engine: KernelEngine, graph: dict[str, int], order: Tensor, n: int, device: torch.device) -> None:
    """Launches the kernel for large links: each group has its own `places [n]`, all absent, and space for the nodes,
    distances and nodes by number of a subgraph as large as the graph.
    """
    if not len(order):
        return
    groups = max(1, min(len(order), engine.groups, SCRATCH_BYTES // (4 * SCRATCH * n)))
    scratch = torch.full((groups, SCRATCH, n), 0x7FFFFFFF, dtype=torch.int32, device=device)
    counter = torch.zeros(1, dtype=torch.int32, device=device)
    task = ExtractionTask(**graph, counter=address(counter), order=address(order), links=len(order))
    task.scratch, task.stride = address(scratch), SCRATCH * n
    engine.launch("extract", LARGE, groups, 0, task)
