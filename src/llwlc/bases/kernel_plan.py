"""The options of compiled kernels: plain numbers, made from a `BasisConfig` here and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from llwlc.bases.config import BasisConfig
from llwlc.kernels.solve import Solve
from llwlc.linalg.krylov import TOLERANCE
from llwlc.linalg.projector import RANK_TOLERANCE
from llwlc.support import counter

if TYPE_CHECKING:
    from llwlc.kernels.numba.extraction import Reach
    from llwlc.kernels.numba.fused import Plan

NEUMANN = {"boundary": 1, "degree": 2}
"""The bits that stand for the columns that the CUDA kernel makes itself."""


def solve_of(steps: int, laplacian: str, dtype: torch.dtype) -> Solve:
    return Solve(steps, laplacian == "normalized", TOLERANCE[dtype], RANK_TOLERANCE)


def neumann_bits(config: BasisConfig) -> int:
    """The Neumann columns that the CUDA kernel is to make; 0 with other constraints, or where the start needs explicit columns."""
    columns = [column for family in config.families for column in family.kernel or ("given",)]
    alone = bool(columns) and set(columns) <= set(NEUMANN) and len(set(columns)) == len(columns)
    return sum(NEUMANN[column] for column in columns) if alone and config.start in ("query", "random") else 0


def not_fusible(config: BasisConfig) -> str:
    """Why the fused CPU kernel cannot make these bases, "" where it can: otherwise the stages are computed one by one."""
    from llwlc.bases.starts import STARTS

    for family in config.families:
        if family.kernel is None:
            return f"constraint {family.name!r} is made in Python"
    if not STARTS[config.start].kernel:
        return f"start {config.start!r} is made in Python"
    columns = [column for family in config.families for column in family.kernel or ()]
    if len(set(columns)) < len(columns):
        # a repeated column does not change the span, but counts twice in the start "constraint"
        return f"constraints={config.constraints!r} name a column twice"
    if "deleted" in columns and config.count == "all" and len(columns) > 1:
        return 'count="all" beside other constraints'
    if config.start == "constraint" and (not columns or (columns == ["deleted"] and config.count == 0)):
        return "start='constraint' needs constraints"
    return ""


def reach_of(config: BasisConfig) -> Reach:
    from llwlc.kernels.numba.extraction import Reach

    return Reach(config.hops, config.max_nodes_per_hop or 0, config.seed, counter.CAPPED, config.windowed)


def plan_of(config: BasisConfig, *, epoch: int, dtype: torch.dtype) -> Plan:
    """The options of the fused kernel, for a configuration for which `not_fusible` is empty."""
    from llwlc.kernels.numba.fused import STARTS, Plan

    columns = {column for family in config.families for column in family.kernel or ()}
    closed = columns == {"deleted"}
    deleted = 0 if "deleted" not in columns else -1 if config.count == "all" else int(config.count)
    return Plan(
        *solve_of(config.steps, config.laplacian, dtype),
        start=STARTS[config.start],
        boundary="boundary" in columns,
        degree="degree" in columns,
        deleted=deleted,
        closed=closed,
        columns=0 if closed else len(columns - {"deleted"}) + deleted,
        seed=config.seed,
        epoch=epoch,
        start_stream=counter.STARTS,
        deleted_stream=counter.DELETED,
    )
