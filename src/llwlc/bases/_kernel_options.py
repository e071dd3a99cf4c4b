"""The options of compiled kernels: plain numbers, made from a `BasisConfig` here and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from llwlc._kernels.solve_options import SolveOptions
from llwlc._support import counter_hash
from llwlc.bases._config import BasisConfig
from llwlc.linalg._krylov import TOLERANCE
from llwlc.linalg._projector import RANK_TOLERANCE

if TYPE_CHECKING:
    from llwlc._kernels.numba.extraction import ExtractionOptions
    from llwlc._kernels.numba.fused_bases import FusedOptions

NEUMANN = {"boundary": 1, "degree": 2}
"""The bits that stand for the columns that the CUDA kernel makes itself."""


def make_solve_options(steps: int, laplacian: str, dtype: torch.dtype) -> SolveOptions:
    return SolveOptions(steps, laplacian == "normalized", TOLERANCE[dtype], RANK_TOLERANCE)


def neumann_bits(config: BasisConfig) -> int:
    """The Neumann columns that the CUDA kernel is to make; 0 with other constraints, or where the start needs explicit
    columns.
    """
    columns = [column for family in config.families for column in family.kernel or ("given",)]
    alone = bool(columns) and set(columns) <= set(NEUMANN) and len(set(columns)) == len(columns)
    return sum(NEUMANN[column] for column in columns) if alone and config.start in ("query", "random") else 0


def why_not_fusible(config: BasisConfig) -> str:
    """Why the fused CPU kernel cannot make these bases, "" where it can: otherwise the stages are computed one by
    one.
    """
    from llwlc.bases._starts import STARTS

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


def make_extraction_options(config: BasisConfig) -> ExtractionOptions:
    from llwlc._kernels.numba.extraction import ExtractionOptions

    return ExtractionOptions(config.hops, config.max_nodes_per_hop or 0, config.seed, counter_hash.CAP_STREAM)


def make_fused_options(config: BasisConfig, *, epoch: int, dtype: torch.dtype) -> FusedOptions:
    """The options of the fused kernel, for a configuration for which `why_not_fusible` is empty."""
    from llwlc._kernels.numba.fused_bases import START_CODES, FusedOptions

    columns = {column for family in config.families for column in family.kernel or ()}
    closed = columns == {"deleted"}
    deleted = 0 if "deleted" not in columns else -1 if config.count == "all" else int(config.count)
    return FusedOptions(
        *make_solve_options(config.steps, config.laplacian, dtype),
        start=START_CODES[config.start],
        boundary="boundary" in columns,
        degree="degree" in columns,
        deleted=deleted,
        closed=closed,
        columns=0 if closed else len(columns - {"deleted"}) + deleted,
        seed=config.seed,
        epoch=epoch,
        start_stream=counter_hash.START_STREAM,
        deleted_stream=counter_hash.DELETION_STREAM,
    )
