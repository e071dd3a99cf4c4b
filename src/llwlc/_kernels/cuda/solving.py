"""`bases._eigenbasis` by the kernel of `solve.cu`: graphs of similar size together, each with as much fast memory as it
needs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from llwlc._kernels.cuda.driver import KernelEngine
from llwlc._kernels.cuda.task import address, task_type
from llwlc._kernels.solve_options import SolveOptions

# Fast memory of a class of graphs, and the threads that share one of them: a multiprocessor of an H200 has fast memory
# for so many groups
# at once (21, 12, 8, 6, 4, 3, 2), and registers (128 a thread) for 16 warps.
CLASSES = ((9_700, 32), (17_800, 32), (27_200, 64), (36_700, 64), (55_500, 128), (74_500, 128), (111_500, 256))
# The same for larger graphs, whose Krylov vectors stay in global memory: 4, 2 and 1 at once.
FAR_CLASSES = ((55_500, 128), (111_500, 256), (220_000, 512))
HUGE = 512  # threads of a group without fast memory
SCRATCH_BYTES = 1 << 31  # of global memory, for all groups together
MAX_SHARED_NODES = 1 << 16  # of graphs in fast memory, where a node is a number of 16 bits
SolveTask = task_type(
    "Task",
    "ptr first row col weight columns block hop u v deleted order counter values vectors residual live degree scratch",
    stride="int64", tolerance="double", rank_tolerance="double",
    links="int32", k="int32", b="int32", steps="int32", normalized="int32", wide="int32", neumann="int32",
)  # fmt: skip


class GpuBasisInputs(NamedTuple):
    """`ptr [B + 1]`, `row`, `col [E]`; `weight [E]` or None; `columns [N, k]`, or None for the Neumann columns by
    `hop [N]`; `block [N, b]`, or None for the query nodes `u`, `v [B]`; `deleted [N]` where the projector has a closed
    form, else None. Reals are float64."""

    ptr: Tensor
    row: Tensor
    col: Tensor
    weight: Tensor | None
    columns: Tensor | None
    block: Tensor | None
    hop: Tensor
    u: Tensor
    v: Tensor
    deleted: Tensor | None


class SolveKernelShape(NamedTuple):
    """Numbers of columns k, of starts b, of steps; which Laplacian, whether the projector is in closed form, whether
    edges have weights.
    """

    k: int
    b: int
    steps: int
    normalized: bool
    closed: bool
    weighted: bool


class RitzTensors(NamedTuple):
    """The arrays of an `Eigenbasis`, zero where dead, the number of live columns, `live [B]`, and the degrees of the
    nodes, `degree [N]`, int64, or float64 with weights.
    """

    values: Tensor
    vectors: Tensor
    residual: Tensor
    live: Tensor
    degree: Tensor


def eigenbasis(
    engine: KernelEngine,
    inputs: GpuBasisInputs,
    solve: SolveOptions,
    *,
    dtype: torch.dtype,
    neumann: int = 0,
) -> RitzTensors:
    """The Ritz pairs of every graph, on the device of the arrays; `neumann`: without columns, those that the kernel
    makes itself: 1 for the boundary, 2 for the degree, 3 for both."""
    steps, normalized = solve.steps, solve.normalized
    inputs = inputs._replace(**{name: x.contiguous() for name, x in inputs._asdict().items() if x is not None})
    graphs, device = len(inputs.ptr) - 1, inputs.ptr.device
    k = neumann.bit_count() if inputs.columns is None else inputs.columns.shape[1]
    b = 2 if inputs.block is None else inputs.block.shape[1]
    shape = SolveKernelShape(k, b, steps, normalized, inputs.deleted is not None, inputs.weight is not None)
    ritz = RitzTensors(
        torch.zeros(graphs, steps, dtype=dtype, device=device),
        torch.zeros(len(inputs.hop), steps, dtype=dtype, device=device),
        torch.zeros(graphs, steps, dtype=dtype, device=device),
        torch.zeros(graphs, dtype=torch.long, device=device),
        torch.zeros(len(inputs.hop), dtype=torch.long if inputs.weight is None else torch.float64, device=device),
    )
    if not graphs:
        return ritz
    first = torch.searchsorted(inputs.row, inputs.ptr)
    arrays = inputs._asdict() | ritz._asdict() | {"first": first}
    task = SolveTask(**{name: address(tensor) for name, tensor in arrays.items()})
    task.tolerance, task.rank_tolerance, task.wide = solve.tolerance, solve.rank_tolerance, dtype == torch.float64
    task.k, task.b, task.steps, task.neumann, task.normalized = k, b, steps, neumann, normalized
    n, e = inputs.ptr.diff(), first.diff()
    need, order = torch.sort(scratch_bytes(shape, n, e))
    far = far_bytes(shape, n)[order]
    classes, far_classes = (
        [(limit, group) for limit, group in some if limit + part_bytes(shape, group) <= engine.shared_bytes]
        for some in (CLASSES, FAR_CLASSES)
    )
    # graphs of one class together, the smaller ones first: first the classes in fast memory, then those with their
    # vectors elsewhere, then the rest
    own = _class_of(need, classes)
    elsewhere = _class_of(need - far, far_classes) + len(classes)
    own = torch.where(own < len(classes), own, elsewhere)
    own = torch.where(n[order] < MAX_SHARED_NODES, own, len(classes) + len(far_classes))
    by_class = torch.argsort(own, stable=True)
    order = order[by_class]
    counts = torch.bincount(own, minlength=len(classes) + len(far_classes) + 1)
    *numbers, most, most_far = torch.cat([counts, need[-1:], far.amax()[None]]).tolist()
    counters = torch.zeros(len(numbers), dtype=torch.int32, device=device)
    begin = 0
    for place, number in enumerate(numbers):
        part = order[begin : begin + number]
        begin += number
        if not number:
            continue
        task.links, task.order, task.counter = number, address(part), address(counters[place:])
        if place < len(classes):
            limit, group = classes[place]
            engine.launch("solve", group, min(number, engine.groups), limit + part_bytes(shape, group), task)
        elif place < len(classes) + len(far_classes):
            limit, group = far_classes[place - len(classes)]
            _with_scratch(engine, "solve_far", task, most_far, group, limit + part_bytes(shape, group), device)
        else:
            # indices of 32 bits
            whole = most + part_bytes(shape, HUGE) + 2 * int((n + e).max())
            _with_scratch(engine, "solve_global", task, whole, HUGE, 0, device)
    return ritz


def _class_of(need: Tensor, classes: list[tuple[int, int]]) -> Tensor:
    """The first class that has as many bytes; their number where none has."""
    return torch.searchsorted(torch.tensor([limit for limit, _ in classes], device=need.device), need)


def _with_scratch(
    engine: KernelEngine, kernel: str, task: Any, most: int, group: int, shared: int, device: torch.device
) -> None:
    """Launches a kernel whose groups have up to `most` bytes of global memory each."""
    task.stride = -(-most // 8)
    # a multiprocessor has at most eight such groups in hand
    groups = max(1, min(task.links, engine.groups // 4, SCRATCH_BYTES // most))
    scratch = torch.empty(groups, task.stride, dtype=torch.float64, device=device)
    task.scratch = address(scratch)
    engine.launch(kernel, group, groups, shared, task)


def scratch_bytes(shape: SolveKernelShape, n: Tensor, e: Tensor) -> Tensor:
    """The bytes that `scratch_of` in `solve.cu` takes for graphs of n nodes and e edges, without `part_bytes`."""
    k, b, steps, normalized, closed, weighted = shape
    k = 0 if closed else k
    small = 2 * steps * steps + 2 * steps + k + 2 + b * b
    rows = 3 + (not normalized) + b + 2 * closed + k + steps
    return 8 * (small + n * rows + e * weighted) + 4 * (n + 1 + b + n * closed) + 2 * (e + n)


def far_bytes(shape: SolveKernelShape, n: Tensor) -> Tensor:
    """The bytes of them that the Krylov vectors take, and the columns."""
    return 8 * n * (shape.b + (0 if shape.closed else shape.k) + shape.steps)


def part_bytes(shape: SolveKernelShape, group: int) -> int:
    """What the warps of a group exchange."""
    return 8 * group // 32 * (shape.steps + shape.k + 1) if group > 32 else 0
