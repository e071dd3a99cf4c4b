"""`bases.PairInputs` by the kernel of `pairs.cu`, for a graph on a GPU."""

from __future__ import annotations

import torch
from torch import Tensor

from llwlc._kernels.cuda.driver import KernelEngine
from llwlc._kernels.cuda.task import address, task_type

GROUP = 32
STATISTICS = 5  # of `heuristics._pair_statistics`

PairsTask = task_type(
    "Pairs", "indptr indices pairs row_ptr columns entries counter out", links="int32", width="int32"
)  # fmt: skip
SparseRows = tuple[Tensor, Tensor, Tensor]
"""Pointer, sorted columns (int64) and entries (float64) of rows of length one."""


def pair_inputs(
    engine: KernelEngine, indptr: Tensor, indices: Tensor, pairs: Tensor, rows: SparseRows | None
) -> Tensor:
    """The statistics of `pairs [B, 2]` and, with sparse rows, the product of the ends' rows behind them, `[B, 5 or 6]`
    in float32, on the device of the graph.
    """
    # in one order of the ends, so that the other does not change the last bit
    pairs = torch.stack([pairs.amin(1), pairs.amax(1)], 1)
    width = STATISTICS + (rows is not None)
    out = torch.empty(len(pairs), width, device=pairs.device)
    if not len(pairs):
        return out
    counter = torch.zeros(1, dtype=torch.int32, device=pairs.device)
    arrays = {"indptr": indptr, "indices": indices, "pairs": pairs, "counter": counter, "out": out}
    if rows is not None:
        arrays |= dict(zip(("row_ptr", "columns", "entries"), rows, strict=True))
    task = PairsTask(**{name: address(tensor) for name, tensor in arrays.items()}, links=len(pairs), width=width)
    engine.launch("pairs", GROUP, min(len(pairs), engine.groups), 0, task)
    return out
