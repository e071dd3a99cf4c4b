"""The options of the recurrence, for kernels of any processor."""

from __future__ import annotations

from typing import NamedTuple


class SolveOptions(NamedTuple):
    """κ = `steps` vectors of the `normalized` or the combinatorial Laplacian; a candidate below `tolerance` adds
    nothing, a constraint below `rank_tolerance` depends on those before it."""

    steps: int
    normalized: bool
    tolerance: float
    rank_tolerance: float
