"""`bases.eigenbasis` by the kernel of `solve.cu`: graphs of like size together, each with as much fast memory as it needs."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from llwlc.kernels.cuda.driver import Engine
from llwlc.kernels.cuda.task import address, task_type

# Fast memory of a class of graphs, and the threads that share one of them: 24, 12, 6, 3, 2 and 1 groups of that size fit a multiprocessor
# of an H200 at once. What is larger goes through global memory.
CLASSES = ((9_472, 32), (18_944, 32), (37_888, 64), (75_776, 128), (113_664, 256), (227_328, 512))
HUGE = 512  # threads of a group without fast memory
SCRATCH_BYTES = 1 << 31  # of all such groups together

Task = task_type(
    "Task",
    "ptr first row col weight columns block u v deleted order counter values vectors residual live scratch",
    stride="int64", tolerance="double", rank_tolerance="double",
    links="int32", k="int32", b="int32", steps="int32", normalized="int32", wide="int32",
)  # fmt: skip


class Given(NamedTuple):
    """`ptr [B + 1]`, `row`, `col [E]`; `weight [E]` or None; `columns [N, k]`; `block [N, b]`, or None for the query nodes `u`, `v [B]`;
    `deleted [N]` where the closed form of the projector serves, else None. Reals are float64."""

    ptr: Tensor
    row: Tensor
    col: Tensor
    weight: Tensor | None
    columns: Tensor
    block: Tensor | None
    u: Tensor
    v: Tensor
    deleted: Tensor | None

    @property
    def width(self) -> int:
        """b."""
        return 2 if self.block is None else self.block.shape[1]


class Ritz(NamedTuple):
    """The arrays of an `Eigenbasis`, zero where dead, and the number of live columns, `live [B]`."""

    values: Tensor
    vectors: Tensor
    residual: Tensor
    live: Tensor


def eigenbasis(
    engine: Engine, given: Given, *, steps: int, normalized: bool, tolerance: float, rank_tolerance: float, dtype: torch.dtype
) -> Ritz:  # fmt: skip
    """The Ritz pairs of every graph, on the device of the arrays."""
    given = given._replace(**{name: x.contiguous() for name, x in given._asdict().items() if x is not None})
    graphs, device = len(given.ptr) - 1, given.ptr.device
    ritz = Ritz(
        torch.zeros(graphs, steps, dtype=dtype, device=device),
        torch.zeros(len(given.columns), steps, dtype=dtype, device=device),
        torch.zeros(graphs, steps, dtype=dtype, device=device),
        torch.zeros(graphs, dtype=torch.long, device=device),
    )
    if not graphs:
        return ritz
    first = torch.searchsorted(given.row, given.ptr)
    arrays = given._asdict() | ritz._asdict() | {"first": first}
    task = Task(**{name: address(tensor) for name, tensor in arrays.items()})
    task.tolerance, task.rank_tolerance = tolerance, rank_tolerance
    task.k, task.b, task.steps = given.columns.shape[1], given.width, steps
    task.normalized, task.wide = normalized, dtype == torch.float64
    need, order = torch.sort(space_bytes(given, first, steps))
    limits = [limit for limit, _ in CLASSES if limit <= engine.shared_bytes]
    ends = torch.searchsorted(need, torch.tensor(limits, device=device), right=True)
    *bounds, most = torch.cat([ends, need[-1:]]).tolist()
    begin = 0
    counters = torch.zeros(len(limits) + 1, dtype=torch.int32, device=device)
    for place, end in enumerate([*bounds, graphs]):
        links, part = end - begin, order[begin:end]
        begin = end
        if not links:
            continue
        task.links, task.order, task.counter = links, address(part), address(counters[place:])
        if place < len(limits):
            groups = min(links, engine.groups)
            engine.launch("solve", CLASSES[place][1], groups, limits[place], task)
        else:
            _through_global_memory(engine, task, most, device)
    return ritz


def _through_global_memory(engine: Engine, task: Any, most: int, device: torch.device) -> None:
    task.stride = -(-most // 8)
    groups = max(1, min(task.links, engine.groups, SCRATCH_BYTES // most))
    scratch = torch.empty(groups, task.stride, dtype=torch.float64, device=device)
    task.scratch = address(scratch)
    engine.launch("solve", HUGE, groups, 0, task)


def space_bytes(given: Given, first: Tensor, steps: int) -> Tensor:
    """What `space_of` in `solve.cu` takes for each graph, `[B]`."""
    closed, b = given.deleted is not None, given.width
    k = 0 if closed else given.columns.shape[1]
    n, e = given.ptr.diff(), first.diff()
    small = 2 * steps * steps + 5 * steps + k + 1 + b * b
    doubles = small + n * (5 + b + (2 if closed else 0) + k + steps) + (e if given.weight is not None else 0)
    return 8 * doubles + 4 * (n + 1 + e + b + n + (n if closed else 0))
